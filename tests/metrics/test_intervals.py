"""Intervals cover the truth as often as they say, also where there is no gap and where groups are small."""

from __future__ import annotations

import numpy as np
import pytest

from fairview.metrics import METRICS, Evaluator, Interval, Undefined, intervals
from fairview.metrics.ranking import auc_of
from fairview.metrics.registry import gap_names

UTILITY = [name for name in METRICS if name not in gap_names()]


def ordinary(n: int = 300, seed: int = 0) -> tuple[Evaluator, np.ndarray]:
    rng = np.random.default_rng(seed)
    y, s = rng.integers(0, 2, n), rng.choice(["f", "m"], n)
    return Evaluator(y, sensitive=s), np.clip(rng.normal(0.35 + 0.3 * y, 0.25), 0, 1).round(2)


def test_the_seed_decides_the_interval() -> None:
    evaluator, scores = ordinary()
    first, again, other = (evaluator(scores, intervals=True, resamples=200, seed=seed) for seed in (1, 1, 2))
    assert first.intervals == again.intervals
    assert all(first.intervals[name] != other.intervals[name] for name in METRICS)


def test_global_random_state_is_left_alone() -> None:
    evaluator, scores = ordinary()
    np.random.seed(5)  # noqa: NPY002
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    evaluator(scores, intervals=True, resamples=50)
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


@pytest.mark.parametrize("seed", range(5))
def test_the_interval_brackets_the_value_and_narrows_with_the_level(seed: int) -> None:
    evaluator, scores = ordinary(seed=seed)
    wide = evaluator(scores, intervals=True, resamples=400)
    narrow = evaluator(scores, intervals=True, resamples=400, level=0.5)
    for name in METRICS:
        assert 0 <= wide.intervals[name].low < wide[name] < wide.intervals[name].high <= 1
        assert wide.intervals[name].low <= narrow.intervals[name].low <= narrow[name]
        assert narrow[name] <= narrow.intervals[name].high <= wide.intervals[name].high
        assert (wide.intervals[name].level, wide.intervals[name].resamples) == (0.95, 400)


def test_more_nodes_give_narrower_intervals() -> None:
    widths = []
    for n in (200, 3200):
        evaluator, scores = ordinary(n)
        found = evaluator(scores, intervals=True, resamples=200).intervals
        widths.append([found[name].high - found[name].low for name in UTILITY])
    np.testing.assert_allclose(np.divide(*widths), 4, rtol=0.4)  # the root of 16


def test_utility_intervals_equal_plain_resampling_of_the_nodes_with_the_same_draws() -> None:
    evaluator, scores = ordinary(n=80)
    found = evaluator(scores, intervals=True, resamples=100, level=0.9, seed=3)
    generator = np.random.default_rng(3)
    intervals._gap_draws(found.counts, 100, generator)  # the gaps' draws come first
    rows = generator.integers(0, 80, size=(100, 80))
    y = evaluator.labels
    resampled = [Evaluator(y[row], sensitive=np.zeros(80))(scores[row]).metrics for row in rows]
    assert resampled[0]["auc"] == auc_of(scores[rows[0]][y[rows[0]] == 1], scores[rows[0]][y[rows[0]] == 0])
    for name in UTILITY:
        low, high = np.quantile([metrics[name] for metrics in resampled], (0.05, 0.95))
        assert (found.intervals[name].low, found.intervals[name].high) == pytest.approx((low, high), abs=1e-12)


