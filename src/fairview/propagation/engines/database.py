"""What is DuckDB asked for? To turn CSV into Parquet, to sort nodes by their ids, and to join links with them.

Everything goes through files, which a later process finds again: a file has its name only when it is whole.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from fairview.data.tables.cells import Table, check_header, usual_separator
from fairview.data.tables.edges import edge_layout
from fairview.errors import FairviewError, InputError, in_one_line, option
from fairview.optional import require
from fairview.propagation.engines.node_ids import NodeIds, check_ids, check_unique, id_texts, whole_numbers
from fairview.propagation.inputs import TableFiles

_ROWS = 2_000_000
_MOST_DISTINCT = 100_000
_HEAD = 1 << 16


class Database:
    """A DuckDB connection that spills into the work folder.

    Args:
        work: folder for its files.
        memory: bytes that it may use.
        threads: how many.
    """

    def __init__(self, work: Path, *, memory: int, threads: int) -> None:
        duckdb = require("duckdb", "duckdb", "The engine 'duckdb' needs duckdb")
        self.work, self.notes = work, list[str]()
        self._error = duckdb.Error
        settings = {"memory_limit": f"{max(memory // 10**6, 500)}MB", "threads": threads}
        self._connection = duckdb.connect(config=settings | {"temp_directory": str(work / "spill")})

    def run(self, query: str, what: str) -> None:
        """Run a statement; what goes wrong is said in one line about `what`."""
        try:
            self._connection.execute(query).fetchall()
        except self._error as error:
            raise _said(error, what) from None

    def copy(self, query: str, name: str, what: str) -> Path:
        """The answer to a query as a Parquet file of the work folder; one that is there already is kept."""
        path = self.work / f"{name}.parquet"
        if not path.exists():
            under_way = self.work / f"{name}.parquet.part"
            self.run(f"COPY ({query}) TO {_text(under_way)} (FORMAT parquet, ROW_GROUP_SIZE 500000)", what)
            under_way.replace(path)
        return path

    # --- nodes --------------------------------------------------------------------------------------------------------

    def ordered_nodes(self, files: TableFiles, reading: dict[str, Any]) -> NodeIds:
        """The node table in order of its ids, which are checked."""
        paths = files.paths if files.parquet else (self._node_csv(files, reading),)
        columns = list(pl.read_parquet_schema(paths[0]))
        check_header(columns, files.name)
        count = _height(paths)
        if count == 0:
            raise InputError(f"{files.name}: a header but no rows.")
        recipe = reading.get("recipe")
        column = recipe.id if recipe is not None else reading.get("id") or ("id" if "id" in columns else None)
        if column is None:
            self.notes.append(f"{files.name}: no id column; the row numbers from 0 are the ids")
            return NodeIds("dense", count, None, tuple(paths), None)
        if column not in columns:
            without = f"Without {option('id')}, the column 'id' or the row numbers are the ids."
            raise InputError(f"{Table(files.name, pl.DataFrame(schema=columns)).missing(column)} {without}")
        return self._ordered(tuple(paths), column, f"{files.name}: column '{column}'", count)

    def _ordered(self, paths: tuple[Path, ...], column: str, where: str, count: int) -> NodeIds:
        pieces: list[Any] | None = []
        ascending, last = True, None
        for texts in self._ids(paths, column, where):
            values = whole_numbers(texts) if pieces is not None else None
            if values is None:
                pieces = None
            elif pieces is not None:
                pieces.append(values)
            ascending &= texts.is_sorted() and (last is None or last <= texts[0])
            last = texts[-1]
        query = f"SELECT * FROM {_parquet(paths)} ORDER BY "
        if pieces is not None:
            numbers = np.concatenate(pieces)
            if not (np.diff(numbers) > 0).all():
                paths = (self.copy(f"{query} CAST({_name(column)} AS BIGINT)", "nodes-ordered", where),)
                numbers.sort()
            check_unique(pl.Series(numbers), where)
            dense = bool(numbers[0] == 0 and numbers[-1] == count - 1)
            return NodeIds("dense" if dense else "whole", count, None if dense else numbers, paths, column)
        if not ascending or len(paths) > 1:
            paths = (self.copy(f"{query} CAST({_name(column)} AS VARCHAR)", "nodes-ordered", where),)
        before = None
        for texts in self._ids(paths, column, where):
            joined = texts if before is None else pl.concat([before, texts])
            check_unique(joined, where)
            before = texts[-1:]
        return NodeIds("text", count, None, paths, column)

    def _ids(self, paths: Sequence[Path], column: str, where: str) -> Any:
        """The ids as texts, a stretch of rows at a time."""
        for path in paths:
            lazy = pl.scan_parquet(path, glob=False).select(column)
            for start in range(0, _height([path]), _ROWS):
                series = lazy.slice(start, _ROWS).collect().to_series()
                check_ids(series, where)
                yield id_texts(series)

    def table(self, ids: NodeIds, name: str) -> Table:
        """The columns of the nodes, without rows."""
        return Table(name, pl.DataFrame(schema=pl.read_parquet_schema(ids.paths[0])))

    def distinct(self, ids: NodeIds, column: str) -> pl.Series:
        """The distinct values of a column that must have few.

        Raises:
            InputError: it has too many to be a label, a group or a category.
        """
        query = f"SELECT DISTINCT {_name(column)} FROM {_parquet(ids.paths)} LIMIT {_MOST_DISTINCT + 1}"
        (self.work / "distinct.parquet").unlink(missing_ok=True)  # of another column, if a process was killed here
        path = self.copy(query, "distinct", f"column '{column}'")
        values = pl.read_parquet(path).to_series()
        path.unlink()
        if len(values) > _MOST_DISTINCT:
            raise InputError(
                f"nodes: column '{column}': more than {_MOST_DISTINCT:,} different values, too many for a label, a "
                "group, a split or a category."
            )
        return values

    # --- links --------------------------------------------------------------------------------------------------------

    def edge_files(self, files: TableFiles, reading: dict[str, Any]) -> tuple[Path, ...]:
        """The edges as Parquet files."""
        return files.paths if files.parquet else (self._edge_csv(files, reading),)

    def joined(self, paths: Sequence[Path], ids: NodeIds, ends: tuple[str, str], weight: str | None, what: str) -> Path:
        """Numbers of both ends of each link, null where an id is not known, beside the weight; in order of the file."""
        node = f"CAST({_name(str(ids.column))} AS VARCHAR) AS id, file_row_number AS number"
        known = f"(SELECT {node} FROM read_parquet({_text(ids.paths[0])}, file_row_number = true))"
        first, second = (f"e.{_name(end)}" for end in ends)
        value = "" if weight is None else f", e.{_name(weight)} AS weight"
        query = (
            f"SELECT s.number AS source, t.number AS target, {first} IS NULL OR {second} IS NULL AS empty{value}, "
            f"CASE WHEN s.number IS NULL THEN CAST({first} AS VARCHAR) WHEN t.number IS NULL THEN "
            f"CAST({second} AS VARCHAR) END AS stranger FROM {_parquet(paths)} e "
            f"LEFT JOIN {known} s ON CAST({first} AS VARCHAR) = s.id "
            f"LEFT JOIN {known} t ON CAST({second} AS VARCHAR) = t.id"
        )
        return self.copy(query, "numbered", what)

    # --- CSV ----------------------------------------------------------------------------------------------------------

    def _node_csv(self, files: TableFiles, reading: dict[str, Any]) -> Path:
        path = files.paths[0]
        separator = reading.get("separator") or usual_separator(path)
        first = next(csv.reader([_head(path, reading).split("\n")[0]], delimiter=separator), [])
        check_header(first, files.name)
        return self._csv(path, first, separator, header=True, skip=0, into="nodes")

    def _edge_csv(self, files: TableFiles, reading: dict[str, Any]) -> Path:
        path = files.paths[0]
        head = _head(path, reading).encode()
        text, separator, header, notes = edge_layout(head, path, reading.get("separator"), None)
        self.notes += notes
        line = text.decode().split("\n")[0]
        if separator == " ":
            separator = "\t" if "\t" in line else " "
        cells = next(csv.reader([line], delimiter=separator), [])
        names = cells if header else [f"column_{k + 1}" for k in range(len(cells))]
        check_header(names, files.name)
        if not header:
            self.notes.append(f"{files.name}: read as an edge list without a header")
        skip = head.count(b"\n") - text.count(b"\n")
        return self._csv(path, names, separator, header=header, skip=skip, into="edges")

    def _csv(self, path: Path, names: Sequence[str], separator: str, *, header: bool, skip: int, into: str) -> Path:
        columns = ", ".join(f"{_text(name)}: 'VARCHAR'" for name in names)
        query = (
            f"SELECT * FROM read_csv({_text(path)}, columns = {{{columns}}}, auto_detect = false, "
            f"header = {str(header).lower()}, skip = {skip}, delim = {_text(separator)}, quote = '\"', escape = '\"', "
            "nullstr = '', strict_mode = true, null_padding = false, ignore_errors = false)"
        )
        return self.copy(query, into, path.name)


def _head(path: Path, reading: dict[str, Any]) -> str:
    """The first lines of a CSV file."""
    if (encoding := reading.get("encoding", "utf-8")).lower().replace("_", "-") not in ("utf-8", "utf8"):
        raise InputError(
            f"{path.name}: beyond memory CSV must be UTF-8, not {encoding}. Convert it, or pass "
            f"{option('engine', 'memory')}."
        )
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rb") as stream:
            data = stream.read(_HEAD)
    except (OSError, EOFError) as error:
        raise InputError(f"{path}: can't be read ({in_one_line(error)}).") from None
    whole = data[: data.rindex(b"\n") + 1] if b"\n" in data else data
    try:
        return whole.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise InputError(f"{path.name}: is not UTF-8. Save it as UTF-8.") from None


def _height(paths: Sequence[Path]) -> int:
    return int(pl.scan_parquet(list(paths), glob=False).select(pl.len()).collect().item())


def _parquet(paths: Sequence[Path]) -> str:
    return f"read_parquet([{', '.join(map(_text, paths))}])"


def _text(value: object) -> str:
    """A text in SQL."""
    return "'" + str(value).replace("'", "''") + "'"


def _name(column: str) -> str:
    """A column in SQL."""
    return '"' + column.replace('"', '""') + '"'


def _said(error: Exception, what: str) -> FairviewError:
    return InputError(f"{what}: {in_one_line(error)}.")
