"""Every metric against exact fractions, counted node by node and pair by pair, on 10,000 random cases."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from fairview.metrics import METRICS, Evaluator, Undefined
from fairview.metrics.registry import gap_names

CASES = 10_000
BLOCKS = 10
NAMES = ("a", "b", "c", "d", "e")


def share(part: list[bool]) -> Fraction | None:
    return Fraction(sum(part), len(part)) if part else None


def exact_utility(y: list[int], score: list[float], prediction: list[int]) -> dict[str, Fraction | None]:
    positive = [value for value, label in zip(score, y, strict=True) if label]
    negative = [value for value, label in zip(score, y, strict=True) if not label]
    won = [Fraction(2 * (a > b) + (a == b), 2) for a in positive for b in negative]
    tp = sum(label and predicted for label, predicted in zip(y, prediction, strict=True))
    mistakes = sum(label != predicted for label, predicted in zip(y, prediction, strict=True))
    recall = share([predicted == 1 for label, predicted in zip(y, prediction, strict=True) if label])
    false_alarms = share([predicted == 1 for label, predicted in zip(y, prediction, strict=True) if not label])
    return {
        "auc": sum(won, Fraction(0)) / len(won) if won else None,
        "f1": Fraction(2 * tp, 2 * tp + mistakes) if 2 * tp + mistakes else None,
        "accuracy": share([label == predicted for label, predicted in zip(y, prediction, strict=True)]),
        "balanced_accuracy": None if recall is None or false_alarms is None else (recall + 1 - false_alarms) / 2,
        "false_positive_rate": false_alarms,
    }


def exact_gaps(nodes: dict[str, list[tuple[int, int]]]) -> dict[str, Fraction | None]:
    """From (label, prediction) of each node, by group."""

    def largest(rates: list[Fraction | None]) -> Fraction | None:
        if len(rates) < 2 or None in rates:
            return None
        return max(abs(first - second) for first, second in combinations(rates, 2))

    selected = largest([share([p == 1 for _, p in group]) for group in nodes.values()])
    hits = largest([share([p == 1 for label, p in group if label]) for group in nodes.values()])
    alarms = largest([share([p == 1 for label, p in group if not label]) for group in nodes.values()])
    odds = None if hits is None or alarms is None else max(hits, alarms)
    return {"statistical_parity_gap": selected, "equal_opportunity_gap": hits, "equalized_odds_gap": odds}


def agree(found: float | Undefined, expected: Fraction | None) -> bool:
    if expected is None or isinstance(found, Undefined):
        return expected is None and isinstance(found, Undefined)
    return abs(Fraction(found) - expected) < Fraction(1, 10**12)


def random_case(rng: np.random.Generator) -> tuple[list[int], list[float], list[str | None]]:
    n, groups = int(rng.integers(0, 25)), int(rng.choice([1, 2, 2, 2, 3, 4, 5]))
    y = (rng.random(n) < rng.choice([0, 0.2, 0.4, 0.5, 0.6, 1])).astype(int).tolist()
    tied = rng.random() < 0.7  # few values: many ties, some at the threshold itself
    score = (rng.integers(0, 9, n) / 8).tolist() if tied else rng.random(n).tolist()
    pool = [*NAMES[:groups], None] if rng.random() < 0.3 else list(NAMES[:groups])
    return y, score, [pool[k] for k in rng.integers(0, len(pool), n)]


@pytest.mark.parametrize("block", range(BLOCKS))
def test_every_metric_equals_exact_arithmetic_and_is_undefined_exactly_where_that_divides_by_zero(block: int) -> None:
    rng = np.random.default_rng(block)
    undefined = dict.fromkeys(METRICS, 0)
    for _ in range(CASES // BLOCKS):
        y, score, sensitive = random_case(rng)
        prediction = [int(value > 0.5) for value in score]
        nodes: dict[str, list[tuple[int, int]]] = {name: [] for name in sorted({s for s in sensitive if s is not None})}
        for label, predicted, group in zip(y, prediction, sensitive, strict=True):
            if group is not None:
                nodes[group].append((label, predicted))
        expected = exact_utility(y, score, prediction) | exact_gaps(nodes)
        found = Evaluator(y, sensitive=np.array(sensitive, dtype=object))(score)
        case = (y, score, sensitive)
        assert set(found.metrics) == set(expected) == set(METRICS)
        for name, value in found.metrics.items():
            assert agree(value, expected[name]), (name, value, expected[name], case)
            undefined[name] += expected[name] is None
        for name in gap_names():
            pairs = {(a, b): exact_gaps({a: nodes[a], b: nodes[b]})[name] for a, b in combinations(nodes, 2)}
            assert found.pairs[name].keys() == pairs.keys()
            assert all(agree(found.pairs[name][pair], gap) for pair, gap in pairs.items()), (name, case)
        for group, (name, members) in zip(found.groups, nodes.items(), strict=True):
            assert (group.group, group.nodes) == (name, len(members))
            assert group.positives == sum(label for label, _ in members)
            assert group.predicted_positive == sum(p for _, p in members)
            assert group.true_positives == sum(p for label, p in members if label)
            assert group.false_positives == sum(p for label, p in members if not label)
            assert agree(group.selection_rate, share([p == 1 for _, p in members]))
            assert agree(group.true_positive_rate, share([p == 1 for label, p in members if label]))
            assert agree(group.false_positive_rate, share([p == 1 for label, p in members if not label]))
        assert found.group_unknown == sensitive.count(None)
    shares = {name: count / (CASES // BLOCKS) for name, count in undefined.items()}
    assert all(0.01 < value < 0.95 for value in shares.values()), f"the cases are lopsided: {shares}"
