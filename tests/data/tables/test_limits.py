"""Hostile tables cost little: each limit with its message, and loops over columns that stay linear."""

from __future__ import annotations

import gzip
import time
import zlib

import numpy as np
import polars as pl
import pytest
from benchmarks.wide_tables import write_table

import fairview as fv
from fairview.data.tables import archives, features, header
from fairview.data.tables.archives import gunzip
from fairview.errors import LONGEST_MESSAGE, InputError


def test_a_gzip_bomb_is_refused_by_its_ratio(tmp_path):
    bomb = gzip.compress(bytes(20 * 1024**2))
    (tmp_path / "bomb.csv.gz").write_bytes(bomb)
    with pytest.raises(InputError) as caught:
        fv.read_graph(tmp_path / "bomb.csv.gz")
    assert str(caught.value) == (
        f"bomb.csv.gz: expands to more than 200 times its {len(bomb):,} bytes. If you trust it, expand it yourself."
    )


def test_small_files_may_compress_as_well_as_they_like():
    assert len(gunzip(gzip.compress(bytes(9 * 1024**2)))) == 9 * 1024**2


def test_many_gzip_members_take_time_in_proportion_to_their_number():
    member = gzip.compress(b"")
    start = time.process_time()
    assert gunzip(member * 100_000 + b"\0" * 100_000) == b""
    assert time.process_time() - start < 10  # copying the rest for each took minutes


@pytest.mark.parametrize("size", [1, 1023, 1024, 1025, 300_000])
def test_members_of_any_size_are_joined(size):
    content = np.random.default_rng(0).bytes(size)
    assert gunzip(gzip.compress(content) + b"\0\0" + gzip.compress(content[::-1])) == content + content[::-1]
    with pytest.raises(InputError, match="the gzip data ends too early"):
        gunzip(gzip.compress(content)[:-1])
    with pytest.raises(InputError, match="4 bytes follow the end of the gzip data"):
        gunzip(gzip.compress(content) + b"more")


def test_a_zip_member_is_refused_by_its_ratio(tmp_path, monkeypatch):
    import zipfile

    monkeypatch.setattr(archives, "SMALL", 1000)
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", bytes(100_000))
    size = len(zlib.compress(bytes(100_000), 6)) - 6
    with pytest.raises(InputError) as caught:
        archives.zip_members(tmp_path / "a.zip")
    assert str(caught.value) == (
        f"a.zip: refused: member 'a.csv' declares 100,000 bytes out of {size}, more than 200 times as many."
    )


def test_a_parquet_file_is_refused_by_what_it_declares(tmp_path, monkeypatch):
    pl.DataFrame({"id": range(1000), "age": [0] * 1000}).write_parquet(tmp_path / "a.parquet")
    monkeypatch.setattr(header, "MOST_VALUES", 1999)
    with pytest.raises(InputError) as caught:
        fv.read_graph(tmp_path / "a.parquet")
    assert str(caught.value) == (
        "a.parquet: 1,000 rows of 2 columns are more than 1,999 cells. Leave rows or columns out."
    )
    monkeypatch.setattr(header, "MOST_ROWS", 999)
    with pytest.raises(InputError, match=r"a.parquet: 1,000 rows; at most 999 are read. Leave some out."):
        fv.read_graph(tmp_path / "a.parquet")


def test_too_many_columns(refusal, monkeypatch):
    monkeypatch.setattr(header, "MOST_COLUMNS", 3)
    expected = "nodes.csv: 4 columns; at most 3 are read. Leave some out."
    assert refusal("id,age,sex,ok\n1,20,f,0\n", None) == expected
    assert (
        refusal(pl.DataFrame({name: [1] for name in ("id", "age", "sex", "ok")}), None) == expected[:5] + expected[9:]
    )


def test_too_many_channels_and_values(refusal, monkeypatch):
    monkeypatch.setattr(features, "MOST_CHANNELS", 2)
    assert refusal(categorical=["age"]) == "nodes.csv: 4 channels; at most 2 are made. Leave columns out."
    monkeypatch.setattr(features, "MOST_VALUES", 3)
    assert refusal() == "nodes.csv: 4 nodes with 1 channels are more than 3 values. Leave rows or columns out."


