"""What does a training run leave behind? A folder with the model, its numbers, its history and how to make it again.

run.json            resolved settings, seed, versions, sha256 of the data and of every file of the run
metrics.json        metrics on val and test, with intervals
history.jsonl       one line per epoch
model.safetensors   with model.json: the model (no timestamps)
predictions.csv     id, score, prediction of every node
checkpoint.safetensors   while it is unfinished
"""

from __future__ import annotations

import hashlib
import json
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from fairview._version import __version__
from fairview.atomic import write_atomic, write_json
from fairview.csv_cells import csv_cell, spreadsheet_safe_ids
from fairview.data.few import few_nodes
from fairview.data.graph import NodeGraph
from fairview.data.sharded_graph import ShardedGraph
from fairview.data.splits import with_default_split
from fairview.data.stored_links import StoredLinks
from fairview.errors import InputError, option
from fairview.locks import folder_lock
from fairview.machine import describe_machine
from fairview.manifest import DERIVED, with_hashes
from fairview.methods.contract import Method
from fairview.methods.encoder_spec import module_sha256
from fairview.methods.ensemble import Ensemble
from fairview.methods.estimator import Estimator
from fairview.methods.evaluate import evaluate
from fairview.methods.folder_evaluation import evaluate_folder
from fairview.methods.model_files import check_saveable, write_model
from fairview.methods.network_method import NetworkMethod
from fairview.methods.registry import name_of, needs_group, settings_of, spec_of
from fairview.outputs import check_folder
from fairview.propagation.folder import Propagated
from fairview.propagation.sampling import labelled_rows
from fairview.runs.finished import FILES, OUTPUTS, finished_run
from fairview.runs.several_processes import Begin, leading
from fairview.training.checkpoint import load_checkpoint, save_checkpoint
from fairview.training.loop import Progress
from fairview.training.processes import GroupEndedError
from fairview.training.state import State

EpochNotice = Callable[[Progress, int], None]
"""Called after each epoch with the progress and the number of epochs in all."""

VERSION = 2
"""Of run.json and metrics.json; those of version 0.1.0 of fairview say none."""

CHECKPOINT_EVERY = 10
"""Epochs between checkpoints; an interrupted run writes one at once."""

_OF_NETWORKS = (NetworkMethod, Ensemble)


def train_run(
    model: Estimator,
    graph: NodeGraph,
    folder: str | Path,
    *,
    resume: bool = False,
    overwrite: bool = False,
    notice: EpochNotice | None = None,
    whole: Propagated | None = None,
) -> dict[str, Any]:
    """Fit a model and write its run folder.

    Args:
        model: with its parameters set.
        graph: with splits.
        folder: made if need be; a finished run in it is not overwritten unless `resume` finds it to be this very one.
        resume: go on from the folder's checkpoint, if there is one.
        overwrite: replace files of the folder that fairview did not write; never a run or a file that was read.
        notice: for progress bars.
        whole: the propagated folder that the graph was loaded from. The metrics are those of all its labelled nodes.

    Returns:
        What `fairview train` prints as JSON: run, metrics by split, seconds.
    """
    folder = Path(folder)
    check_saveable(model)
    graph, notes = with_default_split(graph)
    with leading(graph) as begin, folder_lock(folder):
        said = (*notes, *few_nodes(graph), *sample_notes(graph))
        return _train(
            model, graph, said, folder, resume=resume, overwrite=overwrite, notice=notice, whole=whole, begin=begin
        )


def sample_notes(graph: NodeGraph) -> tuple[str, ...]:
    """What to know about a run on a sample of a propagated folder."""
    links = graph.adjacency
    if not isinstance(links, StoredLinks) or graph.num_nodes == links.nodes:
        return ()
    return (
        f"Trained on {graph.num_nodes:,} of the folder's {links.nodes:,} nodes; predictions.csv holds these. The "
        "metrics are those of all labelled nodes.",
    )


