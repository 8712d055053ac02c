from __future__ import annotations

import json

import pytest

import fairview as fv

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # PyG's import is not ours to judge


def test_the_graph_and_the_simplest_predictors_are_shown(run):
    outcome = run("demo")
    assert (outcome.code, outcome.err) == (0, "")
    for said in (
        "german",
        "1,000",
        "21,742",
        "80.48 %",
        "Groups by Gender",
        "constant (always good)",
        "logistic regression",
    ):
        assert said in outcome.out


def test_json_has_the_summary_and_the_metrics(run):
    outcome = run("demo", "--format", "json")
    assert outcome.err == ""
    document = json.loads(outcome.out)
    assert document["graph"]["graph_sha256"] == fv.load_dataset("german").sha256
    constant = document["test"]["constant (always good)"]
    assert constant["accuracy"] == pytest.approx(0.70)
    assert constant["f1"] == pytest.approx(2 * 0.7 / 1.7)
    assert constant["false_positive_rate"] == 1.0
    assert constant["statistical_parity_gap"] == 0.0
    plain = document["test"]["logistic regression"]
    assert plain["auc"] > 0.6
    assert plain["balanced_accuracy"] > constant["balanced_accuracy"]
    assert "logistic regression without Gender" in document["test"]


def test_the_same_numbers_each_time(run):
    assert run("demo", "--format", "json").out == run("demo", "--format", "json").out
