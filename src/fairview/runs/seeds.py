"""Several seeds of the same run: side by side where one thread serves each, one after the other where not.

A run's bits depend on its seed and its thread count, so both orders give the same folders.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

from fairview.data.graph import NodeGraph
from fairview.methods.estimator import Estimator
from fairview.methods.network import NetworkMethod
from fairview.runs.run import Notice, train_run
from fairview.training.loop import Progress


def train_seeds(
    make: Callable[[int], Estimator],
    graph: NodeGraph,
    folder: Path,
    *,
    seeds: range,
    resume: bool = False,
    notice: Notice | None = None,
    done: Callable[[int], None] | None = None,
) -> list[dict[str, Any]]:
    """Train `make(seed)` for each seed into `folder/seed-N`.

    Args:
        make: the model for a seed.
        graph: to train on.
        folder: of all runs.
        seeds: which.
        resume: skip what is finished, go on with what is not.
        notice: for progress within a run, where runs come one after the other.
        done: called with a seed when its run is finished.

    Raises:
        KeyboardInterrupt: after Ctrl-C. The runs that were under way keep their best state and can be resumed.
    """
    models = {seed: make(seed) for seed in seeds}
    single = all(isinstance(m, NetworkMethod) and m.thread_count(graph) == 1 for m in models.values())
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    workers = min(cores, len(seeds))
    found: dict[int, dict[str, Any]] = {}
    if not single or workers < 2:
        for seed, model in models.items():
            found[seed] = train_run(model, graph, folder / f"seed-{seed}", resume=resume, notice=notice)
            if found[seed]["interrupted"]:
                raise KeyboardInterrupt
            if done is not None:
                done(seed)
        return [found[seed] for seed in seeds]
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(stop,)) as pool:
        waiting = {
            pool.submit(_one, model, graph, str(folder / f"seed-{seed}"), resume): seed
            for seed, model in models.items()
        }
        try:
            for future in as_completed(waiting):
                found[waiting[future]] = future.result()
                if done is not None:
                    done(waiting[future])
        except BaseException:  # wrong input, or Ctrl-C: running seeds keep their best state, waiting ones don't begin
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    return [found[seed] for seed in seeds]


# --- in a worker ------------------------------------------------------------------------------------------------------

_stop: Event | None = None


def _begin(stop: Event) -> None:
    """Ctrl-C reaches all processes of a terminal; only the first one shall act on it, and then tell the others."""
    global _stop
    _stop = stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _one(model: Estimator, graph: NodeGraph, folder: str, resume: bool) -> dict[str, Any]:
    return train_run(model, graph, folder, resume=resume, notice=_stop_if_told)


def _stop_if_told(progress: Progress, epochs: int) -> None:  # noqa: ARG001 - a notice is given both
    if _stop is not None and _stop.is_set():
        raise KeyboardInterrupt
