"""How useful and how fair are these scores? All numbers at once, quick enough for every epoch of a training loop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from fairview.arguments import require_number
from fairview.attributes import Attribute, intersection
from fairview.errors import InputError, did_you_mean
from fairview.groups import checked_codes, group_codes
from fairview.metrics import counts as core
from fairview.metrics.attribute_gaps import with_attributes
from fairview.metrics.intervals import Interval, bootstrap, count_intervals
from fairview.metrics.ranking import auc_of
from fairview.metrics.registry import METRICS, gap_names
from fairview.metrics.validation import binary, finite_scores
from fairview.undefined import Metric, Undefined, plain

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class GroupCounts:
    """One group's confusion counts and rates, so that nobody reads a gap off five people."""

    group: str
    nodes: int
    positives: int
    predicted_positive: int
    true_positives: int
    false_positives: int
    selection_rate: Metric
    true_positive_rate: Metric
    false_positive_rate: Metric

    def to_dict(self) -> dict[str, Any]:
        """For JSON: an undefined rate is None."""
        return {name: plain(value) for name, value in vars(self).items()}


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """What `Evaluator` found: the metrics, the groups behind them, and what was left out.

    Attributes:
        metrics: every name of `METRICS` with a number or `Undefined`.
        counts: of (group, label, prediction), shape (1 + groups, 2, 2); the nodes without a known group come first.
        group_names: the groups, in the order of the counts.
        intervals: on request, the interval of each metric.
        attributes: with several sensitive attributes, the same nodes by the groups of each, and at last by all
            combinations of their groups; the gaps in `metrics` are then the largest.
        left_out: of combinations, those that are too small for a gap and left out of it, by gap.
    """

    metrics: Mapping[str, Metric]
    counts: npt.NDArray[np.int64]
    group_names: tuple[str, ...]
    intervals: Mapping[str, Interval | Undefined] = field(default_factory=dict)
    attributes: Mapping[str, Evaluation] = field(default_factory=dict)
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __getitem__(self, metric: str) -> Metric:
        if metric not in self.metrics:
            raise KeyError(f"no metric '{metric}'.{did_you_mean(str(metric), list(self.metrics))}")
        return self.metrics[metric]

    def __iter__(self) -> Iterator[str]:
        return iter(self.metrics)

    def keys(self) -> Iterable[str]:
        """The names of the metrics, so that `dict(evaluation)` works."""
        return self.metrics.keys()

    @property
    def nodes(self) -> int:
        """How many nodes were evaluated."""
        return int(self.counts.sum())

    @property
    def group_unknown(self) -> int:
        """How many of them have no known group, and are left out of the gaps."""
        return int(self.counts[0].sum())

    @property
    def undefined(self) -> dict[str, str]:
        """The metrics without a value, and why."""
        return {name: value.reason for name, value in self.metrics.items() if isinstance(value, Undefined)}

    @cached_property
    def groups(self) -> tuple[GroupCounts, ...]:
        """Counts and rates of each sensitive group."""
        return tuple(_group(name, self.counts[1 + g]) for g, name in enumerate(self.group_names))

    @cached_property
    def pairs(self) -> dict[str, dict[tuple[str, str], Metric]]:
        """Each gap between each pair of groups; the metric itself is the largest of them."""
        return {name: _pairs(name, self.counts[1:], self.group_names) for name in gap_names()}

    def gaps_to_dict(self) -> dict[str, Any]:
        """For JSON: what tells one sensitive attribute from another."""
        utilities = [name for name in METRICS if name not in gap_names()]
        document = {name: value for name, value in self.to_dict().items() if name not in (*utilities, "nodes")}
        for part in (document, document.get("intervals", {})):
            part["undefined"] = {name: why for name, why in part.get("undefined", {}).items() if name in gap_names()}
        if self.left_out:
            document["left_out"] = {name: list(groups) for name, groups in self.left_out.items()}
        return document

    def to_dict(self) -> dict[str, Any]:
        """For JSON: an undefined metric is None, with the reason under `undefined`."""
        document: dict[str, Any] = {name: plain(value) for name, value in self.metrics.items()}
        document |= {"undefined": self.undefined, "nodes": self.nodes, "group_unknown": self.group_unknown}
        document["groups"] = [group.to_dict() for group in self.groups]
        document["pairs"] = {
            name: [{"groups": list(pair), "gap": plain(value)} for pair, value in gaps.items()]
            for name, gaps in self.pairs.items()
        }
        if self.intervals:
            unsure = {n: interval.reason for n, interval in self.intervals.items() if isinstance(interval, Undefined)}
            sure = {n: interval.to_dict() for n, interval in self.intervals.items() if isinstance(interval, Interval)}
            document["intervals"] = sure | {"undefined": unsure}
        if self.attributes:
            document["attributes"] = {name: part.gaps_to_dict() for name, part in self.attributes.items()}
        return document

    def to_frame(self) -> pl.DataFrame:
        """A polars frame with a row per metric: `metric`, `value`, `low`, `high` and `undefined`.

        `low` and `high` are the interval's ends, null without intervals; `undefined` says why there is no value.

        Example:
            >>> found = Evaluator([0, 1, 1, 0], sensitive=["f", "f", "m", "m"])([0.2, 0.9, 0.8, 0.7])
            >>> found.to_frame().select("metric", "value").rows()[:2]
            [('auc', 1.0), ('f1', 0.8)]
        """
        from fairview.metrics.evaluation_display import evaluations_frame

        return evaluations_frame({"": self}).drop("model")

    def __repr__(self) -> str:
        values = ", ".join(
            f"{name} {'undefined' if isinstance(value, Undefined) else f'{value:.3f}'}"
            for name, value in self.metrics.items()
        )
        return f"Evaluation({self.nodes:,} nodes: {values})"

    def _repr_html_(self) -> str:
        from fairview.metrics.evaluation_display import evaluation_html

        return evaluation_html(self)


