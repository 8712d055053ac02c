"""What does this file say? CSV (also gz) and Parquet become a frame of exact cells, or an error that names the remedy.

A CSV file is read as text throughout: an id `007` stays `007`, and `NA` stays `NA`. Only an empty cell is null. Its
structure is checked before polars sees it, because polars fills short rows and renames duplicate columns in silence.
"""

from __future__ import annotations

import codecs
import hashlib
import io
import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from fairview.arguments import shortened
from fairview.data.limits import LONGEST_NAME, MOST_BYTES, MOST_COLUMNS, MOST_ROWS, MOST_VALUES
from fairview.data.tables.archives import read_bytes
from fairview.errors import InputError, Problems, did_you_mean, in_one_line, option, repeated, shown, some
from fairview.files import is_utf8, require_utf8

TableSource = str | Path | pl.DataFrame | Any
"""A path, a polars frame, or anything with named columns that turns into one: a pandas frame, a mapping of lists."""

_IS_IT_RIGHT = f"Is {option('encoding')} right?"
_SEPARATORS = {",": "','", ";": "';'", "\t": "a tab", "|": "'|'"}


@dataclass(frozen=True)
class Table:
    """A frame with the name that messages call it by, and the hash of the file it came from."""

    name: str
    frame: pl.DataFrame
    sha256: str | None = None

    def __len__(self) -> int:
        return self.frame.height

    @cached_property
    def columns(self) -> Collection[str]:
        """The names of the columns, in their order; to ask whether one is there takes the same time for any number."""
        return dict.fromkeys(self.frame.columns)

    def missing(self, column: str) -> str:
        """The message for a column that is not there."""
        return f"{self.name}: no column '{shown(column)}'.{did_you_mean(column, self.columns)}"


def read_table(
    source: TableSource, *, name: str, separator: str | None = None, encoding: str = "utf-8", may_be_empty: bool = False
) -> Table:
    """Read a table with a header: from a file, which messages call by its own name, or from a frame called `name`.

    The separator is a comma by default, or a tab for files called `.tsv`. A header without rows is an error unless the
    table `may_be_empty`.
    """
    sha256 = None
    if isinstance(source, (str, Path)):
        path = Path(source)
        name, data = path.name, read_file(path)
        sha256 = hashlib.sha256(data).hexdigest()
        if data[:4] == b"PAR1":
            frame = _parquet(data, name)
        else:
            frame = parse_csv(
                decode(data, name, encoding), name, usual_separator(path) if separator is None else separator
            )
    else:
        frame = _frame(source, name)
    check_header(frame.columns, name)
    if frame.height == 0 and not may_be_empty:
        raise InputError(f"{name}: {'a header but no rows' if sha256 else 'no rows'}.")
    return Table(name, frame, sha256)


def usual_separator(path: Path) -> str:
    """A tab for `.tsv` files, else a comma."""
    return "\t" if ".tsv" in path.suffixes else ","


def read_file(path: Path) -> bytes:
    """The bytes of a plain or gzipped file; what stands in the way is said in one line."""
    require_utf8(path)
    try:
        if path.is_dir():
            raise InputError(f"{path}: is a folder, not a table.")
        if not path.exists():
            if not path.parent.is_dir():
                raise InputError(f"{path}: no such file; there is no folder '{path.parent}'.")
            there = sorted(other.name for other in path.parent.iterdir() if other.is_file())
            raise InputError(f"{path}: no such file.{did_you_mean(path.name, there) if there else ''}")
        data = read_bytes(path, limit=MOST_BYTES)
    except OSError as error:
        raise InputError(f"{path}: can't be read ({error.strerror or error}).") from None
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{str(path)!r}: is not a path ({error}).") from None
    if data[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
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
            f"{name}: unknown encoding '{shown(encoding)}'. Usual ones: utf-8, latin-1, cp1252, utf-16."
        ) from None
    if codec == "utf-8":
        data = data.removeprefix(codecs.BOM_UTF8)
        if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            raise InputError(f"{name}: is UTF-16, not UTF-8. Save it as UTF-8, or pass {option('encoding', 'utf-16')}.")
    elif codec.startswith(("utf-16", "utf-32")) and b"\0" not in data:  # every line end has one
        raise InputError(f"{name}: is not {codec}. Leave {option('encoding')} out, or say what it is.")
    try:
        text = data.decode(codec)
        text.encode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        remedy = f"Save it as UTF-8, or pass {option('encoding', 'latin-1')}." if codec == "utf-8" else _IS_IT_RIGHT
        byte = error.object[error.start]
        raise InputError(f"{name}: line {line}: byte 0x{byte:02x} is not {codec}. {remedy}") from None
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise InputError(f"{name}: line {line}: half a character (a lone surrogate). {_IS_IT_RIGHT}") from None
    except (LookupError, TypeError, ValueError):
        raise InputError(f"{name}: '{encoding}' is not a text encoding.") from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InputError(
            f"{name}: line {line}: a NUL byte. Is it UTF-16? Pass {option('encoding', 'utf-16')}, or clean the file."
        )
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").encode()


