"""What does a column of an edge table say about weights? One number in each cell, or all that is wrong."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from fairview.data.edge_weights import REMEDY, RULE, out_of_range
from fairview.data.tables.cells import Table
from fairview.data.tables.columns import Place, as_texts
from fairview.errors import InputError, Problems, quoted


def read_weights(table: Table, column: str, *, ends: tuple[str, str]) -> npt.NDArray[np.float64]:
    """The weight of each edge.

    Raises:
        InputError: the column is not there or is an end, or cells are empty, not numbers, or out of range.

    Example:
        >>> table = Table("links", pl.DataFrame({"source": ["a", "b"], "target": ["b", "c"], "hours": ["2", "0.5"]}))
        >>> read_weights(table, "hours", ends=("source", "target")).tolist()
        [2.0, 0.5]
    """
    if column not in table.columns:
        raise InputError(table.missing(column))
    where = f"{table.name}: column '{column}'"
    if column in ends:
        raise InputError(f"{where}: holds an end of each edge ({quoted(ends)}), and can't hold its weight, too.")
    series = table.frame[column]
    if not len(series):
        return np.empty(0)
    texts = None if series.dtype == pl.Boolean else as_texts(series)
    if texts is None:
        raise InputError(f"{where}: holds {series.dtype} values; {RULE}.")
    texts = texts.str.strip_chars()
    numbers = series.cast(pl.Float64) if series.dtype.is_numeric() else texts.cast(pl.Float64, strict=False)
    values = numbers.to_numpy()
    empty = (texts.is_null() | (texts == "")).to_numpy()
    wrong = np.isnan(values) & ~empty
    outside = np.setdiff1d(out_of_range(values), np.flatnonzero(empty | wrong))
    problems = Problems()
    for rows, what in (
        (np.flatnonzero(empty), f"cells are empty ({{place}}); {RULE}. Fill them, or leave these edges out"),
        (np.flatnonzero(wrong), f"weights are not numbers, the first is '{{first}}' ({{place}}); {RULE}"),
        (outside, f"weights can't be used, the first is {{first}} ({{place}}); {REMEDY}"),
    ):
        if len(rows):
            text = what.format(place=Place(None)(rows), first=texts[int(rows[0])])
            problems.add(f"{where}: {len(rows):,} of {len(table):,} {text}.")
    problems.raise_if_any()
    return values
