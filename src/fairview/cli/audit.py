"""`fairview audit`: what does a graph, or a trained run, leak? Verdicts first, then the numbers behind them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from fairview.cli import options
from fairview.cli.folders import graph_of_run, opened
from fairview.cli.graphs import chosen_graph, hidden_columns, training_graph
from fairview.cli.output import Format, FormatOption, decimal, percent, print_json, print_table, printable
from fairview.cli.reports import report_or_say_why_not
from fairview.errors import InputError, some

_GROUPS = 40
"""Combinations of groups that a table shows."""


@options.with_table_options(required=False)
def audit(
    tables: options.TableOptions,
    what: Annotated[
        str | None, typer.Argument(metavar="DATASET|RUN", help="A known dataset or a run folder; or give --nodes.")
    ] = None,
    operator: Annotated[
        Literal["gcn", "mean", "sum"] | None,
        typer.Option(help="How neighbours are averaged [default: gcn, or the propagated folder's]."),
    ] = None,
    hops: Annotated[
        int | None,
        typer.Option(help="How far channels are propagated [default: 2, or the propagated folder's].", min=1, max=10),
    ] = None,
    permutations: Annotated[int, typer.Option(help="Shuffles behind the p-values.", min=19)] = 500,
    shuffling: Annotated[
        Literal["auto", "exact", "quick"],
        typer.Option(help="Propagate every shuffle, or use products that are nearly the same; auto: as the size asks."),
    ] = "auto",
    no_probes: Annotated[
        bool, typer.Option("--no-probes", help="Leave out the probes, which take much of the time.")
    ] = False,
    hidden: Annotated[
        list[str] | None,
        typer.Option(help="Column to hide from the features: can it be read from the graph? Repeat it."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of shuffles, folds and samples.", min=0)] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Folder for audit.json and report.html [default for a RUN: the run].")
    ] = None,
    force: options.Force = False,
    method: options.RunMethod = None,
    encoder: options.RunEncoder = None,
    propagated: options.PropagatedFolder = None,
    rows: options.LoadedRows = None,
    data_dir: options.DataDir = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Say whether message passing reveals the sensitive attribute, in which columns, and which give the label away.

    Of a run, the model is audited as well. A run on own tables needs the same --nodes and other options again, one on a
    propagated folder that folder. Such a folder holds no links: what needs them is undefined, and is named.

    Examples:

        fairview audit german

        fairview audit german --operator mean --hops 3 --no-probes

        fairview audit --nodes people.csv --edges links.csv --label approved --sensitive gender --out audits/own

        fairview audit --nodes people.csv --edges links.csv --sensitive gender --sensitive race

        fairview audit bail-no-time --hidden TIME

        fairview audit bail --shuffling quick --permutations 5000

        fairview audit --propagated propagated --out audits/large

        fairview audit runs/german --format json
    """
    import fairview.leakage.graph_audit as audits
    from fairview.data.datasets import dataset_names
    from fairview.leakage.folder_audit import audit_folder
    from fairview.outputs import check_folder
    from fairview.propagation.operators import Operator

    names = list(dict.fromkeys(hidden or ()))
    if tables["nodes"] is not None and propagated is None:
        tables["drop"] = list(dict.fromkeys([*(tables["drop"] or ()), *names])) or None
    run = Path(what) if what is not None and (Path(what) / "run.json").is_file() else None
    if run is None and what is not None and (Path(what) / "seed-1").is_dir():
        raise InputError(f"{what}: holds several runs; audit one of them, such as {Path(what) / 'seed-1'}.")
    if run is None and what is not None and Path(what).is_dir() and what not in dataset_names():
        raise InputError(f"{what}: holds no finished run (there is no run.json).")
    folder, inputs = out or run, options.inputs_of(tables)
    if folder is not None:
        from fairview.runs.evidence import AUDIT_OUTPUTS  # it brings torch

        check_folder(folder, AUDIT_OUTPUTS, inputs=inputs, overwrite=force)
    whole = None
    if run is not None:
        from fairview.data.splits import with_default_split
        from fairview.runs.evidence import audit_run

        if propagated is not None:
            graph, whole = graph_of_run(run, propagated, rows, tables)
        else:
            graph = training_graph(run, data_dir, tables)
        (graph, _), model = with_default_split(graph), options.load_run(run, method, encoder)
    elif propagated is not None:
        whole = opened(propagated, what, tables)
    elif (what is None) == (tables["nodes"] is None):
        raise InputError("give a known dataset, a run folder, --nodes, or --propagated.")
    else:
        graph = chosen_graph(what, data_dir, tables)
    if whole is not None:
        if names:
            raise InputError(
                "--hidden: it needs the links themselves, and a propagated folder holds none; leave it out."
            )
        of_graph = audit_folder(
            whole,
            operator=None if operator is None else Operator(kind=operator),
            hops=hops,
            probes=not no_probes,
            seed=seed,
            sha256=None if run is None else graph.sha256,
        )
    else:
        of_graph = audits.audit(
            graph,
            operator=operator,
            hops=hops,
            permutations=permutations,
            shuffling=shuffling,
            probes=not no_probes,
            hidden=hidden_columns(graph, names, data_dir, tables),
            seed=seed,
        )
    document = of_graph.to_dict()
    if run is not None:
        document = audit_run(
            run, graph, model=model, of_graph=of_graph, probes=not no_probes, seed=seed, out=out, overwrite=force
        )
    elif out is not None:
        from fairview.runs.evidence import write_audit  # it brings torch

        write_audit(out, document, inputs=inputs, overwrite=force)
    report = None if folder is None else report_or_say_why_not(folder, overwrite=force)
    if format is Format.JSON:
        print_json(document)
        return
    print_audit(document)
    for path in filter(None, (folder and folder / "audit.json", report)):
        typer.echo(printable(str(path)))


