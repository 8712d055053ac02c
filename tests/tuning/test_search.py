"""The search: which settings are tried, how often, and what a failure does."""

from __future__ import annotations

import time

import numpy as np
import optuna
import pytest

import fairview as fv
from fairview.methods.registry import resolve_method
from fairview.tuning import search as searching
from fairview.tuning.holdout import hold_out
from fairview.tuning.limits import Limit
from fairview.tuning.search import Budget, Search, search_space

LIMITS = (Limit("statistical_parity", 0.2),)


@pytest.fixture
def search(few, column):
    return Search(hold_out(few, seed=1), LIMITS, utility="balanced_accuracy", folder=None, seed=1, workers=1)


def run(search, methods, trials):
    advanced = []
    search.run([resolve_method(name) for name in methods], ["gcn"], Budget(trials), advanced.append)
    return sum(advanced)


def tried(search):
    return [(trial.method, dict(trial.settings)) for trial in search.trials]


def test_a_budget_is_divided_among_the_methods(search):
    assert run(search, ["column", "logistic-regression"], 7) == 7
    methods = [method for method, _ in tried(search)]
    assert len(methods) == 7
    assert 3 <= methods.count("column") <= 5


def test_a_long_search_goes_in_generations(search, monkeypatch):
    monkeypatch.setattr(searching, "GENERATION", 2)
    assert run(search, ["column", "logistic-regression"], 7) == 7
    methods = [method for method, _ in tried(search)]
    assert methods != sorted(methods)  # each method in turn


def test_no_settings_are_fitted_twice_and_the_search_ends_when_all_were(search):
    assert run(search, ["logistic-regression"], 50) == 4  # as many as its search space has
    assert sorted(settings["inverse_penalty"] for _, settings in tried(search)) == [0.01, 0.1, 1.0, 10.0]


def test_minutes_end_early_when_all_was_tried(search):
    begun = time.monotonic()
    entries = [resolve_method("logistic-regression")]
    search.run(entries, ["gcn"], Budget(None, begun + 300), lambda _: None)
    assert time.monotonic() - begun < 60
    assert len(search.trials) == 4


def test_no_budget_tries_nothing(search):
    assert run(search, ["column"], 0) == 0
    assert run(search, [], 5) == 0


def test_when_the_time_is_over_no_generation_begins():
    assert Budget(None, time.monotonic() - 1).left(0) == 0
    assert Budget(None, time.monotonic() + 60).left(1000) == searching.GENERATION
    assert Budget(5).left(3) == 2


def test_the_same_seed_tries_the_same_settings_and_another_seed_others(few, column):
    def settings(seed):
        found = Search(hold_out(few, seed=1), LIMITS, utility="auc", folder=None, seed=seed, workers=1)
        run(found, ["column"], 12)
        return tried(found)

    assert settings(1) == settings(1)
    assert settings(1) != settings(2)


def test_settings_come_from_the_search_space_and_the_encoder_is_one_of_them():
    vanilla = resolve_method("vanilla")
    assert search_space(vanilla, ["gcn"]) == {name: list(values) for name, values in fv.Vanilla.search_space.items()}
    assert search_space(vanilla, ["gcn", "sage"])["encoder"] == ["gcn", "sage"]
    assert "encoder" not in search_space(resolve_method("logistic-regression"), ["gcn", "sage"])


def test_several_encoders_are_tried(few, monkeypatch):
    monkeypatch.setattr(fv.Vanilla, "search_space", {"epochs": (1,)})
    search = Search(hold_out(few, seed=1), LIMITS, utility="auc", folder=None, seed=1, workers=1)
    search.run([resolve_method("vanilla")], ["mlp", "gcn"], Budget(6), lambda _: None)
    assert {trial.settings["encoder"] for trial in search.trials} == {"mlp", "gcn"}
    assert all(trial.model.encoder == trial.settings["encoder"] for trial in search.trials)


def test_objectives_are_the_best_utility_on_the_tuning_nodes_and_its_gap(search, few):
    run(search, ["column"], 1)
    trial, holdout = search.trials[0], search.holdout
    thresholds = np.unique(np.append(np.quantile(trial.scores[holdout.learning], np.arange(1, 20) / 20,
                                                 method="lower"), 0.5))  # fmt: skip
    utility, gap = [], []
    for threshold in thresholds:
        positive = trial.scores > threshold
        labels = few.labels[holdout.tuning]
        utility.append(np.mean([np.mean(positive[holdout.tuning][labels == y] == y) for y in (0, 1)]))
        rates = [positive[holdout.learning][few.sensitive[holdout.learning] == code].mean() for code in (0, 1)]
        gap.append(abs(rates[0] - rates[1]))
    best = int(np.argmax(utility))
    assert search.objectives(trial) == pytest.approx((utility[best], gap[best]), abs=1e-12)


def test_a_registered_method_that_breaks_stops_the_search(search, column):
    column.fails = {2: RuntimeError("broken")}
    with pytest.raises(RuntimeError, match="broken"):
        run(search, ["column"], 4)


def test_a_method_that_can_not_take_some_settings_is_tried_with_others(search, column):
    column.fails = {2: fv.InputError("column: this one is empty.")}
    assert run(search, ["column"], 4) == 4
    assert len(search.trials) == 3
    assert [failure.reason for failure in search.failures] == ["column: this one is empty."]
    failed = [trial for trial in search.study("column").trials if trial.state is optuna.trial.TrialState.FAIL]
    assert len({str(trial.params) for trial in failed}) == 1
    assert {trial.user_attrs["reason"] for trial in failed} == {"column: this one is empty."}


def test_an_error_in_a_class_of_ones_own_is_a_failure_with_its_name(few, column):
    class Broken(column):
        def predict_proba(self, graph):
            raise ZeroDivisionError("division by zero")

    search = Search(hold_out(few, seed=1), LIMITS, utility="auc", folder=None, seed=1, workers=1)
    search.run([resolve_method(Broken)], ["gcn"], Budget(1), lambda _: None)
    assert [failure.reason for failure in search.failures] == ["it raised ZeroDivisionError: division by zero"]


@pytest.mark.parametrize("wrong", [np.nan, 1.5, -0.1])
def test_scores_that_are_no_probabilities_are_a_failure(few, column, wrong):
    class Odd(column):
        def predict_proba(self, graph):
            found = super().predict_proba(graph)
            found[3] = wrong
            return found

    search = Search(hold_out(few, seed=1), LIMITS, utility="auc", folder=None, seed=1, workers=1)
    search.run([resolve_method(Odd)], ["gcn"], Budget(1), lambda _: None)
    assert [failure.reason for failure in search.failures] == [
        "predict_proba: no probabilities of shape (600, 2): one row per node, negative and positive class."
    ]
