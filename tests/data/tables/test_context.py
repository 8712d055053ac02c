from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import fairview as fv

PEOPLE = {"id": ["a", "b", "c"], "age": [20, 30, 40], "sex": ["f", "m", "f"], "ok": [0, 1, 1]}
LINKS = {"source": ["a", "b"], "target": ["b", "c"]}
NEW = {"id": ["aa", "d"], "age": [25, 35], "sex": ["f", "m"], "ok": [1, 0]}
NEW_LINKS = {"source": ["aa", "d"], "target": ["a", "aa"]}


def both(first: dict, second: dict) -> dict:
    return {name: [*first[name], *second[name]] for name in first}


@pytest.fixture
def recipe():
    return fv.read_graph(PEOPLE, LINKS, label="ok", sensitive="sex").recipe


def refusal(*tables, **options) -> str:
    with pytest.raises(fv.InputError) as caught:
        fv.read_graph(*tables, **options)
    return str(caught.value)


def test_new_and_known_nodes_are_the_graph_of_both_tables(recipe):
    joined = fv.read_graph(NEW, NEW_LINKS, recipe=recipe, context=PEOPLE, context_edges=LINKS)
    whole = fv.read_graph(both(PEOPLE, NEW), both(LINKS, NEW_LINKS), recipe=recipe)
    assert joined.ids == whole.ids == ("a", "aa", "b", "c", "d")
    assert joined.features.tobytes() == whole.features.tobytes()
    assert joined.adjacency.equals(whole.adjacency)
    assert joined.split("new").tolist() == [False, True, False, False, True]


def test_known_nodes_have_neither_label_nor_group(recipe):
    joined = fv.read_graph(NEW, NEW_LINKS, recipe=recipe, context=PEOPLE, context_edges=LINKS)
    assert joined.labels.tolist() == [-1, 1, -1, -1, 0]
    assert joined.sensitive.tolist() == [-1, 0, -1, -1, 1]
    without = {name: PEOPLE[name] for name in ("age", "id")}
    odd = without | {"sex": ["x"] * 3, "ok": ["pending"] * 3}
    for context in (without, odd):
        again = fv.read_graph(NEW, NEW_LINKS, recipe=recipe, context=context, context_edges=LINKS)
        assert again.sha256 == joined.sha256


def test_all_links_may_be_in_one_table(recipe):
    apart = fv.read_graph(NEW, NEW_LINKS, recipe=recipe, context=PEOPLE, context_edges=LINKS)
    together = fv.read_graph(NEW, both(LINKS, NEW_LINKS), recipe=recipe, context=PEOPLE)
    assert apart.sha256 == together.sha256


def test_without_edges_new_and_known_nodes_are_linked_by_similarity():
    rule = fv.NearestNeighbours(neighbours=1)
    recipe = fv.read_graph(PEOPLE, label="ok", sensitive="sex", similarity=rule).recipe
    joined = fv.read_graph({"id": ["d"], "age": [21], "ok": [0], "sex": ["f"]}, recipe=recipe, context=PEOPLE)
    first, second = joined.adjacency.sources, joined.adjacency.indices
    names = {(joined.ids[i], joined.ids[j]) for i, j in zip(first, second, strict=True)}
    assert ("a", "d") in names
    assert joined.split("new").tolist() == [False, False, False, True]


def test_a_node_is_new_or_known(recipe):
    assert refusal(both(NEW, PEOPLE), NEW_LINKS, recipe=recipe, context=PEOPLE) == (
        "context: 3 ids are in nodes and in context ('a', 'b', 'c'). A node is new or known: leave it out of one."
    )


def test_ids_that_are_row_numbers_can_not_be_told_apart(recipe):
    recipe = recipe.model_copy(update={"id": None})
    nameless = {name: values for name, values in PEOPLE.items() if name != "id"}
    assert refusal(NEW, NEW_LINKS, recipe=recipe, context=nameless) == (
        "context: context without ids: new and known nodes can't be told apart. Give each table a column 'id'."
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"context_edges": LINKS}, "context_edges: there are no known nodes; pass their table with context."),
        (
            {"context": PEOPLE, "split": "sex"},
            "context: the graph has the split 'new' already; leave the other split out.",
        ),
        (
            {"context": PEOPLE, "split_seed": 1},
            "context: the graph has the split 'new' already; leave the other split out.",
        ),
    ],
)
def test_contradictions_are_refused(recipe, options, message):
    assert message in refusal(NEW, NEW_LINKS, recipe=recipe, **options)


def test_links_of_the_known_alone_are_not_enough(recipe):
    assert "context_edges: nothing links the new nodes; pass their edges with edges." in refusal(
        NEW, recipe=recipe, context=PEOPLE, context_edges=LINKS
    )


def test_known_nodes_need_a_recipe():
    assert refusal(NEW, NEW_LINKS, label="ok", sensitive="sex", context=PEOPLE) == (
        "context: known nodes stand around new ones, which need the recipe of the model: pass recipe."
    )


