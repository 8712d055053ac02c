"""What does a column of an edge table say about kinds of links? One name in each cell, or all that is wrong."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairview.data.link_kinds import LinkKinds, check_number
from fairview.data.tables.cells import Table
from fairview.data.tables.columns import ColumnReader, Place, places
from fairview.errors import InputError, Problems, quoted


def read_kinds(table: Table, column: str, *, ends: tuple[str, str], known: Sequence[str] | None = None) -> LinkKinds:
    """The kind of each edge; the names are sorted, or the `known` ones of an earlier table.

    Raises:
        InputError: the column is not there or is an end, cells are empty or no names, or a kind is not among the known.

    Example:
        >>> import polars as pl
        >>> table = Table("links", pl.DataFrame({"source": ["a", "b"], "target": ["b", "c"], "tie": ["kin", "work"]}))
        >>> read_kinds(table, "tie", ends=("source", "target")).counts
        {'kin': 1, 'work': 1}
    """
    if column not in table.columns:
        raise InputError(table.missing(column))
    where = f"{table.name}: column '{column}'"
    if column in ends:
        raise InputError(f"{where}: holds an end of each edge ({quoted(ends)}), and can't hold its kind, too.")
    problems = Problems()
    reader = ColumnReader(table, Place(None), problems)
    texts = reader.texts(column) if known is None else reader.texts_like(column, known)
    problems.raise_if_any()
    if texts is None:
        raise ValueError("a column that can't be read has a problem")
    empty = np.flatnonzero(texts.is_null().to_numpy())
    if len(empty):
        reader.add(
            column,
            f"{len(empty):,} of {len(table):,} cells are empty ({Place(None)(empty)}). Give these edges a kind, such "
            "as 'other', or leave them out.",
        )
    if known is not None:
        reader.report_new(column, texts, known, "Correct them, or train again with such links.")
    problems.raise_if_any()
    names = texts.unique().sort().to_list() if known is None else list(known)
    check_number(len(names), where)
    return LinkKinds(tuple(names), places(texts, names).to_numpy().astype(np.int16))
