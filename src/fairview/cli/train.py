"""`fairview train`: fit a method on a known dataset or on own tables, and leave a run folder behind."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from fairview.cli import options
from fairview.cli.graphs import chosen_graph
from fairview.cli.interrupts import terminable
from fairview.cli.output import Format, FormatOption, percent, print_json, print_table
from fairview.cli.reports import NoReport, report_runs
from fairview.errors import InputError

if TYPE_CHECKING:
    from fairview.data.graph import NodeGraph
    from fairview.training.loop import Progress as TrainingProgress

MethodName = Literal[
    "fairvgnn",
    "vanilla",
    "nifty",
    "edits",
    "fairgnn",
    "masking",
    "gradient-boosting",
    "logistic-regression",
    "constant",
]
"""The names of `fairview.methods.registry`, without importing it: help must be quick."""

_SHOWN = ("auc", "f1", "accuracy", "balanced_accuracy", "statistical_parity_gap", "equal_opportunity_gap")


@options.with_table_options(required=False)
def train(
    tables: options.TableOptions,
    dataset: Annotated[str | None, typer.Argument(help="A known dataset; or give --nodes.")] = None,
    method: Annotated[MethodName, typer.Option(help="What to train.")] = "fairvgnn",
    encoder: Annotated[Literal["gcn", "gin", "sage", "mlp"], typer.Option(help="The graph neural network.")] = "gcn",
    preset: Annotated[
        str | None,
        typer.Option(help="Settings: paper, paper-table4, tuned, default [default: paper for known datasets]."),
    ] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="Change a parameter: --set epochs=50; repeat it.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of everything random.", min=0)] = 1,
    seeds: Annotated[int | None, typer.Option(help="Train seeds 1 to N instead.", min=1)] = None,
    out: Annotated[Path, typer.Option(help="The run folder to write.")] = Path("runs/latest"),
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an unfinished run.")] = False,
    no_report: NoReport = False,
    data_dir: options.DataDir = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Train a method and write a run folder: model, metrics, history, predictions, and how to make them again.

    Then graph and model are audited beside a plain model, and `report.html` tells it all in one page; --no-report
    leaves that out.

    Without --split or --split-seed, own tables get a stratified split drawn with seed 0.

    Examples:

        fairview train german --out runs/german

        fairview train german --encoder gin --seeds 5 --out runs/german-gin --format json

        fairview train --nodes people.csv --edges links.csv --label approved --sensitive gender --out runs/own

        fairview train german --set epochs=50 --set clamp_threshold=0.5 --out runs/short
    """
    from fairview.runs.run import summarise_seeds, train_run
    from fairview.runs.seeds import train_seeds

    graph = chosen_graph(dataset, data_dir, tables)
    make = _maker(method, encoder, preset, dataset, setting or [])
    with terminable():
        if seeds is None:
            with _bar(f"{method} on {graph.provenance.source}") as notice:
                result = train_run(make(seed), graph, out, resume=resume, notice=notice)
        else:
            result = _several(make, graph, out, seeds, resume, train_seeds, summarise_seeds)
        if not no_report and not result["interrupted"]:
            folders = [out] if seeds is None else [out / f"seed-{number}" for number in range(1, seeds + 1)]
            result["report"] = str(report_runs(folders, graph, together=None if seeds is None else out))
    if format is Format.JSON:
        print_json(result)
    else:
        _print_result(method, graph, result, several=seeds is not None)
    if result.get("interrupted"):
        typer.echo(f"interrupted: the best state so far is saved; go on with --resume --out {out}", err=True)
        raise typer.Exit(130)


def _several(make: Any, graph: NodeGraph, out: Path, seeds: int, resume: bool, train_seeds: Any, mean: Any) -> Any:
    from fairview.progress import track

    try:
        with track(f"{seeds} seeds", total=seeds) as advance:
            runs = train_seeds(make, graph, out, seeds=range(1, seeds + 1), resume=resume, done=lambda _: advance(1))
    except KeyboardInterrupt:
        typer.echo(f"interrupted: what is finished is kept; go on with --resume --out {out}", err=True)
        raise typer.Exit(130) from None
    seconds = {"train": sum(run["seconds"].get("train", 0.0) for run in runs)}
    return {"run": str(out), "metrics": mean(runs), "seconds": seconds, "interrupted": False}


def _maker(method: str, encoder: str, preset: str | None, dataset: str | None, changes: list[str]) -> Any:
    """A function from seeds to models; wrong settings are found now, not after the first run."""
    from fairview.methods.presets import preset_settings
    from fairview.methods.registry import METHODS
    from fairview.methods.settings import check_settings, settings_model

    kind = METHODS[method].method
    known = settings_model(kind).model_fields
    settings: dict[str, Any] = {"encoder": encoder} if "encoder" in known else {}
    if method == "fairvgnn":
        chosen = preset or ("default" if dataset is None or encoder == "mlp" else "paper")
        settings = preset_settings(chosen, dataset, encoder)
    elif preset is not None:
        raise InputError(f"--preset {preset}: presets are for the method fairvgnn.")
    for change in changes:
        name, sign, text = change.partition("=")
        if not sign:
            raise InputError(f"--set {change}: expected NAME=VALUE, for example --set epochs=50.")
        if name in ("encoder", "seed"):
            raise InputError(f"--set {change}: use --{name}.")
        settings[name] = options.setting_value(text)
    check_settings(kind, settings)

    def make(seed: int) -> Any:
        return kind(**settings | ({"seed": seed} if "seed" in known else {}))

    return make


@contextmanager
def _bar(description: str) -> Iterator[Any]:
    """A progress bar with the live metrics, on a terminal's stderr only."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[live]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=None, live="")

        def notice(progress: TrainingProgress, epochs: int) -> None:
            val = progress.history[-1]["val"]
            shown = f"val AUC {percent(val['auc'])}  SP gap {percent(val['statistical_parity_gap'])}"
            live = f"{shown}  best epoch {progress.best_epoch}"
            bar.update(task, completed=progress.epochs, total=epochs, live=live)

        yield notice


def _print_result(method: str, graph: NodeGraph, result: dict[str, Any], *, several: bool) -> None:
    from fairview.methods.constant import Constant
    from fairview.methods.evaluate import evaluate

    rows = []
    for split, found in result["metrics"].items():
        constant = evaluate(Constant().fit(graph), graph, split=split)
        if several:
            cells = [_mean_and_std(found, name) for name in _SHOWN]
        else:
            cells = [percent(found[name]) for name in _SHOWN]
        rows.append([split, method, *cells])
        rows.append([split, "constant", *(percent(constant[name]) for name in _SHOWN)])
    columns = ["split", "method", "AUC", "F1", "ACC", "bal. ACC", "SP gap", "EO gap"]
    print_table(str(graph.provenance.source), columns, rows, caption="Percent. Gaps: 0 means equal.")
    typer.echo(f"{result['run']}  ({result['seconds'].get('train', 0.0):.1f} s of training)")
    if "report" in result:
        typer.echo(f"report: {result['report']}")


def _mean_and_std(found: dict[str, Any], name: str) -> str:
    mean, std = found["mean"][name], found["std"][name]
    return "undefined" if mean is None else f"{100 * mean:.2f} ± {100 * std:.2f}"
