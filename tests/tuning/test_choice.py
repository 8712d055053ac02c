"""The certified choice: the order of the tests, the first failure, and how often the rule is wrong."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom

import fairview as fv
from fairview.metrics.gap_test import Sample, gap_p_value
from fairview.tuning import choice as rule
from fairview.tuning.choice import Candidates, Scored, as_json, candidate_thresholds, knee
from fairview.tuning.holdout import hold_out
from fairview.tuning.limits import Limit

SP, EO = Limit("statistical_parity", 0.1), Limit("equal_opportunity", 0.1)


class HandMade(Candidates):
    """Candidates of which utility, chances and p-values are given; `found` has a list for each gap."""

    def __init__(self, chances, found, useful, judged=None):
        self.chances, self.found = np.array(chances), {gap: list(values) for gap, values in found.items()}
        self.tuning_utility = np.array(useful)
        self.val_utility = self.tuning_utility if judged is None else np.array(judged)
        self.majority_utility, self.trials = 0.5, np.arange(len(chances))
        self.asked: list[int] = []

    def chance_to_pass(self, limits, level):
        return self.chances

    def test(self, candidate, limit, *, near=None):
        self.asked.append(candidate)
        return rule.Tested(limit, 0.0, self.found[limit.gap][candidate], ())


CHANCES = [0.999, 0.99, 0.95, 0.8, 0.4, 0.01]
USEFUL = [0.80, 0.82, 0.85, 0.87, 0.90, 0.99]


def made(found, useful=USEFUL, **other):
    return HandMade(CHANCES, found if isinstance(found, dict) else {"statistical_parity": found}, useful, **other)


def test_the_surest_is_tested_first_and_then_ever_more_useful_and_doubtful_ones():
    assert made([0.0] * 6).sequence([SP], 0.05) == (0, 1, 2, 3, 4, 5)


def test_a_doubtful_candidate_that_is_no_more_useful_is_not_tested():
    assert made([0.0] * 6, useful=[0.8, 0.82, 0.85, 0.87, 0.86, 0.99]).sequence([SP], 0.05) == (0, 1, 2, 3, 5)


def promise(steps, chances, useful):
    """The expected gain over the majority answer if the tests were independent."""
    gain, reached, before = 0.0, 1.0, 0.5
    for step in steps:
        reached *= chances[step]
        gain, before = gain + reached * (useful[step] - before), useful[step]
    return gain


@pytest.mark.parametrize("seed", range(20))
def test_no_other_sequence_of_growing_usefulness_promises_more(monkeypatch, seed):
    monkeypatch.setattr(rule, "MORE", 0)
    rng = np.random.default_rng(seed)
    chances, useful = rng.random(7), 0.76 + 0.24 * rng.random(7)
    found = HandMade(chances, {}, useful).sequence([SP], 0.05)
    assert list(useful[list(found)]) == sorted(useful[list(found)])
    by_use = np.argsort(useful).tolist()
    every = [steps for size in range(1, 8) for steps in combinations(by_use, size)]
    assert promise(found, chances, useful) == pytest.approx(max(promise(each, chances, useful) for each in every))


def test_further_likely_candidates_stand_behind_the_sequence_the_surest_first():
    candidates = HandMade([0.7, 0.9, 0.99, 0.3], {}, [0.80, 0.81, 0.90, 0.79])
    assert candidates.sequence([SP], 0.05) == (2, 1, 0)


def test_nothing_behind_the_first_failure_is_tested_or_taken():
    candidates = made([0.001, 0.01, 0.2, 1e-6, 1e-6, 1e-6])
    choice = candidates.choose([SP], 0.95)
    assert choice.sequence == (0, 1, 2, 3, 4, 5)
    assert choice.certified == (0, 1)
    assert choice.chosen == 1
    assert candidates.asked == [0, 1, 2]
    assert len(choice.tested) == 3


def test_a_first_failure_is_a_refusal():
    choice = made([0.051, 0.0, 0.0, 0.0, 0.0, 0.0]).choose([SP], 0.95)
    assert (choice.certified, choice.chosen) == ((), None)


def test_a_p_value_at_the_level_passes():
    assert made([0.25, 0.26, 0.0, 0.0, 0.0, 0.0]).choose([SP], 0.75).certified == (0,)


def test_of_those_that_passed_the_most_useful_on_all_val_nodes_is_taken():
    choice = made([0.0] * 6, judged=[0.7, 0.9, 0.8, 0.6, 0.6, 0.65]).choose([SP], 0.95)
    assert choice.certified == (0, 1, 2, 3, 4, 5)
    assert choice.chosen == 1


def test_all_gaps_must_pass():
    found = {
        "statistical_parity": [0.0, 0.01, 0.01, 0.0, 0.0, 0.0],
        "equal_opportunity": [0.0, 0.02, 0.3, 0.0, 0.0, 0.0],
    }
    choice = made(found).choose([SP, EO], 0.95)
    assert choice.certified == (0, 1)
    assert [test.limit.gap for test in choice.tested[-1]] == ["statistical_parity", "equal_opportunity"]


def test_candidates_with_less_than_half_of_the_possible_gain_are_not_worth_a_certificate():
    candidates = made([0.0] * 6, useful=[0.50, 0.59, 0.61, 0.6, 0.7, 0.65])
    assert candidates.worthwhile.tolist() == [2, 3, 4, 5]


def test_if_nothing_beats_the_majority_there_is_nothing_to_test():
    choice = made([0.0] * 6, useful=[0.5, 0.4, 0.5, 0.5, 0.3, 0.5]).choose([SP], 0.95)
    assert (choice.sequence, choice.tested, choice.chosen) == ((), (), None)


# --- the promise, counted ---------------------------------------------------------------------------------------------


NODES = 120
"""Of each group."""


@cache
def p_value(first, second, nodes=NODES, limit=0.25):
    return gap_p_value([Sample(first, nodes), Sample(second, nodes)], limit)


class Drawn(HandMade):
    """Candidates whose counts were drawn, (candidates, groups)."""

    def __init__(self, counts):
        super().__init__(CHANCES[: len(counts)], {}, USEFUL[: len(counts)])
        self.counts = counts

    def test(self, candidate, limit, *, near=None):
        first, second = (int(count) for count in self.counts[candidate])
        return rule.Tested(limit, 0.0, p_value(first, second), ())


def certified(rates, level, *, draws=2000, seed):
    """How often each candidate is certified in so many draws; rates: (candidates, groups)."""
    drawn = np.random.default_rng(seed).binomial(NODES, rates, size=(draws, *np.shape(rates)))
    passed = [Drawn(counts).choose([Limit("statistical_parity", 0.25)], 1 - level).certified for counts in drawn]
    return [sum(number in each for each in passed) for number in range(len(rates))]


@pytest.mark.parametrize("level", [0.05, 0.1])
def test_models_just_beyond_the_limit_are_certified_no_more_often_than_declared(level):
    """Five promising candidates whose true gap is 25.01 points: the first must pass before another is looked at."""
    wrong = certified([(0.5501, 0.3)] * 5, level, seed=7)
    assert wrong[0] == max(wrong)
    assert wrong[0] <= binom.ppf(0.999, 2000, level)
    assert wrong[0] >= 0.6 * level * 2000  # and not much less often: the level is used


def test_a_late_candidate_beyond_the_limit_passes_no_more_often_than_declared():
    fair, unfair = certified([(0.3, 0.3), (0.3, 0.5501)], 0.05, draws=1000, seed=8)
    assert fair > 950
    assert 0.5 * 50 <= unfair <= binom.ppf(0.999, 1000, 0.05)


# --- counted candidates -----------------------------------------------------------------------------------------------


def scored(graph, columns=(0, 1, 5)):
    rng = np.random.default_rng(3)
    return [
        Scored(1 / (1 + np.exp(-graph.features[:, c] - rng.normal(size=graph.num_nodes))), 0.6, 0.6) for c in columns
    ]


@pytest.mark.parametrize("gap", ["statistical_parity", "equal_opportunity", "equalized_odds"])
def test_a_test_sees_the_counts_of_the_certification_nodes(many, gap):
    holdout, limit = hold_out(many, seed=1), Limit(gap, 0.2)
    models = scored(many)
    candidates = Candidates(models, holdout, utility="balanced_accuracy", limits=[limit], population="new")
    labels = {"statistical_parity": [None], "equal_opportunity": [1], "equalized_odds": [1, 0]}[gap]
    for candidate in (0, 7, len(candidates) - 1):
        positive = models[candidates.trials[candidate]].scores > candidates.thresholds[candidate]
        samples = []
        for label in labels:
            rows = holdout.everybody if label is None else holdout.labelled[many.labels[holdout.labelled] == label]
            members = [rows[many.sensitive[rows] == code] for code in (0, 1)]
            samples.append(tuple(Sample(int(positive[each].sum()), len(each)) for each in members))
        tested = candidates.test(candidate, limit)
        assert tested.samples == tuple(samples)
        assert tested.p_value == max(gap_p_value(each, 0.2) for each in samples)
        assert tested.estimate == max(abs(a.rate - b.rate) for a, b in samples)
        assert tested.nodes == sum(sample.nodes for pair in samples for sample in pair)


def test_the_order_does_not_look_at_the_certification_nodes(many):
    """Other labels, groups and scores of the certification nodes change no place in the sequence."""
    holdout = hold_out(many, seed=1)
    certifying = np.union1d(holdout.everybody, holdout.labelled)
    rng = np.random.default_rng(5)
    models = scored(many)
    changed = []
    for model in models:
        scores = model.scores.copy()
        scores[certifying] = rng.random(len(certifying))
        changed.append(Scored(scores, model.tuning_auc, model.val_auc))
    kind = {"utility": "balanced_accuracy", "limits": [SP], "population": "new"}
    before, after = (Candidates(each, holdout, **kind) for each in (models, changed))
    assert len(before.sequence([SP], 0.05)) > 1
    assert before.sequence([SP], 0.05) == after.sequence([SP], 0.05)


def test_a_finite_population_certifies_at_least_as_often(many):
    holdout = hold_out(many, seed=1)
    kind = {"utility": "balanced_accuracy", "limits": [SP]}
    new, graph = (Candidates(scored(many), holdout, population=each, **kind) for each in ("new", "graph"))
    passed = {"new": 0, "graph": 0}
    for value in (0.06, 0.1, 0.15):
        limit = Limit("statistical_parity", value)
        for candidate in range(0, len(new), 3):
            passed["new"] += new.test(candidate, limit).p_value <= 0.05
            passed["graph"] += graph.test(candidate, limit).p_value <= 0.05
    assert 0 < passed["new"] <= passed["graph"]


def test_several_groups_are_as_far_apart_as_their_worst_pair():
    graph = fv.synthetic_graph(600, groups={"a": 0.4, "b": 0.3, "c": 0.3}, average_degree=4, seed=3)
    graph = graph.with_splits(fv.stratified_splits(graph, repeats=1)[0])
    holdout = hold_out(graph, seed=1)
    scores = np.where(graph.sensitive == 2, 0.9, np.random.default_rng(0).random(600))
    candidates = Candidates(
        [Scored(scores, 0.5, 0.5)], holdout, utility="balanced_accuracy", limits=[SP], population="new"
    )
    tested = candidates.test(int(np.argmin(np.abs(candidates.thresholds - 0.5))), SP)
    rates = [sample.rate for sample in tested.samples[0]]
    assert tested.estimate == max(rates) - min(rates) > 0.3
    assert tested.p_value > 0.99


@pytest.mark.parametrize(("utility", "share", "expected"), [
    ("balanced_accuracy", 0.7, 0.5), ("auc", 0.7, 0.5), ("accuracy", 0.7, 0.7), ("accuracy", 0.2, 0.8),
    ("f1", 0.7, 2 * 0.7 / 1.7), ("f1", 0.3, 0.0),
])  # fmt: skip
def test_the_majority_answer_has_the_utility_of_a_constant(utility, share, expected):
    graph = fv.synthetic_graph(600, average_degree=4, positive_rate=share, seed=4)
    graph = graph.with_splits(fv.stratified_splits(graph, repeats=1)[0])
    candidates = Candidates(scored(graph), hold_out(graph, seed=1), utility=utility, limits=[SP], population="new")
    assert candidates.majority_utility == pytest.approx(expected, abs=0.02)


# --- what a refusal says ----------------------------------------------------------------------------------------------


def outcome(first, second, nodes):
    samples = (Sample(first, nodes), Sample(second, nodes))
    return rule.Tested(SP, abs(first - second) / nodes, gap_p_value(samples, 0.1), (samples,))


def test_with_the_nodes_that_a_refusal_names_the_same_rates_mostly_pass():
    test = outcome(32, 30, 100)
    assert test.p_value > 0.05
    needed = made([0.0] * 6).nodes_needed([test], 0.95)
    assert needed > 200
    rng, each = np.random.default_rng(1), needed // 2
    draws = zip(rng.binomial(each, 0.32, 200), rng.binomial(each, 0.30, 200), strict=True)
    passed = np.mean([p_value(int(a), int(b), each, 0.1) <= 0.05 for a, b in draws])
    assert passed == pytest.approx(0.8, abs=0.1)


@pytest.mark.parametrize(("first", "second"), [(45, 30), (30, 45), (41, 30)])
def test_more_nodes_do_not_help_a_gap_that_is_beyond_the_limit(first, second):
    assert made([0.0] * 6).nodes_needed([outcome(first, second, 100)], 0.95) is None


def test_a_test_in_json_has_the_fields_of_the_contract():
    row = as_json(outcome(30, 31, 300), 0.95)
    assert list(row) == ["gap", "limit", "estimate", "upper_bound", "p_value", "confidence", "nodes"]
    assert row["upper_bound"] <= 0.1
    assert row["nodes"] == 600
    unlimited = rule.Tested(Limit("statistical_parity", None), 0.1, np.nan, ((Sample(30, 300), Sample(31, 300)),))
    assert as_json(unlimited, 0.95)["p_value"] is None


# --- thresholds and the knee ------------------------------------------------------------------------------------------


def test_thresholds_lie_between_scores_at_each_twentieth_and_at_one_half():
    scores = np.random.default_rng(0).permutation(np.arange(1000)) / 1000
    levels = candidate_thresholds(scores)
    assert set(levels) & set(scores) == {0.5}
    assert len(levels) == 20  # 0.5 is not a quantile here: 499 of 1,000 lie below it
    assert 0.5 in levels
    assert (np.diff(levels) > 0).all()


@pytest.mark.parametrize(
    ("scores", "expected"), [([], [0.5]), ([1.0, 1.0], [0.5]), ([0.2] * 5, [0.5]), ([0.0, 0.4, 0.4], [0.2, 0.5])]
)
def test_thresholds_of_few_scores_are_few(scores, expected):
    assert candidate_thresholds(np.array(scores)).tolist() == expected


def test_the_knee_is_furthest_above_the_line_between_the_ends():
    assert knee(np.array([0.5, 0.68, 0.7]), np.array([0.0, 0.02, 0.2])) == 1
    assert knee(np.array([0.5, 0.52, 0.7]), np.array([0.0, 0.15, 0.2])) in (0, 2)
    assert knee(np.array([0.6]), np.array([0.1])) == 0


def test_the_knee_is_no_candidate_beyond_the_most_useful_one():
    assert knee(np.array([0.5, 0.68, 0.7, 0.69]), np.array([0.0, 0.05, 0.1, 0.5])) == 1
