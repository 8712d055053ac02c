"""`--edge-weight` goes all the way: check, audit, train, predict and verify."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import fairview as fv

OWN = ("--label", "ok", "--sensitive", "sex")
QUICK = ("--set", "epochs=3", "--set", "hidden=3", "--set", "views=2", "--no-report", "--split-seed", 0)


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    """80 people, their links with hours and without."""
    folder = tmp_path_factory.mktemp("weights")
    made = fv.synthetic_graph(80, average_degree=4, seed=1)
    people = ["id,income,age,sex,ok"] + [
        f"p{i},{made.features[i, 0]:.4f},{made.features[i, 5]:.4f},{'fm'[made.sensitive[i]]},{made.labels[i]}"
        for i in range(80)
    ]
    pairs = [(a, b) for a, b in zip(made.adjacency.sources, made.adjacency.indices, strict=True) if a < b]
    (folder / "people.csv").write_text("\n".join(people) + "\n")
    for name, header, cell in (
        ("hours", ",hours", lambda a, b: f",{2.0 ** ((a + b) % 7 - 3):g}"),
        ("ones", ",hours", lambda a, b: ",1"),
        ("plain", "", lambda a, b: ""),
    ):
        rows = [f"p{a},p{b}{cell(a, b)}" for a, b in pairs]
        (folder / f"{name}.csv").write_text("\n".join([f"source,target{header}", *rows]) + "\n")
    return folder


def tables(home: Path, links: str) -> tuple[object, ...]:
    return "--nodes", home / "people.csv", "--edges", home / f"{links}.csv"


def scores(path: Path) -> np.ndarray:
    with path.open(newline="") as stream:
        return np.array([float(row["score"]) for row in csv.DictReader(stream)])


@pytest.fixture(scope="module")
def trained(home, tmp_path_factory):
    """Run folders: with weights, with weights of one, without."""
    from fairview.cli.main import main

    out = tmp_path_factory.mktemp("runs")
    for name in ("hours", "ones", "plain"):
        weight = () if name == "plain" else ("--edge-weight", "hours")
        command = ["train", *tables(home, name), *OWN, *weight, *QUICK, "--out", out / name]
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in command])
        assert ended.value.code in (0, None)
    return out


def test_check_says_that_links_have_weights(run, home):
    outcome = run("check", *tables(home, "hours"), *OWN, "--edge-weight", "hours", "--format", "json")
    assert outcome.code == 0
    assert json.loads(outcome.out)["weighted"] is True
    table = run("check", *tables(home, "hours"), *OWN, "--edge-weight", "hours")
    assert "undirected and weighted, average degree" in table.out
    assert "weighted" not in run("check", *tables(home, "plain"), *OWN).out


def test_the_audit_uses_them(run, home):
    found = []
    for links, weight in (("hours", ("--edge-weight", "hours")), ("ones", ("--edge-weight", "hours")), ("plain", ())):
        quick = ("--permutations", 19, "--no-probes", "--format", "json")
        outcome = run("audit", *tables(home, links), *OWN, *weight, *quick)
        found.append(json.loads(outcome.out))
    hours, ones, plain = found
    assert [each["graph"]["weighted"] for each in found] == [True, True, False]
    assert ones["channels"] == plain["channels"] != hours["channels"]


def test_training_uses_them_and_weights_of_one_are_none(trained):
    hours, ones, plain = (scores(trained / name / "predictions.csv") for name in ("hours", "ones", "plain"))
    np.testing.assert_allclose(ones, plain, rtol=1e-6)
    assert not np.allclose(hours, plain, atol=1e-4)


def test_predict_reads_the_column_that_training_used(run, home, trained, tmp_path):
    out = tmp_path / "p.csv"
    for more in ((), ("--edge-weight", "hours")):
        assert run("predict", trained / "hours", *tables(home, "hours"), *more, "--out", out).code == 0
        np.testing.assert_allclose(scores(out), scores(trained / "hours" / "predictions.csv"), atol=1e-6)
        out.unlink()


@pytest.mark.parametrize(
    ("model", "links", "more", "message"),
    [
        ("hours", "plain", (), "plain.csv: no column 'hours'. Known: source, target."),
        (
            "hours",
            "hours",
            ("--edge-weight", "target"),
            "edge_weight: 'target', but the model's links were read with the weights in 'hours'. "
            "Leave --edge-weight out.",
        ),
        (
            "plain",
            "hours",
            ("--edge-weight", "hours"),
            "edge_weight: 'hours', but the model's links were read without weights. Leave --edge-weight out.",
        ),
    ],
)
def test_predict_refuses_links_of_the_other_kind(run, home, trained, tmp_path, model, links, more, message):
    outcome = run("predict", trained / model, *tables(home, links), *more, "--out", tmp_path / "p.csv")
    assert (outcome.code, outcome.out) == (1, "")
    assert message in " ".join(outcome.err.split())
    assert not (tmp_path / "p.csv").exists()


def test_a_model_without_weights_leaves_the_column_alone(run, home, trained, tmp_path):
    out = tmp_path / "p.csv"
    assert run("predict", trained / "plain", *tables(home, "hours"), "--out", out).code == 0
    np.testing.assert_allclose(scores(out), scores(trained / "plain" / "predictions.csv"), atol=1e-6)


def test_verify_needs_the_weights_to_follow_the_numbers(run, home, trained):
    same = run("verify", trained / "hours", *tables(home, "hours"), *OWN, "--edge-weight", "hours", "--split-seed", 0)
    assert same.code == 0
    assert run("verify", trained / "hours", *tables(home, "hours"), *OWN, "--split-seed", 0).code == 3


def test_the_option_needs_edges(run, home):
    outcome = run("check", "--nodes", home / "people.csv", *OWN, "--edge-weight", "hours")
    assert outcome.code == 1
    assert "--edge-weight: there is no table of edges with the column; pass --edges." in outcome.err
