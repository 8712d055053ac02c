"""Frames of polars and pandas, mappings, and arrays, with columns and cells that are not what they must be."""

from __future__ import annotations

import copy
import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.fuzz.trial import CASES, try_many

import fairview as fv

words = st.sampled_from(
    ["", " ", "a", "b", "0", "1", "-1", "1.0", "NA", "nan", "train", "val", "test", "é", "1e400", "\0"]
)
cells = {
    "texts": words,
    "truth": st.booleans(),
    "whole": st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1),
    "floats": st.sampled_from([0.0, 1.0, -1.0, 2.5, float("nan"), float("inf"), 1e39, 5e-324, 2.0**60]),
    "days": st.dates(datetime.date(2000, 1, 1), datetime.date(2001, 1, 1)),
    "spans": st.timedeltas(datetime.timedelta(0), datetime.timedelta(9)),
    "decimals": st.sampled_from([Decimal("1.5"), Decimal(0), Decimal(1)]),
    "lists": st.lists(st.integers(0, 2), max_size=2),
    "structs": st.fixed_dictionaries({"a": st.integers(0, 2)}),
    "bytes": st.sampled_from([b"", b"a", b"\xff"]),
    "nothing": st.none(),
    "anything": st.sampled_from([1, "a", 2.5, None, True, (1,), b"x"]),
}
names = st.sampled_from(
    ["id", "age", "job", "job=a", "age_missing", "sex", "ok", "part", "source", "target", "", " x", "ü"]
)


@st.composite
def columns(draw: st.DrawFn, height: int) -> list[object]:
    cell = cells[draw(st.sampled_from(sorted(cells)))]
    if draw(st.booleans()):
        cell = cell | st.none()
    return draw(st.lists(cell, min_size=height, max_size=height))


@st.composite
def tables(draw: st.DrawFn) -> object:
    """Anything from chaos to a sound table with a column or two of something else."""
    height = draw(st.integers(0, 5))
    chaos = {name: draw(columns(height)) for name in draw(st.sets(names, max_size=6))}
    sound = {
        "id": list(range(height)),
        "age": [20.0 + k for k in range(height)],
        "job": list("abcab"[:height]),
        "sex": list("fmfmf"[:height]),
        "ok": [k % 2 for k in range(height)],
        "source": [k // 2 for k in range(height)],
        "target": list(range(height)),
    }
    share = draw(st.sampled_from(["chaos", "mixed", "nearly sound", "nearly sound"]))
    if share == "nearly sound":
        chaos = dict(list(chaos.items())[:1])
    made = chaos if share == "chaos" else sound | chaos
    kind = draw(st.sampled_from(["mapping", "polars", "pandas", "lazy"]))
    if kind == "pandas":
        return pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in made.items()}).infer_objects()
    if kind == "mapping":
        return made
    frame = pl.DataFrame({name: pl.Series(values=values, strict=False) for name, values in made.items()})
    return frame if kind == "polars" else frame.lazy()


choices = {
    "label": st.sampled_from(["ok", "age", "id", "nope"]),
    "sensitive": st.sampled_from(["sex", "age", "id", "nope"]),
    "id": st.sampled_from(["id", "job", "nope"]),
    "positive": st.sampled_from(["1", "a", 1, True, 1.0]),
    "categorical": st.lists(names, max_size=2),
    "features": st.lists(names, max_size=3),
    "drop": st.lists(names, max_size=3),
    "unscaled": st.lists(names, max_size=1),
    "groups": st.dictionaries(words, words, max_size=3),
    "classes": st.sampled_from([("no", "yes"), ("x", "x"), ("one",), "ab"]),
    "missing": st.sampled_from(["error", "mean", "drop", "indicator", "x"]),
    "missing_values": st.lists(words, max_size=2),
    "scaling": st.sampled_from(["none", "minmax", "standard", "x"]),
    "scale_on": st.sampled_from(["all", "train"]),
    "split": st.sampled_from(["part", "job", "nope"]),
    "split_seed": st.integers(-1, 3),
    "sensitive_as_feature": st.booleans(),
    "similarity_with_sensitive": st.booleans(),
    "directed": st.booleans(),
    "drop_unknown": st.booleans(),
    "similarity": st.sampled_from([fv.NearestNeighbours(neighbours=2), fv.SimilarityThreshold(threshold=0.5)]),
}