class Evaluator:
    """Labels and groups, prepared once; call it with scores as often as you like.

    A node is predicted positive when its score is strictly above `threshold`, compared in the scores' own precision.

    Args:
        y_true: labels, 0 or 1.
        sensitive: the group of each node, any values; None and NaN are unknown. Several attributes by name.
        threshold: on the scores; 0.5 suits probabilities, 0 suits logits.

    Example:
        >>> evaluator = Evaluator([0, 1, 1, 0, 1], sensitive=["f", "f", "m", "m", "m"])
        >>> evaluation = evaluator([0.2, 0.9, 0.8, 0.7, 0.4])
        >>> evaluation["accuracy"], evaluation["equal_opportunity_gap"]
        (0.6, 0.5)
    """

    def __init__(
        self, y_true: npt.ArrayLike, *, sensitive: npt.ArrayLike | Mapping[str, npt.ArrayLike], threshold: float = 0.5
    ) -> None:
        by_name = sensitive if isinstance(sensitive, Mapping) else {"sensitive": sensitive}
        labels = binary(y_true, "y_true")
        self._prepare(
            labels,
            [Attribute(str(name), *group_codes(values, str(name))) for name, values in by_name.items()],
            threshold,
        )

    @classmethod
    def from_codes(
        cls, y_true: npt.ArrayLike, *, codes: npt.ArrayLike, groups: tuple[str, ...], threshold: float = 0.5
    ) -> Self:
        """With groups declared beforehand: one without nodes makes the gaps undefined instead of going unnoticed."""
        labels = binary(y_true, "y_true")
        known = checked_codes(codes, groups, len(labels))
        return cls.of_attributes(labels, [Attribute("sensitive", known, tuple(groups))], threshold=threshold)

    @classmethod
    def of_attributes(cls, y_true: npt.ArrayLike, attributes: Sequence[Attribute], *, threshold: float = 0.5) -> Self:
        """With the sensitive attributes of a graph's nodes, one or several."""
        evaluator = cls.__new__(cls)
        evaluator._prepare(binary(y_true, "y_true"), attributes, threshold)
        return evaluator

    def _prepare(self, labels: npt.NDArray[np.int8], attributes: Sequence[Attribute], threshold: float) -> None:
        for each in attributes:
            if len(each.codes) != len(labels):
                raise InputError(f"{each.name}: {len(each.codes):,} values for {len(labels):,} labels.")
        require_number(threshold, "threshold", "a finite number, such as 0.5 for probabilities")
        together = intersection(attributes)
        self.labels, self.groups, self.threshold = labels, together.groups, threshold
        self._attributes, self._together = attributes, together.name
        self._positive, self._negative = np.flatnonzero(labels == 1), np.flatnonzero(labels == 0)
        self._cell = (
            4 * (together.codes.astype(np.int64) + 1) + 2 * labels
        )  # of (group, label, 0); the unknown group is first

    def __call__(
        self,
        scores: npt.ArrayLike,
        *,
        intervals: bool = False,
        resamples: int = 1000,
        level: float = 0.95,
        seed: int = 0,
        without_auc: bool = False,
    ) -> Evaluation:
        """Evaluate scores; with `intervals`, add bootstrap intervals (see `fairview.metrics.intervals`).

        That of the AUC takes long with millions of nodes: `without_auc` leaves it out.
        """
        values = finite_scores(scores, len(self.labels))
        with np.errstate(over="ignore"):  # a threshold beyond the range of float32 or float16 is infinite there
            cells = self._cell + (values > self.threshold)
        counts = np.bincount(cells, minlength=4 * (1 + len(self.groups))).reshape(-1, 2, 2)
        total, by_group = counts.sum(axis=0), counts[1:]
        metrics: dict[str, Metric] = {}
        for name, entry in METRICS.items():
            if name == "auc":
                ranking = auc_of(values[self._positive], values[self._negative])
                metrics[name] = entry.explain(ranking, total)
            elif entry.is_gap:
                metrics[name] = entry.explain(entry.of(by_group), by_group, self.groups)
            else:
                metrics[name] = entry.explain(entry.of(total), total)
        interval_of: Mapping[str, Interval | Undefined] = {}
        asked: dict[str, Any] = {"resamples": resamples, "level": level, "seed": seed}
        resampling = asked if intervals else None
        if resampling and without_auc:
            interval_of = count_intervals(counts, metrics, self.groups, **resampling)
        elif resampling:
            interval_of = bootstrap(self.labels, values, cells, counts, metrics, self.groups, **resampling)
        evaluation = Evaluation(metrics, counts, self.groups, interval_of)
        if len(self._attributes) == 1:
            return evaluation
        return with_attributes(evaluation, self._attributes, self._together, cells % 4, resampling)


def _pairs(name: str, counts: core.Counts, groups: tuple[str, ...]) -> dict[tuple[str, str], Metric]:
    entry, gaps = METRICS[name], {}
    for a, b in combinations(range(len(groups)), 2):
        pair, both = (groups[a], groups[b]), counts[[a, b]]
        gaps[pair] = entry.explain(entry.of(both), both, pair)
    return gaps


def _group(name: str, counts: npt.NDArray[np.int64]) -> GroupCounts:
    def rate(value: core.Rates, lacking: str) -> Metric:
        return Undefined(f"group '{name}' has no {lacking}") if np.isnan(value) else float(value)

    return GroupCounts(
        group=name,
        nodes=int(counts.sum()),
        positives=int(counts[1].sum()),
        predicted_positive=int(counts[:, 1].sum()),
        true_positives=int(counts[1, 1]),
        false_positives=int(counts[0, 1]),
        selection_rate=rate(core.selection_rates(counts), "nodes"),
        true_positive_rate=rate(core.true_positive_rates(counts), "positive labels"),
        false_positive_rate=rate(core.false_positive_rates(counts), "negative labels"),
    )
