"""(labels, scores, groups) -> numbers: utility, group gaps, intervals. Undefined is a value with a reason."""

from fairview.metrics.evaluation import Evaluation, Evaluator, GroupCounts
from fairview.metrics.functional import (
    accuracy,
    auc,
    balanced_accuracy,
    equal_opportunity_gap,
    equalized_odds_gap,
    f1,
    false_positive_rate,
    pairwise_gaps,
    statistical_parity_gap,
)
from fairview.metrics.intervals import Interval
from fairview.metrics.registry import METRICS
from fairview.undefined import Metric, Undefined

__all__ = [
    "METRICS",
    "Evaluation",
    "Evaluator",
    "GroupCounts",
    "Interval",
    "Metric",
    "Undefined",
    "accuracy",
    "auc",
    "balanced_accuracy",
    "equal_opportunity_gap",
    "equalized_odds_gap",
    "f1",
    "false_positive_rate",
    "pairwise_gaps",
    "statistical_parity_gap",
]
