"""`fairview train`: fit a method on a known dataset or on own tables, and leave a run folder behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairview.cli import options
from fairview.cli.attributes import print_attributes
from fairview.cli.folders import graph_to_train_on, sampled_adversary
from fairview.cli.interrupts import terminable
from fairview.cli.output import Format, FormatOption, metric_columns, percent, print_json, print_table, printable
from fairview.cli.processes import graph_for_report, one_of, place_among_processes
from fairview.cli.reports import NoReport, report_runs
from fairview.errors import InputError
from fairview.progress import Update, track_live

if TYPE_CHECKING:
    from fairview.data.graph import NodeGraph
    from fairview.methods.registry import MethodEntry
    from fairview.propagation.folder import Propagated
    from fairview.runs.run import EpochNotice
    from fairview.training.loop import Progress as TrainingProgress

Maker = Callable[[int], Any]
"""From a seed to an unfitted model."""


@options.with_table_options(required=False)
def train(
    tables: options.TableOptions,
    dataset: Annotated[str | None, typer.Argument(help="A known dataset; or give --nodes or --propagated.")] = None,
    method: options.MethodOption = "fairvgnn",
    encoder: options.EncoderOption = "gcn",
    preset: Annotated[
        str | None,
        typer.Option(help="Settings: paper, paper-table4, tuned, default [default: paper for known datasets]."),
    ] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="Change a parameter: --set epochs=50; repeat it.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of everything random.", min=0)] = 1,
    seeds: Annotated[int | None, typer.Option(help="Train seeds 1 to N instead.", min=1)] = None,
    ensemble: Annotated[
        int | None, typer.Option(help="Average the scores of N models that differ in their seed.", min=1, max=1000)
    ] = None,
    stability: Annotated[
        int | None,
        typer.Option(help="Re-run N times with perturbed last bits: what may another machine give?", min=1, max=1000),
    ] = None,
    out: Annotated[Path, typer.Option(help="The run folder to write.")] = Path("runs/latest"),
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an unfinished run.")] = False,
    force: options.Force = False,
    group_at_prediction: options.GroupAtPrediction = False,
    no_report: NoReport = False,
    propagated: options.PropagatedFolder = None,
    rows: options.LoadedRows = None,
    data_dir: options.DataDir = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Train a method and write a run folder: model, metrics, history, predictions, and how to make them again.

    Then graph and model are audited beside a plain model, and `report.html` tells it all in one page; --no-report
    leaves that out.

    Without --split or --split-seed, own tables get a stratified split drawn with seed 0. --method also takes a class of
    your own as package.module:Class, and --encoder a function as package.module:factory, which gets the number of
    channels and returns a torch module with forward(x, edge_index).

    Examples:

        fairview train german --out runs/german

        fairview train german --encoder gin --seeds 5 --out runs/german-gin --format json

        fairview train --nodes people.csv --edges links.csv --label approved --sensitive gender --out runs/own

        fairview train --nodes people.csv --edges links.csv --edge-weight hours --label ok --sensitive sex --out runs/a

        fairview train german --set epochs=50 --set clamp_threshold=0.5 --out runs/short

        fairview train german --set link_kinds=bands --out runs/german-bands

        fairview train german --set link_kinds=groups --group-at-prediction --out runs/german-groups

        fairview train german --ensemble 10 --out runs/german-10

        fairview train german --stability 5 --out runs/german-stability

        fairview train --propagated propagated --out runs/large

        torchrun --standalone --nproc-per-node 4 -m fairview train --propagated propagated --out runs/large

        fairview train german --method mypackage.mymodule:MyMethod --out runs/mine
    """
    from fairview.data.few import few_nodes
    from fairview.data.splits import with_default_split
    from fairview.locks import folder_lock
    from fairview.methods.registry import resolve_method
    from fairview.runs.run import train_run
    from fairview.runs.several_processes import follow_run

    _check_out(out, seeds, options.inputs_of(tables), force)
    options.import_from_here(method, encoder)
    entry = resolve_method(method)
    allowed = group_at_prediction and not entry.group_at_prediction  # those that always need the groups have no setting
    setting = [*(setting or []), *(["group_at_prediction=true"] if allowed else [])]
    place = place_among_processes(
        propagated,
        lambda: not (ensemble or stability) and _divisible(entry, encoder, preset, dataset, setting),
        entry.words,
    )
    with one_of(place, out):
        graph, whole = graph_to_train_on(dataset, data_dir, tables, propagated, rows, place)
        changes = [*setting, *(sampled_adversary(entry, setting, graph) if whole else [])]
        make = _maker(entry, encoder, preset, dataset, changes, graph)
        if place is not None and not place.leads:
            follow_run([make(number) for number in ([seed] if seeds is None else range(1, seeds + 1))], graph)
            return
        words = entry.words
        if ensemble is not None:
            entry, make = _ensembles(entry, make, ensemble)
            words = f"ensemble of {ensemble} × {words}"
        for warning in few_nodes(with_default_split(graph)[0]):
            typer.echo(f"warning: {printable(warning)}", err=True)
        kept = "an ensemble is kept when all its members are trained" if ensemble else "what is finished is kept"
        ending = terminable(f"{kept}; go on with --resume --out {out}") if place is None else nullcontext()
        with ending, folder_lock(out):
            if seeds is None:
                with track_live(f"{words} on {graph.provenance.source}") as update:
                    result = train_run(
                        make(seed), graph, out, resume=resume, overwrite=force, notice=_live(update), whole=whole
                    )
            else:
                result = _several(make, graph, out, seeds, resume, force, whole)
            folders = {seed: out} if seeds is None else {n: out / f"seed-{n}" for n in range(1, seeds + 1)}
            load = _loader(entry, encoder)
            if stability is not None and not result["interrupted"]:
                _add_stability(result, make, graph, folders, load, stability)
            wanted = not no_report and not result["interrupted"]
            audited = graph_for_report(graph, whole, rows) if wanted else None
            if audited is not None:
                together = None if seeds is None else out
                report = report_runs(
                    list(folders.values()), audited, load, together=together, overwrite=force, whole=whole
                )
                result |= {} if report is None else {"report": str(report)}
    if format is Format.JSON:
        print_json(result)
    else:
        _print_result(words, graph, result, several=seeds is not None)
    if result.get("interrupted"):
        typer.echo(f"interrupted: the best state so far is saved; go on with --resume --out {out}", err=True)
        raise typer.Exit(130)


