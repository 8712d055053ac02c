"""Which metrics are there, what are they called, which direction is better, and why may one be undefined?

Everybody who shows, ranks, draws or checks a metric asks here, so that a new one is added in one place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fairview.errors import InputError
from fairview.metrics import counts as core
from fairview.registry import Registry
from fairview.undefined import Metric, Undefined

RateOf = Callable[[core.Counts], core.Rates]

_NEEDS: dict[str, RateOf] = {
    "nodes": lambda counts: counts.sum(axis=(-2, -1)),
    "positive labels": lambda counts: counts[..., 1, :].sum(axis=-1),
    "negative labels": lambda counts: counts[..., 0, :].sum(axis=-1),
}
"""What a metric may need, and how many of it the counts hold, for each group or in all."""


@dataclass(frozen=True, kw_only=True)
class MetricEntry:
    """A metric: how it is computed from counts of (group, label, prediction), and how it is spoken of.

    Exactly one of `total_rate` and `group_rates` is given (the AUC, which needs scores, has neither).

    Attributes:
        name: as in JSON, such as `equal_opportunity_gap`.
        short: for the head of a column, such as `EO gap`.
        words: for a sentence; by default the name with blanks, such as `equal opportunity gap`.
        better: `higher` or `lower`.
        total_rate: the metric of the totals, shape (..., label, prediction) -> (...); NaN where it has no denominator.
        group_rates: the rates that a gap compares between groups, (..., group, label, prediction) -> (..., group); with
            several, the gap is the largest of theirs.
        needs: `nodes`, `positive labels`, `negative labels`: without one of them there is no value. A gap needs them in
            every group.
        undefined: why there may be no value although all of that is there.
        compares: what a gap is a gap in, for a sentence.
        in_tables: whether tables with little room show it.
        range: the least and the largest value; a document with another one is refused.

    Example:
        >>> METRICS["equal_opportunity_gap"].short, METRICS["equal_opportunity_gap"].better
        ('EO gap', 'lower')
    """

    name: str
    short: str
    better: Literal["higher", "lower"]
    words: str = ""
    total_rate: RateOf | None = None
    group_rates: tuple[RateOf, ...] = ()
    needs: tuple[str, ...] = ("nodes",)
    undefined: str = ""
    compares: str = ""
    in_tables: bool = True
    range: tuple[float, float] = (0.0, 1.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", self.words or self.name.replace("_", " "))

    @property
    def is_gap(self) -> bool:
        """Whether it compares groups; 0 then means equal."""
        return bool(self.group_rates)

    def of(self, counts: core.Counts) -> core.Rates:
        """The value: of the groups' counts for a gap, of the totals otherwise; NaN where there is none."""
        if self.total_rate is not None:
            return self.total_rate(counts)
        return np.asarray(np.max([core.largest_gap(rates(counts)) for rates in self.group_rates], axis=0))

    def behind(self, counts: core.Counts, groups: tuple[str, ...]) -> Iterator[tuple[str, str, int]]:
        """What each group needs for this gap, and how many of it the group has."""
        for need in self.needs:
            yield from ((group, need, int(n)) for group, n in zip(groups, _NEEDS[need](counts), strict=True))

    def explain(self, value: Any, counts: core.Counts, groups: tuple[str, ...] = ()) -> Metric:
        """The number, or `Undefined` with the reason that the counts give for it."""
        return Undefined(self._reason(counts, groups)) if np.isnan(value) else float(value)

    def _reason(self, counts: core.Counts, groups: tuple[str, ...]) -> str:
        if self.is_gap:
            if len(groups) < 2:
                return f"there is only one sensitive group ('{groups[0]}')" if groups else _NO_GROUP
            lacking = [f"group '{group}' has no {need}" for group, need, n in self.behind(counts, groups) if n == 0]
        else:
            lacking = [] if counts.sum() else ["there are no labelled nodes"]
            lacking += [f"there are no {need}" for need in self.needs if not _NEEDS[need](counts)]
        return next(iter(lacking), self.undefined)


_NO_GROUP = "no node's sensitive group is known"
_BOTH = ("positive labels", "negative labels")

METRICS = Registry(
    "metric",
    MetricEntry,
    "fairview.metrics",
    [
        MetricEntry(name="auc", short="AUC", words="AUC", better="higher", needs=_BOTH),
        MetricEntry(
            name="f1",
            short="F1",
            words="F1",
            better="higher",
            total_rate=core.f1,
            undefined="there is neither a positive label nor a positive prediction",
        ),
        MetricEntry(name="accuracy", short="ACC", better="higher", total_rate=core.accuracy),
        MetricEntry(
            name="balanced_accuracy", short="bal. ACC", better="higher", total_rate=core.balanced_accuracy, needs=_BOTH
        ),
        MetricEntry(
            name="false_positive_rate",
            short="FPR",
            better="lower",
            total_rate=core.false_positive_rates,
            needs=("negative labels",),
        ),
        MetricEntry(
            name="statistical_parity_gap",
            short="SP gap",
            better="lower",
            group_rates=(core.selection_rates,),
            compares="positive predictions",
        ),
        MetricEntry(
            name="equal_opportunity_gap",
            short="EO gap",
            better="lower",
            group_rates=(core.true_positive_rates,),
            needs=("nodes", "positive labels"),
            compares="positive predictions among those who are really positive",
        ),
        MetricEntry(
            name="equalized_odds_gap",
            short="odds gap",
            better="lower",
            group_rates=(core.true_positive_rates, core.false_positive_rates),
            needs=("nodes", *_BOTH),
            compares="positive predictions among those with the same label",
            in_tables=False,
        ),
    ],
)
"""Every metric by name, in the order of the tables."""


def gap_names() -> tuple[str, ...]:
    """The metrics that compare groups.

    Example:
        >>> gap_names()
        ('statistical_parity_gap', 'equal_opportunity_gap', 'equalized_odds_gap')
    """
    return tuple(name for name, entry in METRICS.items() if entry.is_gap)


def register_metric(entry: MetricEntry) -> MetricEntry:
    """Add a metric: from then on it is evaluated, tabulated, drawn and reported like the built-in ones.

    Args:
        entry: with a name of its own.

    Raises:
        InputError: the name is taken, or the entry has not exactly one way to be computed.
    """
    given: object = entry
    if isinstance(given, MetricEntry) and (entry.total_rate is None) == (not entry.group_rates):
        raise InputError(f"metric '{entry.name}': give either total_rate or group_rates.")
    return METRICS.register(entry)
