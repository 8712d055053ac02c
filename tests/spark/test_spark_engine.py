"""The engine of Spark gives what the engine of memory gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import fairview as fv


def awkward(n: int = 300) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Text ids, an isolated node, gaps, categories, labels and groups that are not known, a split, parallel edges."""
    draw = np.random.default_rng(5)
    ids = [*(f"n{i}" for i in range(n - 4)), "007", "7", "é", "=1+1"]
    table = pl.DataFrame(
        {
            "id": draw.permutation(ids),
            "Age": [None if i % 11 == 0 else float(x) for i, x in enumerate(draw.normal(1e6, 3, n))],
            "age": draw.integers(0, 9, n).astype(str),
            "job.title": draw.choice(["cook", " cook", "smith", "baker"], n),
            "smokes": draw.choice(["true", "false", "NA"], n),
            "constant": [0.1] * n,
            "group": draw.choice(["1.0", "1", "2", ""], n),
            "ok": draw.choice(["yes", "no", "?", ""], n),
            "part": draw.choice(["train", "Valid", "test", ""], n),
        }
    )
    known = [i for i in ids if i != "é"]  # no link leads there
    edges = pl.DataFrame(
        {"from": [*draw.choice(known, 900), "7", "7"], "to": [*draw.choice(known, 900), "007", "007"]}
    ).with_columns(since=pl.lit(2020))
    return table, edges


AWKWARD = {
    "label": "ok",
    "positive": "yes",
    "unlabelled": ["?"],
    "sensitive": "group",
    "groups": {"2": "two", "1": "one"},
    "sensitive_as_feature": True,
    "categorical": ["job.title"],
    "missing_values": ["NA"],
    "split": "part",
    "source": "from",
    "target": "to",
}


def test_a_table_with_every_awkwardness_is_read_alike(both_engines):
    memory, _ = both_engines(*awkward(), **AWKWARD, missing="indicator", scale_on="train", unscaled=["age"])
    assert len(memory.facts.notes) > 5
    assert "job.title=smith" in memory.channels
    assert "Age_missing" in memory.channels


@pytest.mark.slow
def test_nodes_with_gaps_are_dropped_with_their_edges(both_engines):
    nodes, edges = awkward()
    memory, _ = both_engines(
        nodes, edges, **AWKWARD, missing="drop", scaling="minmax", operator="mean", drop_unknown=True, directed=True
    )
    assert any("edges dropped with the nodes" in note for note in memory.facts.notes)


def test_several_attributes_are_read_alike(both_engines):
    nodes, edges = awkward()
    nodes = nodes.with_columns(sex=pl.Series(np.random.default_rng(9).choice(["f", "m", "m ", ""], nodes.height)))
    memory, _ = both_engines(
        nodes, edges, label="ok", positive="yes", unlabelled=["?"], sensitive=["group", "sex"],
        sensitive_as_feature=True, features=["constant", "group", "sex"], missing="mean", split_seed=2,
        source="from", target="to", hops=1,
    )  # fmt: skip
    assert [each.name for each in memory.facts.views] == ["group", "sex", "group & sex"]
    assert all(each.known_groups > each.same_group > 0 for each in memory.facts.views)
    assert [each.channels for each in memory.facts.attributes] == [("group",), ("sex",)]


@pytest.mark.slow
@pytest.mark.parametrize("directed", [False, True])
def test_weights_and_whole_ids_are_read_alike(both_engines, directed):
    draw = np.random.default_rng(1)
    nodes = pl.DataFrame({"id": draw.permutation(60), "x": draw.normal(size=60), "s": draw.integers(0, 2, 60)})
    pairs = draw.integers(0, 62, (200, 2))
    weights = np.where(pairs.min(axis=1) == 3, 0.0, 0.5 + pairs.min(axis=1) % 5)
    if not directed:
        pairs = np.unique(np.sort(pairs, axis=1), axis=0)  # one direction: no two weights can differ
        weights = weights[: len(pairs)]
    edges = pl.DataFrame({"source": pairs[:, 0], "target": pairs[:, 1], "hours": weights})
    operator = fv_operator("sum", 0.0)
    memory, _ = both_engines(
        nodes, edges, sensitive="s", edge_weight="hours", drop_unknown=True, directed=directed, operator=operator,
        split_seed=None, hops=1,
    )  # fmt: skip
    assert memory.facts.weighted
    assert any("weight 0" in note for note in memory.facts.notes)


