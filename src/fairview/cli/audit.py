"""`fairview audit`: what does a graph, or a trained run, leak? Verdicts first, then the numbers behind them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from fairview.cli import options
from fairview.cli.graphs import own_graph
from fairview.cli.output import Format, FormatOption, percent, print_json, print_table, printable
from fairview.cli.reports import report_or_say_why_not
from fairview.errors import InputError

if TYPE_CHECKING:
    from fairview.data.graph import NodeGraph


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
    seed: Annotated[int, typer.Option(help="Of shuffles, folds and samples.", min=0)] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Folder for audit.json and report.html [default for a RUN: the run].")
    ] = None,
    data_dir: options.DataDir = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Say whether message passing reveals the sensitive attribute, in which columns, and which give the label away.

    Of a run, the model is audited as well. A run on own tables needs the same --nodes and other options again.

    Examples:

        fairview audit german

        fairview audit german --operator mean --hops 3 --no-probes

        fairview audit --nodes people.csv --edges links.csv --label approved --sensitive gender --out audits/own

        fairview audit runs/german --format json
    """
    import fairview.leakage.graph_audit as audits

    run = _run_folder(what)
    if run is None and what is not None and (Path(what) / "seed-1").is_dir():
        raise InputError(f"{what}: holds several runs; audit one of them, such as {Path(what) / 'seed-1'}.")
    graph = _graph(what, run, data_dir, tables)
    of_graph = audits.audit(
        graph, operator=operator, hops=hops, permutations=permutations, probes=not no_probes, seed=seed
    )
    document = of_graph.to_dict()
    if run is not None:
        from fairview.runs.evidence import audit_run

        document = audit_run(run, graph, of_graph=of_graph, probes=not no_probes, seed=seed, out=out)
    written = _write(document, run, out)
    if format is Format.JSON:
        print_json(document)
        return
    print_audit(document)
    for path in written:
        typer.echo(printable(str(path)))


def _run_folder(what: str | None) -> Path | None:
    """The argument, if it is the folder of a run rather than a dataset."""
    return Path(what) if what is not None and (Path(what) / "run.json").is_file() else None


def _graph(what: str | None, run: Path | None, data_dir: Path | None, tables: options.TableOptions) -> NodeGraph:
    from fairview.data.datasets import load_dataset

    own_tables = tables["nodes"] is not None
    if run is None and (what is None) != own_tables:
        raise InputError("give a known dataset, a run folder, or --nodes.")
    if own_tables:
        if tables["sensitive"] is None or tables["label"] is None:
            raise InputError("own tables need --label and --sensitive.")
        drawn = tables["split"] is None and tables["split_seed"] is None
        return own_graph(tables | {"split_seed": 0} if run and drawn else tables)  # as `train` does
    if run is not None:
        from fairview.runs.evidence import run_graph

        return run_graph(run, data_dir=data_dir)
    return load_dataset(str(what), data_dir=data_dir)


def _write(document: dict[str, Any], run: Path | None, out: Path | None) -> list[Path]:
    """audit.json, and the report made from it; `audit_run` has written that of a run already."""
    import json

    from fairview.atomic import write_atomic

    folder = out or run
    if folder is None:
        return []
    if run is None:
        text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        write_atomic(folder / "audit.json", text)

    report = report_or_say_why_not(folder)
    return [folder / "audit.json", *([report] if report else [])]


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
        [group["group"], group["nodes"], percent(group["homophily"]), _number(group["mean_degree"], 1)]
        for group in document["homophily_by_group"]
    ]
    print_table(f"Groups by {sensitive}", ["group", "nodes", "links within %", "mean degree"], rows)
    probes = [
        [probe["on"], probe["probe"], _number(probe["auc"]), f"{_number(probe['low'])} to {_number(probe['high'])}"]
        for probe in document["probe"]
    ]
    if probes:
        caption = "AUC of models trained to tell the groups apart, on nodes they had not seen; 0.5 is guessing."
        title = f"How well {sensitive} can be read, without its own channels"
        print_table(title, ["from", "probe", "AUC", "95 %"], probes, caption=caption)
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
            *(_number(value) for value in channel["correlation"]),
            *channel["rank"],
            _number(channel["p_value"][0]),
            _number(min(channel["leak_p_value"])) if channel["leak_p_value"] else "-",
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


def _remark(channel: Mapping[str, Any]) -> str:
    if channel["leaking"]:
        return "FLAGGED"
    return "the attribute itself" if channel["sensitive"] else "constant" if channel["constant"] else ""


def _number(value: float | None, digits: int = 3) -> str:
    return "-" if value is None else f"{value:z.{digits}f}"