def _train(
    model: Estimator,
    graph: NodeGraph,
    notes: Sequence[str],
    folder: Path,
    *,
    resume: bool,
    overwrite: bool,
    notice: EpochNotice | None,
    whole: Propagated | None,
    begin: Begin,
) -> dict[str, Any]:
    identity = run_identity(model, graph)
    if (folder / "run.json").exists():
        return finished_run(folder, model, identity, resume=resume)
    check_folder(folder, OUTPUTS, inputs=graph.provenance.paths, overwrite=overwrite)
    checkpoint = folder / "checkpoint.safetensors"
    if checkpoint.exists() and not resume:
        go_on = option("resume", True)
        raise InputError(f"{folder}: holds an unfinished run. Go on with {go_on}, or use another {option('folder')}.")
    start = time.perf_counter()
    if isinstance(model, NetworkMethod):
        earlier = load_checkpoint(checkpoint, identity=identity) if checkpoint.exists() else None
        reached: list[tuple[Progress, State, int]] = []  # the end of the last whole epoch

        def watch(progress: Progress, network: Any) -> None:
            reached[:] = [(progress, network.state(), progress.epochs)]
            if progress.epochs % CHECKPOINT_EVERY == 0 and progress.epochs < model.epochs:
                save_checkpoint(checkpoint, progress, reached[0][1], identity=identity)
            if notice is not None:
                notice(progress, model.epochs)

        def keep() -> None:
            if reached and reached[0][0].epochs == reached[0][2]:
                save_checkpoint(checkpoint, *reached[0][:2], identity=identity)

        begin(identity, checkpoint)
        try:
            model.fit(graph, watch=watch, resume=earlier)
            if model.interrupted_ and isinstance(graph, ShardedGraph):
                raise GroupEndedError("this process was asked to end.")
        except GroupEndedError:
            try:
                keep()
            except KeyboardInterrupt:  # torchrun ends the others of a group that has lost one: once
                keep()
            raise
        if model.interrupted_:
            keep()
    else:
        model.fit(graph)
    model.notes_ = (*notes, *getattr(model, "notes_", ()))  # type: ignore[attr-defined]
    trained = time.perf_counter()
    document = write_run(model, graph, folder, identity, overwrite=overwrite, whole=whole)
    if not getattr(model, "interrupted_", False):
        checkpoint.unlink(missing_ok=True)
    document["seconds"] = {"train": trained - start, "evaluate": time.perf_counter() - trained}
    document["interrupted"] = bool(getattr(model, "interrupted_", False))
    return document


def write_run(
    model: Estimator,
    graph: NodeGraph,
    folder: Path,
    identity: str,
    *,
    overwrite: bool = False,
    whole: Propagated | None = None,
) -> dict[str, Any]:
    """Everything but the checkpoint; `run.json` last, because it says that the rest is whole."""
    check_folder(folder, OUTPUTS, inputs=graph.provenance.paths, overwrite=overwrite)
    graph, _ = with_default_split(graph)
    for stale in ("run.json", *DERIVED):  # of an earlier state
        (folder / stale).unlink(missing_ok=True)
    metrics = run_metrics(model, graph, whole)
    write_model(model, folder)
    write_json(folder / "metrics.json", {"kind": "metrics", "version": VERSION} | metrics)
    write_atomic(folder / "history.jsonl", "".join(json.dumps(row) + "\n" for row in getattr(model, "history_", [])))
    write_atomic(folder / "predictions.csv", predictions(model, graph))
    record = describe_run(model, graph, identity, whole=whole)
    if not getattr(model, "interrupted_", False):
        write_atomic(folder / "run.json", with_hashes(record, folder, FILES))
    facts = {name: record[name] for name in ("group_at_prediction", "best_epoch", "epochs", "notes")}
    return {"run": str(folder), "metrics": metrics} | facts


def run_metrics(
    model: Estimator, graph: NodeGraph, whole: Propagated | None = None, *, intervals: bool = True
) -> dict[str, dict[str, Any]]:
    """The metrics on val and test; of a graph that is a sample, those of the whole folder."""
    splits = [split for split in ("val", "test") if split in graph.splits]
    if whole is None or (whole.num_nodes == graph.num_nodes and not isinstance(graph, ShardedGraph)):
        return {split: evaluate(model, graph, split=split, intervals=intervals).to_dict() for split in splits}
    labelled = labelled_rows(whole)
    return {
        split: evaluate_folder(model, whole, split=split, intervals=intervals, labelled=labelled).to_dict()
        for split in splits
        if split in labelled.names
    }


