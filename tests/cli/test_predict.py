from __future__ import annotations

import csv
import json
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest

import fairview as fv
from fairview.methods.model_files import canonical, checked

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PyG's import is not ours to judge
    import torch_geometric.nn  # noqa: F401


def write(folder: Path, *, rows: int, seed: int, name: str) -> tuple[Path, Path]:
    """People and links."""
    made = fv.synthetic_graph(rows, average_degree=4, seed=seed)
    people = ["id,income,age,sex,ok"]
    for i in range(rows):
        sex = "fm"[made.sensitive[i]]
        people.append(f"{name}{i},{made.features[i, 0] * 1000:.2f},{made.features[i, 5]:.4f},{sex},{made.labels[i]}")
    pairs = zip(made.adjacency.sources, made.adjacency.indices, strict=True)
    links = ["source,target"] + [f"{name}{a},{name}{b}" for a, b in pairs if a < b]
    nodes, edges = folder / f"{name}.csv", folder / f"{name}-links.csv"
    nodes.write_text("\n".join(people) + "\n")
    edges.write_text("\n".join(links) + "\n")
    return nodes, edges


def trained(folder: Path, nodes: Path, edges: Path | None) -> Path:
    graph = fv.read_graph(nodes, edges, label="ok", sensitive="sex", split_seed=0)
    fv.FairVGNN(epochs=3, hidden=3, views=2, seed=1).fit(graph).save(folder)
    return folder


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("predict")
    nodes, edges = write(folder, rows=80, seed=1, name="old")
    write(folder, rows=30, seed=2, name="new")
    trained(folder / "linked", nodes, edges)
    trained(folder / "similar", nodes, None)
    return folder


def read(path: Path) -> list[list[str]]:
    with path.open(newline="") as stream:
        return list(csv.reader(stream))


def test_new_nodes_with_their_edges(run, home, tmp_path):
    out = tmp_path / "p.csv"
    arguments = ("--nodes", home / "new.csv", "--edges", home / "new-links.csv", "--out", out)
    outcome = run("predict", home / "linked", *arguments, "--format", "json")
    assert (outcome.code, outcome.err) == (0, "")
    model = fv.load_model(home / "linked")
    graph = fv.read_graph(home / "new.csv", home / "new-links.csv", recipe=model.facts().recipe)
    header, *rows = read(out)
    assert header == ["id", "score", "prediction"]
    assert [row[0] for row in rows] == list(graph.ids)
    np.testing.assert_allclose([float(row[1]) for row in rows], model.predict_proba(graph)[:, 1], rtol=1e-8)
    found = json.loads(outcome.out)
    assert (found["nodes"], found["edges"]) == (30, graph.num_edges)
    assert found["positive"] == sum(row[2] == "1" for row in rows) == int(model.predict(graph).sum())
    table = run("predict", home / "linked", *arguments)
    assert table.out == f"{out}: 30 nodes, {found['positive']} of them predicted '1' (score above 0.5)\n"


def test_the_training_table_itself_gets_the_scores_of_the_training_graph(run, home, tmp_path):
    out = tmp_path / "p.csv"
    arguments = ("--nodes", home / "old.csv", "--edges", home / "old-links.csv", "--out", out)
    assert run("predict", home / "linked", *arguments).code == 0
    graph = fv.read_graph(home / "old.csv", home / "old-links.csv", label="ok", sensitive="sex")
    scores = fv.load_model(home / "linked").predict_proba(graph)[:, 1]
    np.testing.assert_allclose([float(row[1]) for row in read(out)[1:]], scores, atol=1e-6)


def test_columns_are_matched_by_name(run, home, tmp_path):
    header, *rows = read(home / "new.csv")
    order = [header.index(name) for name in ("age", "id", "income")]  # no label, no sensitive attribute
    lines = [["shoe_size", "age", "id", "income"]] + [["44", *(row[j] for j in order)] for row in rows]
    (tmp_path / "turned.csv").write_text("\n".join(",".join(line) for line in lines) + "\n")
    for nodes, out in ((home / "new.csv", "a.csv"), (tmp_path / "turned.csv", "b.csv")):
        edges = ("--edges", home / "new-links.csv", "--out", tmp_path / out)
        assert run("predict", home / "linked", "--nodes", nodes, *edges).code == 0
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_missing_and_retyped_columns_are_listed(run, home, tmp_path):
    header, *rows = read(home / "new.csv")
    (tmp_path / "short.csv").write_text("\n".join(",".join(row[:2]) for row in [header, *rows]) + "\n")
    edges = ("--edges", home / "new-links.csv", "--out", tmp_path / "p.csv")
    outcome = run("predict", home / "linked", "--nodes", tmp_path / "short.csv", *edges)
    assert outcome.code == 1
    assert "'age'" in outcome.err
    for row in rows:
        row[1] = "much"
    (tmp_path / "text.csv").write_text("\n".join(",".join(row) for row in [header, *rows]) + "\n")
    outcome = run("predict", home / "linked", "--nodes", tmp_path / "text.csv", *edges)
    assert outcome.code == 1
    assert "'income'" in outcome.err
    assert "much" in outcome.err
    assert not (tmp_path / "p.csv").exists()


