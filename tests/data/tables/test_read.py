from __future__ import annotations

import hashlib
import random

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairview as fv

PEOPLE = "id,age,sex,ok\n1,20,f,0\n2,30,m,1\n3,40,f,1\n4,50,m,0\n"
LINKS = "source,target\n1,2\n2,3\n3,4\n"
SPLIT = "id,age,sex,ok,part\n1,10,f,0,train\n2,20,m,1,Train\n3,45,f,1,val\n4,15,m,0,TEST\n5,0,f,1,\n"


# --- the order of rows does not matter --------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text("0123456789ab_", min_size=1, max_size=3), min_size=3, max_size=12, unique=True),
    st.randoms(use_true_random=False),
    st.sampled_from([None, 7]),
    st.booleans(),
)
def test_shuffled_rows_of_both_tables_give_the_same_graph(ids, chance, split_seed, with_edges):
    rows = [(name, chance.uniform(0, 9), chance.choice("ab"), "fm"[k % 2], k % 2) for k, name in enumerate(ids)]
    links = [(chance.choice(ids), chance.choice(ids)) for _ in ids]

    def graph() -> fv.NodeGraph:
        nodes = pl.DataFrame(rows, schema=["id", "age", "job", "sex", "ok"], orient="row")
        edges = pl.DataFrame(links, schema=["source", "target"], orient="row") if with_edges else None
        return fv.read_graph(nodes, edges, label="ok", sensitive="sex", categorical=["job"], split_seed=split_seed)

    before = graph()
    chance.shuffle(rows)
    chance.shuffle(links)
    assert graph().sha256 == before.sha256


def test_shuffled_files_give_the_same_graph(read):
    head, *rows = PEOPLE.splitlines(keepends=True)
    first, *links = LINKS.splitlines(keepends=True)
    random.Random(3).shuffle(rows)
    random.Random(4).shuffle(links)
    assert read(head + "".join(rows), first + "".join(links)).sha256 == read().sha256


def test_reversed_edges_are_the_same_edges(read):
    assert read(edges="source,target\n4,3\n2,1\n3,2\n").sha256 == read().sha256


# --- every source gives the same graph --------------------------------------------------------------------------------


def test_csv_parquet_and_frames_give_the_same_graph(read, tmp_path):
    nodes = {"id": [1, 2, 3, 4], "age": [20, 30, 40, 50], "sex": ["f", "m", "f", "m"], "ok": [0, 1, 1, 0]}
    edges = {"source": [1, 2, 3], "target": [2, 3, 4]}
    pl.DataFrame(nodes).write_parquet(tmp_path / "n.parquet")
    pl.DataFrame(edges).write_parquet(tmp_path / "e.parquet")
    for make in (pl.DataFrame, pd.DataFrame, pl.LazyFrame, dict):
        assert read(make(nodes), make(edges)).sha256 == read().sha256
    assert read(tmp_path / "n.parquet", tmp_path / "e.parquet").sha256 == read().sha256
    assert read(tmp_path / "n.parquet", LINKS).sha256 == read().sha256


# --- the caller's data is never changed -------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", ["mean", "indicator", "drop"])
@pytest.mark.parametrize("scaling", ["none", "minmax", "standard"])
def test_polars_and_pandas_frames_and_arrays_are_unchanged(missing, scaling):
    columns = {
        "id": np.array([3, 1, 2, 4]),
        "age": np.array([20.0, np.nan, 40.0, 50.0]),
        "size": np.array([1.0, 2.0, 3.0, 4.0], dtype=np.float32),
        "job": np.array(["b", "a", None, "b"], dtype=object),
        "sex": np.array(["f", "m", "f", "m"]),
        "ok": np.array([0, 1, 1, 0]),
    }
    links = {"source": np.array([3, 3, 1]), "target": np.array([3, 1, 2])}
    kept = {name: values.copy() for name, values in (columns | links).items()}
    for make in (pl.DataFrame, pd.DataFrame, dict):
        nodes, edges = make(columns), make(links)
        if make is dict:
            nodes["job"] = ["b", "a", None, "b"]
        before = nodes.clone() if make is pl.DataFrame else nodes.copy()
        graph = fv.read_graph(
            nodes,
            edges,
            label="ok",
            sensitive="sex",
            categorical=["job"],
            missing=missing,
            scaling=scaling,
            sensitive_as_feature=True,
        )
        assert not graph.features.flags.writeable
        if make is not dict:
            assert nodes.equals(before)
        for name, values in (columns | links).items():
            np.testing.assert_array_equal(values, kept[name])
            assert values.flags.writeable


