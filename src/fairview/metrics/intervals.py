"""How sure is a metric? Bootstrap intervals over the evaluated nodes, for a fixed model.

Nodes are drawn with replacement, the same draws for every metric. Utility metrics get percentile intervals. A gap is an
absolute difference: its bootstrap distribution lies above zero even where there is no gap at all, so a percentile
interval would exclude the truth almost surely (docs/adr/0003). With rates r and resampled rates r*, the gap instead
gets

    gap ± q,   q = quantile over resamples of  max over pairs (a, b) of |(r*_a - r*_b) - (r_a - r_b)|,

cut at 0 and 1. A gap changes by at most that maximum, so the interval covers at least as often as it says, for any
number of groups, up to the bootstrap's own error in small groups.

What it does not show: other training seeds, other splits, or the dependence between neighbours of a graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fairview.errors import InputError
from fairview.metrics import counts as core
from fairview.metrics.ranking import WeightedAUC
from fairview.metrics.undefined import Metric, Undefined

_MOST_UNDEFINED = 0.05
"""Share of resamples that may lack a value before the interval is undefined itself."""

_BLOCK = 4_000_000
"""Node draws held at a time: 32 MB of weights."""


@dataclass(frozen=True)
class Interval:
    """From `low` to `high`; `undefined_resamples` of `resamples` had no value and were left out."""

    low: float
    high: float
    level: float
    resamples: int
    undefined_resamples: int = 0

    def __str__(self) -> str:
        return f"[{self.low:.4f}, {self.high:.4f}]"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def bootstrap(
    *,
    labels: npt.NDArray[np.int8],
    scores: npt.NDArray[np.floating[Any]],
    cells: npt.NDArray[np.int64],
    counts: core.Counts,
    metrics: Mapping[str, Metric],
    resamples: int,
    level: float,
    seed: int,
) -> dict[str, Interval | Undefined]:
    """An interval for every metric.

    Args:
        labels: 0 or 1 per node.
        scores: one per node.
        cells: each node's place in the flattened counts.
        counts: of the data itself, the unknown group first, shape (1 + groups, 2, 2).
        metrics: the values on the data itself.
        resamples: how many times to draw.
        level: of the interval, 0.95 for 95 %.
        seed: of the draws.
    """
    if resamples < 1 or not 0 < level < 1:
        raise InputError(f"intervals: resamples={resamples}, level={level}; expected at least 1, and between 0 and 1.")
    found: dict[str, Interval | Undefined] = {n: v for n, v in metrics.items() if isinstance(v, Undefined)}
    if len(labels) == 0:
        return found
    draws = _draws(labels, scores, cells, counts.shape, resamples=resamples, seed=seed)
    tail = (1 - level) / 2
    for name, value in metrics.items():
        if isinstance(value, Undefined):
            continue
        sample = _deviations(name, draws["counts"], counts) if name in core.GAPS else draws[name]
        defined = sample[~np.isnan(sample)]
        undefined = resamples - len(defined)
        if undefined > _MOST_UNDEFINED * resamples:
            found[name] = Undefined(
                f"{undefined:,} of {resamples:,} resamples have no value: the data is too small for an interval"
            )
        elif name in core.GAPS:
            reach = float(np.quantile(defined, level))
            found[name] = Interval(max(value - reach, 0.0), min(value + reach, 1.0), level, resamples, undefined)
        else:
            low, high = (float(q) for q in np.quantile(defined, (tail, 1 - tail)))
            found[name] = Interval(low, high, level, resamples, undefined)
    return {name: found[name] for name in metrics}


def _draws(
    labels: npt.NDArray[np.int8],
    scores: npt.NDArray[np.floating[Any]],
    cells: npt.NDArray[np.int64],
    shape: tuple[int, ...],
    *,
    resamples: int,
    seed: int,
) -> dict[str, npt.NDArray[Any]]:
    """The resampled counts, shape (resamples, 1 + groups, 2, 2), and the utility metrics, shape (resamples,)."""
    generator = np.random.default_rng(seed)
    auc = WeightedAUC(labels, scores)
    n, size = len(labels), int(np.prod(shape))
    all_counts, all_auc = np.empty((resamples, size)), np.empty(resamples)
    block = max(_BLOCK // n, 1)
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        picked = generator.integers(0, n, size=(rows, n))
        offset = np.arange(rows)[:, None]
        weights = np.bincount((picked + offset * n).ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)
        all_auc[start : start + rows] = auc(weights)
        drawn = np.bincount((cells[picked] + offset * size).ravel(), minlength=rows * size)
        all_counts[start : start + rows] = drawn.reshape(rows, size)
    counts = all_counts.reshape(resamples, *shape)
    total = counts.sum(axis=-3)
    return {"counts": counts, "auc": all_auc} | {name: metric(total) for name, metric in core.UTILITY.items()}


def _deviations(name: str, drawn: core.Counts, counts: core.Counts) -> npt.NDArray[np.float64]:
    """How far the differences between groups moved in each resample, at most over pairs of groups (and rates)."""
    moved = [core.largest_gap(rates(drawn[:, 1:]) - rates(counts[1:])) for rates in core.GAPS[name]]
    return np.asarray(np.max(moved, axis=0))
