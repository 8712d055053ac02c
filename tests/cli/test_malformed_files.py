"""Broken files through the command line: a message that names the place. `tests/fuzz` has the damaged ones."""

from __future__ import annotations

import contextlib
import io
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fuzz.damage import bytes_of
from tests.fuzz.test_tables import EDGES, NODES

from fairview.cli.main import main

OPTIONS = ["--label", "ok", "--sensitive", "sex", "--categorical", "job", "--split", "part"]
CHOICES = ["missing mean", "missing drop", "missing indicator", "scale-on train", "scaling minmax", "drop-unknown"]
CHOICES += ["directed", "sensitive-as-feature", "positive 1", "encoding latin-1", "encoding utf-16", "separator ;"]
MORE_OPTIONS = st.lists(st.sampled_from([*CHOICES, "format json"]), max_size=3, unique_by=lambda text: text.split()[0])


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
    """A description (3: nothing can be trained on it), or code 1 and problems that each name their file."""
    with tempfile.TemporaryDirectory() as folder:
        code, out, err = run(
            Path(folder), nodes, edges, [*OPTIONS, *" ".join(f"--{option}" for option in options).split()]
        )
    assert code in (0, 1, 3), err
    if code != 1:
        assert out
        assert err == "" if code == 0 else err.startswith("no model can be trained: ")
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

edges_damaged = st.sampled_from(EDGES).flatmap(bytes_of)
broken_files = st.one_of(
    st.tuples(bytes_of(NODES), st.none() | st.just(EDGES[0])),
    st.tuples(st.just(NODES), edges_damaged),
    st.tuples(bytes_of(NODES), edges_damaged),
)


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(broken_files, MORE_OPTIONS)
def test_broken_files_give_a_graph_or_a_message(files, options):
    check(*files, options)


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
        code, _, err = run(Path(folder), NODES, edges.encode(), OPTIONS)
    assert code == 1
    assert err.startswith(f"error: edges.csv: {len(strangers)} of {len(links)} edges point to ids that nodes.csv ")
    assert sum(f"'{stranger}'" in err for stranger in strangers) == min(len(strangers), 5)
