"""What do several runs say together? Means, intervals, paired differences, ranks and who is beaten by nobody.

Undefined values are never skipped: a mean over runs of which one has no value has none either, and says why.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from fairview.undefined import Metric, Undefined, plain

LEVEL = 0.95
"""Of all intervals."""

UTILITY = ("auc", "f1", "accuracy")
GAPS = ("statistical_parity_gap", "equal_opportunity_gap")

INTERVAL_RULE = (
    "95 % t interval of the mean, over splits where there are several (a split's seeds are averaged first), otherwise "
    "over seeds. It says how much the mean moves with another split or seed of this graph, not what another graph "
    "would give. Runs that are all equal have none."
)
RANK_RULE = (
    "Rank: 1 is best; the mean of two halves, utility (mean rank by AUC, F1 and accuracy) and fairness (mean rank by "
    "SP gap and EO gap), over all rows but the majority answer; ties share their ranks, undefined comes last."
)
PARETO_RULE = (
    "Pareto: no other row but the majority answer has at least the same mean of AUC, F1 and accuracy and at most the "
    "same mean of SP and EO gap, and is better in one of them."
)


_EQUAL = 1e-12
"""What a sum's order may change."""


@dataclass(frozen=True)
class RunMetrics:
    """The test metrics of one seed on one split."""

    split: int
    seed: int
    metrics: Mapping[str, Metric]


@dataclass(frozen=True)
class Estimate:
    """A mean over runs; `std` has ddof 0; `low` and `high` are None where there is no interval."""

    mean: Metric
    std: float | None = None
    low: float | None = None
    high: float | None = None

    def value(self, part: str) -> float | None:
        """One of the four, for JSON."""
        return plain(getattr(self, part))


def estimate(runs: Sequence[RunMetrics], metric: str) -> Estimate:
    """Mean, standard deviation and interval of a metric; the interval is cut at 0 and 1, as the metric is.

    Example:
        >>> estimate([RunMetrics(0, seed, {"auc": value}) for seed, value in enumerate([0.7, 0.8, 0.9])], "auc").mean
        0.8
    """
    return _cut(_estimate([run.metrics[metric] for run in runs], [run.split for run in runs]), 0.0, 1.0)


def difference(runs: Sequence[RunMetrics], reference: Sequence[RunMetrics], metric: str) -> Estimate:
    """Mean and interval of `runs` minus `reference`, pair by pair: the same split, the same seed; cut at -1 and 1."""
    others = {(run.split, run.seed): run.metrics[metric] for run in reference}
    pairs = [(run, others[run.split, run.seed]) for run in runs if (run.split, run.seed) in others]
    if not pairs or len(pairs) < max(len(runs), len(reference)):
        return Estimate(Undefined("the two don't have the same splits and seeds"))
    whole = _estimate([_minus(run.metrics[metric], other) for run, other in pairs], [run.split for run, _ in pairs])
    return _cut(whole, -1.0, 1.0)


def unpaired_difference(one: Estimate, n_one: int, other: Estimate, n_other: int) -> Estimate:
    """Mean and Welch's interval of `one` minus `other`, of which only means and deviations are at hand; cut at -1, 1.

    Args:
        one: its `std` has ddof 0, as everywhere.
        n_one: how many runs it is of.
        other: what is taken away.
        n_other: how many runs that is of.

    Example:
        >>> change = unpaired_difference(Estimate(0.5, 0.1), 5, Estimate(0.2, 0.1), 5)
        >>> change.mean, round(change.low, 3), round(change.high, 3)
        (0.3, 0.137, 0.463)
    """
    if isinstance(one.mean, Undefined) or isinstance(other.mean, Undefined):
        return Estimate(one.mean if isinstance(one.mean, Undefined) else other.mean)
    mean = _round(one.mean - other.mean)
    parts = [((each.std or 0.0) ** 2 / (n - 1), n - 1) for each, n in ((one, n_one), (other, n_other)) if n > 1]
    variance = sum(part for part, _ in parts)
    if len(parts) < 2 or variance < _EQUAL**2:
        return Estimate(mean)
    freedom = variance**2 / sum(part**2 / degrees for part, degrees in parts)
    half = float(stats.t.ppf((1 + LEVEL) / 2, freedom)) * math.sqrt(variance)
    return _cut(Estimate(mean, None, mean - half, mean + half), -1.0, 1.0)


def summary_estimate(mean: float, std: float | None, n: int) -> Estimate:
    """The same as `estimate` where only mean and deviation (ddof 0) of n runs are at hand.

    Example:
        >>> known = summary_estimate(0.8, 0.0816496580927726, 3)
        >>> round(known.low, 4), round(known.high, 4)
        (0.5516, 1.0)
    """
    if std is None or n < 2 or std < _EQUAL:
        return Estimate(mean, std)
    half = float(stats.t.ppf((1 + LEVEL) / 2, n - 1)) * std / math.sqrt(n - 1)
    return _cut(Estimate(mean, std, mean - half, mean + half), 0.0, 1.0)


