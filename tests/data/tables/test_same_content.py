"""Files and frames with the same content are the same graph, and make the same recipe."""

from __future__ import annotations

import datetime as dt
import gzip
import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairview as fv

Columns = dict[str, list[Any]]

WORDS = ["a", "b c", "007", "7", "7.0", "nan", "NA", "True", "false", "1e3", "-0", "2020-01-31", "é", "x;y"]
DAYS = [dt.datetime(2020, 1, 31), dt.datetime(2020, 2, 1, 12, 30), dt.datetime(1999, 12, 31)]


def column(values: st.SearchStrategy[Any], rows: int, *, gaps: bool = True) -> st.SearchStrategy[list[Any]]:
    """Values, some of them missing, but not all."""
    cells = st.lists(st.none() | values if gaps else values, min_size=rows, max_size=rows)
    return cells.filter(lambda listed: any(cell is not None for cell in listed))


@st.composite
def contents(draw: st.DrawFn) -> Columns:
    rows = draw(st.integers(2, 6))
    whole = st.integers(-3, 3) | st.sampled_from([10**6, 2**53 - 1])
    ids = st.integers(0, 10**9) if draw(st.booleans()) else st.sampled_from(["007", "7", "NA", "b", "é", "x y", "-1"])
    return {
        "id": draw(st.lists(ids, min_size=rows, max_size=rows, unique=True)),
        "count": draw(column(st.integers(-1000, 1000), rows)),
        "amount": draw(column(st.floats(-1e6, 1e6, allow_nan=False), rows)),
        "owner": draw(column(st.booleans(), rows)),
        "code": draw(column(whole, rows)),
        "share": draw(column(st.sampled_from([0.1, 0.5, 1e-7, 1e16, 2.0, -0.0]), rows)),
        "job": draw(column(st.sampled_from(WORDS), rows)),
        "day": draw(column(st.sampled_from(DAYS), rows)),
        "member": draw(column(st.booleans(), rows)),
        "group": draw(column(st.integers(-2, 2) if draw(st.booleans()) else st.sampled_from(WORDS), rows)),
        "ok": draw(column(st.integers(0, 1), rows)),
    }


OPTIONS: dict[str, Any] = {
    "label": "ok", "sensitive": "group", "categorical": ["code", "share", "job", "day", "member"], "missing": "mean",
    "split_seed": 1,
}  # fmt: skip


def polars_frame(content: Columns) -> pl.DataFrame:
    return pl.DataFrame(content)


def pandas_frame(content: Columns) -> pd.DataFrame:
    """As pandas makes it: whole numbers beside a missing one are floats, truth values beside one are objects."""
    return pd.DataFrame(content)


def nullable_frame(content: Columns) -> pd.DataFrame:
    return pd.DataFrame(content).convert_dtypes()


def category_frame(content: Columns) -> pd.DataFrame:
    return pd.DataFrame(content).astype(dict.fromkeys(("code", "job", "group", "ok"), "category"))


def polars_csv(content: Columns) -> bytes:
    return pl.DataFrame(content).write_csv().encode()


def pandas_csv(content: Columns) -> bytes:
    return pd.DataFrame(content).to_csv(index=False).encode()


def pandas_tsv(content: Columns) -> bytes:
    return pd.DataFrame(content).to_csv(index=False, sep="\t").encode()


def parquet(content: Columns) -> bytes:
    pl.DataFrame(content).write_parquet(buffer := io.BytesIO())
    return buffer.getvalue()


def categorical_parquet(content: Columns) -> bytes:
    frame = pl.DataFrame(content).with_columns(pl.col("job").cast(pl.Categorical))
    frame.write_parquet(buffer := io.BytesIO())
    return buffer.getvalue()


