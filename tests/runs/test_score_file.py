from __future__ import annotations

import csv
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import fairview as fv
from fairview.runs import score_file
from fairview.runs.run import predictions
from fairview.runs.score_file import Scored, write_scores


@pytest.fixture(scope="module")
def model(own_tables) -> fv.Vanilla:
    return fv.Vanilla(epochs=3, seed=1).fit(own_tables.graph())


def test_parquet_has_every_node_in_order(model, propagated, own_tables, tmp_path, monkeypatch):
    monkeypatch.setattr(score_file, "ROWS", 400)
    graph = own_tables.graph()
    found = write_scores(model, propagated(), tmp_path / "deep" / "scores.parquet")
    rows = pl.read_parquet(tmp_path / "deep" / "scores.parquet")
    assert rows.schema == {"id": pl.String, "score": pl.Float64, "prediction": pl.Int8}
    assert tuple(rows["id"]) == graph.ids
    assert np.abs(rows["score"].to_numpy() - model.predict_proba(graph)[:, 1]).max() < 1e-6
    assert np.array_equal(rows["prediction"].to_numpy(), model.predict(graph))
    assert found == Scored(1500, int(model.predict(graph).sum()))
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["scores.parquet"]


def test_csv_is_written_as_a_run_writes_its_predictions(model, propagated, own_tables, tmp_path):
    write_scores(model, propagated(), tmp_path / "scores.csv")
    assert (tmp_path / "scores.csv").read_text() == predictions(model, own_tables.graph())


def test_ids_are_exact_in_csv_and_in_parquet(graph, tmp_path):
    people = graph.to_frame().drop("split")
    pairs = zip(graph.adjacency.sources, graph.adjacency.indices, strict=True)
    links = [(graph.ids[a], graph.ids[b]) for a, b in pairs if a < b]
    frame = pl.DataFrame(links, schema=["source", "target"], orient="row")
    folder = fv.propagate(people, frame, folder=tmp_path / "f", label="label", sensitive="sensitive")
    model = fv.LogisticRegression().fit(folder)
    write_scores(model, folder, tmp_path / "s.csv")
    write_scores(model, folder, tmp_path / "s.parquet")
    with (tmp_path / "s.csv").open(newline="") as stream:
        names = [row[0] for row in csv.reader(stream)][1:]
    assert {"=1+1", "-5", 'say "hi", you', "007"} <= set(names)
    assert set(names) == set(graph.ids)
    assert set(pl.read_parquet(tmp_path / "s.parquet")["id"]) == set(graph.ids)


def test_a_threshold_of_its_own_decides(model, propagated, tmp_path):
    write_scores(model.with_threshold(0.9), propagated(), tmp_path / "s.parquet")
    rows = pl.read_parquet(tmp_path / "s.parquet")
    assert np.array_equal(rows["prediction"].to_numpy(), rows["score"].to_numpy() > 0.9)


def test_a_failure_leaves_the_old_file_and_nothing_beside_it(model, propagated, tmp_path):
    path = tmp_path / "s.parquet"
    path.write_text("old")

    class Broken:
        def predict_proba(self, graph):
            return np.zeros((graph.num_nodes, 3))

    with pytest.raises(
        fv.InputError, match=r"^predict_proba: shape \(1500, 3\); expected \(1500, 2\): one row per node"
    ):
        write_scores(Broken(), propagated(), path)
    assert [each.name for each in tmp_path.iterdir()] == ["s.parquet"]
    assert path.read_text() == "old"


def test_a_path_that_can_t_be_written(model, propagated, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(fv.FairviewError, match="can't be written"):
        write_scores(model, propagated(), tmp_path / "file" / "s.parquet")


@pytest.mark.slow
def test_memory_does_not_grow_with_the_folder(tmp_path):
    """A million nodes take about as much as a quarter of a million."""
    code = """
import sys, resource, numpy as np, polars as pl, fairview as fv
from fairview.runs.score_file import write_scores
rows, out = int(sys.argv[1]), sys.argv[2]
draw = np.random.default_rng(0)
people = pl.DataFrame({"id": np.arange(rows), "sex": draw.integers(0, 2, rows), "ok": draw.integers(0, 2, rows)}
    | {f"x{j}": draw.standard_normal(rows) for j in range(6)})
links = pl.DataFrame({"source": draw.integers(0, rows, rows), "target": draw.integers(0, rows, rows)})
people.write_parquet(out + "/p.parquet"); links.write_parquet(out + "/l.parquet")
"""
    use = """
import sys, fairview as fv
from fairview.machine import peak_memory_mb
from fairview.runs.score_file import write_scores
folder = fv.open_propagated(sys.argv[1])
model = fv.Vanilla(epochs=2, seed=1).fit(folder.sample(rows=5000))
write_scores(model, folder, sys.argv[1] + "-s.parquet")
fv.evaluate(model, folder)
print(peak_memory_mb())
"""
    peaks = []
    for rows in (250_000, 1_000_000):
        home = tmp_path / str(rows)
        home.mkdir()
        subprocess.run([sys.executable, "-c", code, str(rows), str(home)], check=True)
        propagate = (
            "import sys, fairview as fv; fv.propagate(*sys.argv[1:3], folder=sys.argv[3], label='ok', sensitive='sex')"
        )
        tables = [str(home / "p.parquet"), str(home / "l.parquet"), str(home / "f")]
        subprocess.run([sys.executable, "-c", propagate, *tables], check=True)
        done = subprocess.run([sys.executable, "-c", use, str(home / "f")], capture_output=True, text=True, check=True)
        peaks.append(float(done.stdout))
    assert peaks[1] < peaks[0] + 150