def t_interval(values: npt.ArrayLike) -> tuple[float, float] | None:
    """mean ± t s/√n with n - 1 degrees of freedom and s with ddof 1; None for a single value.

    None for equal values too: that two or five runs agree in every digit, as constant predictors do, says nothing about
    how far the next one may be off.

    Example:
        >>> [round(end, 4) for end in t_interval([0.0, 1.0])]  # t = 12.7062, s/√n = 1/2
        [-5.8531, 6.8531]
    """
    numbers = np.asarray(values, dtype=np.float64)
    if len(numbers) < 2 or np.ptp(numbers) < _EQUAL:
        return None
    half = float(stats.t.ppf((1 + LEVEL) / 2, len(numbers) - 1) * numbers.std(ddof=1) / math.sqrt(len(numbers)))
    return float(numbers.mean()) - half, float(numbers.mean()) + half


@dataclass(frozen=True)
class Rank:
    """Average places, 1 is best; `average` is the mean of the other two."""

    utility: float
    fairness: float
    average: float


def ranks(rows: Sequence[Mapping[str, Metric]]) -> list[Rank]:
    """The rank of each row by its means; see `RANK_RULE`.

    Example:
        >>> better = {"auc": 0.8, "f1": 0.8, "accuracy": 0.8, "statistical_parity_gap": 0.1, "equal_opportunity_gap": 0}
        >>> worse = {name: 0.5 for name in better}
        >>> ranks([worse, better])[1]
        Rank(utility=1.0, fairness=1.0, average=1.0)
    """
    if not rows:
        return []
    utility = np.mean([_places([row[name] for row in rows], largest_first=True) for name in UTILITY], axis=0)
    fairness = np.mean([_places([row[name] for row in rows], largest_first=False) for name in GAPS], axis=0)
    return [Rank(float(u), float(f), float((u + f) / 2)) for u, f in zip(utility, fairness, strict=True)]


def pareto(rows: Sequence[Mapping[str, Metric]]) -> list[bool]:
    """Which rows are beaten by no other; see `PARETO_RULE`. A row that lacks one of the means is not among them.

    Example:
        >>> names = ("auc", "f1", "accuracy", "statistical_parity_gap", "equal_opportunity_gap")
        >>> rows = [dict(zip(names, (u, u, u, g, g))) for u, g in [(0.8, 0.1), (0.7, 0.2), (0.5, 0.0)]]
        >>> pareto(rows)
        [True, False, True]
    """
    points = [(_mean_of(row, UTILITY), _mean_of(row, GAPS)) for row in rows]

    def is_beaten(utility: float, gap: float) -> bool:
        return any(u >= utility and g <= gap and (u > utility or g < gap) for u, g in points)

    return [not math.isnan(utility + gap) and not is_beaten(utility, gap) for utility, gap in points]


# --- parts ------------------------------------------------------------------------------------------------------------


def _estimate(values: Sequence[Metric], splits: Sequence[int]) -> Estimate:
    unknown = [value.reason for value in values if isinstance(value, Undefined)]
    known = np.array([value for value in values if not isinstance(value, Undefined)])
    if unknown:
        often = f"undefined in {len(unknown)} of {len(values)} runs" if len(values) > 1 else "undefined"
        return Estimate(Undefined(f"{often} ({'; '.join(dict.fromkeys(unknown))})"))
    names = np.asarray(splits)
    several = len(set(splits)) > 1
    units = [float(known[names == split].mean()) for split in dict.fromkeys(splits)] if several else known
    low, high = t_interval(units) or (None, None)
    return Estimate(_round(float(np.mean(units))), _round(float(known.std())), low, high)


def _cut(whole: Estimate, least: float, most: float) -> Estimate:
    if whole.low is None or whole.high is None:
        return whole
    return Estimate(whole.mean, whole.std, max(whole.low, least), min(whole.high, most))


def _places(values: Sequence[Metric], *, largest_first: bool) -> npt.NDArray[np.float64]:
    sign = -1.0 if largest_first else 1.0
    keys = [math.inf if isinstance(value, Undefined) else sign * _round(value) for value in values]
    return np.asarray(stats.rankdata(keys, method="average"), dtype=np.float64)


def _mean_of(row: Mapping[str, Metric], names: Sequence[str]) -> float:
    """NaN, which is neither larger nor smaller than any number, if one of them is undefined."""
    values = [math.nan if isinstance(value := row[name], Undefined) else value for name in names]
    return _round(float(np.mean(values)))


def _minus(one: Metric, other: Metric) -> Metric:
    if isinstance(one, Undefined):
        return one
    return other if isinstance(other, Undefined) else one - other


def _round(value: float) -> float:
    """Without the last digits, which depend on the order of a sum: equal rows must tie."""
    return round(value, 12)
