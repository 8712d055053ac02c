"""`fairview audit`: what does a graph, or a trained run, leak? Verdicts first, then the numbers behind them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from fairview.cli import options
from fairview.cli.graphs import chosen_graph, hidden_columns
from fairview.cli.output import Format, FormatOption, decimal, percent, print_json, print_table, printable
from fairview.cli.reports import report_or_say_why_not
from fairview.errors import InputError


@options.with_table_options(required=False)
def audit(
    tables: options.TableOptions,
    what: Annotated[
        str | None, typer.Argument(metavar="DATASET|RUN", help="A known dataset or a run folder; or give --nodes.")
    ] = None,
    operator: Annotated[Literal["gcn", "mean", "sum"], typer.Option(help="How neighbours are averaged.")] = "gcn",
    hops: Annotated[int, typer.Option(help="How far channels are propagated.", min=1, max=10)] = 2,
    permutations: Annotated[int, typer.Option(help="Shuffles behind the p-values.", min=19)] = 500,
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
    method: options.RunMethod = None,
    encoder: options.RunEncoder = None,
    data_dir: options.DataDir = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Say whether message passing reveals the sensitive attribute, in which columns, and which give the label away.

    Of a run, the model is audited as well. A run on own tables needs the same --nodes and other options again.

    Examples:

        fairview audit german

        fairview audit german --operator mean --hops 3 --no-probes

        fairview audit --nodes people.csv --edges links.csv --label approved --sensitive gender --out audits/own

        fairview audit bail-no-time --hidden TIME

        fairview audit runs/german --format json
    """
    import fairview.leakage.graph_audit as audits
    from fairview.data.datasets import dataset_names
    from fairview.runs.evidence import write_audit

    names = list(dict.fromkeys(hidden or ()))
    tables["drop"] = list(dict.fromkeys([*(tables["drop"] or ()), *names])) or None
    run = Path(what) if what is not None and (Path(what) / "run.json").is_file() else None
    if run is None and what is not None and (Path(what) / "seed-1").is_dir():
        raise InputError(f"{what}: holds several runs; audit one of them, such as {Path(what) / 'seed-1'}.")
    if run is None and what is not None and Path(what).is_dir() and what not in dataset_names():
        raise InputError(f"{what}: holds no finished run (there is no run.json).")
    if run is not None:
        from fairview.data.splits import with_default_split
        from fairview.runs.evidence import audit_run, run_graph

        own_tables = tables["nodes"] is not None
        graph = chosen_graph(None, data_dir, tables) if own_tables else run_graph(run, data_dir=data_dir)
        (graph, _), model = with_default_split(graph), options.load_run(run, method, encoder)
    elif (what is None) == (tables["nodes"] is None):
        raise InputError("give a known dataset, a run folder, or --nodes.")
    else:
        graph = chosen_graph(what, data_dir, tables)
    of_graph = audits.audit(
        graph,
        operator=operator,
        hops=hops,
        permutations=permutations,
        probes=not no_probes,
        hidden=hidden_columns(graph, names, data_dir, tables),
        seed=seed,
    )
    document, folder = of_graph.to_dict(), out or run
    if run is not None:
        document = audit_run(run, graph, model=model, of_graph=of_graph, probes=not no_probes, seed=seed, out=out)
    elif out is not None:
        write_audit(out, document)
    report = None if folder is None else report_or_say_why_not(folder)
    if format is Format.JSON:
        print_json(document)
        return
    print_audit(document)
    for path in filter(None, (folder and folder / "audit.json", report)):
        typer.echo(printable(str(path)))


# --- on the terminal --------------------------------------------------------------------------------------------------


def print_audit(document: dict[str, Any]) -> None:
    """The audit of a graph as sentences and tables; what is undefined is named with its reason."""
    from fairview.leakage.sentences import rule_sentence, summary

    for sentence in summary(document):
        typer.echo(printable(sentence))
    typer.echo()
    sensitive = document["graph"]["sensitive"]
    if "correlation" not in document["undefined"]:
        _print_channels(document)
    rows = [
        [group["group"], group["nodes"], percent(group["homophily"]), decimal(group["mean_degree"], 1)]
        for group in document["homophily_by_group"]
    ]
    print_table(f"Groups by {sensitive}", ["group", "nodes", "links within %", "mean degree"], rows)
    probes = [
        [probe["on"], probe["probe"], decimal(probe["auc"]), f"{decimal(probe['low'])} to {decimal(probe['high'])}"]
        for probe in document["probe"]
    ]
    if probes:
        caption = "AUC of models trained to tell the groups apart, on nodes they had not seen; 0.5 is guessing."
        title = f"How well {sensitive} can be read, without its own channels"
        print_table(title, ["from", "probe", "AUC", "95 %"], probes, caption=caption)
    _print_hidden(document)
    for name, reason in document["undefined"].items():
        typer.echo(printable(f"undefined: {name}: {reason}"))
    for note in document["notes"]:
        typer.echo(printable(f"note: {note}"))
    typer.echo(printable(f"rule: {rule_sentence(document)}"))


def _print_channels(document: dict[str, Any]) -> None:
    from fairview.leakage.sentences import left_out, strongest

    hops = range(document["hops"] + 1)
    columns = ["channel", "", *(f"hop {hop}" for hop in hops), *(f"rank {hop}" for hop in hops), "p at hop 0", "leak p"]
    rows = [
        [
            label,
            _remark(channel),
            *(decimal(value) for value in channel["correlation"]),
            *channel["rank"],
            decimal(channel["p_value"][0]),
            decimal(min(channel["leak_p_value"])) if channel["leak_p_value"] else "-",
        ]
        for label, channel in strongest(document["channels"])
    ]
    groups = [name for name, size in document["graph"]["groups"].items() if size]
    caption = (
        f"Pearson correlation; above 0: higher for '{groups[1]}'." if len(groups) == 2 else "Correlation ratio, 0 to 1."
    )
    title = f"Correlation with {document['graph']['sensitive']} by hop ({document['operator']})"
    caption += " Rank 1 is the strongest. 'leak p' counts all channels and hops."
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