def test_the_graph_does_not_follow_later_changes_of_the_frame():
    values = np.array([1.0, 2.0, 3.0])
    graph = fv.read_graph({"age": values, "sex": ["f", "m", "f"]}, sensitive="sex", scaling="none")
    values[:] = 99
    assert graph.features.ravel().tolist() == [1, 2, 3]


# --- splits and scaling -----------------------------------------------------------------------------------------------


def test_an_own_split_column(read):
    graph = read(SPLIT, split="part")
    assert {name: np.flatnonzero(mask).tolist() for name, mask in graph.splits.items()} == {
        "train": [0, 1],
        "val": [2],
        "test": [3],
    }
    assert graph.channels == ("age",)


def test_a_drawn_split_depends_on_the_seed_only_and_is_noted(read):
    first, again, other = (read(split_seed=seed) for seed in (1, 1, 2))
    assert first.sha256 == again.sha256
    assert first.sha256 != other.sha256 or first.splits["train"].tolist() == other.splits["train"].tolist()
    assert "split drawn with seed 1: half train, a quarter val, a quarter test, stratified" in first.provenance.notes


def test_scaling_is_fitted_on_the_train_nodes_if_asked(read):
    on_train = read(SPLIT, split="part", scaling="minmax", scale_on="train")
    assert on_train.features.ravel().tolist() == [-1, 1, 6, 0, -3]
    on_all = read(SPLIT, split="part", scaling="minmax")
    assert on_all.features.min() == -1
    assert on_all.features.max() == 1


def test_an_empty_train_split_can_not_be_scaled_on(refusal):
    assert refusal(SPLIT.replace("train", "").replace("Train", ""), split="part", scale_on="train") == (
        "scaling on the train nodes: the train split is empty."
    )


def test_unscaled_columns_stay(read):
    people = "id,age,size,sex,ok\n1,20,3,f,0\n2,30,4,m,1\n"
    assert read(people, None, scaling="minmax", unscaled=["size"]).features.tolist() == [[-1, 3], [1, 4]]


def test_values_beyond_float32_after_scaling_are_refused(refusal):
    people = "id,age,sex,ok,part\n1,0,f,0,train\n2,1e-30,m,1,train\n3,1e30,f,1,val\n"
    assert refusal(people, None, split="part", scale_on="train", scaling="minmax") == (
        "nodes.csv: channel 'age': beyond float32 after scaling. Correct its values, or drop or rescale it."
    )


# --- without edges ----------------------------------------------------------------------------------------------------


def test_without_edges_similar_nodes_are_linked_and_it_is_noted(read):
    people = "id,age,sex,ok\n" + "".join(f"{k},{k},{'fm'[k % 2]},{k % 2}\n" for k in range(30))
    graph = read(people, None)
    assert (graph.adjacency.degree >= 10).all()
    assert graph.provenance.notes == (
        "no edges given: linked by similarity (the 10 nearest neighbours on the scaled channels)",
    )
    nearest = read(people, None, similarity=fv.NearestNeighbours(neighbours=1))
    assert nearest.num_edges < graph.num_edges


def test_one_node_alone_is_a_graph(read):
    graph = read("id,age,sex,ok\n1,20,f,0\n", None)
    assert (graph.num_nodes, graph.num_edges) == (1, 0)


# --- where it comes from ----------------------------------------------------------------------------------------------


def test_provenance_holds_the_hashes_of_the_files(read):
    provenance = read().provenance
    assert provenance.source == "nodes.csv"
    assert provenance.sha256 == {
        "nodes.csv": hashlib.sha256(PEOPLE.encode()).hexdigest(),
        "edges.csv": hashlib.sha256(LINKS.encode()).hexdigest(),
    }
    assert read(name="my people").provenance.source == "my people"


def test_neither_label_nor_sensitive_column_is_needed(read):
    graph = read("id,age\n1,20\n2,30\n", None, label=None, sensitive=None)
    assert (graph.labels.tolist(), graph.groups) == ([-1, -1], ())


def test_features_come_in_the_order_of_the_table(read):
    people = "id,c,a,b,sex,ok\n1,1,2,3,f,0\n2,4,5,6,m,1\n"
    assert read(people, None).channels == ("c", "a", "b")
    assert read(people, None, features=["b", "c"]).channels == ("c", "b")
    assert read(people, None, drop=["a"]).channels == ("c", "b")
