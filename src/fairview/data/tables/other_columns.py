"""What do the columns of a node table say that are no features? Their values, in the order of the graph's nodes."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from fairview.data.graph import NodeGraph
from fairview.data.tables.cells import TableSource, require_columns
from fairview.data.tables.open_tables import open_tables
from fairview.errors import InputError, Problems, option


def read_columns(
    nodes: TableSource,
    columns: Sequence[str],
    graph: NodeGraph,
    *,
    id: str | None = None,
    separator: str | None = None,
    encoding: str = "utf-8",
    missing_values: Sequence[str] = (),
) -> dict[str, pl.Series]:
    """Columns of the table that a graph was read from, as texts, null where missing; a value for each node.

    Args:
        nodes: the table, as `read_graph` got it.
        columns: their names.
        graph: that `read_graph` made of the table; it may have fewer nodes (`missing="drop"`).
        id: as `read_graph` got it, and so are the others.
        separator: of a CSV file.
        encoding: of a CSV file.
        missing_values: texts that mean missing.

    Raises:
        InputError: a column is not there, or the nodes can't be found in the table.

    Example:
        >>> from fairview.data.tables.read import read_graph
        >>> people = pl.DataFrame({"id": ["b", "a"], "age": [30, 20], "rent": [700, 500]})
        >>> graph = read_graph(people, drop=["rent"])
        >>> graph.ids, read_columns(people, ["rent"], graph)["rent"].to_list()
        (('a', 'b'), ['500', '700'])
    """
    problems = Problems()
    tables = open_tables(
        nodes, None, id=id, separator=separator, encoding=encoding, missing_values=missing_values, problems=problems
    )
    require_columns(tables.nodes, columns, problems)
    problems.raise_if_any()
    texts = {column: text for column in columns if (text := tables.reader.texts(column)) is not None}
    problems.raise_if_any()
    if len(tables.nodes) == graph.num_nodes:  # both are ordered by id
        return texts
    if tables.ids is None or graph.node_ids is None:
        raise InputError(
            f"{tables.nodes.name}: {len(tables.nodes):,} rows for {graph.num_nodes:,} nodes, and no ids to tell which "
            f"rows were dropped. Name a column with ids ({option('id')})."
        )
    row = {name: place for place, name in enumerate(tables.ids)}
    return {column: text[[row[name] for name in graph.node_ids]] for column, text in texts.items()}
