"""All tables of a graph, read together: the problems of one do not hide those of the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from fairview.data.link_kinds import LinkKinds
from fairview.data.tables.cells import Table, TableSource, read_table
from fairview.data.tables.columns import ColumnReader, Place
from fairview.data.tables.edges import Pairs, end_columns, match_nodes, read_edge_table
from fairview.data.tables.recipe import Recipe
from fairview.data.tables.roles import id_order, read_ids
from fairview.errors import InputError, Problems, quoted
from fairview.progress import track

_Scalar = TypeVar("_Scalar", bound=np.generic)
Ends = tuple[str, str]


@dataclass(frozen=True)
class Tables:
    """The node table, ordered by id, and the edge table if there is one; those of known nodes if these are given."""

    reader: ColumnReader  # of the node table's columns
    ids: tuple[str, ...] | None  # of all nodes, in order; None if the row numbers serve, or the ids are a problem
    id_column: str | None  # where the ids are, if anywhere
    edges: Table | None
    notes: tuple[str, ...]  # how the files were understood
    known: ColumnReader | None = None  # of the table of known nodes
    known_edges: Table | None = None

    @property
    def nodes(self) -> Table:
        return self.reader.table

    @property
    def node_tables(self) -> tuple[Table, ...]:
        """The tables of nodes, the new ones first."""
        return (self.nodes,) if self.known is None else (self.nodes, self.known.table)

    @property
    def sha256(self) -> dict[str, str]:
        """The hash of each file; a frame has none."""
        tables = [table for table in (self.known_edges, self.edges, *self.node_tables[::-1]) if table is not None]
        return {table.name: table.sha256 for table in tables if table.sha256 is not None}  # of two alike: the new one

    def in_order(self, new: npt.NDArray[_Scalar], known: npt.NDArray[_Scalar]) -> npt.NDArray[_Scalar]:
        """Values of the new nodes and of the known ones, in the order of the graph."""
        both = np.concatenate([new, known])
        ids = [*(self.reader.place.ids or ()), *((self.known and self.known.place.ids) or ())]
        return both[id_order(tuple(ids))] if len(ids) == len(both) else both  # else the ids are a problem

    def ends(
        self, source: str | None, target: str | None, recipe: Recipe | None, *, directed: bool, problems: Problems
    ) -> tuple[Ends | None, Ends | None]:
        """The columns of both ends, in either edge table; None without it, or when they are the problem.

        The known nodes' edges are normally those of the training: its columns need not be named again.
        """
        before = recipe.ends if recipe else None
        found: list[Ends | None] = [None, None]
        for place, table in enumerate((self.edges, self.known_edges)):
            if table is None:
                continue
            as_before = place == 1 and before is not None and {*before} <= {*table.columns}
            named = (None, None) if as_before else (source, target)
            with problems.collecting():
                found[place] = end_columns(table, *named, before=before, directed=directed)
        return found[0], found[1]

    def pairs(
        self,
        ends: tuple[Ends | None, Ends | None],
        edge_weight: str | None = None,
        link_kind: str | None = None,
        *,
        known_kinds: Sequence[str] | None = None,
        drop_unknown: bool,
        notes: list[str],
        problems: Problems,
    ) -> Pairs | None:
        """Ends, weights and kinds of all edges; None without edges, or when they are the problem."""
        if self.ids is None and self.id_column is not None:
            return None
        ids = self.ids if self.ids is not None else tuple(map(str, range(len(self.nodes))))
        names = [table.name for table in self.node_tables]
        found = []
        for table, columns in zip((self.edges, self.known_edges), ends, strict=True):
            if table is None or columns is None:
                continue
            with problems.collecting():
                pairs, more = match_nodes(
                    table, ids, names, ends=columns, edge_weight=edge_weight, link_kind=link_kind,
                    known_kinds=known_kinds, drop_unknown=drop_unknown,
                )  # fmt: skip
                notes += more
                found.append(pairs)
        if len(found) < 2:
            return found[0] if found else None
        with problems.collecting():
            return _joined(*found, ids=ids)
        return None


def _joined(new: Pairs, known: Pairs, *, ids: Sequence[str]) -> Pairs:
    """The edges of both tables; an edge that has a weight in each would get their sum, so it is refused."""
    first, second = np.concatenate([new.first, known.first]), np.concatenate([new.second, known.second])
    kinds = None
    if new.kinds is not None and known.kinds is not None:  # both under the names that the model knows
        kinds = LinkKinds(new.kinds.names, np.concatenate([new.kinds.codes, known.kinds.codes]))
    if new.weights is None or known.weights is None:
        return Pairs(first, second, None, kinds)
    keys = [np.minimum(p.first, p.second) * len(ids) + np.maximum(p.first, p.second) for p in (new, known)]
    twice = np.intersect1d(keys[0], keys[1])
    if len(twice):
        examples = [f"{ids[k // len(ids)]} and {ids[k % len(ids)]}" for k in twice[:5].tolist()]
        raise InputError(
            f"context_edges: {len(twice):,} links have a weight in both tables of edges ({quoted(examples)}). Leave "
            "them out of one."
        )
    return Pairs(first, second, np.concatenate([new.weights, known.weights]), kinds)


def open_tables(
    nodes: TableSource,
    edges: TableSource | None,
    *,
    id: str | None,
    separator: str | None,
    encoding: str,
    missing_values: Sequence[str],
    problems: Problems,
    by_recipe: bool = False,
    context: TableSource | None = None,
    context_edges: TableSource | None = None,
) -> Tables:
    """Read all files. Without a readable node table there is nothing to go on with: all problems so far are raised."""
    notes: list[str] = []
    read = partial(read_table, separator=separator, encoding=encoding)
    read_edges = partial(read_edge_table, separator=separator, encoding=encoding)
    new = known = edge_table = known_edges = None
    id_column = id
    with track("Reading tables", total=2) as advance:
        with problems.collecting():  # a table whose ids are a problem may have others
            new = ColumnReader(read(nodes, name="nodes"), Place(None), problems, tuple(missing_values), by_recipe)
            id_column = _id_column(new.table, id, notes)
            new = _ordered(new, id_column)
        if context is not None:
            with problems.collecting():
                table = read(context, name="context")
                known = ColumnReader(table, Place(None), problems, tuple(missing_values), by_recipe)
                known = _ordered(known, _id_column(known.table, id, notes))
        ids = _all_ids(new, known, problems)
        advance(1)
        if edges is not None:
            with problems.collecting():
                edge_table, more = read_edges(edges, ids=ids, name="edges")
                notes += more
        if context_edges is not None:
            with problems.collecting():
                known_edges, more = read_edges(context_edges, ids=ids, name="context_edges")
                notes += more
        advance(1)
    if new is None:
        problems.raise_if_any()
        raise InputError("nodes: no table.")
    return Tables(new, ids, id_column, edge_table, tuple(notes), known, known_edges)


def _id_column(table: Table, id: str | None, notes: list[str]) -> str | None:
    """The named one, or `id` if there is one."""
    if id is None and "id" in table.columns:
        return "id"
    if id is None:
        notes.append(f"{table.name}: no id column; the row numbers from 0 are the ids")
    return id


def _ordered(reader: ColumnReader, id_column: str | None) -> ColumnReader:
    """The same with its rows ordered by id."""
    if id_column is None:
        return reader
    ids = read_ids(reader.table, id_column)
    order = id_order(ids)
    table = Table(reader.table.name, reader.table.frame[order], reader.table.sha256)
    return replace(reader, table=table, place=Place(tuple(map(ids.__getitem__, order.tolist()))))


def _all_ids(new: ColumnReader | None, known: ColumnReader | None, problems: Problems) -> tuple[str, ...] | None:
    """The ids of both tables, in order. Nobody is new and known, and ids that are row numbers can't be told apart."""
    ids = None if new is None or new.place.ids is None else tuple(new.place.ids)
    if new is None or known is None:
        return ids
    without = [reader.table.name for reader in (new, known) if reader.place.ids is None]
    if without:
        if not problems:
            problems.add(
                f"context: {' and '.join(without)} without ids: new and known nodes can't be told apart. Give each "
                "table a column 'id'."
            )
        return None
    others = tuple(known.place.ids or ())
    both = sorted({*others}.intersection(ids or ()))
    if both:
        problems.add(
            f"context: {len(both):,} ids are in {new.table.name} and in {known.table.name} ({quoted(both)}). A node is "
            "new or known: leave it out of one."
        )
        return None
    every = (*(ids or ()), *others)
    return tuple(map(every.__getitem__, id_order(every).tolist()))
