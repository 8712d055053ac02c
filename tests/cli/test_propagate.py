from __future__ import annotations

import json

import polars as pl
import pytest

import fairview as fv

KEYS = ("folder", "engine", "nodes", "links", "channels", "hops", "seconds", "peak_memory_mb", "disk_mb")


@pytest.fixture
def tables(own_tables) -> tuple[object, ...]:
    return ("--nodes", own_tables.nodes, "--edges", own_tables.edges)


def test_json_tells_what_was_made_and_what_it_cost(run, tables, tmp_path):
    arguments = (*tables, "--label", "ok", "--sensitive", "sex", "--out", tmp_path / "f", "--format", "json")
    outcome = run("propagate", *arguments)
    assert (outcome.code, outcome.err) == (0, "")
    document = json.loads(outcome.out)
    assert set(KEYS) <= set(document)
    counts = (1500, 4500, 8, 2, "memory")
    assert tuple(document[name] for name in ("nodes", "links", "channels", "hops", "engine")) == counts
    assert set(document["seconds"]) == {"read", "propagate", "write"}
    assert document["peak_memory_mb"] > 0
    assert document["disk_mb"] > 0
    assert fv.open_propagated(tmp_path / "f").sha256 == document["sha256"]
    again = json.loads(run("propagate", *arguments).out)
    assert again == document | {"seconds": {}, "peak_memory_mb": None, "disk_mb": pytest.approx(document["disk_mb"])}


def test_the_table_says_the_same(run, tables, tmp_path):
    outcome = run(
        "propagate", *tables, "--sensitive", "sex", "--drop", "ok", "--operator", "sum", "--out", tmp_path / "f"
    )
    assert outcome.code == 0
    for words in ("sum, 1 self-loop per node", "1,500", "4,500", "note: 4,500 edges given in one direction only"):
        assert words in outcome.out
    assert "none: it was there already" in run(
        "propagate", *tables, "--sensitive", "sex", "--drop", "ok", "--operator", "sum", "--out", tmp_path / "f"
    ).out  # fmt: skip


def test_operator_hops_and_self_loops(run, tables, tmp_path):
    options = ("--operator", "mean", "--hops", 1, "--self-loops", 2, "--drop", "ok", "--drop", "sex")
    assert run("propagate", *tables, *options, "--out", tmp_path / "f").code == 0
    facts = fv.open_propagated(tmp_path / "f").facts
    assert (facts.operator.kind, facts.operator.self_loops, facts.hops) == ("mean", 2.0, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--nodes", "people.csv"), "--edges is missing: propagation needs a table of nodes and one of edges."),
        (("--edges", "links.csv"), "--nodes is missing: propagation needs a table of nodes and one of edges."),
        (
            ("--nodes", "a", "--edges", "b", "--neighbours", 3),
            "--neighbours: it links nodes without edges, and propagation needs --edges; leave it out.",
        ),
        (
            ("--nodes", "a", "--edges", "b", "--threshold", 0.5),
            "--threshold: it links nodes without edges, and propagation needs --edges; leave it out.",
        ),
        (("--nodes", "nobody.csv", "--edges", "b"), "nobody.csv: no such file or folder."),
    ],
)
def test_what_makes_no_sense_is_refused(run, options, message, tmp_path):
    outcome = run("propagate", *options, "--out", tmp_path / "f")
    assert (outcome.code, outcome.err) == (1, f"error: {message}\n")


def test_memory_in_words(run, tables, tmp_path):
    outcome = run("propagate", *tables, "--memory", "much", "--out", tmp_path / "f")
    assert (outcome.code, outcome.err) == (1, "error: memory: 'much'; expected a size such as 8GB or 500MB.\n")


def test_another_folder_hands_over_its_recipe_operator_and_hops(run, tables, propagated, own_tables, tmp_path):
    new = pl.read_parquet(own_tables.nodes).head(200).drop("ok")
    new.write_csv(tmp_path / "new.csv")
    options = ("--nodes", tmp_path / "new.csv", "--edges", own_tables.edges, "--drop-unknown")
    outcome = run("propagate", *options, "--like", propagated("sum").folder, "--out", tmp_path / "f")
    assert outcome.code == 0, outcome.err
    made, like = fv.open_propagated(tmp_path / "f").facts, propagated("sum").facts
    assert (made.recipe, made.operator, made.hops, made.nodes) == (like.recipe, like.operator, 2, 200)


@pytest.mark.parametrize(
    ("model", "operator", "hops"),
    [
        (fv.Vanilla(encoder="gin", epochs=2), "sum", 1),
        (fv.Vanilla(encoder="mlp", epochs=2), "gcn", 1),
        (fv.Parity(basis="raw"), "mean", 2),
        (fv.LogisticRegression(), "gcn", 1),
    ],
)
def test_a_run_hands_over_what_its_model_needs(run, tables, own_tables, tmp_path, model, operator, hops):
    model.fit(own_tables.graph()).save(tmp_path / "run")
    assert run("propagate", *tables, "--like", tmp_path / "run", "--out", tmp_path / "f").code == 0
    folder = fv.open_propagated(tmp_path / "f")
    assert (folder.facts.operator.kind, folder.facts.hops) == (operator, hops)
    assert model.predict_proba(folder).shape == (1500, 2)


def test_a_recipe_and_options_of_one_s_own_contradict_each_other(run, tables, propagated, tmp_path):
    outcome = run("propagate", *tables, "--label", "ok", "--like", propagated().folder, "--out", tmp_path / "f")
    assert outcome.code == 1
    assert "recipe: it decides on 'label' already" in outcome.err


def test_a_model_that_was_not_trained_on_a_table_hands_over_nothing(run, tables, graph, tmp_path):
    fv.LogisticRegression().fit(graph).save(tmp_path / "run")
    outcome = run("propagate", *tables, "--like", tmp_path / "run", "--out", tmp_path / "f")
    assert outcome.code == 1
    assert "the model was not trained on a table, so that no new one can be read like it" in outcome.err
