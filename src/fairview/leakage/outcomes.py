"""What does a model decide for each group, right and wrong, and how sure are the rates?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scipy.stats import binomtest

from fairview.leakage.json_record import json_record
from fairview.metrics.evaluation import Evaluation
from fairview.undefined import Metric, Undefined

FEW_NODES, FEW_OF_A_LABEL = 30, 5
"""Below these a group is called small: its rates can be anything."""

RATES = ("selection_rate", "true_positive_rate", "false_positive_rate")


@dataclass(frozen=True)
class Rate:
    """A share of some nodes, with the 95 % Wilson interval.

    Example:
        >>> Rate.of(8, 10)
        0.800 [0.490, 0.943]
    """

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, part: int, whole: int) -> Rate:
        interval = binomtest(part, whole).proportion_ci(confidence_level=0.95, method="wilson")
        return cls(part / whole, float(interval.low), float(interval.high))

    def __repr__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True, kw_only=True)
class GroupOutcomes:
    """One group's confusion counts, and the rates that the gaps compare."""

    group: str
    nodes: int
    positives: int
    true_positives: int
    false_positives: int
    true_negatives: int
    false_negatives: int
    selection_rate: Rate | Undefined
    true_positive_rate: Rate | Undefined
    false_positive_rate: Rate | Undefined

    @property
    def small(self) -> bool:
        """Fewer than 30 nodes, or fewer than 5 of one label: do not read a gap off it."""
        return self.nodes < FEW_NODES or min(self.positives, self.nodes - self.positives) < FEW_OF_A_LABEL

    def to_dict(self) -> dict[str, Any]:
        """For JSON, with the reasons of undefined rates."""
        reasons = {name: rate.reason for name in RATES if isinstance(rate := getattr(self, name), Undefined)}
        return json_record(self) | {"small": self.small, "undefined": reasons}


def group_outcomes(evaluation: Evaluation) -> tuple[GroupOutcomes, ...]:
    """The outcomes of each group of an evaluation; nodes without a known group are in none."""
    outcomes = []
    for group, counts in zip(evaluation.groups, evaluation.counts[1:], strict=True):
        (rejected, wrongly), (missed, hits) = counts.tolist()
        outcomes.append(
            GroupOutcomes(
                group=group.group,
                nodes=group.nodes,
                positives=group.positives,
                true_positives=hits,
                false_positives=wrongly,
                true_negatives=rejected,
                false_negatives=missed,
                selection_rate=_rate(group.selection_rate, hits + wrongly, group.nodes),
                true_positive_rate=_rate(group.true_positive_rate, hits, group.positives),
                false_positive_rate=_rate(group.false_positive_rate, wrongly, group.nodes - group.positives),
            )
        )
    return tuple(outcomes)


def _rate(known: Metric, part: int, whole: int) -> Rate | Undefined:
    return known if isinstance(known, Undefined) else Rate.of(part, whole)
