"""`fairview compare`: methods x encoders x seeds x splits on one graph, resumable, with honest statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from fairview.cli import options
from fairview.cli.graphs import chosen_graph
from fairview.cli.interrupts import terminable
from fairview.cli.output import Format, FormatOption, metric_columns, print_json, print_table
from fairview.cli.reports import report_or_say_why_not
from fairview.cli.trial_progress import follow_trials
from fairview.errors import InputError

if TYPE_CHECKING:
    from fairview.study.comparison import Comparison


@options.with_table_options(required=False)
def compare(
    tables: options.TableOptions,
    dataset: Annotated[str | None, typer.Argument(help="A known dataset; or give --nodes.")] = None,
    methods: Annotated[
        str,
        typer.Option(
            help="Names, or package.module:Class, separated by commas; the majority answer and the plain model are "
            "always added."
        ),
    ] = "fairvgnn,logistic-regression",
    encoders: Annotated[
        str, typer.Option(help="gcn, gin, sage, sign, mlp, or package.module:factory; separated by commas.")
    ] = "gcn",
    seeds: Annotated[int, typer.Option(help="Seeds 1 to N of each method.", min=1)] = 5,
    splits: Annotated[
        int, typer.Option(help="1: the data's own split. N > 1: N stratified splits instead.", min=1)
    ] = 1,
    out: Annotated[Path, typer.Option(help="The folder to write, or to go on with.")] = Path("runs/comparison"),
    study_seed: Annotated[int, typer.Option(help="Of the splits.", min=0)] = 0,
    selection: Annotated[
        Literal["score", "loss", "own"],
        typer.Option(help="Which epoch is kept: one rule for all, or each method's own."),
    ] = "score",
    preset: Annotated[
        str | None, typer.Option(help="Of FairVGNN [default: paper where it has the dataset, else default].")
    ] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="Change a parameter: --set fairvgnn.epochs=50; repeat it.")
    ] = None,
    group_at_prediction: options.GroupAtPrediction = False,
    mixed_machines: Annotated[
        bool, typer.Option("--mixed-machines", help="Go on in a folder from another processor, and say so in it.")
    ] = False,
    no_plain: Annotated[bool, typer.Option("--no-plain", help="Leave out the plain model (vanilla).")] = False,
    force: options.Force = False,
    no_report: Annotated[bool, typer.Option("--no-report", help="Leave out the HTML report.")] = False,
    workers: Annotated[int | None, typer.Option(help="Processes [default: one per core].", min=1)] = None,
    data_dir: options.DataDir = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Compare methods over seeds and splits, beside the plain model and the majority answer.

    Stopped or killed, the same command goes on where it was; with more methods, encoders, seeds or splits it adds them.

    Examples:

        fairview compare german --methods fairvgnn,nifty --encoders gcn,gin --seeds 5 --out runs/german

        fairview compare german --splits 10 --seeds 3 --out runs/german-splits

        fairview compare --nodes people.csv --label approved --sensitive gender --splits 5 --out runs/own

        fairview compare german --splits 10 --set fairvgnn.link_kinds=bands --out runs/german-bands

        fairview compare german --set fairvgnn.epochs=50 --set vanilla.hidden=32 --out runs/short

        fairview compare german --methods mypackage.mymodule:MyMethod --out runs/mine
    """
    from fairview.outputs import check_folder
    from fairview.study.comparison import OUTPUTS
    from fairview.study.comparison import compare as run_comparison

    check_folder(out, OUTPUTS, inputs=options.inputs_of(tables), overwrite=force)
    graph = chosen_graph(dataset, data_dir, tables)
    allowed = group_at_prediction and any(name.lower() == "fairvgnn" for name in options.names(methods) or ["fairvgnn"])
    changes = _changes([*(setting or []), *(["fairvgnn.group_at_prediction=true"] if allowed else [])])
    options.import_from_here(methods, encoders)
    kept = f"finished trials are kept; the same command goes on in {out}"
    with terminable(kept), follow_trials(f"Comparing on {graph.provenance.source}") as notice:
        comparison = run_comparison(
            graph,
            methods=options.names(methods),
            encoders=options.names(encoders),
            seeds=seeds,
            splits=splits,
            folder=out,
            study_seed=study_seed,
            preset=preset,
            selection=selection,
            changes=changes,
            plain=not no_plain,
            workers=workers,
            mixed_machines=mixed_machines,
            overwrite=force,
            notice=notice,
        )
    if not no_report:
        report_or_say_why_not(out, overwrite=force)
    if format is Format.JSON:
        print_json(comparison.to_dict())
    else:
        print_comparison(comparison)


