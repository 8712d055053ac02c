"""How long does a million-node synthetic graph take, in units of NumPy drawing and sorting as many random pairs?

Run with ``python -m benchmarks.synthetic``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import numpy as np

from fairview.data.synthetic.generator import synthetic_graph

NUM_NODES = 1_000_000
NUM_EDGES = 10_000_000
TARGET = 5.0
ROUNDS = 5


def measure() -> dict[str, object]:
    """Time both in turns, after one round that only warms the memory up; the best of the rounds counts for each."""
    ours, baseline = [], []
    for seed in range(ROUNDS + 1):
        baseline.append(_seconds(lambda seed=seed: _draw_and_sort(seed)))  # type: ignore[misc]
        ours.append(_seconds(lambda seed=seed: _make_graph(seed)))  # type: ignore[misc]
    ours_seconds, baseline_seconds = min(ours[1:]), min(baseline[1:])
    return {
        "name": "synthetic graph",
        "ours_seconds": ours_seconds,
        "baseline_seconds": baseline_seconds,
        "ratio": ours_seconds / baseline_seconds,
        "target": TARGET,
        "note": f"ours / baseline, at most {TARGET:g}: {NUM_NODES:,} nodes and {NUM_EDGES:,} edges with features and "
        f"labels, against NumPy drawing and sorting {NUM_EDGES:,} random pairs; best of {ROUNDS} rounds in turns",
    }


def _make_graph(seed: int) -> None:
    graph = synthetic_graph(NUM_NODES, average_degree=2 * NUM_EDGES / NUM_NODES, seed=seed)
    if graph.num_edges != NUM_EDGES:
        raise RuntimeError(f"{graph.num_edges:,} edges instead of {NUM_EDGES:,}")


def _draw_and_sort(seed: int) -> None:
    rng = np.random.default_rng(seed)
    source = rng.integers(0, NUM_NODES, NUM_EDGES)
    target = rng.integers(0, NUM_NODES, NUM_EDGES)
    np.sort(source * NUM_NODES + target)


def _seconds(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
