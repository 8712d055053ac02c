"""Thousands of broken files through the command line: a graph or a message, never a traceback."""

from __future__ import annotations

import contextlib
import gzip
import io
import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairview.cli.main import main

HEADER = ["id", "age", "job", "sex", "ok", "part"]
ROWS = [
    ["007", "20", "a", "f", "0", "train"],
    ["7", "30.5", "b", "m", "1", "train"],
    ["NA", "-4e1", '"x, ""y"""', "f", "1", "val"],
    ["a b", "50", "a", "m", "0", "test"],
    ["9223372036854775808", "0", "b", "f", "1", ""],
]
NODES = "\n".join(",".join(row) for row in [HEADER, *ROWS]) + "\n"
EDGES = ["source,target\n007,7\n7,NA\nNA,a b\n", "# snap\n7\t7\n7\t007\n", "7.0e+00 7.0e+00\n"]
OPTIONS = ["--label", "ok", "--sensitive", "sex", "--categorical", "job", "--split", "part"]
CHOICES = ["missing mean", "missing drop", "missing indicator", "scale-on train", "scaling minmax", "drop-unknown"]
CHOICES += ["directed", "sensitive-as-feature", "positive 1", "encoding latin-1", "encoding utf-16", "separator ;"]
MORE_OPTIONS = st.lists(st.sampled_from([*CHOICES, "format json"]), max_size=3)


def run(folder: Path, nodes: bytes, edges: bytes | None, options: list[str]) -> tuple[int, str, str]:
    (folder / "nodes.csv").write_bytes(nodes)
    arguments = ["check", "--nodes", str(folder / "nodes.csv"), *options]
    if edges is not None:
        (folder / "edges.csv").write_bytes(edges)
        arguments += ["--edges", str(folder / "edges.csv")]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as caught:
        main(arguments)
    return int(caught.value.code or 0), out.getvalue(), err.getvalue()


def check(nodes: bytes, edges: bytes | None, options: list[str]) -> None:
    """Code 0 with a description, or code 1 with a message in which every problem names its file."""
    with tempfile.TemporaryDirectory() as folder:
        code, out, err = run(
            Path(folder), nodes, edges, [*OPTIONS, *" ".join(f"--{option}" for option in options).split()]
        )
    assert code in (0, 1), err
    if code == 0:
        assert err == ""
        assert out
        return
    assert out == ""
    assert err.startswith("error: ")
    assert "bug in fairview" not in err
    problems = err.removeprefix("error: ").split("\n  - ")
    if len(problems) > 1:
        assert problems.pop(0) == f"{len(problems)} problems:"
    for problem in problems:
        assert problem.startswith(("nodes.csv: ", "edges.csv: ", "scaling on the train nodes")), err
        assert len(problem) > 20


# --- bytes at random --------------------------------------------------------------------------------------------------

hostile = st.sampled_from(
    [
        b'"', b'""', b",", b";", b"\t", b"|", b"\n", b"\r", b"\r\n", b"\0", b"\xff\xfe", b"\xef\xbb\xbf",
        b"\xe2\x80\xa8", b"\xff", b"\xc3", b"#", b"%", b" ", b"nan", b"inf", b"1e999", b"-", b"=1+1", b"\x1b[2J",
        b"'", b"1,000", b"2020-01-01", b"PAR1", b"\x1f\x8b", b"PK\x03\x04", "\u202e".encode(), b"0x1", b"train",
        b"id,", b"\x85", b"\x1a",
    ]
)  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn, whole: bytes) -> bytes:
    """A file with a few bytes changed, removed, doubled or put in, cut short, in another encoding, or compressed."""
    data = whole
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, max(len(data) - 1, 0)))
        end = start + draw(st.integers(0, 12))
        kind = draw(st.sampled_from(["flip", "remove", "insert", "insert", "replace", "double", "cut", "swap"]))
        if kind == "flip":
            data = data[:start] + bytes([draw(st.integers(0, 255))]) + data[start + 1 :]
        elif kind == "remove":
            data = data[:start] + data[end:]
        elif kind == "insert":
            data = data[:start] + draw(hostile | st.binary(max_size=4)) + data[start:]
        elif kind == "replace":
            data = data[:start] + draw(hostile) + data[end:]
        elif kind == "double":
            data = data[:end] + data[start:]
        elif kind == "cut":
            data = data[:start]
        elif kind == "swap":
            data = data.replace(draw(st.sampled_from([b",", b"\n", b"0", b"a", b'"'])), draw(hostile))
    after = draw(st.sampled_from(["", "", "", "", "utf-16", "utf-16-le", "gzip", "cut gzip"]))
    if after.startswith("utf"):
        data = data.decode("latin-1").encode(after)
    elif after:
        data = gzip.compress(data)[: -5 if "cut" in after else None]
    return data