def fv_operator(kind: str, self_loops: float):
    from fairview.propagation.operators import Operator

    return Operator(kind=kind, self_loops=self_loops)


def star(spokes: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    draw = np.random.default_rng(2)
    n = spokes + 1
    nodes = pl.DataFrame({"id": np.arange(n), "x": draw.normal(size=n), "s": draw.integers(0, 2, n)})
    return nodes, pl.DataFrame({"source": np.zeros(spokes, dtype=int), "target": np.arange(1, n)})


@pytest.mark.slow
def test_a_hub_of_a_hundred_thousand_links(both_engines):
    both_engines(*star(100_000), sensitive="s", hops=2)


@pytest.mark.slow
def test_a_hub_of_a_million_links(both_engines):
    both_engines(*star(1_000_000), sensitive="s", hops=2)


def dataset(name: str, tmp_path: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A known dataset as two tables."""
    graph = fv.load_dataset(name)
    features = {channel: graph.features[:, place] for place, channel in enumerate(graph.channels)}
    nodes = pl.DataFrame({"id": list(graph.ids), "y": graph.labels, "s": graph.sensitive, **features})
    links = graph.adjacency
    ids = np.array(graph.ids)
    return nodes, pl.DataFrame({"source": ids[links.sources], "target": ids[links.indices]})


@pytest.mark.slow
def test_german(both_engines, tmp_path):
    memory, _ = both_engines(*dataset("german", tmp_path), label="y", sensitive="s", split_seed=3)
    assert memory.facts.splits["train"]


@pytest.mark.slow
def test_bail(both_engines, tmp_path):
    both_engines(*dataset("bail", tmp_path), label="y", sensitive="s", operator="sum")


def test_csv_files_and_edge_lists_are_read_alike(spark, tmp_path, same_folders):
    people, links = tmp_path / "people.csv", tmp_path / "links.txt"
    people.write_text("id;x;s\n10;1.5;a\n9;2;b\n8;3;a\n")
    links.write_text("# a comment\n10 9\n9 8\n8 8\n")
    settings = {"sensitive": "s", "separator": ";", "hops": 1}
    made = [fv.propagate(people, links, folder=tmp_path / e, engine=e, **settings) for e in ("memory", "spark")]
    same_folders(*made)
    assert made[0].facts.inputs == made[1].facts.inputs


def test_a_master_without_spark_is_refused(tmp_path):
    nodes, edges = {"id": ["a"], "x": [1.0]}, {"source": ["a"], "target": ["a"]}
    with pytest.raises(fv.InputError) as error:
        fv.propagate(nodes, edges, folder=tmp_path, master="local[2]")
    assert str(error.value) == "master: only Spark has one, and the engine is 'memory'. Pass engine='spark'."


def test_another_master_than_that_of_the_active_session_is_refused(spark, tmp_path):
    for name in ("people", "links"):
        pl.DataFrame({"id": ["a"], "x": [1.0]}).write_parquet(tmp_path / f"{name}.parquet")
    with pytest.raises(fv.InputError) as error:
        fv.propagate(
            tmp_path / "people.parquet",
            tmp_path / "links.parquet",
            folder=tmp_path / "out",
            engine="spark",
            master="yarn",
        )
    assert str(error.value) == (
        "master: 'yarn', but a Spark session with the master 'local[2]' is active. Leave master out, or stop that "
        "session."
    )


def test_without_java_the_error_says_what_to_install(monkeypatch):
    session = pytest.importorskip("fairview.propagation.engines.spark.session")
    monkeypatch.setattr(session.shutil, "which", lambda name: None)
    monkeypatch.setenv("JAVA_HOME", "")
    with pytest.raises(fv.FairviewError, match=r"^Spark needs Java 17 or newer, and none is here: .* Install one"):
        session._require_java()


def test_without_pyspark_the_error_names_the_extra(monkeypatch, tmp_path):
    import sys

    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(fv.MissingPackageError) as error:
        fv.spark.propagate(None, None)
    assert str(error.value) == "fairview.spark needs pyspark; install it with: pip install 'fairview[spark]'"
