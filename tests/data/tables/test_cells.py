from __future__ import annotations

import gzip
import hashlib
import io
import os

import numpy as np
import pandas as pd
import polars as pl
import pytest

from fairview.data.tables.cells import read_table
from fairview.errors import InputError


def refused(source: object, **options: object) -> str:
    with pytest.raises(InputError) as caught:
        read_table(source, name="nodes", **options)
    return str(caught.value)


def parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


# --- files ------------------------------------------------------------------------------------------------------------


def test_tsv_files_are_separated_by_tabs(tmp_path):
    (tmp_path / "t.tsv").write_text("a\tb\n1\t2\n")
    assert read_table(tmp_path / "t.tsv", name="").frame.rows() == [("1", "2")]


@pytest.mark.parametrize(("header", "place"), [("a,,c", "2"), (",b,c", "1"), ('a,"",c', "2"), ("a, ,c", "2")])
def test_a_column_without_a_name(tmp_path, header, place):
    (tmp_path / "t.csv").write_text(f"{header}\n1,2,3\n")
    assert refused(tmp_path / "t.csv") == (
        f"t.csv: column {place} has no name. Name it, or leave it out (pandas: to_csv(index=False))."
    )


def test_thousands_of_columns(tmp_path):
    names = [f"c{place}" for place in range(5000)]
    (tmp_path / "t.csv").write_text(",".join(names) + "\n" + ",".join("1" * 5000) + "\n")
    assert read_table(tmp_path / "t.csv", name="").frame.columns == names


def test_a_folder_is_no_table(tmp_path):
    assert refused(tmp_path) == f"{tmp_path}: is a folder, not a table."


def test_a_file_that_is_not_there(tmp_path):
    (tmp_path / "people.csv").write_text("a\n1\n")
    assert refused(tmp_path / "poeple.csv") == f"{tmp_path}/poeple.csv: no such file. Did you mean 'people.csv'?"
    assert refused(str(tmp_path / "x" / "y.csv")) == (
        f"{tmp_path}/x/y.csv: no such file; there is no folder '{tmp_path}/x'."
    )


def test_names_that_no_file_can_have():
    assert "no such file" in refused("a\0b")
    assert "can't be read (File name too long)" in refused("x" * 5000)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read(tmp_path):
    (tmp_path / "t.csv").write_text("a\n1\n")
    (tmp_path / "t.csv").chmod(0)
    assert "t.csv: can't be read (Permission denied)" in refused(tmp_path / "t.csv")


# --- Parquet ----------------------------------------------------------------------------------------------------------


def test_parquet_is_known_by_its_content(tmp_path):
    frame = pl.DataFrame({"id": [1, 2], "age": [1.5, None]})
    (tmp_path / "t.csv").write_bytes(parquet(frame))
    assert read_table(tmp_path / "t.csv", name="").frame.equals(frame)


def test_damaged_parquet_is_an_error_and_polars_prints_no_panic(tmp_path, capfd):
    whole = parquet(pl.DataFrame({"id": list(range(50)), "sex": ["f", "m"] * 25}))
    random_numbers = np.random.default_rng(0)
    refusals = 0
    for _ in range(200):
        damaged = bytearray(whole)
        for place in random_numbers.integers(4, len(whole), size=3):
            damaged[place] = random_numbers.integers(256)
        (tmp_path / "t.parquet").write_bytes(damaged)
        try:
            read_table(tmp_path / "t.parquet", name="")
        except InputError as error:
            assert str(error).startswith("t.parquet: ")  # noqa: PT017
            refusals += 1
    assert refusals > 50
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("share", [0.2, 0.5, 0.99])
def test_parquet_that_is_cut_short(tmp_path, share):
    whole = parquet(pl.DataFrame({"id": list(range(50))}))
    (tmp_path / "t.parquet").write_bytes(whole[: int(share * len(whole))])
    assert refused(tmp_path / "t.parquet").startswith("t.parquet: can't be read as Parquet (")


# --- frames -----------------------------------------------------------------------------------------------------------


def test_pandas_columns_become_what_they_hold():
    frame = pd.DataFrame(
        {
            "text": ["007", None, "NA"],
            "whole": [1, 2, 2**62],
            "float": [1.0, np.nan, 2.5],
            "nullable": pd.array([1, None, 3], dtype="Int64"),
            "category": pd.Categorical(["a", "b", None]),
            "truth": [True, False, True],
        }
    )
    assert read_table(frame, name="nodes").frame.to_dict(as_series=False) == {
        "text": ["007", None, "NA"],
        "whole": [1, 2, 2**62],
        "float": [1.0, None, 2.5],
        "nullable": [1, None, 3],
        "category": ["a", "b", None],
        "truth": [True, False, True],
    }


def test_pandas_frames_with_columns_called_alike():
    assert refused(pd.DataFrame([[1, 2]], columns=["a", "a"])) == "nodes: duplicate column names: a. Rename them."


def test_mappings_and_lazy_frames_are_tables():
    assert read_table({"a": [1, 2]}, name="nodes").frame.rows() == [(1,), (2,)]
    assert read_table(pl.LazyFrame({"a": [1, 2]}), name="nodes").frame.rows() == [(1,), (2,)]


def test_mappings_that_are_no_tables():
    assert refused({"a": [1, 2], "b": [1]}) == "nodes: the columns have different lengths ('a' 2, 'b' 1)."
    assert refused({"a": [1, "x"], "b": 5}).startswith("2 problems:\n  - nodes: column 'a': can't be read (")


def test_a_lazy_frame_that_fails():
    assert refused(pl.LazyFrame({"a": [1]}).select("b")).startswith("nodes: the lazy frame can't be collected (")


@pytest.mark.parametrize("source", [None, 5, [1, 2], np.zeros((2, 2)), b"a,b", pl.Series([1])])
def test_what_is_no_table_at_all(source):
    assert refused(source) == f"nodes: expected a path or a frame, got {type(source).__name__}."


def test_no_rows():
    assert refused(pl.DataFrame({"a": []})) == "nodes: no rows."
    assert len(read_table(pl.DataFrame({"a": []}), name="edges", may_be_empty=True)) == 0


def test_the_hash_is_that_of_the_expanded_file(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a\n1\n"))
    assert read_table(tmp_path / "t.csv.gz", name="").sha256 == hashlib.sha256(b"a\n1\n").hexdigest()