def describe_run(
    model: Estimator, graph: NodeGraph, identity: str, *, whole: Propagated | None = None
) -> dict[str, Any]:
    """How to make the run again."""
    parameters = plain_parameters(model)
    packages = ("numpy", "scipy", "torch", "torch_geometric", "scikit-learn", "polars")
    return {
        "kind": "run",
        "version": VERSION,
        "method": name_of(model),
        "group_at_prediction": needs_group(model),
        "parameters": parameters,
        "seed": parameters.get("seed"),
        "identity": identity,
        "best_epoch": getattr(model, "best_epoch_", None),
        "epochs": len(getattr(model, "history_", [])),
        "selection_left_out": getattr(model, "selection_notes_", []),
        "notes": list(getattr(model, "notes_", ())),
        "threshold": model.threshold_,
        "keep_probability": getattr(model, "keep_probability_", None) if isinstance(model, _OF_NETWORKS) else None,
        **_kinds_facts(model),
        "threads": model.thread_count(graph) if isinstance(model, _OF_NETWORKS) else None,
        "data": {
            "source": graph.provenance.source,
            "sha256": graph.sha256,
            "files": dict(graph.provenance.sha256),
            "notes": list(graph.provenance.notes),
        }
        | _folder_facts(graph, whole),
        "versions": {"fairview": __version__, "python": platform.python_version()}
        | {name: metadata.version(name) for name in packages},
        "platform": platform.platform(),
        "machine": {name: describe_machine()[name] for name in ("processor", "cpu_capability")},
    }


def _kinds_facts(model: Estimator) -> dict[str, Any]:
    """What became of each kind of links, of a model that weighs them."""
    weights = getattr(model, "link_weight_", None) if isinstance(model, _OF_NETWORKS) else None
    if not weights:
        return {}
    kept = model.link_keep_probability_  # type: ignore[attr-defined]
    return {"link_kinds": {name: {"weight": w, "keep_probability": kept[name]} for name, w in weights.items()}}


def _folder_facts(graph: NodeGraph, whole: Propagated | None) -> dict[str, Any]:
    """Of a graph that was loaded from a propagated folder: which one, how much of it, and whose metrics are told."""
    links = graph.adjacency
    if not isinstance(links, StoredLinks):
        return {}
    metrics_of = "loaded nodes" if whole is None else "all nodes"
    sizes = {"nodes": links.nodes, "rows": graph.num_nodes}
    shared = {"processes": graph.processes} if isinstance(graph, ShardedGraph) else {}
    return {"propagated": {"sha256": links.folder_sha256} | sizes | {"metrics_of": metrics_of} | shared}


def plain_parameters(model: Estimator) -> dict[str, Any]:
    """A model's parameters for JSON; a module of the user's own is told by its class and a hash of its weights."""
    return {
        name: {"module": spec_of(type(v)), "sha256": module_sha256(v)} if isinstance(v, nn.Module) else v
        for name, v in settings_of(model).items()
    }


def run_identity(model: Estimator, graph: NodeGraph) -> str:
    """A hash of method, parameters and data: what must be equal for a run to be the same run."""
    text = json.dumps([name_of(model), plain_parameters(model), graph.sha256], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def summarise_seeds(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Mean and standard deviation (ddof 0) over runs, by split; a metric that is undefined in one run stays so."""
    by_split: dict[str, Any] = {}
    for split in runs[0]["metrics"]:
        rows = [run["metrics"][split] for run in runs]
        by_split[split] = _mean_and_std(rows) | {"runs": rows}
        if attributes := rows[0].get("attributes"):
            by_split[split]["attributes"] = {
                name: _mean_and_std([row["attributes"][name] for row in rows]) for name in attributes
            }
    return by_split


def _mean_and_std(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    names = [name for name, value in rows[0].items() if value is None or isinstance(value, float)]
    values = {name: [row[name] for row in rows] for name in names}
    return {
        "mean": {name: None if None in of_runs else float(np.mean(of_runs)) for name, of_runs in values.items()},
        "std": {name: None if None in of_runs else float(np.std(of_runs)) for name, of_runs in values.items()},
    }


def predictions(model: Method, graph: NodeGraph, *, split: str = "all", spreadsheet_safe: bool = False) -> str:
    """CSV of id, score and prediction of the nodes of a split; ids are exact, unless a spreadsheet shall open it."""
    threshold, lines = getattr(model, "threshold_", 0.5), [PREDICTIONS_HEADER]
    for piece in graph.pieces() if isinstance(graph, ShardedGraph) else [graph]:
        ids = spreadsheet_safe_ids(piece.ids) if spreadsheet_safe else piece.ids
        scores = np.asarray(model.predict_proba(piece))[:, 1]
        rows = zip(ids, scores.tolist(), (scores > threshold).tolist(), strict=True)
        lines += prediction_lines(compress(rows, piece.split(split)))
    return "".join(lines)


PREDICTIONS_HEADER = "id,score,prediction\n"


def prediction_lines(rows: Iterable[tuple[str, float, bool]]) -> Iterator[str]:
    """The lines below it, from ids, scores and answers."""
    return (f"{csv_cell(name)},{score!r},{int(answer)}\n" for name, score, answer in rows)
