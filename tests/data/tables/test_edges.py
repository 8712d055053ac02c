from __future__ import annotations

import gzip

import pandas as pd
import polars as pl
import pytest


def pairs(graph):
    """Each edge once, by ids."""
    ends = zip(graph.adjacency.sources.tolist(), graph.adjacency.indices.tolist(), strict=True)
    return sorted({tuple(sorted((graph.ids[first], graph.ids[second]))) for first, second in ends})


CHAIN = [("1", "2"), ("2", "3"), ("3", "4")]


@pytest.mark.parametrize(
    "content",
    [
        "source,target\n1,2\n2,3\n3,4\n",
        "target,weight,source\n2,0.5,1\n3,0.1,2\n4,9,3\n",  # by name
        "from,to\n1,2\n2,3\n3,4\n",  # the first two
        "1,2\n2,3\n3,4\n",
        "1,2,0.5\n2,3,0.1\n3,4,9\n",
        '"1","2"\n"2","3"\n"3","4"\n',
        "1 2\n2 3\n3 4",
        " 1  2 \n2\t 3\n3 4\n",
        "1\t2\n2\t3\n3\t4\n",
        "source target\n1 2\n2 3\n3 4\n",
        "1;2\n2;3\n3;4\n",
        "source|target\n1|2\n2|3\n3|4\n",
        "# Directed graph: x.txt\n# FromNodeId\tToNodeId\n1\t2\n2\t3\n3\t4\n",
        "% sym unweighted\n\n1 2 1\n2 3 1\n3 4 1\n",
        "1.000000000000000000e+00 2.000000000000000000e+00\n2.0e+00 3.0e+00\n3e0 4e0\n",
        "source,target\n1.0,2.0\n2.0,3.0\n3.0,4.0\n",
        "3,4\n2,2\n1,2\n2,3\n2,1\n",
        "2 2\n3 4\n1 2\n2 3\n",
        "\ufeffsource,target\r\n1,2\r\n2,3\r\n3,4\r\n\r\n",
    ],
)
def test_files_are_read_as_what_they_are(read, content):
    assert pairs(read(edges=content)) == CHAIN


def test_snap_files_say_how_they_were_read(read):
    graph = read(edges={"links.txt.gz": gzip.compress(b"# a\n# b\n1\t2\n2\t3\n")})
    assert graph.provenance.notes[:2] == (
        "links.txt.gz: 2 comment lines skipped",
        "links.txt.gz: read as an edge list without a header",
    )


def test_a_header_that_was_guessed_is_noted(read):
    notes = read(edges="from,to,since\n1,2,1999\n").provenance.notes
    assert "edges.csv: the first line ('from', 'to', 'since') is read as the header" in notes
    assert "edges.csv: columns 'since' ignored; 'from' and 'to' are the ends" in notes


def test_named_columns(read, refusal):
    table = "a,b,c\n9,1,2\n9,2,3\n9,3,4\n"
    assert pairs(read(edges=table, source="b", target="c")) == CHAIN
    assert refusal(edges=table, source="bb", target="d") == (
        "2 problems:\n  - edges.csv: no column 'bb'. Did you mean 'b'?\n  - edges.csv: no column 'd'. Known: a, b, c."
    )
    assert refusal(edges=table, source="b") == "edges.csv: no column 'target'. Known: a, b, c."
    assert refusal(edges=table, source="b", target="b") == "edges.csv: source and target are the same column, 'b'."


def test_a_separator_meant_for_the_nodes_does_not_spoil_the_edges(read):
    people = "id;age;sex;ok\n1;20;f;0\n2;30;m;1\n3;40;f;1\n4;50;m;0\n"
    for links in ("1 2\n2 3\n3 4\n", "1,2\n2,3\n3,4\n", "1;2\n2;3\n3;4\n"):
        assert pairs(read(people, links, separator=";")) == CHAIN


TEXTS = "id,age,sex,ok\nanna,20,f,0\nben,30,m,1\ncleo,40,f,1\n"


def test_an_edge_list_of_texts_needs_no_header(read):
    assert pairs(read(TEXTS, "anna,ben\nben,cleo\n")) == [("anna", "ben"), ("ben", "cleo")]


def test_a_first_line_that_is_half_an_edge_is_a_riddle(refusal):
    assert refusal(TEXTS, "anna,bert\nben,cleo\n") == (
        "edges.csv: the first line ('anna', 'bert') names the node 'anna': is it a header or an edge? "
        "Put the header 'source' and 'target' above it."
    )


def test_nodes_that_are_called_like_the_header(read):
    people = "id,age,sex,ok\nsource,20,f,0\ntarget,30,m,1\nx,40,f,1\n"
    assert pairs(read(people, "source,target\nsource,x\n")) == [("source", "x")]


def test_blanks_around_an_id_are_part_of_it(read, refusal):
    people = "id,age,sex,ok\n a,20,f,0\na,30,m,1\na ,40,f,1\n"
    assert pairs(read(people, "source,target\n a,a\na ,a\n")) == [(" a", "a"), ("a", "a ")]
    assert refusal(edges="1, 2\n") == (
        "edges.csv: 1 of 1 edges point to ids that nodes.csv does not have (' 2'). Blanks around an id are part of it. "
        "Add these nodes, or pass drop_unknown=True."
    )