@st.composite
def options(draw: st.DrawFn) -> dict[str, object]:
    """The usual ones with a few changed; now and then only the changed ones."""
    changed = {name: draw(choices[name]) for name in draw(st.sets(st.sampled_from(sorted(choices)), max_size=3))}
    usual = {"label": "ok", "sensitive": "sex", "categorical": ["job"], "missing": "mean", "drop_unknown": True}
    return changed if draw(st.integers(0, 4)) == 0 else usual | changed


def shown(table: object) -> str:
    """All that is in a table; NaN is equal to itself here."""
    if isinstance(table, pd.DataFrame):
        return repr([table.to_dict("list"), table.dtypes.tolist()])
    frame = table.collect() if isinstance(table, pl.LazyFrame) else table
    return repr([frame.schema, frame.rows()]) if isinstance(frame, pl.DataFrame) else repr(frame)


def check_tables(nodes: object, edges: object, asked: dict[str, object]) -> None:
    before = shown(nodes), shown(edges)
    try:
        graph = fv.read_graph(nodes, edges, **asked)
    finally:
        assert (shown(nodes), shown(edges)) == before
    assert np.isfinite(graph.features).all()
    assert len(set(graph.channels)) == graph.num_channels


@pytest.mark.parametrize("cases", CASES)
def test_malformed_frames_give_a_graph_or_an_error(cases):
    try_many(cases, st.tuples(tables(), st.none() | tables(), options()), lambda case: check_tables(*case))


def check_recipe(nodes: object, edges: object, new_nodes: object, new_edges: object, asked: dict[str, object]) -> None:
    try:
        recipe = fv.read_graph(nodes, edges, **asked).recipe
    except fv.InputError:
        people = {"id": [1, 2], "age": [1.0, 2.0], "job": ["a", "b"], "sex": ["f", "m"], "ok": [0, 1]}
        recipe = fv.read_graph(people, label="ok", sensitive="sex", categorical=["job"]).recipe
    check_tables(new_nodes, new_edges, {"recipe": recipe})


@pytest.mark.parametrize("cases", CASES)
def test_a_recipe_meets_malformed_frames_with_a_graph_or_an_error(cases):
    inputs = st.tuples(tables(), tables(), tables(), tables(), options())
    try_many(cases, inputs, lambda case: check_recipe(*case))


# --- graphs -----------------------------------------------------------------------------------------------------------

numbers = hnp.arrays(
    st.sampled_from([np.float64, np.float32, np.int64, np.int8, np.uint8, np.bool_, np.complex64, object]),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
    elements=st.just(0) | st.just(1),
)
wild = st.one_of(
    numbers,
    hnp.arrays(np.float64, st.tuples(st.just(3), st.integers(0, 3)), elements=st.floats(width=32)),
    hnp.arrays(np.int64, st.tuples(st.just(2), st.integers(0, 4)), elements=st.integers(-1, 4)),
    st.lists(words, max_size=3),
    st.lists(st.lists(st.integers(0, 3), max_size=3), max_size=3),
    st.none(),
)


@st.composite
def arrays(draw: st.DrawFn) -> dict[str, object]:
    """The arrays of a sound graph of three nodes, some of them replaced."""
    sound = {
        "features": np.arange(6.0).reshape(3, 2),
        "edges": np.array([[0, 1], [1, 2]]),
        "labels": np.array([0, 1, -1]),
        "sensitive": np.array(["f", "m", "f"]),
        "train": np.array([True, False, False]),
        "val": np.array([False, True, False]),
    }
    for name in draw(st.sets(st.sampled_from(sorted(sound)), min_size=1, max_size=3)):
        sound[name] = draw(wild)
    return sound


def check_arrays(given_arrays: dict[str, object], channels: list[str] | None) -> None:
    kept = copy.deepcopy(given_arrays)
    masks = {name: given_arrays[name] for name in ("train", "val")}
    others = {name: value for name, value in given_arrays.items() if name not in masks}
    try:
        graph = fv.NodeGraph.from_arrays(**others, splits=masks, channels=channels)
    finally:
        assert repr(given_arrays) == repr(kept)
    assert np.isfinite(graph.features).all()


@pytest.mark.parametrize("cases", CASES)
def test_malformed_arrays_give_a_graph_or_an_error(cases):
    inputs = st.tuples(arrays(), st.none() | st.lists(names, max_size=3))
    try_many(cases, inputs, lambda case: check_arrays(*case))
