"""`fairview explain`: which links, nodes and channels carry the gap of a trained run?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from fairview.cli import options
from fairview.cli.graphs import training_graph
from fairview.cli.output import Format, FormatOption, decimal, percent, print_json, print_table, printable
from fairview.cli.reports import report_or_say_why_not


@options.with_table_options(required=False)
def explain(
    tables: options.TableOptions,
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    top: Annotated[int, typer.Option(help="How many links and nodes are shown.", min=1)] = 20,
    of: Annotated[
        str, typer.Option("--of", metavar="SPLIT", help="Whose gap: all nodes, or those of train, val or test.")
    ] = "all",
    attribute: Annotated[
        str | None,
        typer.Option(
            help="Of several sensitive attributes, the one to explain [default: the groups they make together]."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the links that are drawn to compare with.", min=0)] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Folder for explanation.json and report.html [default: RUN].")
    ] = None,
    force: options.Force = False,
    method: options.RunMethod = None,
    encoder: options.RunEncoder = None,
    data_dir: options.DataDir = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Say which links, nodes and channels carry the gap between the groups' mean logits, without training again.

    The effect of a link is the gap with it less the gap without it. For GCN and GIN of one layer, with kinds of links
    or without, and for Parity with one hop it is exact; for other networks it is estimated, and checked by removal
    where it is shown. Then links are removed together: those that widen the gap most, as many at random, within groups
    and between groups.

    A run on own tables needs the same --nodes and other options again. A run on a propagated folder can't be explained:
    it holds no links.

    Examples:

        fairview explain runs/german

        fairview explain runs/german --top 50 --of test

        fairview explain runs/two --attribute sex

        fairview explain runs/own --nodes people.csv --edges links.csv --label approved --sensitive gender

        fairview explain runs/german --format json
    """
    from fairview.outputs import check_folder
    from fairview.runs.explained import NAME, OUTPUTS, check_links, explain_run

    folder = options.run_folder(run)
    target = out or folder
    check_links(folder)
    check_folder(target, OUTPUTS, inputs=options.inputs_of(tables), overwrite=force)
    graph = training_graph(folder, data_dir, tables)
    model = options.load_run(run, method, encoder)
    document = explain_run(
        folder, graph, model, top=top, split=of, attribute=attribute, seed=seed, out=out, overwrite=force
    ).to_dict()
    report = report_or_say_why_not(target, overwrite=force)
    if format is Format.JSON:
        print_json(document)
        return
    print_explanation(document, top)
    for path in filter(None, (target / NAME, report)):
        typer.echo(printable(str(path)))


def print_explanation(document: Mapping[str, Any], top: int) -> None:
    """Sentences first, then tables."""
    from fairview.explanation.sentences import groups_of, summary

    for sentence in summary(document):
        typer.echo(printable(sentence))
    typer.echo()
    _print_removed(document)
    kind = ["kind"] if "kinds" in document else []
    links = [
        [row["source"], row["target"], groups_of(row), *(row[name] for name in kind), decimal(row["effect"], 6)]
        for row in document["links"]
    ]
    caption = "Effect: the gap in the mean logit with the link less the gap without it."
    columns = ["source", "target", "groups", *kind, "effect"]
    print_table("Links that widen the gap most", columns, links, caption=caption)
    nodes = [
        [row["node"], "unknown" if row["group"] is None else row["group"], row["links"], decimal(row["effect"], 6)]
        for row in document["nodes"]
    ]
    caption = "Effect: the gap less the gap without all links of the node."
    print_table("Nodes whose links widen it most", ["node", "group", "links", "effect"], nodes, caption=caption)
    _print_kinds(document)
    channels = [
        [row["channel"], *(decimal(row[name]) for name in ("gap", "home", "links"))] for row in document["channels"]
    ]
    left_out = f" And {len(channels) - top:,} more; explanation.json has all channels." if channels[top:] else ""
    caption = f"Own value: from the node itself; over links: from the values of others.{left_out}"
    columns = ["channel", "part of the gap", "own value", "over links"]
    print_table("Parts of the gap by channel", columns, channels[:top], caption=caption)
    for name, reason in document["undefined"].items():
        typer.echo(printable(f"undefined: {name}: {reason}"))
    for note in document["notes"]:
        typer.echo(printable(f"note: {note}"))


def _print_kinds(document: Mapping[str, Any]) -> None:
    kinds = [
        [row["kind"], row["links"], decimal(row["gap"]), decimal(row["effect"])] for row in document.get("kinds", [])
    ]
    caption = (
        "Part: what comes over links of this kind; itself: from each node's own value. Effect: the gap less the gap "
        "without all links of this kind."
    )
    if kinds:
        print_table(
            "Parts of the gap by kind of links",
            ["kind of links", "links", "part of the gap", "effect"],
            kinds,
            caption=caption,
        )


def _print_removed(document: Mapping[str, Any]) -> None:
    names = ("gap", "statistical_parity_gap", "accuracy")
    rows = [
        [row["k"], row["chosen"], decimal(row["gap_after"]), *(percent(row[f"{name}_after"]) for name in names[1:])]
        for row in document["removed"]
    ]
    if not rows:
        return
    first = document["removed"][0]
    now = [decimal(first["gap_before"]), *(percent(first[f"{name}_before"]) for name in names[1:])]
    caption = (
        f"Without training again. Gap: difference of the mean logits. SP gap and accuracy on {document['evaluated']}. "
        f"Links that were drawn: means of {max(row['draws'] for row in document['removed'])} draws."
    )
    columns = ["links removed", "chosen by", "gap", "SP gap %", "accuracy %"]
    print_table("What removing links does", columns, [[0, "-", *now], *rows], caption=caption)
