"""Both tables of a graph, read together: the problems of one do not hide those of the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairview.data.tables.cells import Table, TableSource, read_table
from fairview.data.tables.columns import ColumnReader, Place
from fairview.data.tables.edges import Pairs, end_columns, match_nodes, read_edge_table
from fairview.data.tables.recipe import Recipe
from fairview.data.tables.roles import id_order, read_ids
from fairview.errors import InputError, Problems
from fairview.progress import track


@dataclass(frozen=True)
class Tables:
    """The node table, ordered by id, and the edge table if there is one."""

    reader: ColumnReader  # of the node table's columns
    ids: tuple[str, ...] | None  # None if the row numbers serve, or the ids are a problem
    id_column: str | None  # where the ids are, if anywhere
    edges: Table | None
    notes: tuple[str, ...]  # how the files were understood

    @property
    def nodes(self) -> Table:
        return self.reader.table

    @property
    def sha256(self) -> dict[str, str]:
        """The hash of each file; a frame has none."""
        tables = [table for table in (self.nodes, self.edges) if table is not None]
        return {table.name: table.sha256 for table in tables if table.sha256 is not None}

    def ends(
        self, source: str | None, target: str | None, recipe: Recipe | None, *, directed: bool, problems: Problems
    ) -> tuple[str, str] | None:
        """The columns of both ends of the edges; None without edges, or when they are the problem."""
        if self.edges is None:
            return None
        with problems.collecting():
            return end_columns(self.edges, source, target, before=recipe.ends if recipe else None, directed=directed)
        return None

    def pairs(
        self,
        ends: tuple[str, str] | None,
        edge_weight: str | None = None,
        *,
        drop_unknown: bool,
        notes: list[str],
        problems: Problems,
    ) -> Pairs | None:
        """Node numbers of both ends of each edge, and weights; None without edges, or when they are the problem."""
        ids_are_a_problem = self.ids is None and self.id_column is not None
        if self.edges is None or ends is None or ids_are_a_problem:
            return None
        with problems.collecting():
            pairs, more = match_nodes(
                self.edges, self.ids, self.nodes, ends=ends, edge_weight=edge_weight, drop_unknown=drop_unknown
            )
            notes += more
            return pairs
        return None


def open_tables(
    nodes: TableSource,
    edges: TableSource | None,
    *,
    id: str | None,
    separator: str | None,
    encoding: str,
    missing_values: Sequence[str],
    problems: Problems,
) -> Tables:
    """Read both files. Without a readable node table there is nothing to go on with: all problems so far are raised."""
    table, ids, id_column = None, None, id
    notes: list[str] = []
    edge_table = None
    with track("Reading tables", total=2) as advance:
        with problems.collecting():
            table = read_table(nodes, name="nodes", separator=separator, encoding=encoding)
            if id_column is None and "id" in table.columns:
                id_column = "id"
            if id_column is None:
                notes.append(f"{table.name}: no id column; the row numbers from 0 are the ids")
            else:
                ids = read_ids(table, id_column)
                order = id_order(ids)
                ids = tuple(map(ids.__getitem__, order.tolist()))
                table = Table(table.name, table.frame[order], table.sha256)
        advance(1)
        if edges is not None:
            with problems.collecting():
                edge_table, more = read_edge_table(edges, ids=ids, separator=separator, encoding=encoding)
                notes += more
        advance(1)
    if table is None:
        problems.raise_if_any()
        raise InputError("nodes: no table.")
    reader = ColumnReader(table, Place(ids), problems, tuple(missing_values))
    return Tables(reader, ids, id_column, edge_table, tuple(notes))
