"""What is wrong with tables in Spark is said in the words that tables in memory get."""

from __future__ import annotations

import re

import polars as pl
import pytest

import fairview as fv

NODES = {"id": ["c", "b", "a"], "x": [1.0, 2.0, 3.0], "s": ["f", "m", "f"], "y": [0, 1, 1]}
EDGES = {"source": ["a", "b"], "target": ["b", "c"]}


def problems(spark, nodes, edges, tmp_path, engine, **settings):
    people, links = tmp_path / "nodes.parquet", tmp_path / "edges.parquet"
    pl.DataFrame(nodes, strict=False).write_parquet(people)
    pl.DataFrame(edges, strict=False).write_parquet(links)
    with pytest.raises(fv.InputError) as error:
        fv.propagate(people, links, folder=tmp_path / engine, engine=engine, hops=1, **settings)
    return error.value.problems


SAME = {
    "texts among the numbers": ({"x": ["1", "two", "3"]}, {}, {}),
    "truth among the numbers": ({"x": ["1", "true", "3"]}, {}, {}),
    "values beyond float32": ({"x": ["1", "1e39", "3"]}, {}, {}),
    "dates as a feature": ({"x": pl.Series([1, 2, 3]).cast(pl.Date)}, {}, {}),
    "empty cells": ({"x": [1.0, None, None]}, {}, {}),
    "an empty column": ({"x": [None, None, None]}, {}, {}),
    "an empty category": ({"x": ["u", "", "v"]}, {}, {"categorical": ["x"]}),
    "labels without a positive one": ({"y": ["no", "yes", "yes"]}, {}, {}),
    "a split that is none": ({"x": ["train", "trian", "trian"], "z": [1, 2, 3]}, {}, {"split": "x"}),
    "columns that are not there": ({}, {}, {"drop": ["z"], "sensitive": "sex"}),
    "sensitive columns that are not there, or the label": ({}, {}, {"sensitive": ["t", "y", "s"], "features": ["x"]}),
    "too many groups together": (
        {name: [f"{name}{k}" for k in range(3)] for name in "tuvwz"} | {"s": ["f", "m", "x"]},
        {},
        {"sensitive": ["s", *"tuvwz"]},
    ),
    "a source that is not there": ({}, {}, {"source": "from"}),
    "an unknown id": ({}, {"source": ["a", "d"]}, {}),
    "weights that differ by direction": (
        {},
        {"source": ["a", "b"], "target": ["b", "a"], "w": [1.0, 2.0]},
        {"edge_weight": "w"},
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_the_words_are_the_same(spark, tmp_path, name):
    nodes, edges, settings = SAME[name]
    settings = {"label": "y", "sensitive": "s"} | settings
    said = [
        problems(spark, NODES | nodes, EDGES | edges, tmp_path, engine, **settings) for engine in ("memory", "spark")
    ]
    assert said[0] == said[1]


WITHOUT_ROWS = {
    "an empty id": ({"id": ["c", "", "a"]}, {}, {}),
    "an id that occurs twice": ({"id": ["c", "a", "a"]}, {}, {}),
    "an empty end": ({}, {"source": ["a", None]}, {}),
}


@pytest.mark.parametrize("name", WITHOUT_ROWS)
def test_the_words_are_the_same_but_for_row_numbers(spark, tmp_path, name):
    nodes, edges, settings = WITHOUT_ROWS[name]
    said = [
        problems(spark, NODES | nodes, EDGES | edges, tmp_path, engine, label="y", sensitive="s", **settings)
        for engine in ("memory", "spark")
    ]
    assert [re.sub(r" \(rows? .*counted from 0\)", "", text) for text in said[0]] == list(said[1])


def test_values_that_a_recipe_does_not_know_are_named_with_their_nodes(spark, tmp_path):
    known = fv.read_graph(pl.DataFrame(NODES), pl.DataFrame(EDGES), label="y", sensitive="s").recipe
    nodes = NODES | {"y": [0, 2, 1], "s": ["f", "x", "x"]}
    said = [problems(spark, nodes, EDGES, tmp_path, engine, recipe=known) for engine in ("memory", "spark")]
    assert len(said[0]) == 2
    assert said[0] == said[1]


def test_a_table_without_ids_is_refused(spark, tmp_path):
    nodes = {name: values for name, values in NODES.items() if name != "id"}
    (said,) = problems(spark, nodes, EDGES, tmp_path, "spark", label="y", sensitive="s")
    assert said == (
        "nodes.parquet: no column 'id'. Known: x, s, y. Rows in Spark have no numbers that could serve as ids: name a "
        "column with id."
    )
