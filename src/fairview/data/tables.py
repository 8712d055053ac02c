"""What does this file say? CSV (also gz) and Parquet become a frame of exact cells, or an error that names the remedy.

A CSV file is read as text throughout: an id `007` stays `007`, and `NA` stays `NA`. Only an empty cell is null. Its
structure is checked before polars sees it, because polars fills short rows and renames duplicate columns in silence.
"""

from __future__ import annotations

import codecs
import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from fairview.data.archives import read_bytes
from fairview.errors import InputError, Problems, did_you_mean, some

TableSource = str | Path | pl.DataFrame | Any
"""A path, a polars frame, or anything with named columns that turns into one: a pandas frame, a mapping of lists."""

EXPANDED_LIMIT = 4 * 1024**3
"""Bytes that a compressed table may expand to."""

_SEPARATORS = {",": "','", ";": "';'", "\t": "a tab", "|": "'|'"}


@dataclass(frozen=True)
class Table:
    """A frame with the name that messages call it by, and the hash of the file it came from."""

    name: str
    frame: pl.DataFrame
    sha256: str | None = None

    def __len__(self) -> int:
        return self.frame.height

    @property
    def columns(self) -> list[str]:
        return self.frame.columns

    def missing(self, column: str) -> str:
        """The message for a column that is not there."""
        return f"{self.name}: no column '{column}'.{did_you_mean(column, self.columns)}"


def read_table(source: TableSource, *, name: str, separator: str | None = None, encoding: str = "utf-8") -> Table:
    """Read a table with a header.

    Args:
        source: a path, or a frame.
        name: what to call a frame in messages; a file is called by its own name.
        separator: one character; by default a comma, or a tab for files called `.tsv`.
        encoding: of the text; UTF-8 by default, with or without a byte order mark.
    """
    if not isinstance(source, (str, Path)):
        return _from_frame(source, name)
    path = Path(source)
    data = read_file(path)
    if data[:4] == b"PAR1":
        frame = _parquet(data, path.name)
    else:
        separator = separator or ("\t" if ".tsv" in path.suffixes else ",")
        frame = parse_csv(decode(data, path.name, encoding), path.name, separator)
    _check_header(frame.columns, path.name)
    if frame.height == 0:
        raise InputError(f"{path.name}: a header but no rows.")
    return Table(path.name, frame, hashlib.sha256(data).hexdigest())


def read_file(path: Path) -> bytes:
    """The bytes of a plain or gzipped file; what stands in the way is said in one line."""
    if path.is_dir():
        raise InputError(f"{path}: is a folder, not a table.")
    try:
        if not path.exists():
            there = sorted(other.name for other in path.parent.iterdir() if other.is_file())
            raise InputError(f"{path}: no such file.{did_you_mean(path.name, there) if there else ''}")
        data = read_bytes(path, limit=EXPANDED_LIMIT)
    except OSError as error:
        raise InputError(f"{path}: can't be read ({error.strerror or error}).") from None
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{str(path)!r}: is not a path ({error}).") from None
    if data[:4] == b"PK\x03\x04":
        raise InputError(f"{path.name}: is a zip archive. Unpack it and pass the table inside.")
    if not data.strip():
        raise InputError(f"{path.name}: the file is empty.")
    return data


def decode(data: bytes, name: str, encoding: str = "utf-8") -> bytes:
    """The text as UTF-8 with Unix line ends and no byte order mark; a wrong encoding is an error with its place."""
    try:
        codec = codecs.lookup(encoding).name
    except (LookupError, ValueError):
        raise InputError(
            f"{name}: unknown encoding '{encoding}'. Usual ones: utf-8, latin-1, cp1252, utf-16."
        ) from None
    if codec == "utf-8":
        data = data.removeprefix(codecs.BOM_UTF8)
        if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            raise InputError(f"{name}: is UTF-16, not UTF-8. Save it as UTF-8, or pass --encoding utf-16.")
    try:
        text = data.decode(codec)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        remedy = "Save it as UTF-8, or pass --encoding latin-1." if codec == "utf-8" else "Is --encoding right?"
        raise InputError(f"{name}: line {line}: byte 0x{data[error.start]:02x} is not {codec}. {remedy}") from None
    except (LookupError, TypeError, ValueError):
        raise InputError(f"{name}: '{encoding}' is not a text encoding.") from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InputError(f"{name}: line {line}: a NUL byte. Is it UTF-16? Pass --encoding utf-16, or clean the file.")
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").encode()


def parse_csv(text: bytes, name: str, separator: str, *, header: bool = True, quotes: bool = True) -> pl.DataFrame:
    """Every cell as text, empty ones null. Rows of another length than the first are errors with their lines."""
    if len(separator) != 1 or not separator.isascii() or separator in '"\n':
        raise InputError(f"{name}: --separator must be one plain character, got {separator!r}.")
    text = text.strip(b"\n") + b"\n"
    _check_structure(text, name, separator, quotes=quotes)
    try:
        return pl.read_csv(
            io.BytesIO(text),
            has_header=header,
            separator=separator,
            quote_char='"' if quotes else None,
            infer_schema=False,
        )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise InputError(f"{name}: can't be read as CSV ({str(error).splitlines()[0]}).") from None