def test_an_end_that_is_in_neither_table(recipe):
    links = {"source": ["d", "d"], "target": ["a", "zoe"]}
    assert refusal(NEW, links, recipe=recipe, context=PEOPLE) == (
        "edges: 1 of 2 edges point to ids that neither nodes nor context has ('zoe'). Add these nodes, or pass "
        "drop_unknown=True."
    )
    graph = fv.read_graph(NEW, links, recipe=recipe, context=PEOPLE, drop_unknown=True)
    assert "edges: 1 of 2 edges dropped: an end is not in nodes or context" in graph.provenance.notes


def test_problems_name_their_table(recipe, tmp_path):
    pl.DataFrame(PEOPLE | {"age": [20, None, 40]}).write_csv(tmp_path / "people.csv")
    pl.DataFrame(NEW | {"age": ["old", "35"]}).write_csv(tmp_path / "new.csv")
    assert refusal(tmp_path / "new.csv", NEW_LINKS, recipe=recipe, context=tmp_path / "people.csv") == (
        "2 problems:\n"
        "  - new.csv: column 'age': 1 of 2 cells are not numbers, the first is 'old' (id aa). Correct them: the model "
        "was trained with numbers in this column.\n"
        "  - people.csv: column 'age': 1 of 3 rows are empty (id b). Fill them, or drop them."
    )
    pl.DataFrame(PEOPLE).drop("age").write_csv(tmp_path / "people.csv")
    assert refusal(NEW, NEW_LINKS, recipe=recipe, context=tmp_path / "people.csv") == (
        "people.csv: no column 'age'. Known: id, sex, ok."
    )


def test_empty_cells_of_known_nodes_are_filled_as_the_recipe_says():
    holes = PEOPLE | {"age": [20, None, 40]}
    recipe = fv.read_graph(holes, LINKS, label="ok", sensitive="sex", missing="mean").recipe
    joined = fv.read_graph(NEW, NEW_LINKS, recipe=recipe, context=holes, context_edges=LINKS)
    assert joined.features[joined.ids.index("b"), 0] == 0  # the mean


def test_one_new_person_with_an_empty_cell_gets_the_mean_of_the_training():
    recipe = fv.read_graph(PEOPLE, LINKS, label="ok", sensitive="sex", missing="mean").recipe
    one = {"id": ["d"], "age": [None]}
    assert fv.read_graph(one, {"source": [], "target": []}, recipe=recipe).features.tolist() == [[0.0]]


def test_new_nodes_that_would_all_be_dropped():
    recipe = fv.read_graph(PEOPLE, LINKS, label="ok", sensitive="sex", missing="drop").recipe
    assert refusal({"id": ["d"], "age": [None]}, NEW_LINKS, recipe=recipe, context=PEOPLE) == (
        "nodes: every node has an empty cell, and such nodes are dropped: none is left. Fill some."
    )


def test_a_link_with_two_weights_is_refused():
    hours, new_hours = LINKS | {"hours": [1, 2]}, {"source": ["d", "b"], "target": ["a", "a"], "hours": [4, 8]}
    recipe = fv.read_graph(PEOPLE, hours, label="ok", sensitive="sex", edge_weight="hours").recipe
    assert refusal(NEW, new_hours, recipe=recipe, context=PEOPLE, context_edges=hours) == (
        "context_edges: 1 links have a weight in both tables of edges ('a and b'). Leave them out of one."
    )
    new_hours = {"source": ["d"], "target": ["a"], "hours": [4]}
    joined = fv.read_graph(NEW, new_hours, recipe=recipe, context=PEOPLE, context_edges=hours)
    assert sorted(joined.adjacency.weights.tolist()) == [1, 1, 2, 2, 4, 4]


def test_the_columns_of_the_training_links_are_found_beside_others():
    before = {"who": ["a", "b"], "whom": ["b", "c"]}
    recipe = fv.read_graph(PEOPLE, before, label="ok", sensitive="sex").recipe
    new = {"x": ["d"], "y": ["a"]}
    joined = fv.read_graph(NEW, new, recipe=recipe, context=PEOPLE, context_edges=before, source="x", target="y")
    assert joined.num_edges == 3


def test_an_edge_list_without_a_header_may_begin_with_a_known_node(recipe, tmp_path):
    (tmp_path / "links.txt").write_text("a d\nb aa\n")
    joined = fv.read_graph(NEW, tmp_path / "links.txt", recipe=recipe, context=PEOPLE, context_edges=LINKS)
    assert joined.num_edges == 4


def test_the_hash_of_every_file_is_recorded(recipe, tmp_path):
    for name, table in (("new", NEW), ("people", PEOPLE), ("links", LINKS), ("new_links", NEW_LINKS)):
        pl.DataFrame(table).write_csv(tmp_path / f"{name}.csv")
    joined = fv.read_graph(
        tmp_path / "new.csv", tmp_path / "new_links.csv", recipe=recipe, context=tmp_path / "people.csv",
        context_edges=tmp_path / "links.csv",
    )  # fmt: skip
    assert {*joined.provenance.sha256} == {"new.csv", "people.csv", "links.csv", "new_links.csv"}
    assert np.unique(list(joined.provenance.sha256.values())).size == 4