@pytest.mark.parametrize("block", [1, 700, 10_000])
def test_blocks_do_not_change_the_result(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluator, scores = ordinary()
    whole = evaluator(scores, intervals=True, resamples=101)
    monkeypatch.setattr(intervals, "_BLOCK", block)
    assert evaluator(scores, intervals=True, resamples=101).intervals == whole.intervals


def test_a_gap_moves_by_at_most_the_largest_movement_of_a_difference() -> None:
    """The step of the argument that holds for every resample, not only on average."""
    rng = np.random.default_rng(0)
    rates, moved = rng.random((2, 5000, 4))
    gap, moved_gap = np.ptp(rates, axis=1), np.ptp(moved, axis=1)
    pairs = [(a, b) for a in range(4) for b in range(a)]
    movement = [np.abs((moved[:, a] - moved[:, b]) - (rates[:, a] - rates[:, b])) for a, b in pairs]
    largest = np.max(movement, axis=0)
    np.testing.assert_allclose(np.ptp(moved - rates, axis=1), largest)  # what the code computes
    assert (np.abs(moved_gap - gap) <= largest + 1e-12).all()


def simulate(
    sizes: tuple[int, int], rates: tuple[float, float], *, datasets: int = 300, seed: int = 0
) -> dict[str, float]:
    """How often 95 % intervals of the statistical parity gap hold the truth: ours, and two that are often taken."""
    rng = np.random.default_rng(seed)
    s = np.repeat([0, 1], sizes)
    truth = abs(rates[0] - rates[1])
    held = {"ours": 0, "percentile": 0, "not smoothed": 0}
    for k in range(datasets):
        predictions = (rng.random(len(s)) < np.array(rates)[s]).astype(float)
        y = rng.integers(0, 2, len(s))
        found = Evaluator(y, sensitive=s)(predictions, intervals=True, resamples=200, seed=k)
        ours = found.intervals["statistical_parity_gap"]
        assert isinstance(ours, Interval)
        held["ours"] += ours.low <= truth <= ours.high
        share = np.array([predictions[s == g].mean() for g in (0, 1)])
        first = np.maximum(
            rng.binomial(len(s), sizes[0] / len(s), size=200), 1
        )  # drawing nodes draws the groups' sizes, too
        drawn_sizes = np.stack([first, len(s) - first], axis=1)
        drawn = rng.binomial(drawn_sizes, share) / drawn_sizes
        difference = drawn[:, 0] - drawn[:, 1]
        low, high = np.quantile(np.abs(difference), (0.025, 0.975))
        held["percentile"] += low <= truth <= high
        gap = abs(share[0] - share[1])
        reach = np.quantile(np.abs(difference - (share[0] - share[1])), 0.95)
        held["not smoothed"] += gap - reach <= truth <= gap + reach
    return {name: count / datasets for name, count in held.items()}


LEAST = 0.95 - 3 * np.sqrt(0.95 * 0.05 / 300)  # three standard errors of 300 datasets below what is promised


def test_without_a_gap_the_interval_reaches_zero_as_often_as_promised_and_a_percentile_interval_hardly_ever() -> None:
    held = simulate((200, 200), (0.5, 0.5))
    assert held["ours"] >= LEAST
    assert held["percentile"] < 0.1, "then there would be no need for another interval"


def test_a_true_gap_is_covered_as_often_as_promised() -> None:
    assert simulate((200, 200), (0.6, 0.4))["ours"] >= LEAST


def test_a_small_group_of_which_nearly_all_are_selected_is_covered_and_would_not_be_without_the_added_nodes() -> None:
    held = simulate((10, 390), (0.9, 0.9))
    assert held["ours"] >= LEAST
    assert held["not smoothed"] < 0.8, "then there would be no need for the added nodes"


@pytest.mark.parametrize("groups", [3, 5])
def test_many_groups_are_covered_together(groups: int) -> None:
    rng = np.random.default_rng(groups)
    s, held = np.arange(600) % groups, 0
    for k in range(300):
        predictions = (rng.random(600) < 0.3).astype(float)
        found = Evaluator(rng.integers(0, 2, 600), sensitive=s)(predictions, intervals=True, resamples=200, seed=k)
        held += found.intervals["equalized_odds_gap"].low == 0
    assert held / 300 >= LEAST


def test_a_constant_predictor_is_not_certain_to_be_fair_but_nearly() -> None:
    found = Evaluator([0, 1] * 500, sensitive=["f", "f", "m", "m"] * 250)(np.ones(1000), intervals=True)
    assert found["statistical_parity_gap"] == 0.0
    assert found.intervals["statistical_parity_gap"].low == 0.0
    assert 0 < found.intervals["statistical_parity_gap"].high < 0.02


def test_few_nodes_behind_a_rate_make_the_interval_undefined_and_say_so() -> None:
    y = [1] * 4 + [0] * 40 + [1] * 20 + [0] * 20
    s = ["f"] * 44 + ["m"] * 40
    found = Evaluator(y, sensitive=s)(np.linspace(0, 1, 84), intervals=True, resamples=100).intervals
    reason = Undefined("group 'f' has only 4 positive labels, too few for an interval")
    assert found["equal_opportunity_gap"] == found["equalized_odds_gap"] == reason
    assert isinstance(found["statistical_parity_gap"], Interval)


def test_data_too_small_for_utility_intervals_says_how_many_resamples_had_no_value() -> None:
    found = Evaluator([1, 0, 0, 0], sensitive=[0, 0, 1, 1])([0.9, 0.1, 0.2, 0.3], intervals=True, resamples=1000)
    assert isinstance(found["auc"], float)
    reason = found.intervals["auc"].reason
    lacking, rest = reason.split(" ", 1)
    assert rest == "of 1,000 resamples have no value: the data is too small for an interval"
    assert int(lacking) / 1000 == pytest.approx(0.75**4, abs=0.05)  # no positive drawn; all positives are rarer
    assert found.intervals["statistical_parity_gap"] == Undefined("group '0' has only 2 nodes, too few for an interval")


def test_the_interval_of_an_undefined_metric_is_undefined_for_the_same_reason() -> None:
    found = Evaluator([0, 1] * 30, sensitive=["f"] * 60)(np.linspace(0, 1, 60), intervals=True, resamples=50)
    assert {name: found.intervals[name].reason for name in gap_names()} == found.undefined
    nothing = Evaluator([], sensitive=[])([], intervals=True)
    assert {name: found.reason for name, found in nothing.intervals.items()} == nothing.undefined


def test_an_interval_prints_with_four_digits() -> None:
    assert str(Interval(0.12346, 1.0, 0.95, 1000)) == "[0.1235, 1.0000]"
