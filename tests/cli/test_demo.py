from __future__ import annotations

import json

import pytest

import fairview as fv

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # PyG's import is not ours to judge


def test_the_whole_story_ends_with_the_path_of_the_report(run, tmp_path):
    outcome = run("demo", "--out", tmp_path / "demo")
    assert (outcome.code, outcome.err) == (0, "")
    for said in (
        "german",
        "1,000",
        "21,742",
        "80.48 %",
        "Groups by Gender",
        "How well Gender can be read",
        "majority answer",
        "logistic regression",
        "FairVGNN, GCN",
        "under a limit of 20 points",
        "at most 20 under this model, certified with 95 % confidence",
    ):
        assert said in " ".join(outcome.out.split())
    assert outcome.out.splitlines()[-1] == f"report: {tmp_path / 'demo' / 'report.html'}"
    page = (tmp_path / "demo" / "report.html").read_text()
    assert "logistic regression without Gender" in page
    assert "certified with 95% confidence" in page
    assert fv.verify(tmp_path / "demo", fv.load_dataset("german")).ok


def test_json_has_the_summary_the_audit_and_the_metrics_and_the_same_each_time(run, tmp_path):
    outcome = run("demo", "--out", tmp_path / "demo", "--format", "json")
    assert outcome.err == ""
    document = json.loads(outcome.out)
    assert document["graph"]["graph_sha256"] == fv.load_dataset("german").sha256
    assert document["audit"]["homophily"] == pytest.approx(0.8048, abs=5e-5)
    constant = document["test"]["majority answer"]
    assert constant["accuracy"] == pytest.approx(0.70)
    assert constant["f1"] == pytest.approx(2 * 0.7 / 1.7)
    assert constant["false_positive_rate"] == 1.0
    assert constant["statistical_parity_gap"] == 0.0
    plain = document["test"]["logistic regression"]
    assert plain["auc"] > 0.6
    assert plain["balanced_accuracy"] > constant["balanced_accuracy"]
    assert run("demo", "--out", tmp_path / "demo", "--format", "json").out == outcome.out
