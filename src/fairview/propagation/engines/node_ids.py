"""Which number has a node? Its place in the order of the ids, without holding every id as text where numbers will do.

dense    ids are 0, 1, ..., n - 1: the id is the number
whole    ids are whole numbers: found by binary search in an array of them
text     anything else: joined by DuckDB
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from fairview.data.limits import LONGEST_CELL
from fairview.data.tables.columns import as_texts
from fairview.errors import InputError, quoted

Ints = npt.NDArray[np.int64]
IdKind = Literal["dense", "whole", "text"]

_WHOLE = "^(0|[1-9][0-9]*)$"
_MOST_EXACT = 2**53


@dataclass(frozen=True)
class NodeIds:
    """The ids of all nodes in order.

    Attributes:
        kind: how numbers are found.
        count: of the nodes.
        sorted_values: the ids themselves if they are whole numbers.
        paths: Parquet files whose rows are in order of the ids.
        column: where the ids are in them; None if the row numbers serve.
    """

    kind: IdKind
    count: int
    sorted_values: Ints | None
    paths: tuple[Path, ...]
    column: str | None

    def numbers(self, ids: Ints) -> tuple[Ints, npt.NDArray[np.bool_]]:
        """Node numbers of whole ids, and which of these are known."""
        if self.kind == "dense":
            known = (ids >= 0) & (ids < self.count)
            return ids, known
        assert self.sorted_values is not None  # noqa: S101 - `text` ids are joined
        places = np.minimum(np.searchsorted(self.sorted_values, ids), max(self.count - 1, 0))
        known = self.sorted_values[places] == ids if self.count else np.zeros(len(ids), dtype=np.bool_)
        return places, known

    def frames(self, rows: int) -> Iterator[tuple[pl.DataFrame, pl.Series]]:
        """The rows in order of the ids, with the ids as texts."""
        start = 0
        for path in self.paths:
            lazy = pl.scan_parquet(path, glob=False)
            height = int(lazy.select(pl.len()).collect().item())
            for first in range(0, height, rows):
                frame = lazy.slice(first, rows).collect()
                yield frame, self.texts(frame, start)
                start += frame.height

    def texts(self, frame: pl.DataFrame, start: int) -> pl.Series:
        """The ids of some rows, the first of which has the number `start`."""
        if self.column is None:
            return pl.select(pl.int_range(start, start + frame.height)).to_series().cast(pl.String)
        return id_texts(frame[self.column])

    def name(self, number: int) -> str:
        """The id of a node, in quotes, for messages."""
        if self.kind == "dense":
            return f"'{number}'"
        if self.sorted_values is not None:
            return f"'{self.sorted_values[number]}'"
        lazy = pl.scan_parquet(list(self.paths), glob=False).select(self.column or pl.first())
        return f"'{id_texts(lazy.slice(number, 1).collect().to_series())[0]}'"


def id_texts(series: pl.Series) -> pl.Series:
    """Ids as exact texts; whole numbers that are written as floats lose their `.0`."""
    texts = as_texts(series)
    return series.cast(pl.String) if texts is None else texts


def check_ids(series: pl.Series, where: str) -> None:
    """No empty id, none that is too long, no number that floats can't hold."""
    texts = as_texts(series)
    if texts is None:
        raise InputError(f"{where}: {series.dtype} values can't be ids; use texts or whole numbers.")
    empty = int((texts.fill_null("") == "").sum())
    if empty:
        raise InputError(f"{where}: {empty:,} of {len(series):,} ids are empty.")
    if series.dtype.is_float():
        odd = series.filter((series != series.round()) | (series.abs() >= _MOST_EXACT))
        if len(odd):
            raise InputError(f"{where}: ids must be texts or whole numbers below 2**53, got {odd[0]}.")
    longest = texts.str.len_chars().max()
    if isinstance(longest, int) and longest > LONGEST_CELL:
        raise InputError(f"{where}: an id has {longest:,} characters; at most {LONGEST_CELL:,} are read. Shorten it.")


def whole_numbers(texts: pl.Series) -> Ints | None:
    """Ids as whole numbers, if all of them are written as such, without signs or leading zeros."""
    if not texts.str.contains(_WHOLE).all() or (texts.str.len_bytes().max() or 0) > 18:  # type: ignore[operator]
        return None
    return texts.cast(pl.Int64).to_numpy()


def check_unique(ids: pl.Series, where: str) -> None:
    """No id occurs twice, among sorted ones."""
    twice = ids.filter((ids == ids.shift(1)).fill_null(value=False)).unique(maintain_order=True)
    if len(twice):
        raise InputError(f"{where}: {len(twice):,} ids occur more than once: {quoted(twice)}.")