def test_edges_may_join_nodes_of_the_given_table_only(run, home, tmp_path):
    text = (home / "new-links.csv").read_text()
    (tmp_path / "links.csv").write_text(text + "new1,old5\nold6,new2\n")
    arguments = ("--nodes", home / "new.csv", "--edges", tmp_path / "links.csv", "--out", tmp_path / "p.csv")
    outcome = run("predict", home / "linked", *arguments)
    assert outcome.code == 1
    assert outcome.err == (
        "error: links.csv: 2 of 62 edges point to ids that new.csv does not have ('old6', 'old5'). Add these nodes, "
        "pass the table of those that are known (--context), or pass --drop-unknown.\n"
    )
    assert not (tmp_path / "p.csv").exists()
    assert run("predict", home / "linked", *arguments, "--drop-unknown").code == 0
    plain = ("--nodes", home / "new.csv", "--edges", home / "new-links.csv", "--out", tmp_path / "q.csv")
    assert run("predict", home / "linked", *plain).code == 0
    assert (tmp_path / "p.csv").read_bytes() == (tmp_path / "q.csv").read_bytes()


def test_without_edges_the_stored_similarity_rule_is_applied(run, home, tmp_path):
    arguments = ("--nodes", home / "new.csv", "--out", tmp_path / "p.csv", "--format", "json")
    outcome = run("predict", home / "similar", *arguments)
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)
    assert found["edges"] > 0
    assert any("linked by similarity" in note for note in found["notes"])


def test_a_model_of_linked_nodes_needs_edges(run, home, tmp_path):
    outcome = run("predict", home / "linked", "--nodes", home / "new.csv", "--out", tmp_path / "p.csv")
    assert outcome.code == 1
    assert "the model's graph had a table of edges; pass --edges for these nodes, too." in outcome.err
    assert not (tmp_path / "p.csv").exists()


