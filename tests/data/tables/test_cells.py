from __future__ import annotations

import gzip
import hashlib
import io
import os

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairview.data.tables.cells import decode, parse_csv, read_table
from fairview.errors import InputError


def refused(source: object, **options: object) -> str:
    with pytest.raises(InputError) as caught:
        read_table(source, name="nodes", **options)
    return str(caught.value)


def parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


# --- CSV --------------------------------------------------------------------------------------------------------------


def test_every_cell_is_text_and_only_the_empty_one_is_null():
    frame = parse_csv(b"a,b,c\n007,NA,\n1e5, x ,nan\n", "t.csv", ",")
    assert frame.rows() == [("007", "NA", None), ("1e5", " x ", "nan")]


def test_quoted_cells_keep_separators_line_ends_and_quotes():
    frame = parse_csv(b'"na,me","li\nne"\n"a,b","c\nd"\n"say ""hi""",""""\n', "t.csv", ",")
    assert frame.columns == ["na,me", "li\nne"]
    assert frame.rows() == [("a,b", "c\nd"), ('say "hi"', '"')]


cells = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=6)


@given(st.integers(1, 4).flatmap(lambda width: st.lists(st.lists(cells, min_size=width, max_size=width), min_size=1)))
def test_what_is_quoted_is_read_back_exactly(rows):
    width = len(rows[0])
    header = [f"c{place}" for place in range(width)]
    lines = [",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in [header, *rows]]
    frame = parse_csv("\n".join(lines).encode(), "t.csv", ",")
    assert [[cell or "" for cell in row] for row in frame.rows()] == rows


def test_lines_of_quoted_line_ends_and_of_blank_lines_above_are_counted():
    with pytest.raises(InputError, match=r"\(line 6 has 1\)"):
        parse_csv(b'\n\na,b\n"x\ny",1\nonly\n', "t.csv", ",")


def test_a_blank_line_is_named():
    with pytest.raises(InputError, match=r"1 of 3 rows .* \(line 3 is blank\)\. Remove blank lines\.$"):
        parse_csv(b"a,b\n1,2\n\n3,4\n", "t.csv", ",")


def test_many_odd_rows_are_counted_and_five_are_shown():
    with pytest.raises(InputError, match=r"9 of 9 rows .*line 6 has 1 and 4 more\)"):
        parse_csv(b"a,b\n" + b"1\n" * 9, "t.csv", ",")


@pytest.mark.parametrize("separator", ["", "ab", '"', "\n", "\r", "\0", "é"])
def test_a_separator_is_one_plain_character(separator):
    with pytest.raises(InputError, match=r"^t\.csv: separator must be one plain character, got "):
        parse_csv(b"a,b\n1,2\n", "t.csv", separator)


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


# --- encodings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252"])
def test_usual_encodings(encoding):
    assert decode("id,größe\r\n1,2\r".encode(encoding), "t.csv", encoding) == "id,größe\n1,2\n".encode()


@pytest.mark.parametrize("encoding", ["", "uft-8", "a\0b", "\udcff"])
def test_unknown_encodings(encoding):
    with pytest.raises(InputError, match=r"Usual ones: utf-8, latin-1, cp1252, utf-16\.$"):
        decode(b"a", "t.csv", encoding)


@pytest.mark.parametrize("encoding", ["hex", "rot13", "zlib", "undefined"])
def test_codecs_that_give_no_text(encoding):
    with pytest.raises(InputError, match=f"^t.csv: '{encoding}' is not a text encoding\\.$"):
        decode(b"a,b", "t.csv", encoding)


def test_half_a_character_is_an_error_with_its_line():
    with pytest.raises(InputError, match=r"^t\.csv: line 2: half a character"):
        decode(b"a\n\\ud800", "t.csv", "unicode_escape")


# --- files ------------------------------------------------------------------------------------------------------------


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
