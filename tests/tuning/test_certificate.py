"""The certificate: of which model, graph and nodes; and what is noticed when any of it changes."""

from __future__ import annotations

import hashlib
import json
import shutil

import numpy as np
import pytest

import fairview as fv
from fairview.runs.finished import read_json
from fairview.tuning.certificate import check_certificate, conditions, nodes_sha256
from fairview.tuning.holdout import hold_out
from fairview.tuning.limits import Limit

LIMITS = [Limit("statistical_parity", 0.1)]


@pytest.fixture
def run(tuned, tmp_path):
    """A copy of a certified run folder, to be changed."""
    return shutil.copytree(tuned / "run", tmp_path / "run")


def edit(run, change):
    path = run / "certificate.json"
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    return document


def test_it_names_the_model_the_graph_and_the_nodes(run, many):
    document = read_json(run / "certificate.json")
    assert document["model_sha256"] == hashlib.sha256((run / "model.json").read_bytes()).hexdigest()
    assert document["graph_sha256"] == many.sha256
    assert document["nodes_sha256"] == nodes_sha256(hold_out(many, seed=1))
    assert document["threshold"] == fv.load_model(run).threshold_
    assert (document["population"], document["seed"]) == ("new", 1)
    assert document["statement"] == "With 95 % confidence the statistical parity gap is at most 15 points."
    assert 1 <= document["order"] <= document["candidates"]


def test_its_counts_are_those_of_the_models_predictions(run, many):
    positive, rows = fv.load_model(run).predict(many), hold_out(many, seed=1).everybody
    for code, row in enumerate(read_json(run / "certificate.json")["limits"][0]["groups"][0]):
        members = rows[many.sensitive[rows] == code]
        assert row == {
            "group": many.groups[code],
            "positive": int(positive[members].sum()),
            "nodes": len(members),
            "population": None,
        }


def test_it_says_under_which_conditions_it_holds(run, many):
    holdout = hold_out(many, seed=1)
    found = read_json(run / "certificate.json")["conditions"]
    assert found == conditions(holdout, "new", LIMITS)
    assert len(found) == 4
    assert "if the val split was not drawn at random, it does not hold" in found[0]
    assert "If the population changes, it does not hold." in found[1]
    assert "Refitting, another threshold, or calibration voids it." in found[2]
    assert conditions(holdout, "graph", LIMITS)[1].endswith("has seen, and of no others.")
    unknown = many.replace(sensitive=np.where(np.arange(many.num_nodes) < 7, -1, many.sensitive))
    assert "The group of 7 nodes is not known; it does not speak of them." in conditions(
        hold_out(unknown, seed=1), "new", LIMITS
    )


def test_an_untouched_one_has_no_problem_with_or_without_the_data(run, many):
    assert check_certificate(run) == []
    assert check_certificate(run, many) == []


def test_another_threshold_voids_it(run):
    fv.load_model(run).with_threshold(0.123).save(run)
    told = read_json(run / "certificate.json")["threshold"]
    assert check_certificate(run) == [
        "certificate.json: it is of another model than model.json; refitting or changing a model voids it.",
        f"certificate.json: it is for the threshold {told:g}, but the model's is 0.123.",
    ]


def test_a_refitted_model_voids_it(run, many):
    threshold = fv.load_model(run).threshold_
    fv.LogisticRegression().fit(many).with_threshold(threshold).save(run)
    assert check_certificate(run) == [
        "certificate.json: it is of another model than model.json; refitting or changing a model voids it."
    ]


def test_an_edited_p_value_is_noticed(run):
    document = edit(run, lambda each: each["limits"][0].update(p_value=0.00123))
    p_value = json.loads((run / "certificate.json").read_text())["limits"][0]["p_value"]
    assert p_value == 0.00123 == document["limits"][0]["p_value"]
    problems = check_certificate(run)
    assert len(problems) == 1
    assert problems[0].startswith("certificate.json: statistical_parity: its p-value is 0.00123, the counts give ")


def test_a_smaller_limit_is_noticed(run):
    edit(run, lambda each: each["limits"][0].update(limit=0.02))
    problems = check_certificate(run)
    assert "certificate.json: its statement is not what its limits say." in problems
    assert "certificate.json: statistical_parity: the counts do not support the limit of 0.02." in problems


@pytest.mark.parametrize(
    ("field", "words"), [("estimate", "estimate"), ("upper_bound", "upper bound"), ("nodes", "nodes")]
)
def test_an_edited_number_is_noticed(run, field, words):
    edit(run, lambda each: each["limits"][0].update({field: 0.001}))
    problems = check_certificate(run)
    assert len(problems) == 1
    assert problems[0].startswith(f"certificate.json: statistical_parity: its {words} is 0.001, the counts give ")


def test_an_edited_statement_is_noticed(run):
    edit(
        run, lambda each: each.update(statement="With 99 % confidence the statistical parity gap is at most 1 points.")
    )
    assert check_certificate(run) == ["certificate.json: its statement is not what its limits say."]