def test_ids_written_as_floats_stay_so_where_the_nodes_write_them_so(read):
    people = "id,age,sex,ok\n1e5,20,f,0\n2e5,30,m,1\n100000,40,f,1\n"
    assert pairs(read(people, "source,target\n1e5,2e5\n")) == [("1e5", "2e5")]


def test_row_numbers_are_the_ids_of_a_table_without_any(read, refusal):
    people = "age,sex,ok\n20,f,0\n30,m,1\n40,f,1\n"
    graph = read(people, "0,2\n")
    assert pairs(graph) == [("0", "2")]
    assert graph.provenance.notes[0] == "nodes.csv: no id column; the row numbers from 0 are the ids"
    assert "point to ids that nodes.csv does not have ('3')" in refusal(people, "0,3\n")


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame({"source": [1, 2, 3], "target": [2, 3, 4]}),
        pl.DataFrame({"source": [1.0, 2.0, 3.0], "target": ["2", "3", "4"]}),
        pl.DataFrame({"source": pl.Series(["1", "2", "3"], dtype=pl.Categorical), "target": [2, 3, 4]}),
        pd.DataFrame({"source": [1, 2, 3], "target": [2, 3, 4]}),
        {"source": [1, 2, 3], "target": [2, 3, 4]},
    ],
)
def test_numbers_in_frames_meet_texts_in_csv(read, frame):
    assert pairs(read(edges=frame)) == CHAIN


@pytest.mark.parametrize("kind", [pl.Int8, pl.UInt32, pl.Int64, pl.UInt64])
def test_integers_are_the_ids_that_are_written_like_them(read, refusal, kind):
    """007 and +1 are other ids than 7 and 1; so it was when integers were matched as texts."""
    people = "id,age,sex,ok\n1,20,f,0\n7,30,m,1\n007,40,f,1\n+1,50,m,0\nx,20,f,1\n"
    frame = pl.DataFrame({"source": [1, 7, 1], "target": [7, 1, 7]}, schema={"source": kind, "target": kind})
    assert pairs(read(people, frame)) == [("1", "7")]
    strange = pl.DataFrame({"source": [1, 8], "target": [7, 1]}, schema={"source": kind, "target": kind})
    assert refusal(people, strange) == (
        "edges: 1 of 2 edges point to ids that nodes.csv does not have ('8'). "
        "Add these nodes, or pass drop_unknown=True."
    )


def test_the_largest_and_the_smallest_integers_are_ids_too(read):
    largest, smallest = 2**64 - 1, -(2**63)
    people = f"id,age,sex,ok\n{largest},20,f,0\n{smallest},30,m,1\n5,40,f,1\n"
    frame = {"source": pl.Series([largest], dtype=pl.UInt64), "target": pl.Series([smallest], dtype=pl.Int64)}
    assert pairs(read(people, pl.DataFrame(frame))) == [(str(smallest), str(largest))]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (
            {"source": [1, None], "target": [2, 3]},
            "edges: column 'source': 1 of 2 cells are empty (row 1, counted from 0).",
        ),
        (
            {"source": [1.0, float("nan")], "target": [2, 3]},
            "edges: column 'source': 1 of 2 cells are empty (row 1, counted from 0).",
        ),
        (
            {"source": [1.5], "target": [2]},
            "edges: column 'source': ids must be texts or whole numbers below 2**53, got 1.5 (row 0, counted from 0).",
        ),
        (
            {"source": [1.0], "target": [float("inf")]},
            "edges: column 'target': ids must be texts or whole numbers below 2**53, got inf (row 0, counted from 0).",
        ),
        ({"source": [[1]], "target": [2]}, "edges: column 'source': List(Int64) values can't be ids."),
        ({"source": [b"\xff"], "target": [2]}, "edges: column 'source': Binary values can't be ids."),
        ({"source": [1]}, "edges: one column only ('source'); edges need a source and a target."),
        ({}, "edges: no columns; edges need a source and a target."),
    ],
)
def test_frames_that_are_no_edges(refusal, frame, message):
    assert refusal(edges=pl.DataFrame(frame)) == message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("source\n1\n2\n", "edges.csv: one column only ('source'); edges need a source and a target."),
        (
            "# nothing\n% here\n",
            "edges.csv: only comments. If there are no edges, say so with the header 'source,target'.",
        ),
        ("source,target\n1,\n", "edges.csv: column 'target': 1 of 1 cells are empty (row 0, counted from 0)."),
        (
            "# a\n1 2\n2 3 4\n",
            "edges.csv: 1 of 2 rows are longer or shorter than the first line's 2 cells (line 3 has 3). "
            "A separator inside a cell needs quotes around the cell.",
        ),
        (
            "1.5 2\n",
            "edges.csv: column 'column_0': ids must be texts or whole numbers below 2**53, got 1.5 (row 0, counted "
            "from 0).",
        ),
    ],
)
def test_files_that_are_no_edges(refusal, content, message):
    assert refusal(edges=content) == message


@pytest.mark.parametrize(
    "frame", [pl.DataFrame({"source": [], "target": []}), pd.DataFrame({"source": [], "target": []})]
)
def test_a_frame_of_no_edges_is_a_graph_without_edges(read, frame):
    assert read(edges=frame).num_edges == 0


def test_all_edges_may_be_dropped(read):
    graph = read(edges="source,target\n8,9\n", drop_unknown=True)
    assert graph.num_edges == 0
    assert "edges.csv: 1 of 1 edges dropped: an end is not in nodes.csv" in graph.provenance.notes