def parse_csv(
    text: bytes, name: str, separator: str, *, header: bool = True, quotes: bool = True, first_line: int = 1
) -> pl.DataFrame:
    """Every cell as text, empty ones null. Rows of another length than the first are errors with their lines.

    `text` is what `decode` gives, `first_line` the number that its first line has in the file called `name`.
    """
    if len(separator) != 1 or not separator.isascii() or separator in '"\n\r\0':
        raise InputError(f"{name}: {option('separator')} must be one plain character, got {shortened(separator)}.")
    first_line += len(text) - len(text.lstrip(b"\n"))
    text = text.strip(b"\n") + b"\n"
    rows, columns = _check_structure(text, name, separator, header=header, quotes=quotes, first_line=first_line)
    quote = '"' if quotes else None
    try:
        frame = pl.read_csv(
            io.BytesIO(text), has_header=False, separator=separator, quote_char=quote, infer_schema=False
        )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise InputError(f"{name}: can't be read as CSV ({in_one_line(error)}).") from None
    if frame.shape != (rows, columns):
        raise InputError(f"{name}: can't be read as CSV ({rows:,} lines gave {frame.height:,} rows).")
    if header:
        names = [cell or "" for cell in frame.row(0)]
        check_header(names, name)
        frame = frame.slice(1)
        frame.columns = names
    return frame


def _check_structure(
    text: bytes, name: str, separator: str, *, header: bool, quotes: bool, first_line: int
) -> tuple[int, int]:
    """Quotes that close, and rows as long as the first; in a few passes over the bytes, whatever the size.

    Returns how many rows there are, the header among them, and how many cells each has.
    """
    data = np.frombuffer(text, dtype=np.uint8)
    line_ends = np.flatnonzero(data == ord("\n"))
    ends = data == ord("\n")
    cuts = data == ord(separator)

    def line_of(place: int) -> int:
        return int(np.searchsorted(line_ends, place)) + first_line

    if quotes and b'"' in text:
        marks = data == ord('"')
        inside = np.bitwise_xor.accumulate(marks)  # after an odd number of quotes
        if inside[-1]:
            per_line = np.add.reduceat(marks.astype(np.int64), np.concatenate([[0], line_ends[:-1] + 1]))
            line = int(np.flatnonzero(per_line % 2)[0]) + first_line
            raise InputError(f"{name}: line {line}: a quote is opened and never closed. Close it, or double it inside.")
        opening, closing = np.flatnonzero(marks & inside), np.flatnonzero(marks & ~inside)
        border = (ord("\n"), ord(separator), ord('"'))
        before_is_fine = (opening == 0) | np.isin(data[np.maximum(opening - 1, 0)], border)
        stray = np.concatenate([opening[~before_is_fine], closing[~np.isin(data[closing + 1], border)]])
        if len(stray):
            raise InputError(
                f"{name}: line {line_of(stray.min())}: a quote inside a cell, or text after a closing one. "
                "Put the whole cell in quotes, and double those inside."
            )
        ends, cuts = ends & ~inside, cuts & ~inside
    row_ends = np.flatnonzero(ends)
    _check_columns(int(np.count_nonzero(cuts[: row_ends[0]])) + 1, name)
    cells = np.diff(np.searchsorted(np.flatnonzero(cuts), row_ends), prepend=0) + 1
    what = "header" if header else "first line"
    if cells[0] == 1:
        first = text[: row_ends[0]].decode()
        other = next((sign for sign in _SEPARATORS if sign != separator and sign in first), None)
        if other is not None:
            raise InputError(
                f"{name}: one column only, and its {what} contains {_SEPARATORS[other]}. "
                f"Pass {option('separator', other)}."
            )
    odd = np.flatnonzero(cells != cells[0])
    if len(odd):
        starts = row_ends[odd - 1] + 1  # the first row is never odd
        blank = [not text[start : row_ends[k]].strip() for start, k in zip(starts[:5], odd[:5], strict=True)]
        places = [
            f"line {line_of(start)} {'is blank' if nothing else f'has {cells[k]}'}"
            for start, k, nothing in zip(starts[:5], odd[:5], blank, strict=True)
        ]
        remedy = "Remove blank lines." if all(blank) else "A separator inside a cell needs quotes around the cell."
        more = f" and {len(odd) - 5:,} more" if len(odd) > 5 else ""
        raise InputError(
            f"{name}: {len(odd):,} of {len(cells) - header:,} rows are longer or shorter than the {what}'s {cells[0]} "
            f"cells ({', '.join(places)}{more}). {remedy}"
        )
    return len(cells), int(cells[0])


