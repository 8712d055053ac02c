"""What does a column say, as numbers or as texts? Exact, with every cell that can't be read named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from fairview.data.limits import LONGEST_CELL
from fairview.data.tables.cells import Table, require_columns
from fairview.data.tables.texts import TRUTH, is_number_among, same_value, writer
from fairview.errors import InputError, Problems, option, quoted, shown, some
from fairview.groups import UNKNOWN
from fairview.remedies import only_with, remedies

LARGEST = float(np.finfo(np.float32).max)

_BATCH = 4_000_000  # cells that are read as numbers at a time

LOOKS_MISSING = {"na", "n/a", "nan", "null", "none", "-", "?", "."}
"""Texts that often mean that nothing is known; messages ask, and nothing is guessed."""


@dataclass(frozen=True)
class Place:
    """How messages point at rows: by id if there are ids, else by row number."""

    ids: Sequence[str] | None

    def __call__(self, rows: npt.NDArray[np.integer[Any]]) -> str:
        what = "rows" if self.ids is None else "ids"
        names = [str(row) if self.ids is None else self.ids[row] for row in rows[:5].tolist()]
        more = f" and {len(rows) - 5:,} more" if len(rows) > 5 else ""
        origin = ", counted from 0" if self.ids is None else ""
        return f"{what if len(rows) > 1 else what[:-1]} {some(names)}{more}{origin}"


def as_texts(series: pl.Series) -> pl.Series | None:
    """The cells as texts, null where missing; whole numbers lose a trailing `.0`. None for lists, bytes and the like.

    Example:
        >>> as_texts(pl.Series([1.0, 2.5, float("nan")])).to_list()
        ['1', '2.5', None]
    """
    if series.dtype.is_nested() or series.dtype in (pl.Object, pl.Binary, pl.Duration):
        return None
    if not series.dtype.is_float():
        return series.cast(pl.String)
    series = series.fill_nan(None)
    whole = series.is_finite() & (series == series.round()) & (series.abs() < 2**53)
    as_whole = series.cast(pl.Int64, strict=False).cast(pl.String)
    return pl.select(pl.when(whole).then(as_whole).otherwise(series.cast(pl.String))).to_series()


def whole_texts(numbers: pl.Series, where: str) -> pl.Series:
    """Ids that are written as floats, as whole numbers; null where missing. Any other number is an error."""
    odd = np.flatnonzero(((numbers != numbers.round()) | (numbers.abs() >= 2**53)).fill_null(value=False).to_numpy())
    if len(odd):
        raise InputError(
            f"{where}: ids must be texts or whole numbers below 2**53, got {numbers[int(odd[0])]} ({Place(None)(odd)})."
        )
    return numbers.cast(pl.Int64).cast(pl.String)


def too_long(texts: pl.Series) -> str:
    """What to say of a column with a cell that is too long for a name; empty if there is none.

    Example:
        >>> too_long(pl.Series(["good", "x" * 1001]))[:27], too_long(pl.Series(["good"]))
        ('a cell has 1,001 characters', '')
    """
    lengths = texts.str.len_chars()
    longest = lengths.max()
    if not isinstance(longest, int) or longest <= LONGEST_CELL:
        return ""
    cell = shown(texts[int(lengths.arg_max() or 0)])
    return (
        f"a cell has {longest:,} characters ('{cell}'); ids, labels, groups and categories have at most "
        f"{LONGEST_CELL:,}.{remedies('shorten it', only_with('drop', 'leave the column out'))}"
    )


def _is_text(kind: pl.DataType) -> bool:
    return kind in (pl.String, pl.Categorical) or isinstance(kind, pl.Enum)


def _is_numeric(kind: pl.DataType) -> bool:
    return kind in (pl.Boolean, pl.Null) or kind.is_numeric()


def places(texts: pl.Series, values: Sequence[str] | pl.Series) -> pl.Series:
    """The place of each text among the values, null where it is none of them.

    Example:
        >>> places(pl.Series(["b", "c", None]), ["a", "b"]).to_list()
        [1, None, None]
    """
    known = pl.Series(values, dtype=pl.String)
    return texts.replace_strict(known, pl.arange(len(known), eager=True), default=None, return_dtype=pl.Int64)


def codes_in(texts: pl.Series, values: Sequence[str]) -> npt.NDArray[np.int16]:
    """The same as codes of groups, -1 where it is none of them."""
    return places(texts, values).cast(pl.Int16).fill_null(UNKNOWN).to_numpy()


@dataclass(frozen=True)
class ColumnReader:
    """Reads columns of one table, collecting what is wrong with them."""

    table: Table
    place: Place
    problems: Problems
    missing_values: Sequence[str] = field(default=("",))
    by_recipe: bool = False  # the columns are read as those of an earlier table
    notes: dict[str, str] = field(default_factory=dict)  # by column: cells that were written differently

    def cells(self, column: str) -> pl.Series | None:
        """The cells as text without blanks around them, null where missing; None, and a problem, if there is none."""
        text = as_texts(self.table.frame[column])
        if text is None:
            self.add(column, f"holds {self.table.frame[column].dtype} values; expected texts or numbers.")
            return None
        text = self._stripped(text)
        if long := too_long(text):
            self.add(column, long)
            return None
        return text

    def _stripped(self, text: pl.Series) -> pl.Series:
        text = text.str.strip_chars()
        missing = text.is_in(["", *self.missing_values]) | is_number_among(text, self.missing_values)  # -9.0 is -9
        return text.set(missing.fill_null(value=True), None)

    def texts(self, column: str) -> pl.Series | None:
        """The cells, each value written in one way (`tables/texts.py`); a note says where two texts became one."""
        cells = self.cells(column)
        if cells is None:
            return None
        values = cells.drop_nulls().unique(maintain_order=True).to_list()
        write = writer(values)
        if write is None:
            return cells
        written = {value: write(value) for value in values}
        if len(set(written.values())) < len(values):
            first: dict[str, str] = {}
            pair = next((first[w], v) for v, w in written.items() if first.setdefault(w, v) != v)
            self.notes[column] = f"{self.table.name}: column '{column}': {quoted(pair)} and the like are one value"
        return cells.replace(written) if any(value != text for value, text in written.items()) else cells

    def texts_like(self, column: str, known: Sequence[str]) -> pl.Series | None:
        """The cells as the known values write them: 2.0 is 2 where all of these are numbers. Others stay."""
        cells = self.cells(column)
        if cells is None:
            return None
        return cells.replace(same_value(cells.drop_nulls().unique(), known))

    def texts_of(self, column: str | None) -> pl.Series | None:
        """The same for a column that may not be named; one that the table does not have is a problem."""
        if column is None or not require_columns(self.table, [column], self.problems):
            return None
        return self.texts(column)

    def numbers(self, columns: Sequence[str]) -> npt.NDArray[np.float64]:
        """The cells as float64, shape (n, columns), NaN where missing.

        Text, NaN, infinities and what float32 can't hold are problems. Columns of one type are read together: a call
        into polars costs as much for a column of fifty cells as for one of a hundred thousand.
        """
        n = len(self.table)
        block = np.zeros((n, len(columns)))
        wrong = np.zeros(len(columns), dtype=np.bool_)
        by_type: dict[pl.DataType, list[int]] = {}
        for place, column in enumerate(columns):
            by_type.setdefault(self.table.frame[column].dtype, []).append(place)
        step = max(_BATCH // max(n, 1), 1)
        for places in by_type.values():
            for start in range(0, len(places), step):
                batch = places[start : start + step]
                values, odd = self._values([self.table.frame[columns[place]] for place in batch])
                block[:, batch] = values.T
                wrong[batch] = odd.any(axis=1)
        block[:, wrong] = 0  # a cell that is wrong is not empty as well
        for column in self.problems.first([columns[place] for place in np.flatnonzero(wrong).tolist()]):
            self._report_numbers(column)
        return block

    def _values(self, columns: list[pl.Series]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        """Cells of columns of one type as numbers, NaN where missing, shape (columns, n); and those that are none."""
        series = pl.concat(columns)
        shape = len(columns), len(series) // len(columns)
        unreadable = np.zeros(shape, dtype=np.bool_)
        if _is_text(series.dtype):
            return self._numbers_of_texts(self._stripped(series.cast(pl.String)), shape)
        if not _is_numeric(series.dtype):
            return np.zeros(shape), ~unreadable
        if any(self.missing_values) and (text := as_texts(series)) is not None:
            series = series.set(self._stripped(text).is_null(), None)
        if series.dtype.is_decimal() or (series.dtype.is_float() and series.dtype != pl.Float64):
            series = series.cast(pl.String)  # 0.1 is 0.1, and not the nearest float32
        numbers = series.cast(pl.Float64).to_numpy().reshape(shape)  # NaN where null: in a frame, it means missing, too
        return numbers, np.abs(numbers) > LARGEST

    @staticmethod
    def _numbers_of_texts(
        text: pl.Series, shape: tuple[int, int]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        """The same for texts: all of a column are numbers, or all are truth values."""
        values = text.cast(pl.Float64, strict=False)
        # polars reads `nan` as a number; a table that means "missing" must say so
        unreadable = (text.is_not_null() & (values.is_null() | values.is_nan())).to_numpy().reshape(shape)
        numbers = values.to_numpy().reshape(shape)
        if unreadable.any():
            truth = text.replace_strict(TRUTH, default=None, return_dtype=pl.Float64)
            empty, is_truth = text.is_null().to_numpy().reshape(shape), truth.is_not_null().to_numpy().reshape(shape)
            columns = (empty | is_truth).all(axis=1)
            numbers = np.where(columns[:, None], truth.to_numpy().reshape(shape), numbers)
            unreadable = unreadable & ~columns[:, None]
        return numbers, unreadable | (np.abs(numbers) > LARGEST)

    def _report_numbers(self, column: str) -> None:
        """Say what is wrong with a column of numbers."""
        series, drop_it = self.table.frame[column], only_with("drop", "drop the column")
        if not _is_text(series.dtype) and not _is_numeric(series.dtype):
            advice = remedies("turn them into numbers", drop_it)
            self.add(column, f"holds {series.dtype} values, not numbers.{advice}")
            return
        numbers, wrong = self._values([series])
        beyond = np.abs(numbers[0]) > LARGEST
        outside, unread = np.flatnonzero(beyond), np.flatnonzero(wrong[0] & ~beyond)
        if len(unread):
            self._not_numbers(column, self._stripped(series.cast(pl.String)), unread)
        else:
            self.add(
                column,
                f"{len(outside):,} of {len(self.table):,} values are infinite or beyond float32 "
                f"({self.place(outside)}; first: {shown(series[int(outside[0])])}).{remedies('correct them', drop_it)}",
            )

    def _not_numbers(self, column: str, text: pl.Series, rows: npt.NDArray[np.intp]) -> None:
        first = shown(text[int(rows[0])])
        drop, encode = option("drop", [column]), option("categorical", [column])
        word = option("missing_values", [first])
        means_missing = f"If it means missing, pass {word} and say what to do with {option('missing')}."
        remedy = f"Clean them, leave the column out ({drop}), or one-hot encode it ({encode})."
        if self.by_recipe:
            remedy = "Correct them: the model was trained with numbers in this column."
        elif str(first).lower() in LOOKS_MISSING:
            remedy = means_missing
        elif len(rows) < len(self.table) / 10:
            remedy = f"Clean them. {means_missing}"
        count = f"{len(rows):,} of {len(self.table):,} cells are not numbers"
        self.add(column, f"{count}, the first is '{first}' ({self.place(rows)}). {remedy}")

    def report_new(self, column: str, texts: pl.Series, known: Sequence[str], remedy: str = "") -> None:
        """Values that a recipe does not know are a problem: nothing is guessed about them."""
        new = texts.is_not_null() & ~texts.is_in(list(known)).fill_null(value=False)
        if new.any():
            values = texts.filter(new).unique(maintain_order=True)
            where = self.place(np.flatnonzero(new.to_numpy()))
            remedy = remedy or "Correct them, or train again with such rows."
            self.add(column, f"new values: {quoted(values)} ({where}). Known: {quoted(known, limit=12)}. {remedy}")

    def add(self, column: str, text: str) -> None:
        """Report a problem of a column."""
        self.problems.add(f"{self.table.name}: column '{shown(column)}': {text}")
