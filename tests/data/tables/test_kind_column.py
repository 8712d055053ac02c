"""A column of the edge table holds the kinds of links: exact names, or refused with the row."""

from __future__ import annotations

import io

import pandas as pd
import polars as pl
import pytest

import fairview as fv

LINKS = "source,target,tie\n1,2,kin\n2,3,work\n3,4,kin\n"
FRAME = pl.read_csv(io.StringIO(LINKS))


def kinds(graph: fv.NodeGraph) -> dict[tuple[str, str], str]:
    links = graph.adjacency
    ends = zip(links.sources.tolist(), links.indices.tolist(), links.kinds.codes.tolist(), strict=True)
    return {(graph.ids[a], graph.ids[b]): links.kinds.names[code] for a, b, code in ends if a < b}


@pytest.mark.parametrize(
    "edges",
    [
        LINKS,
        "tie,target,source\n kin,2,1\nwork ,3,2\nkin,4,3\n",
        FRAME,
        FRAME.cast({"tie": pl.Categorical}),
        pd.read_csv(io.StringIO(LINKS)),
    ],
    ids=["csv", "by name", "polars", "categorical", "pandas"],
)
def test_files_and_frames_give_the_same_kinds(read, edges):
    graph = read(edges=edges, link_kind="tie")
    assert kinds(graph) == {("1", "2"): "kin", ("2", "3"): "work", ("3", "4"): "kin"}
    assert (graph.recipe.link_kind, graph.recipe.link_kinds) == ("tie", ("kin", "work"))
    assert graph.sha256 == read(edges=LINKS, link_kind="tie").sha256


def test_a_column_that_nobody_asked_for_is_noted_and_changes_nothing(read):
    graph, plain = read(edges=LINKS), read(edges="source,target\n1,2\n2,3\n3,4\n")
    assert graph.adjacency.kinds is None
    assert graph.sha256 == plain.sha256
    assert any("'tie' ignored" in note for note in graph.provenance.notes)


def test_weights_and_kinds_stand_side_by_side(read):
    graph = read(
        edges="source,target,tie,hours\n1,2,kin,2\n2,1,kin,2\n2,3,work,3\n", link_kind="tie", edge_weight="hours"
    )
    assert kinds(graph) == {("1", "2"): "kin", ("2", "3"): "work"}
    assert graph.adjacency.weights.tolist() == [2, 2, 3, 3]


def refused(read, **options) -> str:
    with pytest.raises(fv.InputError) as caught:
        read(**options)
    return str(caught.value)


EMPTY = LINKS.replace("work", "")
TWICE = LINKS + "2,1,work\n"


@pytest.mark.parametrize(
    ("edges", "column", "message"),
    [
        (LINKS, "ties", "edges.csv: no column 'ties'. Did you mean 'tie'?"),
        (LINKS, "source", "edges.csv: column 'source': holds an end of each edge ('source', 'target'), and can't hold"),
        (EMPTY, "tie", "edges.csv: column 'tie': 1 of 3 cells are empty (row 1, counted from 0). Give these edges a"),
        (TWICE, "tie", "link_kind: 1 links were given with two kinds (1 to 2: 'kin', 'work'). Give each link one kind"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(read, edges, column, message):
    assert refused(read, edges=edges, link_kind=column).startswith(message)


def test_kinds_need_a_table_of_edges(read):
    assert "link_kind: there is no table of edges with the column; pass edges." in refused(
        read, edges=None, link_kind="tie"
    )


# --- new tables -------------------------------------------------------------------------------------------------------


def test_new_tables_have_the_kinds_of_the_first_by_name(read):
    first = read(edges=LINKS, link_kind="tie")
    new = read(edges="source,target,tie\n1,2,work\n", recipe=first.recipe, label=None, sensitive=None)
    assert new.adjacency.kinds.names == ("kin", "work")
    assert kinds(new) == {("1", "2"): "work"}


def test_a_kind_that_is_new_or_a_column_that_is_missing_is_refused(read):
    first = read(edges=LINKS, link_kind="tie")
    options = {"recipe": first.recipe, "label": None, "sensitive": None}
    assert refused(read, edges=LINKS.replace("work", "club"), **options) == (
        "edges.csv: column 'tie': new values: 'club' (row 1, counted from 0). Known: 'kin', 'work'. Correct them, or "
        "train again with such links."
    )
    assert "no column 'tie'" in refused(read, edges="source,target\n1,2\n", **options)
    assert "link_kind: 'tie2', but the model's links were read with the kinds in 'tie'" in refused(
        read, edges=LINKS, link_kind="tie2", **options
    )


def test_known_people_and_their_links_stand_around_new_ones_with_kinds(read, tmp_path):
    people = {"id": ["a", "b"], "age": [1, 2], "sex": ["f", "m"], "ok": [0, 1]}
    first = fv.read_graph(
        people, {"source": ["a"], "target": ["b"], "tie": ["kin"]}, label="ok", sensitive="sex", link_kind="tie"
    )
    joined = fv.read_graph(
        {"id": ["c"], "age": [3]}, {"source": ["c"], "target": ["a"], "tie": ["kin"]}, recipe=first.recipe,
        context=people, context_edges={"source": ["a"], "target": ["b"], "tie": ["kin"]},
    )  # fmt: skip
    assert joined.link_kinds == {"kin": 2}


def test_propagated_folders_hold_no_kinds(tmp_path):
    people = {"id": ["a", "b"], "age": [1, 2], "sex": ["f", "m"], "ok": [0, 1]}
    links = {"source": ["a"], "target": ["b"], "tie": ["kin"]}
    with pytest.raises(fv.InputError) as caught:
        fv.propagate(people, links, folder=tmp_path / "out", label="ok", sensitive="sex", link_kind="tie")
    assert str(caught.value) == (
        "link_kind: 'tie', but a propagated folder holds no kinds of links. Leave link_kind out, or train from the "
        "tables themselves."
    )
    recipe = fv.read_graph(people, links, label="ok", sensitive="sex", link_kind="tie").recipe
    with pytest.raises(fv.InputError, match="a propagated folder holds no kinds"):
        fv.propagate(people, links, folder=tmp_path / "out", recipe=recipe)
