"""Folders of several sensitive attributes: what is said of each, and of their combinations, is made again."""

from __future__ import annotations

import shutil

import pytest

import fairview as fv
from fairview.leakage.graph_audit import audit
from fairview.runs.evidence import audit_run
from fairview.runs.run import train_run


@pytest.fixture(scope="module")
def graph(crossed):
    return crossed(400, rare=10)


@pytest.fixture(scope="module")
def trained(graph, tmp_path_factory):
    folder = tmp_path_factory.mktemp("several") / "run"
    train_run(fv.LogisticRegression(), graph, folder)
    audit_run(folder, graph, of_graph=audit(graph, hops=1, permutations=19, probes=False), probes=False)
    return folder


@pytest.fixture
def run(trained, tmp_path):
    return shutil.copytree(trained, tmp_path / "run")


def test_an_untouched_run_is_ok_and_its_metrics_are_made_again(run, graph):
    found = fv.verify(run, graph=graph)
    assert found.ok
    assert found.recomputed


@pytest.mark.parametrize("name", ["race", "race & sex"])
def test_a_gap_of_an_attribute_that_the_predictions_do_not_give_is_noticed(run, graph, edit, reseal, name):
    edit(run / "metrics.json", lambda document: document["test"]["attributes"][name]["groups"][0].update(nodes=7))
    reseal(run)
    assert fv.verify(run, graph=graph).problems == (
        "metrics.json: test: 'attributes' is not what the predictions give.",
    )


def test_an_attribute_that_was_taken_away_is_noticed(run, graph, edit, reseal):
    edit(run / "metrics.json", lambda document: document["val"].pop("attributes"))
    reseal(run)
    assert "metrics.json: val: 'attributes' is not what the predictions give." in fv.verify(run, graph=graph).problems


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda audit: audit["attributes"]["sex"].update(homophily=0.9), "audit.json: 'homophily' by sex is not that"),
        (lambda audit: audit["attributes"]["race"]["groups"].update(black=3), "audit.json: 'groups' by race is not"),
        (lambda audit: audit["attributes"].pop("race"), "audit.json: 'attributes' are not those of the graph."),
        (lambda audit: audit["graph"]["attributes"]["race"].update(black=3), "audit.json: 'attributes' is not that of"),
    ],
)
def test_what_an_audit_says_of_an_attribute_is_compared_with_the_graph(run, graph, edit, reseal, change, problem):
    edit(run / "audit.json", change)
    reseal(run)
    assert any(said.startswith(problem) for said in fv.verify(run, graph=graph).problems)


def test_an_audit_of_a_model_with_other_gaps_is_noticed_without_data(run, edit, reseal):
    edit(
        run / "audit.json",
        lambda audit: audit["model"]["rows"][0]["attributes"]["sex"].update(equal_opportunity_gap=0.0),
    )
    reseal(run)
    (problem,) = fv.verify(run).problems
    assert problem == "audit.json: the model's equal_opportunity_gap by sex is not that of metrics.json."


def test_the_graph_with_one_of_the_attributes_is_another_graph(run, graph):
    problems = fv.verify(run, graph=graph.attribute("race")).problems
    assert "run.json: the run is of another graph than the one given." in problems


def test_a_range_is_checked_in_every_attribute(run, edit, reseal):
    edit(run / "metrics.json", lambda document: document["test"]["attributes"]["sex"].update(equal_opportunity_gap=2.0))
    reseal(run)
    assert not fv.verify(run).ok