def test_very_many_sensitive_values_and_group_names(refusal):
    table = "id,age,sex,ok\n" + "".join(f"{k},1,s{k},{k % 2}\n" for k in range(40_000))
    assert refusal(table).startswith("nodes.csv: column 'sex': 40,000 different values (s0, s1, s10, ")
    names = {f"s{k}": f"g{k}" for k in range(40_000)}
    assert (
        "nodes.csv: column 'sex': 40,000 group names (s0, s1, s2, s3, s4 and 39,995 more); at most 20. Leave some out."
    ) in refusal("id,age,sex,ok\n1,1,s0,0\n2,2,s1,1\n", groups=names)


def test_a_long_column_name(refusal):
    assert refusal(f"id,{'a' * 1001},sex,ok\n1,20,f,0\n") == (
        f"nodes.csv: 1 column names are longer than 1,000 characters (the first: '{'a' * 79}…'). Shorten them."
    )


@pytest.mark.parametrize("column", ["id", "sex", "ok", "age"])
def test_a_long_cell(refusal, column):
    cells_of = {"id": "1", "age": "20", "sex": "f", "ok": "0"} | {column: "x" * 1_000_000}
    text = refusal("id,age,sex,ok\n" + ",".join(cells_of.values()) + "\n", None, categorical=["age"])
    assert (
        f"nodes.csv: column '{column}': a cell has 1,000,000 characters ('{'x' * 79}…'); ids, labels, groups and "
        "categories have at most 1,000. Shorten it, or leave the column out." in text
    )
    assert len(text) < LONGEST_MESSAGE


def test_a_long_cell_among_numbers_is_cut_in_the_message(refusal):
    text = refusal(f"id,age,sex,ok\n1,{'x' * 1_000_000},f,0\n", None)
    assert f"the first is '{'x' * 79}…'" in text
    assert len(text) < 1000


def test_a_thousand_broken_columns_are_counted_and_fifty_told(refusal):
    names = ",".join(f"c{place}" for place in range(1000))
    text = refusal(f"id,sex,ok,{names}\n1,f,0,{','.join(['x'] * 1000)}\n", None)
    assert text.startswith("1,000 problems:\n  - nodes.csv: column 'c0': 1 of 1 cells are not numbers")


@pytest.mark.parametrize("cell", [None, "text", ""])
def test_the_cost_of_a_table_grows_in_proportion_to_its_columns(tmp_path, cell):
    seconds = []
    for columns in (2_000, 16_000):
        write_table(tmp_path / "wide.csv", columns, cell)
        start = time.process_time()
        try:
            fv.read_graph(tmp_path / "wide.csv", label="label", sensitive="group")
        except InputError:
            assert cell is not None
        seconds.append(time.process_time() - start)
    assert seconds[1] < 8 * 3 * seconds[0] + 1  # a loop over pairs of columns takes 64 times as long


def test_a_mistyped_name_among_very_many_is_still_recognised(tmp_path):
    write_table(tmp_path / "wide.csv", 5_000)
    with pytest.raises(InputError, match=r"no column 'colum 4999'. Did you mean 'column 4999'\?"):
        fv.read_graph(tmp_path / "wide.csv", label="label", sensitive="group", features=["colum 4999"])


@pytest.mark.parametrize(
    ("field", "named"),
    [
        ("node_ids", "ids: 'caf\\udce9': not UTF-8"),
        ("channels", "channels: 'caf\\udce9': not UTF-8"),
        ("groups", "groups: 'caf\\udce9': not UTF-8"),
    ],
)
def test_names_that_are_not_utf8_are_refused(read, field, named):
    graph = read()
    with pytest.raises(InputError) as caught:
        graph.replace(**{field: ("caf\udce9", *(getattr(graph, field) or ())[1:])})
    assert str(caught.value) == f"{named} (half a character, a lone surrogate). Rename them."


def test_a_column_whose_name_is_not_utf8_is_refused(refusal):
    text = refusal({"id": [1, 2], "caf\udce9": [1, 2], "sex": ["f", "m"], "ok": [0, 1]}, None)
    assert text == "nodes: column 'caf\\udce9': half a character (a lone surrogate). Rename it."
