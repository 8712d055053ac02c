"""Is there a name for every column, and are there few enough of them, and of rows?"""

from __future__ import annotations

from collections.abc import Sequence

from fairview.data.limits import LONGEST_NAME, MOST_COLUMNS, MOST_ROWS, MOST_VALUES
from fairview.errors import InputError, repeated, shown, some
from fairview.files import is_utf8


def check_columns(count: int, name: str) -> None:
    """Not too many."""
    if count > MOST_COLUMNS:
        raise InputError(f"{name}: {count:,} columns; at most {MOST_COLUMNS:,} are read. Leave some out.")


def check_size(rows: int, columns: int, name: str) -> None:
    """A few bytes of Parquet can declare any number of equal cells."""
    check_columns(columns, name)
    if rows > MOST_ROWS:
        raise InputError(f"{name}: {rows:,} rows; at most {MOST_ROWS:,} are read. Leave some out.")
    if rows * columns > MOST_VALUES:
        raise InputError(
            f"{name}: {rows:,} rows of {columns:,} columns are more than {MOST_VALUES:,} cells. Leave rows or columns "
            "out."
        )


def check_header(columns: Sequence[str], name: str) -> None:
    """Names that are there, once each, not too long, and not too many."""
    check_columns(len(columns), name)
    long = [column for column in columns if len(column) > LONGEST_NAME]
    if long:
        raise InputError(
            f"{name}: {len(long):,} column names are longer than {LONGEST_NAME:,} characters "
            f"(the first: '{shown(long[0])}'). Shorten them."
        )
    if halved := [column for column in columns if not is_utf8(column)]:
        raise InputError(f"{name}: column {some(map(ascii, halved))}: half a character (a lone surrogate). Rename it.")
    if twice := sorted(filter(None, repeated(columns))):
        raise InputError(f"{name}: duplicate column names: {some(twice)}. Rename them.")
    unnamed = [str(place) for place, column in enumerate(columns, start=1) if not column.strip()]
    if unnamed:
        raise InputError(
            f"{name}: column {some(unnamed)} has no name. Name it, or leave it out (pandas: to_csv(index=False))."
        )