def test_one_without_limits_is_noticed(run):
    edit(run, lambda each: each.update(limits=[]))
    assert check_certificate(run) == ["certificate.json: it names no limit."]


@pytest.mark.parametrize(("field", "more"), [("positive", -2), ("nodes", 20)])
def test_edited_counts_are_noticed(run, field, more):
    def change(document):
        document["limits"][0]["groups"][0][0][field] += more

    edit(run, change)
    assert any("the counts give" in problem for problem in check_certificate(run))


@pytest.mark.parametrize(
    "change", [{"positive": -3}, {"nodes": 5}, {"population": 1}, {"positive": "x"}, {"nodes": None}]
)
def test_impossible_counts_are_no_certificate(run, change):
    edit(run, lambda each: each["limits"][0]["groups"][0][0].update(change))
    problems = check_certificate(run)
    assert len(problems) == 1
    assert problems[0].startswith("certificate.json: is not a whole certificate (")


@pytest.mark.parametrize("change", [{"positive": 5}, {"nodes": 150}, {"population": 1000}])
def test_with_the_data_even_consistent_forgeries_are_noticed(run, many, change):
    """Counts are edited, and everything that follows from them is computed again."""
    from fairview.metrics.gap_test import Sample, gap_p_value, gap_upper_bound, largest_gap

    def forge(document):
        limit = document["limits"][0]
        for row in limit["groups"][0]:
            row.update(change)
        samples = [Sample(row["positive"], row["nodes"], row["population"]) for row in limit["groups"][0]]
        limit.update(
            p_value=gap_p_value(samples, 0.15),
            estimate=largest_gap(samples),
            upper_bound=gap_upper_bound(samples, 0.95),
            nodes=sum(sample.nodes for sample in samples),
        )

    edit(run, forge)
    if "nodes" not in change:
        assert check_certificate(run) == []
    assert "certificate.json: statistical_parity: the model's predictions give other counts." in check_certificate(
        run, many
    )


def test_another_graph_is_noticed(run, many):
    other = many.replace(labels=np.where(np.arange(many.num_nodes) == 3, 1 - many.labels, many.labels))
    assert check_certificate(run, other) == ["certificate.json: it is of another graph than the one given."]


def test_another_seed_is_noticed(run, many):
    edit(run, lambda each: each.update(seed=2))
    assert check_certificate(run, many) == [
        "certificate.json: its certification nodes are not those that its seed gives."
    ]


@pytest.mark.parametrize("name", ["limits", "statement", "model_sha256", "threshold"])
def test_one_that_lacks_a_field_is_no_certificate(run, name):
    edit(run, lambda each: each.pop(name))
    assert check_certificate(run) == [f"certificate.json: is not a whole certificate (KeyError: '{name}')."]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "certificate.json: can't be read (JSONDecodeError)."),
        ('{"kind": "certificate", "ver', "certificate.json: can't be read (JSONDecodeError)."),
        ("[" * 100_000, "certificate.json: can't be read (RecursionError)."),
        ("[]", "certificate.json: is no certificate of this version."),
        ("null", "certificate.json: is no certificate of this version."),
        ('{"kind": "certificate", "version": 2}', "certificate.json: is no certificate of this version."),
        ('{"kind": "certificate", "version": 1}', "certificate.json: is not a whole certificate (KeyError: 'limits')."),
    ],
)
def test_one_that_can_not_be_read_is_said_to_be_so(run, content, problem):
    (run / "certificate.json").write_text(content)
    assert check_certificate(run) == [problem]


@pytest.mark.parametrize("content", ["", "[]", "null", "[" * 100_000])
def test_a_model_that_can_not_be_read_is_a_problem_and_no_crash(run, content):
    (run / "model.json").write_text(content)
    assert check_certificate(run)[0] == (
        "certificate.json: it is of another model than model.json; refitting or changing a model voids it."
    )


def test_one_for_a_finite_population_names_it_and_is_verified(few, column, tmp_path):
    tuning = fv.tune(few, max_gap=0.35, methods="column", trials=2, population="graph", folder=tmp_path)
    rows = tuning.certificate["limits"][0]["groups"][0]
    unseen = hold_out(few, seed=1).unseen
    assert [row["population"] for row in rows] == np.bincount(few.sensitive[unseen]).tolist()
    assert fv.verify(tmp_path, few).ok
    edit(tmp_path / "run", lambda each: each.update(population="new"))
    assert not fv.verify(tmp_path, few).ok


def test_equalized_odds_has_counts_for_each_label(few, column, tmp_path):
    tuning = fv.tune(few, max_gap=0.6, gaps="equalized_odds", methods="column", trials=1, folder=tmp_path)
    limit = tuning.certificate["limits"][0]
    holdout = hold_out(few, seed=1)
    assert [sum(row["nodes"] for row in rows) for rows in limit["groups"]] == [
        len(holdout.certifying(1)), len(holdout.certifying(0))
    ]  # fmt: skip
    assert fv.verify(tmp_path, few).ok