nodes_damaged = damaged(NODES.encode())
edges_damaged = st.sampled_from(EDGES).flatmap(lambda text: damaged(text.encode()))
broken_files = st.one_of(
    st.tuples(nodes_damaged, st.none() | st.just(EDGES[0].encode())),
    st.tuples(st.just(NODES.encode()), edges_damaged),
    st.tuples(nodes_damaged, edges_damaged),
    st.tuples(st.binary(max_size=60), st.none()),
)
quick = settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
long = settings(max_examples=6000, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@quick
@given(broken_files, MORE_OPTIONS)
def test_broken_files_give_a_graph_or_a_message(files, options):
    check(*files, options)


@pytest.mark.slow
@long
@given(broken_files, MORE_OPTIONS)
def test_many_more_broken_files_give_a_graph_or_a_message(files, options):
    check(*files, options)


def parquet() -> bytes:
    buffer = io.BytesIO()
    rows = [[cell.strip('"') for cell in row] for row in ROWS]
    pl.DataFrame(rows, schema=HEADER, orient="row").write_parquet(buffer)
    return buffer.getvalue()


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=4), st.booleans())
def test_broken_parquet_gives_a_graph_or_a_message(changes, cut):
    data = bytearray(parquet())
    for place, byte in changes:
        data[4 + place % (len(data) - 4)] = byte
    check(bytes(data[: changes[0][0] % len(data)] if cut else data), None, [])


# --- one thing wrong, at a known place --------------------------------------------------------------------------------

bad_numbers = st.sampled_from(
    ["", "x", "nan", "NA", "inf", "-1e39", "1e400", "12 %", '"1,000"', "2020-01-01", "0x1", "tru"]
)


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 19),
    st.sampled_from(["age", "size", "score"]),
    bad_numbers,
    st.lists(st.integers(0, 10**6), min_size=20, max_size=20, unique=True),
)
def test_a_bad_cell_is_named_with_file_column_and_id(row, column, cell, ids):
    names = ["age", "size", "score"]
    rows = [[str(name), "1", "2.5", str(k), "fm"[k % 2], str(k % 2)] for k, name in enumerate(ids)]
    rows[row][1 + names.index(column)] = cell
    text = "\n".join(",".join(cells) for cells in [["id", *names, "sex", "ok"], *rows])
    with tempfile.TemporaryDirectory() as folder:
        code, out, err = run(Path(folder), text.encode(), None, ["--label", "ok", "--sensitive", "sex"])
    assert (code, out) == (1, "")
    assert err.startswith(f"error: nodes.csv: column '{column}': 1 of 20 ")
    assert f"(id {ids[row]})" in err or f"(id {ids[row]};" in err
    assert "\n" not in err.rstrip("\n")


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 29), st.sampled_from(["longer", "shorter", "blank", "quote", "byte"]), st.integers(0, 3))
def test_a_bad_line_is_named_with_file_and_line(row, kind, blanks_above):
    lines = [f"{k},1,{'fm'[k % 2]},{k % 2}".encode() for k in range(30)]
    bad = {
        "longer": lines[row] + b",9",
        "shorter": lines[row].rsplit(b",", 1)[0],
        "blank": b"",
        "quote": lines[row].replace(b",1,", b',"1,'),
        "byte": lines[row] + b"\xff",
    }
    if kind == "blank" and row == 29:
        return  # a blank line at the end is none
    lines[row] = bad[kind]
    data = b"\n" * blanks_above + b"id,age,sex,ok\n" + b"\n".join(lines)
    with tempfile.TemporaryDirectory() as folder:
        code, out, err = run(Path(folder), data, None, ["--label", "ok", "--sensitive", "sex"])
    assert (code, out) == (1, "")
    assert err.startswith("error: nodes.csv: ")
    assert f"line {row + 2 + blanks_above}" in err


@settings(max_examples=60, deadline=None)
@given(st.sets(st.integers(100, 999), min_size=1, max_size=9), st.randoms(use_true_random=False))
def test_unknown_ids_are_counted_and_named(strangers, chance):
    links = ["7,007", "NA,7", *(f"7,{stranger}" for stranger in strangers)]
    chance.shuffle(links)
    edges = "source,target\n" + "\n".join(links)
    with tempfile.TemporaryDirectory() as folder:
        code, _, err = run(Path(folder), NODES.encode(), edges.encode(), OPTIONS)
    assert code == 1
    assert err.startswith(f"error: edges.csv: {len(strangers)} of {len(links)} edges point to ids that nodes.csv ")
    assert sum(f"'{stranger}'" in err for stranger in strangers) == min(len(strangers), 5)
