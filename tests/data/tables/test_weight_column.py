"""A column of the edge table holds the weights: read exactly, or refused with the row, from files and frames alike."""

from __future__ import annotations

import gzip
import io

import pandas as pd
import polars as pl
import pytest

import fairview as fv

RULE = "a weight is 0 or a number from 1e-12 to 1e+12"
LINKS = "source,target,hours\n1,2,0.5\n2,3,4\n3,4,1e3\n"


def weights(graph: fv.NodeGraph) -> dict[tuple[str, str], float]:
    links = graph.adjacency
    ends = zip(links.sources.tolist(), links.indices.tolist(), links.weights.tolist(), strict=True)
    return {(graph.ids[a], graph.ids[b]): w for a, b, w in ends if graph.adjacency.directed or a < b}


EXPECTED = {("1", "2"): 0.5, ("2", "3"): 4.0, ("3", "4"): 1000.0}


def parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


FRAME = pl.read_csv(io.StringIO(LINKS))


@pytest.mark.parametrize(
    "edges",
    [
        LINKS,
        "hours,target,source\n0.5,2,1\n4,3,2\n1000,4,3\n",
        "source\ttarget\thours\n1\t2\t 0.5\n2\t3\t+4\n3\t4\t1000.0\n",
        {"links.csv.gz": gzip.compress(LINKS.encode())},
        {"links.parquet": parquet(FRAME)},
        {"links.parquet": parquet(FRAME.cast({"hours": pl.Float32}))},
        {"links.parquet": parquet(FRAME.cast({"hours": pl.Decimal(8, 2)}))},
        FRAME,
        pd.read_csv(io.StringIO(LINKS)),
        pd.DataFrame({"source": [1, 2, 3], "target": [2, 3, 4], "hours": ["0.5", "4", "1e3"]}),
    ],
    ids=["csv", "by name", "tabs", "gzip", "parquet", "float32", "decimals", "polars", "pandas", "texts"],
)
def test_files_and_frames_give_the_same_weights(read, edges):
    graph = read(edges=edges, edge_weight="hours")
    assert weights(graph) == EXPECTED
    assert graph.recipe.edge_weight == "hours"
    assert graph.sha256 == read(edges=LINKS, edge_weight="hours").sha256


def test_edge_lists_without_a_header_have_numbered_columns(read):
    graph = read(edges="1 2 0.5\n2 3 4\n3 4 1e3\n", edge_weight="column_2")
    assert weights(graph) == EXPECTED


def test_without_the_option_weights_are_ignored_and_a_note_says_so(read):
    graph = read(edges=LINKS)
    assert graph.adjacency.weights is None
    assert "edges.csv: columns 'hours' ignored; 'source' and 'target' are the ends" in graph.provenance.notes
    assert graph.sha256 == read().sha256


def test_the_column_of_weights_is_not_called_ignored(read):
    assert not any("ignored" in note for note in read(edges=LINKS, edge_weight="hours").provenance.notes)


def test_dropped_edges_and_nodes_take_their_weights_along(read):
    links = LINKS + "4,9,7\n4,1,2\n"
    graph = read(edges=links, edge_weight="hours", drop_unknown=True)
    assert weights(graph) == EXPECTED | {("1", "4"): 2.0}
    people = "id,age,sex,ok\n1,20,f,0\n2,,m,1\n3,40,f,1\n4,50,m,0\n"
    graph = read(people, LINKS, edge_weight="hours", missing="drop")
    assert weights(graph) == {("3", "4"): 1000.0}


def test_parallel_edges_are_summed_weightless_ones_dropped_and_both_are_noted(read):
    graph = read(edges=LINKS + "1,2,1\n1,4,0\n", edge_weight="hours")
    assert weights(graph) == EXPECTED | {("1", "2"): 1.5}
    assert "1 parallel edges merged, weights added up" in graph.provenance.notes
    assert "1 edges of weight 0 dropped" in graph.provenance.notes


def test_the_order_of_rows_does_not_matter(read):
    header, *rows = (LINKS + "1,2,0.1\n1,2,0.2\n").splitlines()
    turned = "\n".join([header, *reversed(rows)]) + "\n"
    one, other = (read(edges=text, edge_weight="hours") for text in (LINKS + "1,2,0.1\n1,2,0.2\n", turned))
    assert one.sha256 == other.sha256