FORMS: dict[str, Callable[[Columns], Any]] = {
    "pandas": pandas_frame,
    "pandas, nullable": nullable_frame,
    "pandas, categories": category_frame,
    "polars.csv": polars_csv,
    "pandas.csv": pandas_csv,
    "pandas.csv.gz": lambda content: gzip.compress(pandas_csv(content)),
    "pandas.tsv": pandas_tsv,
    "polars.parquet": parquet,
    "categories.parquet": categorical_parquet,
    "mapping": dict,
}


def links_of(content: Columns) -> pl.DataFrame:
    ids = content["id"]
    return pl.DataFrame({"source": ids, "target": ids[1:] + ids[:1]})


def read(content: Columns, name: str, form: Callable[[Columns], Any], **options: Any) -> fv.NodeGraph:
    source, links = form(content), links_of(content)
    if not isinstance(source, bytes):
        return fv.read_graph(source, links, **options)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / name).write_bytes(source)
        return fv.read_graph(Path(folder) / name, links, **options)


@settings(max_examples=10, deadline=None)
@given(contents())
def test_the_same_content_is_the_same_graph_whatever_holds_it(content):
    first = fv.read_graph(polars_frame(content), links_of(content), **OPTIONS)
    for name, form in FORMS.items():
        graph = read(content, name, form, **OPTIONS)
        assert graph.ids == first.ids, name
        assert graph.channels == first.channels, name
        assert graph.groups == first.groups, name
        assert graph.labels.tolist() == first.labels.tolist(), name
        assert graph.recipe == first.recipe, name
        assert graph.sha256 == first.sha256, name


@settings(max_examples=10, deadline=None)
@given(contents(), st.sampled_from(list(FORMS)), st.sampled_from(list(FORMS)))
def test_a_recipe_from_one_form_reads_every_other(content, one, other):
    graph = read(content, one, FORMS[one], **OPTIONS)
    again = read(content, other, FORMS[other], recipe=graph.recipe)
    assert again.features.tolist() == graph.features.tolist()
    assert (again.labels.tolist(), again.sensitive.tolist()) == (graph.labels.tolist(), graph.sensitive.tolist())


@pytest.mark.parametrize("kind", ["float16", "float32", "Float32"])
def test_a_narrow_number_is_the_number_that_it_prints(kind):
    narrow = pd.DataFrame({"a": pd.Series([0.1, 2.5, 0.3], dtype=kind), "s": ["f", "m", "f"]})
    wide = pd.DataFrame({"a": [0.1, 2.5, 0.3], "s": ["f", "m", "f"]})
    first, second = (fv.read_graph(frame, sensitive="s", categorical=["a"]) for frame in (narrow, wide))
    assert (first.channels, first.sha256) == (("a=0.1", "a=0.3", "a=2.5"), second.sha256)


def test_minus_zero_is_zero():
    zeros = {"id": [1, 2], "amount": [-0.0, 1.5], "tiny": [-1e-60, 1.0], "group": ["a", "b"], "ok": [0, 1]}
    graphs = [
        fv.read_graph(pl.DataFrame(zeros | change), links_of(zeros), label="ok", sensitive="group")
        for change in ({}, {"amount": [0.0, 1.5]}, {"tiny": [0.0, 1.0]})
    ]
    assert len({graph.sha256 for graph in graphs}) == 1


def test_values_that_are_written_in_two_ways_are_one_and_it_is_noted():
    graph = fv.read_graph({"job": ["2", "2.0", "3"], "s": ["f", "m", "f"]}, sensitive="s", categorical=["job"])
    assert graph.channels == ("job=2", "job=3")
    assert "nodes: column 'job': '2', '2.0' and the like are one value" in graph.provenance.notes


def test_texts_that_only_look_like_numbers_stay_as_they_are():
    graph = fv.read_graph({"job": ["2", "2.0", "02"], "s": ["f", "m", "f"]}, sensitive="s", categorical=["job"])
    assert graph.channels == ("job=02", "job=2", "job=2.0")
    assert np.array_equal(graph.features > 0, np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]], dtype=bool))