def _check_out(out: Path, seeds: int | None, inputs: list[Path], force: bool) -> None:
    """Whether the run folders may be written; a finished run in one of them is not written again."""
    from fairview.outputs import check_folder
    from fairview.runs.finished import OUTPUTS

    folders = [out] if seeds is None else [out / f"seed-{number}" for number in range(1, seeds + 1)]
    for folder in folders:
        check_folder(folder, OUTPUTS, inputs=inputs, overwrite=force or (folder / "run.json").exists())
    if seeds is not None:
        check_folder(out, ("report.html", "files.json"), inputs=inputs, overwrite=force)


def _divisible(entry: MethodEntry, encoder: str, preset: str | None, dataset: str | None, changes: list[str]) -> bool:
    """Whether several processes can train it together."""
    from fairview.methods.network_method import NetworkMethod

    if ":" in encoder:
        return False
    model = _maker(entry, encoder, preset, dataset, changes, None)(1)
    return isinstance(model, NetworkMethod) and model.divisible()


def _several(
    make: Maker, graph: NodeGraph, out: Path, seeds: int, resume: bool, force: bool, whole: Propagated | None
) -> dict[str, Any]:
    from fairview.metrics.intervals import FEW
    from fairview.progress import track
    from fairview.runs.run import summarise_seeds
    from fairview.runs.seeds import train_seeds

    with track(f"{seeds} seeds", total=seeds) as advance:
        runs = train_seeds(
            make,
            graph,
            out,
            seeds=range(1, seeds + 1),
            resume=resume,
            overwrite=force,
            done=lambda _: advance(1),
            whole=whole,
        )
    seconds = {"train": sum(run["seconds"].get("train", 0.0) for run in runs)}
    notes = list(dict.fromkeys(note for run in runs for note in run["notes"]))
    if 1 < seeds < FEW:
        notes.append(f"± rests on {seeds} seeds only: use {FEW} or more.")
    facts = {"group_at_prediction": runs[0]["group_at_prediction"], "notes": notes}
    return {"run": str(out), "metrics": summarise_seeds(runs)} | facts | {"seconds": seconds, "interrupted": False}


def _maker(
    entry: MethodEntry,
    encoder: str,
    preset: str | None,
    dataset: str | None,
    changes: list[str],
    graph: NodeGraph | None,
) -> Maker:
    """A function from seeds to models; wrong settings are found now, not after the first run."""
    from fairview.methods.encoder_spec import encoder_entry, unfitted
    from fairview.methods.presets import default_preset, preset_settings

    settings: dict[str, Any] = {}
    encoder_entry(encoder)  # a wrong name is said before anything else
    if preset is not None and not entry.has_presets:
        raise InputError(f"--preset {preset}: {entry.words} has no presets.")
    if entry.has_presets and ":" not in encoder:
        settings = preset_settings(preset or default_preset(dataset, encoder), dataset, encoder)
    for change in changes:
        name, sign, text = change.partition("=")
        if not sign:
            raise InputError(f"--set {change}: expected NAME=VALUE, for example --set epochs=50.")
        if name in ("encoder", "seed"):
            raise InputError(f"--set {change}: use --{name}.")
        settings[name] = options.setting_value(text)

    def make(seed: int) -> Any:
        return unfitted(entry.method, settings, encoder=encoder, seed=seed, graph=graph)

    make(1)
    return make


