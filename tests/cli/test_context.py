"""`predict --context`: new people who know those of the training get the scores that they would have in one table."""

from __future__ import annotations

import csv
import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import fairview as fv

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PyG's import is not ours to judge
    import torch_geometric.nn  # noqa: F401

KNOWN, EVERYONE = 90, 120
MODELS = {
    "gcn": lambda: fv.Vanilla(encoder="gcn", epochs=5, hidden=4),
    "sage": lambda: fv.Vanilla(encoder="sage", epochs=5, hidden=4),
    "gin": lambda: fv.Vanilla(encoder="gin", epochs=5, hidden=4),
    "parity": lambda: fv.Parity(),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    """People in three tables: known, new, and everyone in another order of rows; likewise their links."""
    folder = tmp_path_factory.mktemp("context")
    made = fv.synthetic_graph(EVERYONE, average_degree=5, seed=3)
    turned = np.random.default_rng(0).permutation(EVERYONE)  # new people are not the last ones in the order of ids
    person = [f"p{i:03}" for i in turned]

    def people(rows: object) -> str:
        lines = [f"{person[i]},{made.features[i, 0]:.4f},{made.features[i, 5]:.4f},{'fm'[made.sensitive[i]]},"
                 f"{made.labels[i]}" for i in rows]  # fmt: skip
        return "\n".join(["id,income,age,sex,ok", *lines]) + "\n"

    pairs = [(a, b) for a, b in zip(made.adjacency.sources, made.adjacency.indices, strict=True) if a < b]

    def links(chosen: list) -> str:
        return "\n".join(["source,target", *(f"{person[a]},{person[b]}" for a, b in chosen)]) + "\n"

    (folder / "people.csv").write_text(people(range(KNOWN)))
    (folder / "new.csv").write_text(people(range(KNOWN, EVERYONE)))
    (folder / "everyone.csv").write_text(people(reversed(range(EVERYONE))))
    (folder / "links.csv").write_text(links([(a, b) for a, b in pairs if b < KNOWN]))
    (folder / "new_links.csv").write_text(links([(a, b) for a, b in pairs if b >= KNOWN]))
    (folder / "all_links.csv").write_text(links(pairs))
    for name, edges in (("linked", folder / "links.csv"), ("similar", None)):
        graph = fv.read_graph(folder / "people.csv", edges, label="ok", sensitive="sex", split_seed=0)
        for model, make in MODELS.items():
            make().fit(graph).save(folder / name / model)
    return folder


def read(path: Path) -> dict[str, str]:
    with path.open(newline="") as stream:
        return {row["id"]: row["score"] for row in csv.DictReader(stream)}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", ["linked", "similar"])
def test_scores_with_context_are_those_of_the_whole_table(run, home, tmp_path, kind, model):
    linked = kind == "linked"
    edges = ("--edges", home / "new_links.csv", "--context-edges", home / "links.csv") if linked else ()
    around = ("--nodes", home / "new.csv", "--context", home / "people.csv", "--out", tmp_path / "a.csv", *edges)
    outcome = run("predict", home / kind / model, *around, "--format", "json")
    assert outcome.code == 0, outcome.err
    counts = json.loads(outcome.out)
    assert (counts["nodes"], counts["context"]) == (EVERYONE - KNOWN, KNOWN)
    edges = ("--edges", home / "all_links.csv") if linked else ()
    whole = ("--nodes", home / "everyone.csv", "--out", tmp_path / "b.csv", *edges)
    assert run("predict", home / kind / model, *whole).code == 0
    scores, of_all = read(tmp_path / "a.csv"), read(tmp_path / "b.csv")
    assert len(scores) == EVERYONE - KNOWN
    assert scores == {name: of_all[name] for name in scores}
    assert len({*scores.values()}) > 5


@pytest.mark.parametrize("model", MODELS)
def test_in_python_the_bits_are_equal(home, model):
    fitted = fv.load_model(home / "linked" / model)
    recipe = fitted.facts().recipe
    joined = fv.read_graph(
        home / "new.csv", home / "new_links.csv", recipe=recipe, context=home / "people.csv",
        context_edges=home / "links.csv",
    )  # fmt: skip
    whole = fv.read_graph(home / "everyone.csv", home / "all_links.csv", recipe=recipe)
    assert joined.ids == whole.ids
    assert fitted.predict_proba(joined).tobytes() == fitted.predict_proba(whole).tobytes()
    alone = fv.read_graph(home / "new.csv", home / "new_links.csv", recipe=recipe, drop_unknown=True)
    new = fitted.predict_proba(joined)[joined.split("new")]
    assert not np.allclose(new, fitted.predict_proba(alone))  # the context matters


def test_ids_in_both_tables_are_an_error(run, home, tmp_path):
    outcome = run(
        "predict", home / "linked" / "gcn", "--nodes", home / "new.csv", "--edges", home / "new_links.csv",
        "--context", home / "everyone.csv", "--out", tmp_path / "p.csv",
    )  # fmt: skip
    assert outcome.code == 1
    assert outcome.err.startswith("error: context: 30 ids are in new.csv and in everyone.csv ('p")
    assert outcome.err.endswith(" and 25 more). A node is new or known: leave it out of one.\n")
    assert not (tmp_path / "p.csv").exists()


def test_a_model_that_needs_the_group_needs_that_of_new_people_only(run, home, tmp_path):
    graph = fv.read_graph(home / "people.csv", home / "links.csv", label="ok", sensitive="sex", split_seed=0)
    fv.GroupThresholds(model=fv.LogisticRegression()).fit(graph).save(tmp_path / "model")
    known = [",".join(line.split(",")[:3]) for line in (home / "people.csv").read_text().splitlines()]
    (tmp_path / "known.csv").write_text("\n".join(known) + "\n")
    arguments = ("--edges", home / "new_links.csv", "--context", tmp_path / "known.csv", "--out", tmp_path / "p.csv")
    assert run("predict", tmp_path / "model", "--nodes", home / "new.csv", *arguments).code == 0
    new = [",".join(line.split(",")[:3]) for line in (home / "new.csv").read_text().splitlines()]
    (tmp_path / "new.csv").write_text("\n".join(new) + "\n")
    outcome = run("predict", tmp_path / "model", "--nodes", tmp_path / "new.csv", *arguments)
    assert outcome.code == 1
    assert "the model needs each node's sensitive group, and the column 'sex' is missing or empty." in outcome.err
