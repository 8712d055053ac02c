"""Which epoch is kept? A declared rule on the validation nodes only: utility minus gaps, or the lowest loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from fairview.errors import InputError
from fairview.metrics.evaluation import Evaluation
from fairview.undefined import Undefined

_UTILITY = ("auc", "f1", "accuracy")
_GAPS = ("statistical_parity_gap", "equal_opportunity_gap")


class Rule(Protocol):
    """Larger scores are better."""

    def score(self, evaluation: Evaluation) -> float:
        """Of an epoch, from its metrics on the val split."""
        ...

    def left_out(self, evaluation: Evaluation) -> list[str]:
        """The terms that are undefined on this val split, and why."""
        ...


@dataclass(frozen=True)
class LowestLoss:
    """The epoch with the lowest cross-entropy on validation: the rule of the published plain models."""

    loss: Callable[[], float]

    def score(self, evaluation: Evaluation) -> float:  # noqa: ARG002 - it looks away from the metrics
        return -self.loss()

    def left_out(self, evaluation: Evaluation) -> list[str]:  # noqa: ARG002
        return []


@dataclass(frozen=True)
class SelectionRule:
    """AUC + F1 + accuracy - weight * (statistical parity gap + equal opportunity gap), on validation.

    Whether one of these is undefined depends on the validation labels and groups, not on the model, so a term that is
    undefined is left out for every epoch alike; `left_out` says which, and why.

    Paper: not stated; the published code uses it with weight 1.
    """

    weight: float = 1.0

    def score(self, evaluation: Evaluation) -> float:
        utility = [evaluation[name] for name in _UTILITY]
        gaps = [evaluation[name] for name in _GAPS] if self.weight else []
        defined = [value for value in utility if not isinstance(value, Undefined)]
        if not defined:
            raise InputError("selection: no utility metric is defined on the val split; it has no labelled nodes.")
        return sum(defined) - self.weight * sum(gap for gap in gaps if not isinstance(gap, Undefined))

    def left_out(self, evaluation: Evaluation) -> list[str]:
        names = _UTILITY + (_GAPS if self.weight else ())
        return [f"{name}: {evaluation.undefined[name]}" for name in names if name in evaluation.undefined]
