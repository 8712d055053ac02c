"""`fairview evaluate`: metrics of a saved model on labelled new data, beside those of its training."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import fairview as fv
from fairview.runs.run import train_run

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PyG's import is not ours to judge
    import torch_geometric.nn  # noqa: F401


def table(made: fv.NodeGraph, name: str, *, label: str = "{}", without: str = "") -> str:
    """People of a graph as CSV, without a column if need be."""
    columns = ["id", "income", "age", "sex", "ok"]
    rows = [columns] + [
        [f"{name}{i}", f"{x[0]:.4f}", f"{x[5]:.4f}", "fm"[made.sensitive[i]], label.format("ny"[made.labels[i]])]
        for i, x in enumerate(made.features)
    ]
    kept = [place for place, column in enumerate(columns) if column != without]
    return "\n".join(",".join(row[place] for place in kept) for row in rows) + "\n"


@pytest.fixture(scope="module")
def made() -> dict[str, fv.NodeGraph]:
    return {name: fv.synthetic_graph(rows, seed=seed) for name, rows, seed in (("old", 120, 1), ("new", 60, 2))}


@pytest.fixture(scope="module")
def home(made, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("evaluate")
    for name, graph in made.items():
        (folder / f"{name}.csv").write_text(table(graph, name))
    graph = fv.read_graph(folder / "old.csv", label="ok", sensitive="sex", positive="y", split_seed=0)
    train_run(fv.LogisticRegression(), graph, folder / "run")
    return folder


def refusal(run, home, tmp_path, text: str) -> str:
    (tmp_path / "new.csv").write_text(text)
    outcome = run("evaluate", home / "run", "--nodes", tmp_path / "new.csv")
    assert (outcome.code, outcome.out) == (1, "")
    return outcome.err


def test_the_numbers_are_those_of_python(run, home):
    outcome = run("evaluate", home / "run", "--nodes", home / "new.csv", "--format", "json")
    assert (outcome.code, outcome.err) == (0, "")
    found = json.loads(outcome.out)
    model = fv.load_model(home / "run")
    graph = fv.read_graph(home / "new.csv", recipe=model.facts().recipe)
    expected = fv.evaluate(model, graph, split="all", intervals=True).to_dict()
    assert found["metrics"] == {"new": json.loads(json.dumps(expected))}
    assert found["training"] == {"test": json.loads((home / "run" / "metrics.json").read_text())["test"]}
    assert (found["run"], found["nodes"], found["labelled"], found["context"]) == (str(home / "run"), 60, 60, 0)
    assert (found["threshold"], found["edges"]) == (0.5, graph.num_edges)
    share = float((graph.labels == 1).mean())
    assert found["majority"]["new"]["accuracy"] == pytest.approx(max(share, 1 - share))


def test_the_table_shows_new_people_the_majority_answer_and_the_training(run, home):
    outcome = run("evaluate", home / "run", "--nodes", home / "new.csv")
    assert outcome.code == 0
    text = " ".join(outcome.out.split())
    assert "60 of 60 nodes are labelled; yes is a score above 0.5" in text
    for row in ("new.csv: logistic regression", "new.csv: majority answer", "95 % intervals over nodes below"):
        assert row in text
    assert "the run's test nodes" in text
    assert "Groups of new.csv" in text
    assert "group nodes positive predicted positive selection % TPR % FPR %" in text


def test_another_threshold(run, home):
    outcome = run("evaluate", home / "run", "--nodes", home / "new.csv", "--threshold", "0", "--format", "json")
    found = json.loads(outcome.out)
    assert (found["threshold"], found["metrics"]["new"]["false_positive_rate"]) == (0, 1)


def test_unlabelled_people_and_unknown_groups_are_counted_and_left_out(run, home, made, tmp_path):
    lines = table(made["new"], "new").splitlines()
    lines[1:6] = [line.rpartition(",")[0] + "," for line in lines[1:6]]  # no label
    lines[6:8] = [",".join([*line.split(",")[:3], "", line.split(",")[4]]) for line in lines[6:8]]  # no group
    (tmp_path / "holes.csv").write_text("\n".join(lines) + "\n")
    outcome = run("evaluate", home / "run", "--nodes", tmp_path / "holes.csv", "--format", "json")
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)
    assert (found["nodes"], found["labelled"], found["metrics"]["new"]["nodes"]) == (60, 55, 55)
    assert found["metrics"]["new"]["group_unknown"] == 2
    assert "5 of 60 nodes have no label: they are left out of the metrics" in found["notes"]
    assert "2 of 55 labelled nodes have no known group: in no gap" in found["notes"]


def test_a_group_without_new_people_makes_the_gaps_undefined(run, home, made, tmp_path):
    women = [line for line in table(made["new"], "new").splitlines() if ",m," not in line]
    (tmp_path / "women.csv").write_text("\n".join(women) + "\n")
    outcome = run("evaluate", home / "run", "--nodes", tmp_path / "women.csv")
    assert outcome.code == 0, outcome.err
    assert "SP gap is undefined: group 'm' has no nodes." in " ".join(outcome.out.split())


def test_few_people_are_said_to_be_few(run, home, made, tmp_path):
    few = table(made["new"], "new").splitlines()[:9]
    (tmp_path / "few.csv").write_text("\n".join(few) + "\n")
    outcome = run("evaluate", home / "run", "--nodes", tmp_path / "few.csv", "--format", "json")
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)
    assert "Only 8 labelled nodes: the numbers say little about anybody else." in found["notes"]
    assert "too few for an interval" in str(found["metrics"]["new"]["intervals"]["undefined"])


def test_people_of_the_training_flatter_the_model(run, home, made, tmp_path):
    outcome = run("evaluate", home / "run", "--nodes", home / "old.csv", "--format", "json")
    assert "the model was trained on old.csv: the numbers flatter it" in json.loads(outcome.out)["notes"]
    lines = table(made["old"], "old").splitlines()[:31]
    (tmp_path / "some.csv").write_text("\n".join(lines) + "\n")
    outcome = run("evaluate", home / "run", "--nodes", tmp_path / "some.csv", "--format", "json")
    note = "30 of 30 ids are also in the run's predictions.csv: if they are the same, the numbers flatter it"
    assert note in json.loads(outcome.out)["notes"]


def test_with_context_only_the_new_people_count(run, home, tmp_path):
    arguments = ("--nodes", home / "new.csv", "--context", home / "old.csv", "--format", "json")
    found = json.loads(run("evaluate", home / "run", *arguments).out)
    assert (found["nodes"], found["labelled"], found["context"]) == (60, 60, 120)
    assert found["metrics"]["new"]["nodes"] == 60
    model = fv.load_model(home / "run")
    joined = fv.read_graph(home / "new.csv", recipe=model.facts().recipe, context=home / "old.csv")
    assert found["metrics"]["new"]["auc"] == fv.evaluate(model, joined, split="new")["auc"]
    assert np.flatnonzero(joined.split("new")).size == 60


def test_a_model_that_was_saved_without_a_run_has_no_training_row(run, home, tmp_path):
    fv.load_model(home / "run").save(tmp_path / "model")
    outcome = run("evaluate", tmp_path / "model", "--nodes", home / "new.csv", "--format", "json")
    assert json.loads(outcome.out)["training"] == {}


@pytest.mark.parametrize("how", ["no column", "empty cells"])
def test_without_labels_there_is_nothing_to_compare(run, home, made, tmp_path, how):
    text = table(made["new"], "new", without="ok") if how == "no column" else table(made["new"], "new", label="")
    assert refusal(run, home, tmp_path, text) == (
        "error: new.csv: no node has a label: the column 'ok' is missing or empty. Metrics compare predictions with "
        "labels; without them, `fairview predict` gives scores.\n"
    )


def test_without_groups_there_are_no_gaps(run, home, made, tmp_path):
    assert refusal(run, home, tmp_path, table(made["new"], "new", without="sex")) == (
        "error: new.csv: no node has a known group: the column 'sex' is missing or empty. Add it: gaps compare its "
        "groups.\n"
    )


def test_labels_that_the_training_did_not_know(run, home, made, tmp_path):
    message = refusal(run, home, tmp_path, table(made["new"], "new", label="{}es"))
    assert message.startswith("error: new.csv: column 'ok': new values: ")
    assert "Known: 'n', 'y'. Correct them, or empty these cells: the label is then unknown." in message


def test_groups_that_the_training_did_not_know(run, home, made, tmp_path):
    message = refusal(run, home, tmp_path, table(made["new"], "new").replace(",m,", ",x,"))
    assert "column 'sex': new values: 'x'" in message
    assert "Known: 'f', 'm'. Correct them, or empty these cells: the group is then unknown." in message