# --- on the terminal --------------------------------------------------------------------------------------------------


def print_audit(document: dict[str, Any]) -> None:
    """The audit of a graph as sentences and tables; what is undefined is named with its reason.

    With several sensitive attributes there is a part for each, and one for the combinations of their groups.
    """
    from fairview.leakage.sentences import by_attribute, group_sentences, rule_sentence, summary

    for sentence in summary(document):
        typer.echo(printable(sentence))
    parts = by_attribute(document)
    typer.echo()
    for name, part in parts.items():
        if len(parts) > 1:
            typer.echo(printable(f"{name}\n{'=' * len(name)}"))
            for sentence in group_sentences(part):
                typer.echo(printable(sentence))
            typer.echo()
        _print_groups(part, several=len(parts) > 1)
    _print_hidden(document)
    for sentence in dict.fromkeys(_small_print(parts)):
        typer.echo(printable(sentence))
    typer.echo(printable(f"rule: {rule_sentence(document)}"))


def _small_print(parts: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """What is undefined, and the notes; groups without nodes are named below the table of groups."""
    from fairview.leakage.sentences import reasons, reasons_of_all

    shared = reasons_of_all(parts)
    yield from (f"undefined: {what}: {why}" for what, why in shared.items())
    for name, part in parts.items():
        of = f"{name}: " if name in part["graph"].get("attributes", ()) else ""  # what is left speaks of all together
        yield from (f"undefined: {of}{what}: {why}" for what, why in reasons(part).items() if what not in shared)
        yield from (f"note: {of}{note}" for note in part["notes"])


def _print_groups(document: Mapping[str, Any], *, several: bool) -> None:
    """Channels, groups and probes by one sensitive attribute; of several, groups without nodes are named apart."""
    from fairview.leakage.sentences import without_nodes

    sensitive = document["graph"]["sensitive"]
    if "correlation" not in document["undefined"]:
        _print_channels(document)
    groups = document["homophily_by_group"]
    empty = without_nodes(document)
    filled = [group for group in groups if group["group"] not in empty]
    shown = filled[:_GROUPS] if several else filled
    rows = [
        [group["group"], group["nodes"], percent(group["homophily"]), decimal(group["mean_degree"], 1)]
        for group in shown
    ]
    if rows:
        more = len(filled) - len(shown)
        caption = [f"And {more:,} groups more; audit.json has them all."] if more else []
        caption += [f"Without nodes: {some(empty, limit=_GROUPS)}."] if empty else []
        columns = ["group", "nodes", "links within %", "mean degree"]
        print_table(f"Groups by {sensitive}", columns, rows, caption="\n".join(caption))
    probes = [
        [probe["on"], probe["probe"], decimal(probe["auc"]), f"{decimal(probe['low'])} to {decimal(probe['high'])}"]
        for probe in document["probe"]
    ]
    if probes:
        caption_of = "AUC of models trained to tell the groups apart, on nodes they had not seen; 0.5 is guessing."
        title = f"How well {sensitive} can be read, without its own channels"
        print_table(title, ["from", "probe", "AUC", "95 %"], probes, caption=caption_of)


def _print_channels(document: Mapping[str, Any]) -> None:
    from fairview.leakage.sentences import left_out, strongest

    hops = range(document["hops"] + 1)
    columns = ["channel", "", *(f"hop {hop}" for hop in hops), *(f"rank {hop}" for hop in hops), "p at hop 0", "leak p"]
    rows = [
        [
            label,
            _remark(channel),
            *(decimal(value) for value in channel["correlation"]),
            *channel["rank"],
            decimal(channel["p_value"][0]) if channel["p_value"] else "-",
            decimal(min(channel["leak_p_value"])) if channel["leak_p_value"] else "-",
        ]
        for label, channel in strongest(document["channels"])
    ]
    groups = [name for name, size in document["graph"]["groups"].items() if size]
    caption = (
        f"Pearson correlation; above 0: higher for '{groups[1]}'." if len(groups) == 2 else "Correlation ratio, 0 to 1."
    )
    title = f"Correlation with {document['graph']['sensitive']} by hop ({document['operator']})"
    counted = "channels, hops and attributes" if document["graph"].get("attributes") else "channels and hops"
    caption += f" Rank 1 is the strongest. 'leak p' counts all {counted}."
    print_table(title, columns, rows, caption="\n".join(filter(None, [caption, left_out(document["channels"])])))


def _print_hidden(document: dict[str, Any]) -> None:
    rows = [
        [
            column["name"],
            column["measure"],
            *(_with_interval(column[part]) for part in ("from_channels", "from_graph", "difference")),
            "KNOWN TO THE LINKS" if column["readable"] else "",
        ]
        for column in document["hidden"]
        if column["difference"] is not None
    ]
    if rows:
        columns = ["column", "measure", "from the columns", "from columns and links", "difference", ""]
        caption = "Boosted trees, on nodes they had not seen, with 95 % intervals. R²: 0 is guessing; AUC: 0.5 is."
        print_table("How well hidden columns can be read", columns, rows, caption=caption)


def _with_interval(score: Mapping[str, float]) -> str:
    return f"{decimal(score['score'])} ({decimal(score['low'])} to {decimal(score['high'])})"


def _remark(channel: Mapping[str, Any]) -> str:
    if channel["leaking"]:
        return "FLAGGED"
    return "the attribute itself" if channel["sensitive"] else "constant" if channel["constant"] else ""
