"""How sure is a metric? Bootstrap intervals over the evaluated nodes, for a fixed model.

Utility metrics: nodes are drawn with replacement, the same draws for all of them, and the interval lies between two
percentiles. A gap is an absolute difference: its bootstrap distribution lies above zero even where there is no gap at
all, so a percentile interval would exclude the truth almost surely (docs/adr/0003). With rates r and resampled rates
r*, the gap instead gets

    gap ± q,   q = quantile over resamples of  max over pairs (a, b) of |(r*_a - r*_b) - (r_a - r_b)|,

cut at 0 and 1. A gap changes by at most that maximum, so the interval covers at least as often as it says, for any
number of groups, up to the bootstrap's own error. That error is large where all of a small group's nodes are predicted
alike: drawing from them never moves the rate. So q is drawn as if each group had one node more of each label and
prediction; with ten nodes in a group that lifts the coverage of a 95 % interval from about 60 % to above 90 %, with
hundreds it changes nothing. Below five nodes behind a rate the interval is undefined.

What it does not show: other training seeds, other splits, or the dependence between neighbours of a graph.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fairview.errors import InputError
from fairview.metrics import counts as core
from fairview.metrics.ranking import WeightedAUC
from fairview.metrics.registry import METRICS
from fairview.undefined import Metric, Undefined

FEW = 5
"""Nodes behind a group's rate, below which a gap's interval is undefined; splits or seeds, below which it is noted."""

_MOST_UNDEFINED = 0.05  # share of resamples that may lack a value before the interval is undefined itself
_BLOCK = 4_000_000  # node draws held at a time: 32 MB of weights


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
    labels: npt.NDArray[np.int8],
    scores: npt.NDArray[Any],
    cells: npt.NDArray[np.int64],
    counts: core.Counts,
    metrics: Mapping[str, Metric],
    groups: tuple[str, ...],
    *,
    resamples: int,
    level: float,
    seed: int,
) -> dict[str, Interval | Undefined]:
    """An interval for every metric: `metrics` and `counts` are those of the data itself.

    The unknown group comes first in the counts, shape (1 + groups, 2, 2); `cells` has each node's place in them.
    """
    level, resamples = float(level), operator.index(resamples)
    if not 0 < level < 1:
        raise InputError(f"level: {level}; expected a share between 0 and 1, such as 0.95.")
    least = math.ceil(round(2 / (1 - level), 6))
    if resamples < least:
        raise InputError(f"resamples: {resamples:,}; level {level} needs at least {least:,}: one beyond each end.")
    if len(labels) == 0:
        return {name: value for name, value in metrics.items() if isinstance(value, Undefined)}
    generator = np.random.default_rng(seed)
    drawn = _gap_draws(counts, resamples, generator)
    utility = _utility_draws(labels, scores, cells % 4, resamples, generator)
    return _intervals(counts, metrics, groups, drawn, utility, level)


def gap_intervals(
    counts: core.Counts,
    metrics: Mapping[str, Metric],
    groups: tuple[str, ...],
    *,
    resamples: int,
    level: float,
    seed: int,
) -> dict[str, Interval | Undefined]:
    """The intervals of gaps alone; see `bootstrap`."""
    drawn = _gap_draws(counts, resamples, np.random.default_rng(seed))
    return _intervals(counts, metrics, groups, drawn, {}, level)


def count_intervals(
    counts: core.Counts,
    metrics: Mapping[str, Metric],
    groups: tuple[str, ...],
    *,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> dict[str, Interval | Undefined]:
    """The intervals of all metrics that depend on counts alone, all but the AUC: quick, whatever the nodes."""
    if not counts.sum():
        return {}
    generator = np.random.default_rng(seed)
    drawn = _gap_draws(counts, resamples, generator)
    total = counts.sum(axis=0)
    totals = generator.multinomial(total.sum(), total.ravel() / total.sum(), size=resamples).reshape(-1, 2, 2)
    known = {name: value for name, value in metrics.items() if name != "auc"}
    return _intervals(counts, known, groups, drawn, _total_rates(totals), level)


def _intervals(
    counts: core.Counts,
    metrics: Mapping[str, Metric],
    groups: tuple[str, ...],
    drawn: core.Counts,
    utility: Mapping[str, npt.NDArray[np.float64]],
    level: float,
) -> dict[str, Interval | Undefined]:
    """From the resamples of the groups' counts and of each utility."""
    resamples = len(drawn)
    intervals: dict[str, Interval | Undefined] = {}
    for name, value in metrics.items():
        if isinstance(value, Undefined):
            intervals[name] = value
            continue
        if METRICS[name].is_gap and (few := too_few(name, counts[1:], groups)):
            intervals[name] = Undefined(few)
            continue
        sample = deviations(name, drawn, counts[1:]) if METRICS[name].is_gap else utility[name]
        defined = sample[~np.isnan(sample)]
        lacking = resamples - len(defined)
        if lacking > _MOST_UNDEFINED * resamples:
            intervals[name] = Undefined(
                f"{lacking:,} of {resamples:,} resamples have no value: the data is too small for an interval"
            )
            continue
        if METRICS[name].is_gap:
            reach = float(np.quantile(defined, level))
            low, high = max(value - reach, 0.0), min(value + reach, 1.0)
        else:
            low, high = (float(q) for q in np.quantile(defined, ((1 - level) / 2, (1 + level) / 2)))
        intervals[name] = Interval(low, high, level, resamples, lacking)
    return intervals