def _check_columns(count: int, name: str) -> None:
    if count > MOST_COLUMNS:
        raise InputError(f"{name}: {count:,} columns; at most {MOST_COLUMNS:,} are read. Leave some out.")


def _check_size(rows: int, columns: int, name: str) -> None:
    """A few bytes of Parquet can declare any number of equal cells."""
    _check_columns(columns, name)
    if rows > MOST_ROWS:
        raise InputError(f"{name}: {rows:,} rows; at most {MOST_ROWS:,} are read. Leave some out.")
    if rows * columns > MOST_VALUES:
        raise InputError(
            f"{name}: {rows:,} rows of {columns:,} columns are more than {MOST_VALUES:,} cells. Leave rows or columns "
            "out."
        )


def check_header(columns: Sequence[str], name: str) -> None:
    """Names that are there, once each, not too long, and not too many."""
    _check_columns(len(columns), name)
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


def _parquet(data: bytes, name: str) -> pl.DataFrame:
    try:
        with _no_panic_on_stderr():
            lazy = pl.scan_parquet(io.BytesIO(data))
            _check_size(lazy.select(pl.len()).collect().item(), len(lazy.collect_schema()), name)  # by the file's end
            return pl.read_parquet(io.BytesIO(data))
    except InputError:
        raise
    except (Exception, pl.exceptions.PanicException) as error:  # a damaged file makes polars fail in many ways
        raise InputError(f"{name}: can't be read as Parquet ({in_one_line(error)}).") from None


@contextmanager
def _no_panic_on_stderr() -> Iterator[None]:
    """Polars prints a Rust backtrace before it raises; a damaged file is not its user's bug, so that goes nowhere."""
    try:
        if sys.stderr is not None:
            sys.stderr.flush()
        kept = os.dup(2)
    except OSError:  # no standard error to be quiet on
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _frame(source: Any, name: str) -> pl.DataFrame:
    """A polars frame as it is; a pandas frame or a mapping column by column, so that nothing is guessed."""
    if isinstance(source, pl.LazyFrame):
        try:
            return source.collect()
        except (pl.exceptions.PolarsError, OSError) as error:
            raise InputError(f"{name}: the lazy frame can't be collected ({in_one_line(error)}).") from None
    if isinstance(source, pl.DataFrame):
        return source
    columns = getattr(source, "columns", None)
    if columns is not None and hasattr(source, "iloc"):
        check_header([str(column) for column in columns], name)
        source = {column: source.iloc[:, place] for place, column in enumerate(columns)}
    if not isinstance(source, Mapping):
        raise InputError(f"{name}: expected a path or a frame, got {type(source).__name__}.")
    check_header([str(column) for column in source], name)
    problems = Problems()
    series: dict[str, Any] = {}
    for column, values in source.items():
        try:
            in_pandas = hasattr(values, "iloc")
            series[str(column)] = _pandas_column(values) if in_pandas else pl.Series(values=values, strict=True)
        except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError) as error:
            problems.add(f"{name}: column '{shown(column)}': can't be read ({in_one_line(error)}).")
    problems.raise_if_any()
    lengths = {column: len(values) for column, values in series.items()}
    if len(set(lengths.values())) > 1:
        listed = some([f"'{column}' {length:,}" for column, length in lengths.items()], limit=12)
        raise InputError(f"{name}: the columns have different lengths ({listed}).")
    return pl.DataFrame(series)


def _pandas_column(series: Any) -> pl.Series:
    """A pandas column, without pyarrow: numbers as they are, everything else as Python objects, missing as null.

    Values of several kinds in one column become texts, as `to_csv` would write them.
    """
    if series.dtype in (np.float64, np.int64):
        return pl.Series(values=series.to_numpy(), nan_to_null=True)
    values: npt.NDArray[Any] = series.to_numpy(dtype=object, na_value=None)
    narrow = str(series.dtype).lower() in ("float16", "float32")  # 0.1 is 0.1, and not the nearest float32
    plain = [value.item() if isinstance(value, np.generic) and not narrow else value for value in values]
    plain = [None if missing else value for value, missing in zip(plain, series.isna(), strict=True)]
    if narrow:
        kind = np.dtype(str(series.dtype).lower()).type
        plain = [None if value is None else float(str(kind(value))) for value in plain]
    mixed = len({type(value) for value in plain if value is not None}) > 1
    return pl.Series(values=[None if v is None else str(v) for v in plain] if mixed else plain, strict=False)


def require_columns(table: Table, columns: Sequence[str], problems: Problems) -> bool:
    """Report the columns that are not there; True if all are."""
    absent = [column for column in columns if column not in table.columns]
    for column in problems.first(absent):
        problems.add(table.missing(column))
    return not absent
