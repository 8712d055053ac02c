"""`fairview check`: are these tables a sound graph? Every problem at once, or what was understood."""

from __future__ import annotations

from typing import Any

import typer

from fairview.cli import options
from fairview.cli.graphs import own_graph
from fairview.cli.output import Format, FormatOption, decimal, percent, print_facts, print_json, print_table, printable


@options.with_table_options(required=True)
def check(tables: options.TableOptions, format: FormatOption = Format.TABLE) -> None:
    """Check own tables: list every problem at once, or say what the graph holds and what was changed on the way.

    Hints name columns of few whole numbers, which may be codes. Exit code 3: the tables are sound, but no model can be
    trained on them, because there is one group only, one label only, or too few people.

    Examples:

        fairview check --nodes people.csv --edges links.csv --label approved --sensitive gender

        fairview check --nodes people.csv --label grade --positive good --sensitive race --categorical job

        fairview check --nodes people.csv --label repaid --unlabelled unknown --positive yes --sensitive gender

        fairview check --nodes people.csv --edges links.csv --link-kind tie --label approved --sensitive gender

        fairview check --nodes people.csv --edges links.csv --label approved --sensitive race --sensitive sex

        fairview check --nodes people.parquet --edges snap.txt.gz --label y --sensitive s --format json
    """
    from fairview.data.summary import summarise

    facts = summarise(own_graph(tables))
    if format is Format.JSON:
        print_json(facts)
    else:
        print_graph(facts)
    if not facts["trainable"]:
        typer.echo(printable(f"no model can be trained: {'; '.join(facts['reasons'])}."), err=True)
        raise typer.Exit(3)


def print_graph(facts: dict[str, Any]) -> None:
    """The summary of a graph as tables."""
    counts, classes = facts["labels"], facts["classes"]
    labels = f"{classes['positive']} (positive) {counts['positive']:,}, {classes['negative']} {counts['negative']:,}"
    if counts["unlabelled"]:
        labels += f", {counts['unlabelled']:,} without a label"
    same = f"{percent(facts['homophily'])} % of the edges join the same group"
    lines = {
        "nodes": facts["nodes"],
        "edges": f"{facts['edges']:,} {'directed' if facts['directed'] else 'undirected'}"
        f"{' and weighted' if facts['weighted'] else ''}, "
        f"average degree {facts['average_degree']:.1f}, largest {facts['largest_degree']:,}, "
        f"{facts['isolated_nodes']:,} nodes without one, {facts['components']:,} components",
        "channels": f"{len(facts['channels'])}: {_first(facts['channels'], 8)}",
        "labels": labels,
        "sensitive": facts["sensitive"] + (", a channel too" if facts["sensitive_channels"] else ", not a channel"),
        "homophily": facts["undefined"].get("homophily") or same,
    }
    for name, part in facts["splits"].items():
        lines[f"split {name}"] = f"{part['nodes']:,} nodes, {part['positives']:,} positive"
    for title in ("notes", "hints"):
        for place, text in enumerate(facts[title]):
            lines[title if place == 0 else " " * len(lines)] = text
    print_facts(str(facts["source"]), lines)
    if facts["link_kinds"]:
        kinds = [[each["kind"], each["edges"], percent(each["homophily"])] for each in facts["link_kinds"]]
        print_table("Kinds of links", ["kind", "edges", "join the same group %"], kinds)
    for name, part in {**facts.get("attributes", {}), facts["sensitive"]: facts}.items():
        _print_groups(name, part, homophily="attributes" in facts)


def _print_groups(name: str, facts: dict[str, Any], *, homophily: bool) -> None:
    rows = []
    for group in facts["groups"]:
        counts = (group[each] for each in ("group", "nodes", "labelled", "positives"))
        rows.append([*counts, percent(group["positive_rate"]), decimal(group["average_degree"], 1)])
    below = [f"{facts['sensitive_unknown']:,} nodes of unknown group."] if facts["sensitive_unknown"] else []
    if homophily and facts["homophily"] is not None:
        below.append(f"{percent(facts['homophily'])} % of the edges join the same group.")
    columns = ["group", "nodes", "labelled", "positive", "positive %", "average degree"]
    print_table(f"Groups by {name}", columns, rows, caption="\n".join(below))


def _first(names: list[str], limit: int) -> str:
    return ", ".join(names[:limit]) + (f" and {len(names) - limit} more" if len(names) > limit else "")
