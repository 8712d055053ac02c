"""Several seeds of the same run: side by side where one thread serves each, one after the other where not.

A run depends on its seed and its thread count alone, so both orders give the same folders.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from fairview.data.graph import NodeGraph
from fairview.data.sharded_graph import ShardedGraph
from fairview.errors import FairviewError
from fairview.locks import folder_lock
from fairview.machine import available_cores
from fairview.methods.ensemble import Ensemble
from fairview.methods.estimator import Estimator
from fairview.methods.network_method import NetworkMethod
from fairview.propagation.folder import Propagated
from fairview.runs.run import EpochNotice, train_run
from fairview.workers import Death, spread

Task = tuple[int, Estimator, Path, dict[str, Any]]


def train_seeds(
    make: Callable[[int], Estimator],
    graph: NodeGraph,
    folder: Path,
    *,
    seeds: range,
    resume: bool = False,
    overwrite: bool = False,
    notice: EpochNotice | None = None,
    done: Callable[[int], None] | None = None,
    whole: Propagated | None = None,
) -> list[dict[str, Any]]:
    """Train `make(seed)` for each seed into `folder/seed-N`.

    Args:
        make: the model for a seed.
        graph: to train on.
        folder: of all runs.
        seeds: which.
        resume: skip what is finished, go on with what is not.
        overwrite: replace files of the folders that fairview did not write.
        notice: for progress within a run, where runs come one after the other.
        done: called with a seed when its run is finished.
        whole: the propagated folder that the graph was loaded from, as in `train_run`.

    Raises:
        KeyboardInterrupt: after Ctrl-C. The runs that were under way keep their best state and can be resumed.
    """
    settings: dict[str, Any] = {"resume": resume, "overwrite": overwrite, "whole": whole}
    results: dict[int, dict[str, Any]] = {}
    with folder_lock(folder):
        models = {seed: make(seed) for seed in seeds}
        homes = {seed: folder / f"seed-{seed}" for seed in models}
        workers = min(available_cores(), len(models))
        if workers < 2 or not _side_by_side(models.values(), graph):
            for seed, model in models.items():
                results[seed] = train_run(model, graph, homes[seed], notice=notice, **settings)
                if results[seed]["interrupted"]:
                    raise KeyboardInterrupt
                if done is not None:
                    done(seed)
            return list(results.values())
        tasks = [(seed, model, homes[seed], settings) for seed, model in models.items()]
        with closing(spread(tasks, _train, key=lambda _: "graph", shared=lambda _: graph, workers=workers)) as answers:
            for (seed, *_), answer in answers:
                if isinstance(answer, Death):
                    raise FairviewError(f"seed {seed}: {answer.reason}.")
                if isinstance(answer, FairviewError):
                    raise answer
                results[seed] = answer
                if done is not None:
                    done(seed)
    return [results[seed] for seed in models]


def _side_by_side(models: Iterable[Estimator], graph: NodeGraph) -> bool:
    """Whether each run needs one thread; in a run of several processes the others train along."""
    return not isinstance(graph, ShardedGraph) and all(
        isinstance(model, NetworkMethod | Ensemble) and model.thread_count(graph) == 1 for model in models
    )


def _train(task: Task, graph: NodeGraph) -> dict[str, Any] | FairviewError:
    """In a worker. When the parent ends it, after Ctrl-C or an error, it keeps its best state before it goes."""
    _, model, folder, settings = task
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        result = train_run(model, graph, folder, **settings)
    except FairviewError as error:
        return error
    finally:
        signal.signal(signal.SIGTERM, before)  # a worker that waits for work has nothing to keep
    if result["interrupted"]:
        sys.exit()
    return result