def too_few(name: str, counts: core.Counts, groups: tuple[str, ...]) -> str:
    """Which group has too few nodes behind its rate; empty if none."""
    for group, what, count in METRICS[name].behind(counts, groups):
        if count < FEW:
            return f"group '{group}' has only {count} {what}, too few for an interval"
    return ""


def _gap_draws(counts: core.Counts, resamples: int, generator: np.random.Generator) -> npt.NDArray[np.int64]:
    """Resampled counts of the known groups, shape (resamples, groups, 2, 2), drawn as if each had one more of each."""
    more = counts.astype(np.float64)
    more[1:] += 1
    drawn = generator.multinomial(counts.sum(), more.ravel() / more.sum(), size=resamples)
    return drawn.reshape(resamples, *counts.shape)[:, 1:]


def deviations(name: str, drawn: core.Counts, counts: core.Counts) -> npt.NDArray[np.float64]:
    """How far the differences between groups moved in each resample, at most over pairs of groups (and rates)."""
    moved = [core.largest_gap(rates(drawn) - rates(counts + 1)) for rates in METRICS[name].group_rates]
    return np.asarray(np.max(moved, axis=0))


def _utility_draws(
    labels: npt.NDArray[np.int8],
    scores: npt.NDArray[Any],
    outcomes: npt.NDArray[np.int64],
    resamples: int,
    generator: np.random.Generator,
) -> dict[str, npt.NDArray[np.float64]]:
    """The utility metrics of each resample of the nodes, shape (resamples,); an outcome is 2 * label + prediction."""
    auc = WeightedAUC(labels, scores)
    n = len(labels)
    aucs, totals = np.empty(resamples), np.empty((resamples, 4))
    block = max(_BLOCK // n, 1)
    for start in range(0, resamples, block):
        rows = slice(start, min(start + block, resamples))
        picked = generator.integers(0, n, size=(rows.stop - start, n))
        row = np.arange(len(picked))[:, None]
        weights = np.bincount((picked + row * n).ravel(), minlength=picked.size).reshape(picked.shape)
        aucs[rows] = auc(weights.astype(np.float64))
        totals[rows] = np.bincount((outcomes[picked] + row * 4).ravel(), minlength=len(picked) * 4).reshape(-1, 4)
    return {"auc": aucs} | _total_rates(totals.reshape(-1, 2, 2))


def _total_rates(totals: core.Counts) -> dict[str, npt.NDArray[np.float64]]:
    rates = {name: entry.total_rate for name, entry in METRICS.items()}
    return {name: rate(totals) for name, rate in rates.items() if rate is not None}
