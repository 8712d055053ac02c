"""What does this file say? CSV (also gz) and Parquet become a frame of exact cells, or an error that names the remedy.

A CSV file is read as text throughout: an id `007` stays `007`, and `NA` stays `NA`. Only an empty cell is null.
"""

from __future__ import annotations

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

from fairview.data.limits import MOST_BYTES
from fairview.data.tables.archives import read_bytes
from fairview.data.tables.csv_text import decode, parse_csv
from fairview.data.tables.header import check_header as check_header
from fairview.data.tables.header import check_size
from fairview.errors import InputError, Problems, did_you_mean, in_one_line, shown, some
from fairview.files import require_utf8

TableSource = str | Path | pl.DataFrame | Any
"""A path, a polars frame, or anything with named columns that turns into one: a pandas frame, a mapping of lists."""


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
        several = column.split(",")
        if len(several) > 1 and all(each.strip() in self.columns for each in several):
            hint = f" These are {len(several)} columns; name each by itself."
        else:
            hint = did_you_mean(column, self.columns)
        return f"{self.name}: no column '{shown(column)}'.{hint}"


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


def _parquet(data: bytes, name: str) -> pl.DataFrame:
    try:
        with _no_panic_on_stderr():
            lazy = pl.scan_parquet(io.BytesIO(data))
            check_size(lazy.select(pl.len()).collect().item(), len(lazy.collect_schema()), name)  # by the file's end
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