def _ensembles(entry: MethodEntry, make: Maker, members: int) -> tuple[MethodEntry, Maker]:
    """The entry of ensembles, and a function from seeds to ensembles of what `make` makes."""
    from fairview.methods.ensemble import Ensemble
    from fairview.methods.registry import METHODS
    from fairview.methods.settings import check_settings

    if entry.name not in METHODS:
        raise InputError(f"--ensemble {members}: {entry.name} is not registered, so that it could not be saved.")

    def make_ensemble(seed: int) -> Any:
        settings = Ensemble(make(seed), members=members, seed=seed).plain_params()
        check_settings(Ensemble, settings)
        return Ensemble(**settings)

    make_ensemble(1)
    return METHODS["ensemble"], make_ensemble


def _add_stability(
    result: dict[str, Any],
    make: Maker,
    graph: NodeGraph,
    folders: dict[int, Path],
    load: Callable[[Path], Any],
    reruns: int,
) -> None:
    """Measured for each run and written beside it; said in the result's notes."""
    from fairview.progress import track
    from fairview.runs.stability import stability_of_run

    measured = {}
    with track("Re-runs with perturbed last bits", total=reruns * len(folders)) as advance:
        for seed, folder in folders.items():
            measured[seed] = stability_of_run(folder, make(seed), load(folder), graph, reruns=reruns, done=advance)
    documents = {str(seed): found.model_dump(mode="json") for seed, found in measured.items()}
    alone = [str(folder) for folder in folders.values()] == [result["run"]]
    result["stability"] = next(iter(documents.values())) if alone else documents
    result["notes"] = [
        *result["notes"],
        *(f"{'' if alone else f'Seed {seed}: '}{found.sentence}" for seed, found in measured.items()),
    ]


def _loader(entry: MethodEntry, encoder: str) -> Callable[[Path], Any]:
    """A function that reads the model of a run folder back; code of the user's own is handed over."""
    from fairview.methods.model_files import load_model

    return lambda folder: load_model(folder, method=entry.method, encoder=encoder if ":" in encoder else None)


def _live(update: Update) -> EpochNotice:
    """Beside the bar: the metrics of the last epoch, and which was the best so far."""

    def notice(progress: TrainingProgress, epochs: int) -> None:
        val = progress.history[-1]["val"]
        live = f"val AUC {percent(val['auc'])}  SP gap {percent(val['statistical_parity_gap'])}"
        update(progress.epochs, epochs, f"{live}  best epoch {progress.best_epoch}")

    return notice


def _print_result(words: str, graph: NodeGraph, result: dict[str, Any], *, several: bool) -> None:
    from fairview.data.splits import with_default_split
    from fairview.methods.constant import Constant
    from fairview.methods.evaluate import evaluate
    from fairview.runs.run import sample_notes

    graph, _ = with_default_split(graph)
    columns = metric_columns()
    rows = []
    for split, metrics in result["metrics"].items():
        cells = [_mean_and_std(metrics, name) if several else percent(metrics.get(name)) for name in columns]
        rows.append([split, words, *cells])
        if not sample_notes(graph):  # the metrics are those of more nodes than the graph holds
            majority = evaluate(Constant().fit(graph), graph, split=split)
            rows.append([split, "majority answer", *(percent(majority[name]) for name in columns)])
    need = ["The model needs each node's sensitive group at prediction."] if result["group_at_prediction"] else []
    caption = "\n".join(["Percent. Gaps: 0 means equal.", *need, *result["notes"]])
    print_table(str(graph.provenance.source), ["split", "method", *columns.values()], rows, caption=caption)
    print_attributes(result["metrics"], _mean_and_std if several else None)
    epoch = f"; epoch {result['best_epoch']} of {result['epochs']} kept" if result.get("best_epoch") else ""
    typer.echo(f"{result['run']}  ({result['seconds'].get('train', 0.0):.1f} s of training{epoch})")
    if "report" in result:
        typer.echo(f"report: {result['report']}")


def _mean_and_std(metrics: Mapping[str, Any], name: str) -> str:
    mean, std = metrics["mean"].get(name), metrics["std"].get(name)
    return "undefined" if mean is None else f"{100 * mean:.2f} ± {100 * std:.2f}"