def _check_structure(text: bytes, name: str, separator: str, *, quotes: bool) -> None:
    """Quotes that close, and rows as long as the first; in a few passes over the bytes, whatever the size."""
    data = np.frombuffer(text, dtype=np.uint8)
    ends = data == ord("\n")
    cuts = data == ord(separator)
    if quotes and b'"' in text:
        marks = data == ord('"')
        inside = np.bitwise_xor.accumulate(marks)  # after an odd number of quotes
        line_ends = np.flatnonzero(ends)
        if inside[-1]:
            per_line = np.add.reduceat(marks.astype(np.int64), np.concatenate([[0], line_ends[:-1] + 1]))
            line = int(np.flatnonzero(per_line % 2)[0]) + 1
            raise InputError(f"{name}: line {line}: a quote is opened and never closed. Close it, or double it inside.")
        opening = np.flatnonzero(marks & inside)
        before = data[np.maximum(opening - 1, 0)]
        stray = opening[(opening > 0) & (before != ord("\n")) & (before != ord(separator)) & (before != ord('"'))]
        if len(stray):
            line = int(np.searchsorted(line_ends, stray[0])) + 1
            raise InputError(
                f"{name}: line {line}: a quote inside a cell. Put the cell in quotes and double it inside."
            )
        ends, cuts = ends & ~inside, cuts & ~inside
    row_ends = np.flatnonzero(ends)
    cells = np.diff(np.concatenate([[0], np.cumsum(cuts)[row_ends]])) + 1
    first = text[: row_ends[0]].decode()
    if cells[0] == 1:
        other = next((sign for sign in _SEPARATORS if sign != separator and sign in first), None)
        if other is not None:
            raise InputError(
                f"{name}: one column only, and its header contains {_SEPARATORS[other]}. "
                f"Pass --separator '{other if other != chr(9) else chr(92) + 't'}'."
            )
    odd = np.flatnonzero(cells != cells[0])
    if len(odd):
        lines = np.cumsum(data == ord("\n"))[row_ends[np.maximum(odd - 1, 0)]] + 1
        shown = [f"line {line} has {count}" for line, count in zip(lines[:5], cells[odd[:5]], strict=True)]
        more = f" and {len(odd) - 5:,} more" if len(odd) > 5 else ""
        raise InputError(
            f"{name}: {len(odd):,} of {len(cells) - 1:,} rows are longer or shorter than the header's {cells[0]} cells "
            f"({', '.join(shown)}{more}). A separator inside a cell needs quotes around the cell."
        )
    _check_header([cell.strip('"') for cell in first.split(separator)] if '"' not in first else [], name)


def _check_header(columns: Sequence[str], name: str) -> None:
    repeated = sorted({column for column in columns if list(columns).count(column) > 1 and column})
    if repeated:
        raise InputError(f"{name}: duplicate column names: {some(repeated)}. Rename them.")
    unnamed = [str(place) for place, column in enumerate(columns, start=1) if not column.strip()]
    if unnamed:
        raise InputError(
            f"{name}: column {some(unnamed)} has no name. Name it, or leave it out (pandas: to_csv(index=False))."
        )


def _parquet(data: bytes, name: str) -> pl.DataFrame:
    try:
        return pl.read_parquet(io.BytesIO(data))
    except (Exception, pl.exceptions.PanicException) as error:  # a damaged file makes polars fail in many ways
        raise InputError(f"{name}: can't be read as Parquet ({str(error).splitlines()[0]}).") from None


def _from_frame(source: Any, name: str) -> Table:
    """A polars frame as it is; a pandas frame or a mapping column by column, so that nothing is guessed."""
    if isinstance(source, pl.LazyFrame):
        source = source.collect()
    if not isinstance(source, pl.DataFrame):
        columns = getattr(source, "columns", None)
        if columns is not None and hasattr(source, "iloc"):
            _check_header([str(column) for column in columns], name)
            source = {str(column): _column(source.iloc[:, place]) for place, column in enumerate(columns)}
        if not isinstance(source, Mapping):
            raise InputError(f"{name}: expected a path or a frame, got {type(source).__name__}.")
        try:
            source = pl.DataFrame({str(column): values for column, values in source.items()}, strict=True)
        except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
            raise InputError(f"{name}: can't be read as a table ({str(error).splitlines()[0]}).") from None
    _check_header(source.columns, name)
    if source.height == 0:
        raise InputError(f"{name}: no rows.")
    return Table(name, source)


def _column(series: Any) -> pl.Series:
    """A pandas column, without pyarrow: numbers as they are, everything else as Python objects, missing as null."""
    values: npt.NDArray[Any] = series.to_numpy(dtype=object, na_value=None)
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    plain = [None if isinstance(value, float) and value != value else value for value in plain]
    return pl.Series(plain, strict=False)


def require_columns(table: Table, columns: Sequence[str], problems: Problems) -> bool:
    """Report the columns that are not there; True if all are."""
    absent = [column for column in columns if column not in table.columns]
    for column in absent:
        problems.add(table.missing(column))
    return not absent