def print_comparison(comparison: Comparison) -> None:
    """Rows below each other; mean ± standard deviation, and the interval of the mean below it."""
    from fairview.study.comparison_display import GROUP_MARK_MEANS, marked_label

    document, columns = comparison.to_dict(), metric_columns()
    heads = ["", *columns.values(), "rank", "Pareto", "s/run", "MB"]
    cells = [
        [
            marked_label(row),
            *(_cell(row, metric) for metric in columns),
            "-" if row["unranked"] else f"{row['rank']['average']:.1f}",
            "yes" if row["pareto"] else "",
            f"{row['seconds']:.1f}",
            f"{row['memory_mb']:.0f}",
        ]
        for row in document["rows"]
    ]
    facts = [
        "Percent on the test nodes, mean ± std; below it the interval. "
        f"Seeds: {document['seeds']}. Splits: {document['splits']} ({document['split_rule']}).",
        *(document[rule] for rule in ("selection", "interval_rule", "rank_rule", "pareto_rule")),
        *([GROUP_MARK_MEANS] if any(row["group_at_prediction"] for row in document["rows"]) else []),
        *document["notes"],
        *(text for row in document["rows"] for text in _reasons(row, columns)),
    ]
    print_table(str(document["graph"]["source"]), heads, cells, caption="\n".join(facts))
    _print_differences(document)
    typer.echo(str(comparison.folder))


def _reasons(row: Mapping[str, Any], columns: Mapping[str, str]) -> list[str]:
    """Why a row lacks values, each reason once."""
    by_reason: dict[str, list[str]] = {}
    for metric, reason in row["undefined"].items():
        if metric in columns:
            by_reason.setdefault(reason, []).append(columns[metric])
    return [
        f"{row['label']}: {', '.join(names)} {'is' if len(names) == 1 else 'are'} {reason}."
        for reason, names in by_reason.items()
    ]


def _print_differences(document: Mapping[str, Any]) -> None:
    from fairview.study.comparison_display import marked_label

    columns = metric_columns()
    rows = [row for row in document["rows"] if row["difference"] is not None]
    if not rows:
        return
    cells = [[marked_label(row), *(_difference(row["difference"][metric]) for metric in columns)] for row in rows]
    caption = "Points, pairs with the same split and seed; below it the interval. Gaps: below 0 is fairer."
    print_table("Against the plain model with the same encoder", ["", *columns.values()], cells, caption=caption)


def _cell(row: Mapping[str, Any], metric: str) -> str:
    mean, std, low, high = (row[part][metric] for part in ("mean", "std", "low", "high"))
    if mean is None:
        return "undefined"
    text = f"{100 * mean:.1f}" + ("" if row["runs"] == 1 else f" ± {100 * std:.1f}")
    return text if low is None else f"{text}\n{100 * low:.1f} to {100 * high:.1f}"


def _difference(estimate: Mapping[str, float | None]) -> str:
    mean, low, high = (estimate[part] for part in ("mean", "low", "high"))
    if mean is None:
        return "undefined"
    return f"{100 * mean:+.1f}" + ("" if low is None or high is None else f"\n{100 * low:+.1f} to {100 * high:+.1f}")


def _changes(settings: Sequence[str]) -> dict[str, dict[str, Any]]:
    """What --set says, by method."""
    changes: dict[str, dict[str, Any]] = {}
    for text in settings:
        place, sign, value = text.partition("=")
        method, point, name = place.rpartition(".")
        if not (sign and point and method and name):
            raise InputError(f"--set {text}: expected METHOD.NAME=VALUE, for example --set fairvgnn.epochs=50.")
        changes.setdefault(method, {})[name] = options.setting_value(value)
    return changes
