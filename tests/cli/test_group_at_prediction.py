"""A method that needs the group at prediction says so wherever it is trained, compared, reported and used."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

import fairview as fv

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PyG's import is not ours to judge
    import torch_geometric.nn  # noqa: F401

NEED = "The model needs each node's sensitive group at prediction."


@pytest.fixture(scope="module")
def home(tmp_path_factory, write_people) -> Path:
    """Tables of 80 people, and of 30 new ones."""
    folder = tmp_path_factory.mktemp("people")
    write_people(folder, old=80, new=30)
    return folder


@pytest.fixture(scope="module")
def trained(home) -> Path:
    graph = fv.read_graph(home / "old.csv", label="ok", sensitive="sex", split_seed=0)
    fv.GroupThresholds().fit(graph).save(home / "run")
    return home / "run"


@pytest.mark.parametrize(("method", "needs"), [("group-thresholds", True), ("logistic-regression", False)])
def test_train_says_it_in_its_output_and_files(run, home, tmp_path, method, needs):
    own = ("--nodes", home / "old.csv", "--label", "ok", "--sensitive", "sex", "--method", method, "--no-report")
    table = run("train", *own, "--out", tmp_path / "a")
    assert table.code == 0
    assert (NEED in table.out) is needs
    found = json.loads(run("train", *own, "--out", tmp_path / "b", "--format", "json").out)
    assert found["group_at_prediction"] is needs
    for name in ("run.json", "model.json"):
        assert json.loads((tmp_path / "b" / name).read_text())["group_at_prediction"] is needs
    again = json.loads(run("train", *own, "--out", tmp_path / "b", "--resume", "--format", "json").out)
    assert again["group_at_prediction"] is needs
    several = json.loads(run("train", *own, "--out", tmp_path / "c", "--seeds", "2", "--format", "json").out)
    assert several["group_at_prediction"] is needs


def test_nested_settings_are_given_as_json(run, tmp_path):
    settings = ("--set", "model=vanilla", "--set", 'model_settings={"epochs": 2, "hidden": 3}', "--encoder", "gin")
    arguments = ("train", "german", "--method", "group-thresholds", *settings, "--no-report", "--out", tmp_path / "run")
    assert run(*arguments).code == 0
    model = fv.load_model(tmp_path / "run")
    assert (model.model_.encoder, model.model_.epochs, model.model_.seed) == ("gin", 2, 1)


def test_a_report_says_it_in_verdict_figure_and_settings(run, tmp_path):
    assert run("train", "german", "--method", "group-thresholds", "--out", tmp_path).code == 0
    page = (tmp_path / "report.html").read_text()
    assert "the model must be told the person&#39;s sensitive group (Gender); check that it may." in page
    assert "group thresholds (needs the group)" in page
    assert "needs the group at prediction" in page
    rows = json.loads((tmp_path / "audit.json").read_text())["model"]["rows"]
    assert {row["name"]: row["group_at_prediction"] for row in rows} == {"group-thresholds": True, "constant": False}


def test_compare_marks_such_rows(run, tmp_path):
    arguments = ("--methods", "group-thresholds,logistic-regression", "--no-plain", "--seeds", "2", "--workers", "1")
    outcome = run("compare", "german", *arguments, "--out", tmp_path, "--format", "json")
    rows = {row["label"]: row for row in json.loads(outcome.out)["rows"]}
    assert {label: row["group_at_prediction"] for label, row in rows.items()} == {
        "Majority answer": False,
        "Group thresholds": True,
        "Logistic regression": False,
    }
    assert rows["Group thresholds"]["runs"] == 1, "its model has neither seed nor encoder"
    table = run("compare", "german", *arguments, "--out", tmp_path, "--no-report").out
    assert "† needs each node's sensitive group at prediction." in table
    assert table.count("†") == 2
    page = (tmp_path / "report.html").read_text()
    assert "Must be told each person&#39;s sensitive group to decide about them: Group thresholds." in page
    assert "Group thresholds (needs the group)" in page


def test_predict_reads_the_group_of_new_tables(run, home, trained, tmp_path):
    outcome = run("predict", trained, "--nodes", home / "new.csv", "--out", tmp_path / "p.csv")
    assert (outcome.code, outcome.err) == (0, "")
    model = fv.load_model(trained)
    graph = fv.read_graph(home / "new.csv", recipe=model.facts().recipe)
    assert graph.sensitive_unknown == 0
    scores = [float(line.split(",")[1]) for line in (tmp_path / "p.csv").read_text().splitlines()[1:]]
    assert scores == pytest.approx(model.predict_proba(graph)[:, 1].tolist(), rel=1e-8)


@pytest.mark.parametrize("kept", ["missing", "empty"])
def test_predict_without_the_group_is_refused(run, home, trained, tmp_path, kept):
    lines = [line.split(",") for line in (home / "new.csv").read_text().splitlines()]
    if kept == "missing":
        lines = [line[:3] for line in lines]
    else:
        lines = [lines[0], *([*line[:3], "", line[4]] for line in lines[1:])]
    (tmp_path / "bare.csv").write_text("\n".join(map(",".join, lines)) + "\n")
    outcome = run("predict", trained, "--nodes", tmp_path / "bare.csv", "--out", tmp_path / "p.csv")
    assert outcome.code == 1
    assert "the model needs each node's sensitive group, and the column 'sex' is missing or empty." in outcome.err
    assert not (tmp_path / "p.csv").exists()


def test_predict_with_some_groups_unknown_works(run, home, trained, tmp_path):
    text = (home / "new.csv").read_text().replace(",f,", ",,", 3)
    (tmp_path / "some.csv").write_text(text)
    assert run("predict", trained, "--nodes", tmp_path / "some.csv", "--out", tmp_path / "p.csv").code == 0
