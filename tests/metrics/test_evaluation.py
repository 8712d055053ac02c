"""One evaluation: the contract of its JSON, its properties, and arrays that are left alone."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairview.metrics import METRICS, Evaluation, Evaluator, Interval, Undefined
from fairview.metrics.registry import gap_names


@dataclass
class Case:
    y: np.ndarray
    scores: np.ndarray
    sensitive: np.ndarray

    def evaluate(self, order: slice | np.ndarray = slice(None)) -> Evaluation:
        return Evaluator(self.y[order], sensitive=self.sensitive[order])(self.scores[order])


@st.composite
def cases(draw: st.DrawFn, *, most: int = 30, groups: tuple[object, ...] = ("a", "b", "c", None)) -> Case:
    n = draw(st.integers(0, most))
    y = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    scores = draw(st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]) | st.floats(-2, 2), min_size=n, max_size=n))
    sensitive = draw(st.lists(st.sampled_from(groups), min_size=n, max_size=n))
    return Case(np.array(y, dtype=np.int64), np.array(scores), np.array([*sensitive, None], dtype=object)[:-1])


def same(first: object, second: object) -> bool:
    if isinstance(first, float) and isinstance(second, float):
        return abs(first - second) < 1e-12
    return first == second


def test_names_and_order_of_the_metrics_are_the_contract() -> None:
    assert tuple(METRICS) == (
        "auc",
        "f1",
        "accuracy",
        "balanced_accuracy",
        "false_positive_rate",
        "statistical_parity_gap",
        "equal_opportunity_gap",
        "equalized_odds_gap",
    )


def test_an_evaluation_in_full() -> None:
    found = Evaluator([0, 1, 1, 0, 1, 1], sensitive=["f", "f", "m", "m", "m", None])([0.2, 0.9, 0.8, 0.7, 0.4, 0.6])
    assert found.to_dict() == {
        "auc": 0.75,
        "f1": 0.75,
        "accuracy": pytest.approx(4 / 6),
        "balanced_accuracy": pytest.approx((3 / 4 + 1 / 2) / 2),
        "false_positive_rate": 0.5,
        "statistical_parity_gap": pytest.approx(2 / 3 - 1 / 2),
        "equal_opportunity_gap": 0.5,
        "equalized_odds_gap": 1.0,
        "undefined": {},
        "nodes": 6,
        "group_unknown": 1,
        "groups": [
            {
                "group": "f",
                "nodes": 2,
                "positives": 1,
                "predicted_positive": 1,
                "true_positives": 1,
                "false_positives": 0,
                "selection_rate": 0.5,
                "true_positive_rate": 1.0,
                "false_positive_rate": 0.0,
            },
            {
                "group": "m",
                "nodes": 3,
                "positives": 2,
                "predicted_positive": 2,
                "true_positives": 1,
                "false_positives": 1,
                "selection_rate": pytest.approx(2 / 3),
                "true_positive_rate": 0.5,
                "false_positive_rate": 1.0,
            },
        ],
        "pairs": {
            "statistical_parity_gap": [{"groups": ["f", "m"], "gap": pytest.approx(1 / 6)}],
            "equal_opportunity_gap": [{"groups": ["f", "m"], "gap": 0.5}],
            "equalized_odds_gap": [{"groups": ["f", "m"], "gap": 1.0}],
        },
    }


@given(cases(most=15), st.booleans())
def test_every_evaluation_is_strict_json_with_null_and_a_reason_for_what_is_undefined(
    case: Case, intervals: bool
) -> None:
    found = Evaluator(case.y, sensitive=case.sensitive)(case.scores, intervals=intervals, resamples=np.int64(40))
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain == found.to_dict()
    assert all((plain[name] is None) == (name in plain["undefined"]) for name in METRICS)
    assert all(isinstance(plain[name], float) for name in METRICS if name not in plain["undefined"])
    assert ("intervals" in plain) == intervals
    if intervals:
        unsure = plain["intervals"].pop("undefined")
        assert unsure.keys() | plain["intervals"].keys() == set(METRICS)
        assert not unsure.keys() & plain["intervals"].keys()
        assert all(each.keys() >= {"low", "high", "level", "resamples"} for each in plain["intervals"].values())


@given(cases())
def test_every_number_is_a_fraction(case: Case) -> None:
    found = case.evaluate()
    numbers = [value for value in found.metrics.values() if not isinstance(value, Undefined)]
    numbers += [gap for gaps in found.pairs.values() for gap in gaps.values() if not isinstance(gap, Undefined)]
    assert all(0 <= number <= 1 for number in numbers)


@given(cases(), st.randoms(use_true_random=False))
def test_the_order_of_the_nodes_does_not_matter(case: Case, random: object) -> None:
    order = np.arange(len(case.y))
    random.shuffle(order)  # type: ignore[attr-defined]
    first, second = case.evaluate(), case.evaluate(order)
    assert first.metrics == second.metrics
    assert first.to_dict() == second.to_dict()


@given(cases(groups=("a", "b")))
def test_swapping_two_groups_changes_no_metric(case: Case) -> None:
    swapped = Case(case.y, case.scores, np.where(case.sensitive == "a", "b", "a").astype(object))
    first, second = case.evaluate(), swapped.evaluate()
    numbers = [name for name in METRICS if name not in first.undefined]
    assert first.undefined.keys() == second.undefined.keys()
    assert all(same(first[name], second[name]) for name in numbers)


@given(cases())
def test_other_names_for_the_groups_change_no_number(case: Case) -> None:
    names = {"a": 30, "b": 20, "c": 10, None: None}  # in reverse order, too
    renamed = Case(case.y, case.scores, np.array([*(names[s] for s in case.sensitive), None], dtype=object)[:-1])
    first, second = case.evaluate(), renamed.evaluate()
    assert first.undefined.keys() == second.undefined.keys()
    assert all(same(first[name], second[name]) for name in METRICS if name not in first.undefined)
    for name, gaps in first.pairs.items():
        for (a, b), gap in gaps.items():
            other = second.pairs[name][str(names[b]), str(names[a])]
            assert isinstance(gap, Undefined) == isinstance(other, Undefined)
            assert isinstance(gap, Undefined) or same(gap, other)


@given(cases())
def test_the_gap_is_the_largest_of_the_pairs(case: Case) -> None:
    found = case.evaluate()
    for name in gap_names():
        gaps = list(found.pairs[name].values())
        assert list(found.pairs[name]) == list(combinations(found.group_names, 2))
        if any(isinstance(gap, Undefined) for gap in gaps) or not gaps:
            assert isinstance(found[name], Undefined)
        else:
            assert found[name] == max(gaps)


@given(cases(), st.sampled_from(["b", "c"]))
def test_merging_two_groups_never_widens_the_statistical_parity_gap(case: Case, other: str) -> None:
    """The rate of the union lies between the rates of the two."""
    merged = Case(case.y, case.scores, np.where(case.sensitive == other, "a", case.sensitive).astype(object))
    before, after = case.evaluate()["statistical_parity_gap"], merged.evaluate()["statistical_parity_gap"]
    if not isinstance(before, Undefined) and not isinstance(after, Undefined):
        assert after <= before + 1e-12


@given(cases())
def test_nodes_of_unknown_group_count_for_utility_only(case: Case) -> None:
    known = np.array([s is not None for s in case.sensitive], dtype=bool)
    everyone, only_known = case.evaluate(), case.evaluate(known)
    assert all(everyone[name] == only_known[name] for name in gap_names())
    nobody_known = Evaluator(case.y, sensitive=np.full(len(case.y), None))(case.scores)
    assert all(everyone[name] == nobody_known[name] for name in METRICS if name not in gap_names())
    assert everyone.group_unknown == (~known).sum()


@given(cases(), st.integers(-3, 3))
def test_moving_scores_and_threshold_together_changes_nothing(case: Case, shift: int) -> None:
    quarters = np.round(case.scores * 4) / 4  # so that the sums are exact
    first = Evaluator(case.y, sensitive=case.sensitive)(quarters)
    second = Evaluator(case.y, sensitive=case.sensitive, threshold=0.5 + shift)(quarters + shift)
    assert first.metrics == second.metrics


def test_a_score_at_the_threshold_is_negative() -> None:
    assert Evaluator([1, 1], sensitive=[0, 1])([0.5, np.nextafter(0.5, 1)])["statistical_parity_gap"] == 1.0
    assert Evaluator([1, 1], sensitive=[0, 1], threshold=0)([0.0, 0.1])["statistical_parity_gap"] == 1.0


def test_a_threshold_beyond_float32_is_above_every_float32_score() -> None:
    found = Evaluator([0, 1], sensitive=[0, 1], threshold=1e300)(np.array([0.1, 3e38], dtype=np.float32))
    assert found["f1"] == 0.0


@pytest.mark.parametrize("writeable", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_the_callers_arrays_are_neither_changed_nor_kept(writeable: bool, dtype: type) -> None:
    rng = np.random.default_rng(1)
    y, scores, s = rng.integers(0, 2, 60), (rng.random(60) * 3).astype(dtype), rng.integers(0, 3, 60)
    copies = [array.copy() for array in (y, scores, s)]
    for array in (y, scores, s):
        array.flags.writeable = writeable
    evaluator = Evaluator(y, sensitive=s)
    found = evaluator(scores, intervals=True, resamples=50)
    assert all((array == copy).all() for array, copy in zip((y, scores, s), copies, strict=True))
    assert all(array.flags.writeable == writeable for array in (y, scores, s))
    if writeable:
        y[:], s[:] = 1 - y, 0
        assert evaluator(copies[1]).metrics == found.metrics


def test_declared_groups_are_evaluated_like_found_ones() -> None:
    rng = np.random.default_rng(2)
    y, scores, codes = rng.integers(0, 2, 50), rng.random(50), rng.integers(-1, 2, 50)
    names = np.array(["f", "m", None], dtype=object)
    declared = Evaluator.from_codes(y, codes=codes, groups=("f", "m"))(scores)
    assert declared.to_dict() == Evaluator(y, sensitive=names[codes])(scores).to_dict()


def test_intervals_come_on_request_only() -> None:
    evaluator = Evaluator([0, 1] * 30, sensitive=["f", "f", "m", "m"] * 15)
    scores = np.linspace(0, 1, 60)
    assert evaluator(scores).intervals == {}
    found = evaluator(scores, intervals=True, resamples=100)
    assert list(found.intervals) == list(METRICS)
    assert all(isinstance(interval, Interval) for interval in found.intervals.values())
    assert found.metrics == evaluator(scores).metrics


def test_it_is_read_like_a_mapping():
    found = Evaluator([1, 0, 1, 0], sensitive=["f", "f", "m", "m"])([0.9, 0.2, 0.8, 0.4])
    assert dict(found) == found.metrics
    assert list(found) == list(found.keys()) == list(found.metrics)
    assert "auc" in found
    with pytest.raises(KeyError, match=r"no metric 'acuracy'\. Did you mean 'accuracy'\?"):
        found["acuracy"]