def test_ids_that_look_like_formulas_or_have_lines_and_commas(run, home, tmp_path):
    header, *rows = read(home / "new.csv")
    rows[0][0], rows[1][0], rows[2][0] = "=cmd()", "a,1", "b,1\nc"
    with (tmp_path / "odd.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])
    arguments = ("--nodes", tmp_path / "odd.csv", "--out", tmp_path / "p.csv", "--format", "json")
    outcome = run("predict", home / "similar", *arguments)
    assert outcome.code == 0, outcome.err
    found = read(tmp_path / "p.csv")[1:]
    assert {"=cmd()", "a,1", "b,1\nc"} <= {row[0] for row in found}
    assert json.loads(outcome.out)["positive"] == sum(row[2] == "1" for row in found)


def test_a_model_that_was_not_trained_on_a_table_says_so(run, home, tmp_path):
    graph = fv.synthetic_graph(60, seed=1)
    graph = graph.with_splits(fv.stratified_splits(graph, repeats=1)[0])
    fv.LogisticRegression().fit(graph).save(tmp_path / "model")
    outcome = run("predict", tmp_path / "model", "--nodes", home / "new.csv", "--out", tmp_path / "p.csv")
    assert outcome.code == 1
    assert "the model was not trained on a table, so it can't read one; use it from Python." in outcome.err


def test_damaged_and_hostile_models_are_a_message(run, home, tmp_path):
    arguments = ("--nodes", home / "new.csv", "--out", tmp_path / "p.csv")
    assert run("predict", tmp_path / "nothing", *arguments).code == 1
    model = Path(shutil.copytree(home / "similar", tmp_path / "model"))
    document = checked((model / "model.json").read_bytes(), "")
    (model / "model.json").write_bytes(canonical(document | {"method": "os.system"}))
    outcome = run("predict", model, *arguments)
    assert outcome.code == 1
    assert "unknown method 'os.system'" in outcome.err
    (model / "model.json").write_bytes(b"{}")
    outcome = run("predict", model, *arguments)
    assert outcome.code == 1
    assert "it is damaged or changed" in outcome.err
    assert "bug" not in outcome.err


def test_where_nothing_can_be_written(run, home, tmp_path):
    (tmp_path / "file").write_text("x")
    out = tmp_path / "file" / "p.csv"
    outcome = run("predict", home / "similar", "--nodes", home / "new.csv", "--out", out)
    assert outcome.code == 1
    assert f"{out}: can't be written" in outcome.err


def test_the_direction_of_edges_is_the_models(run, home, tmp_path):
    nodes, edges = home / "new.csv", home / "new-links.csv"
    for name, directed in (("one-way", True), ("both-ways", False)):
        graph = fv.read_graph(home / "old.csv", home / "old-links.csv", label="ok", sensitive="sex", directed=directed)
        fv.Vanilla(epochs=5, hidden=4).fit(graph).save(tmp_path / name)
    arguments = ("--nodes", nodes, "--edges", edges, "--out", tmp_path / "p.csv")
    assert run("predict", tmp_path / "one-way", *arguments).code == 0
    plain = read(tmp_path / "p.csv")
    model = fv.load_model(tmp_path / "one-way")
    graph = fv.read_graph(nodes, edges, recipe=model.facts().recipe)
    assert graph.adjacency.directed
    assert [float(row[1]) for row in plain[1:]] == pytest.approx(model.predict_proba(graph)[:, 1].tolist(), abs=1e-6)
    assert run("predict", tmp_path / "one-way", *arguments, "--directed").code == 0
    assert read(tmp_path / "p.csv") == plain
    outcome = run("predict", tmp_path / "both-ways", *arguments, "--directed")
    assert (outcome.code, outcome.err) == (
        1, "error: directed: the model's edges were made symmetric; leave --directed out, or train again.\n",
    )  # fmt: skip


def test_another_threshold(run, home, tmp_path):
    out = tmp_path / "p.csv"
    arguments = ("--nodes", home / "new.csv", "--edges", home / "new-links.csv", "--out", out)
    model = fv.load_model(home / "linked")
    graph = fv.read_graph(home / "new.csv", home / "new-links.csv", recipe=model.facts().recipe)
    threshold = float(np.median(model.predict_proba(graph)[:, 1]))
    outcome = run("predict", home / "linked", *arguments, "--threshold", threshold, "--format", "json")
    assert (outcome.code, outcome.err) == (0, "")
    found = json.loads(outcome.out)
    assert (found["threshold"], found["positive"]) == (threshold, 15)
    assert [int(row[2]) for row in read(out)[1:]] == model.with_threshold(threshold).predict(graph).tolist()
    outcome = run("predict", home / "linked", *arguments, "--threshold", "0")
    assert outcome.out == f"{out}: 30 nodes, 30 of them predicted '1' (score above 0)\n"


@pytest.mark.parametrize("threshold", ["1", "1.5", "-0.1", "nan", "inf"])
def test_a_threshold_is_at_least_0_and_below_1(run, home, tmp_path, threshold):
    arguments = ("--nodes", home / "new.csv", "--edges", home / "new-links.csv", "--out", tmp_path / "p.csv")
    outcome = run("predict", home / "linked", *arguments, f"--threshold={threshold}")
    message = f"error: --threshold: {float(threshold)}; expected a number from 0 to 1, below 1.\n"
    assert (outcome.code, outcome.err) == (1, message)
    assert not (tmp_path / "p.csv").exists()


def test_a_certificate_is_for_one_threshold(run, home, tmp_path):
    model = Path(shutil.copytree(home / "similar", tmp_path / "model"))
    (model / "certificate.json").write_text("{}")
    arguments = ("--nodes", home / "new.csv", "--out", tmp_path / "p.csv")
    outcome = run("predict", model, *arguments, "--threshold", "0.3")
    note = f"note: the certificate in {model} is for the threshold 0.5; it does not cover 0.3\n"
    assert (outcome.code, outcome.err) == (0, note)
    assert run("predict", model, *arguments, "--threshold", "0.5").err == ""
    assert run("predict", model, *arguments).err == ""


def test_a_folder_of_several_seeds_says_which_to_name(run, home, tmp_path):
    shutil.copytree(home / "similar", tmp_path / "seeds" / "seed-1")
    outcome = run("predict", tmp_path / "seeds", "--nodes", home / "new.csv", "--out", tmp_path / "p.csv")
    one = tmp_path / "seeds" / "seed-1"
    assert outcome.err == f"error: {tmp_path / 'seeds'}: holds several runs; name one of them, such as {one}.\n"
