"""Node tables and edge lists as files: CSV, compressed CSV, Parquet."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import strategies as st
from tests.fuzz.damage import bytes_of
from tests.fuzz.trial import CASES, try_many, unchanged

import fairview as fv

HEADER = ["id", "age", "job", "sex", "ok", "part"]
ROWS = [
    ["007", "20", "a", "f", "0", "train"],
    ["7", "30.5", "b", "m", "1", "train"],
    ["NA", "-4e1", '"x, ""y"""', "f", "1", "val"],
    ["a b", "50", "a", "m", "0", "test"],
    ["9223372036854775808", "0", "b", "f", "1", ""],
]
NODES = ("\n".join(",".join(row) for row in [HEADER, *ROWS]) + "\n").encode()
EDGES = (b"source,target\n007,7\n7,NA\nNA,a b\n", b"# snap\n7\t7\n7\t007\n", b"7.0e+00 7.0e+00\n")
USUAL = {"label": "ok", "sensitive": "sex", "categorical": ["job"], "split": "part"}

options = st.fixed_dictionaries(
    {},
    optional={
        "missing": st.sampled_from(["mean", "drop", "indicator"]),
        "scale_on": st.just("train"),
        "scaling": st.sampled_from(["minmax", "standard"]),
        "drop_unknown": st.just(True),
        "directed": st.just(True),
        "sensitive_as_feature": st.just(True),
        "positive": st.just("1"),
        "encoding": st.sampled_from(["latin-1", "utf-16"]),
        "separator": st.sampled_from([";", "\t"]),
    },
)


def parquet() -> bytes:
    buffer = io.BytesIO()
    rows = [[cell.strip('"') for cell in row] for row in ROWS]
    pl.DataFrame(rows, schema=HEADER, orient="row").write_parquet(buffer)
    return buffer.getvalue()


def read(folder: Path, nodes: bytes, edges: bytes | None, asked: dict[str, object], suffix: str = "csv") -> None:
    (folder / f"nodes.{suffix}").write_bytes(nodes)
    if edges is not None:
        (folder / "edges.csv").write_bytes(edges)
    with unchanged(folder):
        graph = fv.read_graph(
            folder / f"nodes.{suffix}", None if edges is None else folder / "edges.csv", **USUAL | asked
        )
    assert np.isfinite(graph.features).all()
    assert len(set(graph.channels)) == graph.num_channels
    assert len(set(graph.ids)) == graph.num_nodes


@pytest.mark.parametrize("cases", CASES)
def test_damaged_node_tables_give_a_graph_or_an_error(cases, tmp_path):
    damaged = bytes_of(NODES) | st.binary(max_size=60)
    inputs = st.tuples(damaged, st.none() | st.just(EDGES[0]), options)
    try_many(cases, inputs, lambda case: read(tmp_path, *case))


@pytest.mark.parametrize("cases", CASES)
def test_damaged_edge_lists_give_a_graph_or_an_error(cases, tmp_path):
    damaged = st.sampled_from(EDGES).flatmap(bytes_of)
    try_many(cases, st.tuples(st.just(NODES), damaged, options), lambda case: read(tmp_path, *case))


@pytest.mark.parametrize("cases", CASES)
def test_damaged_parquet_gives_a_graph_or_an_error(cases, tmp_path):
    damaged = bytes_of(parquet(), encodings=False)
    asked = st.fixed_dictionaries({}, optional={"missing": st.sampled_from(["mean", "drop"])})
    try_many(cases, st.tuples(damaged, asked), lambda case: read(tmp_path, case[0], None, case[1], "parquet"))