def test_directed_links_may_weigh_differently_each_way(read, refusal):
    links = "source,target,hours\n1,2,3\n2,1,5\n"
    assert weights(read(edges=links, edge_weight="hours", directed=True)) == {("1", "2"): 3.0, ("2", "1"): 5.0}
    assert refusal(edges=links, edge_weight="hours") == (
        "edge_weight: 1 links have another weight in each direction ('1' to '2': 3, back: 5). "
        "Give each link one weight, or pass directed=True."
    )


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (
            ["1", "-2", "-3"],
            "2 of 3 weights can't be used, the first is -2 (rows 1, 2, counted from 0); "
            f"{RULE}. Correct them, or rescale all weights.",
        ),
        (
            ["", "1", "2"],
            f"1 of 3 cells are empty (row 0, counted from 0); {RULE}. Fill them, or leave these edges out.",
        ),
        (["1", "2", "many"], f"1 of 3 weights are not numbers, the first is 'many' (row 2, counted from 0); {RULE}."),
        (["1", "nan", "2"], f"1 of 3 weights are not numbers, the first is 'nan' (row 1, counted from 0); {RULE}."),
        (
            ["1", "inf", "2"],
            f"1 of 3 weights can't be used, the first is inf (row 1, counted from 0); {RULE}. "
            "Correct them, or rescale all weights.",
        ),
        (
            ["1", "1e400", "2"],
            f"1 of 3 weights can't be used, the first is 1e400 (row 1, counted from 0); {RULE}. "
            "Correct them, or rescale all weights.",
        ),
        (["1", '"1,5"', "2"], f"1 of 3 weights are not numbers, the first is '1,5' (row 1, counted from 0); {RULE}."),
    ],
)
def test_cells_that_are_no_weights_are_refused_with_their_row(refusal, cells, message):
    ends = [("1", "2"), ("2", "3"), ("3", "4")]
    table = "source,target,hours\n" + "".join(f"{a},{b},{w}\n" for (a, b), w in zip(ends, cells, strict=True))
    assert refusal(edges=table, edge_weight="hours") == f"edges.csv: column 'hours': {message}"


def test_a_nan_of_a_frame_is_refused(refusal):
    frame = pd.DataFrame({"source": [1, 2], "target": [2, 3], "hours": [float("nan"), 1.0]})
    assert "edges: column 'hours': 1 of 2" in refusal(edges=frame, edge_weight="hours")


def test_other_kinds_and_places_are_refused(refusal):
    frame = pl.DataFrame({"source": [1], "target": [2], "close": [True]})
    assert refusal(edges=frame, edge_weight="close") == f"edges: column 'close': holds Boolean values; {RULE}."
    assert refusal(edges=LINKS, edge_weight="hour") == "edges.csv: no column 'hour'. Did you mean 'hours'?"
    assert refusal(edges=LINKS, edge_weight="target") == (
        "edges.csv: column 'target': holds an end of each edge ('source', 'target'), and can't hold its weight, too."
    )
    assert refusal(edges=None, edge_weight="hours") == (
        "edge_weight: there is no table of edges with the column; pass edges."
    )


# --- new nodes --------------------------------------------------------------------------------------------------------


def test_the_recipe_finds_the_weights_of_new_links(read, refusal):
    recipe = read(edges=LINKS, edge_weight="hours").recipe
    assert weights(read(edges=LINKS, recipe=recipe)) == EXPECTED
    assert weights(read(edges=LINKS, recipe=recipe, edge_weight="hours")) == EXPECTED
    assert refusal(recipe=recipe) == "edges.csv: no column 'hours'. Known: source, target."
    assert refusal(edges=LINKS, recipe=recipe, edge_weight="target") == (
        "edge_weight: 'target', but the model's links were read with the weights in 'hours'. Leave edge_weight out."
    )


def test_a_recipe_without_weights_reads_none(read, refusal):
    recipe = read(edges=LINKS).recipe
    assert read(edges=LINKS, recipe=recipe).adjacency.weights is None
    assert refusal(edges=LINKS, recipe=recipe, edge_weight="hours") == (
        "edge_weight: 'hours', but the model's links were read without weights. Leave edge_weight out."
    )
