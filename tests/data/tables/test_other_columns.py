from __future__ import annotations

import polars as pl
import pytest

from fairview.data.tables.other_columns import read_columns
from fairview.data.tables.read import read_graph
from fairview.errors import InputError

PEOPLE = pl.DataFrame({"id": ["c", "a", "b"], "age": [40, None, 20], "rent": ["700", "NA", " 500 "]})


def test_values_come_in_the_order_of_the_nodes_and_without_dropped_ones():
    graph = read_graph(PEOPLE, drop=["rent"], missing="drop")
    assert graph.ids == ("b", "c")
    assert read_columns(PEOPLE, ["rent"], graph, missing_values=["NA"])["rent"].to_list() == ["500", "700"]


def test_without_ids_dropped_rows_can_not_be_found():
    people = PEOPLE.drop("id")
    graph = read_graph(people, drop=["rent"], missing="drop")
    with pytest.raises(InputError) as caught:
        read_columns(people, ["rent"], graph)
    assert str(caught.value) == (
        "nodes: 3 rows for 2 nodes, and no ids to tell which rows were dropped. Name a column with ids (id)."
    )


def test_a_column_that_is_not_there_is_an_error():
    graph = read_graph(PEOPLE, drop=["rent"], missing="drop")
    with pytest.raises(InputError, match=r"^nodes: no column 'rents'\. Did you mean 'rent'\?$"):
        read_columns(PEOPLE, ["rents"], graph)
