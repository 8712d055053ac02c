"""Which files are a table? One file, a folder of Parquet parts, or a pattern such as `links/*.parquet`."""

from __future__ import annotations

import glob
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from fairview.errors import InputError, in_one_line
from fairview.files import require_utf8
from fairview.manifest import file_sha256

_MAGIC = b"PAR1"


@dataclass(frozen=True)
class TableFiles:
    """The files of one table, in order.

    Attributes:
        name: what messages call it.
        paths: of the files.
        parquet: whether they are Parquet; else there is one CSV file.
    """

    name: str
    paths: tuple[Path, ...]
    parquet: bool

    def sha256(self) -> dict[str, str]:
        """The hash of each file, by a name that does not depend on where it lies."""
        if len(self.paths) == 1:
            return {self.name: file_sha256(self.paths[0])}
        whole = hashlib.sha256("".join(file_sha256(path) for path in self.paths).encode()).hexdigest()
        return {f"{self.name} ({len(self.paths)} files)": whole}

    @property
    def bytes(self) -> int:
        return sum(path.stat().st_size for path in self.paths)

    def scan(self) -> pl.LazyFrame:
        """The rows of Parquet files, in order, read when they are collected."""
        return pl.scan_parquet(list(self.paths), glob=False)

    def source(self) -> Any:
        """What `read_graph` reads: the path of a single file, or a frame of all."""
        if len(self.paths) == 1:
            return self.paths[0]
        try:
            return self.scan().collect()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            raise InputError(f"{self.name}: can't be read as Parquet ({in_one_line(error)}).") from None


def table_files(source: str | Path, *, what: str) -> TableFiles:
    """The files that a path, a folder or a pattern names.

    Args:
        source: a file, a folder with Parquet parts, or a pattern with `*`, `?` or `[`.
        what: `nodes` or `edges`, for messages.

    Raises:
        InputError: there are none, or several that are not all Parquet.
    """
    require_utf8(source)
    path = Path(source)
    if path.is_dir():
        found = sorted(each for each in path.rglob("*.parquet") if not _hidden(each, path))
        if not found:
            raise InputError(f"{path}: a folder without Parquet files (*.parquet).")
    elif path.exists():
        found = [path]
    elif any(sign in str(source) for sign in "*?["):
        found = sorted(Path(each) for each in glob.glob(str(source), recursive=True) if Path(each).is_file())  # noqa: PTH207
        if not found:
            raise InputError(f"{source}: no file matches.")
    else:
        raise InputError(f"{path}: no such file or folder.")
    kinds = [_is_parquet(each) for each in found]
    if len(found) > 1 and not all(kinds):
        odd = found[kinds.index(False)]
        raise InputError(f"{odd}: is not Parquet. Several files are read as the parts of one table if all are Parquet.")
    if all(kinds):
        _check_schemas(found)
    return TableFiles(path.name or what, tuple(found), all(kinds))


def _hidden(path: Path, folder: Path) -> bool:
    """Files of Spark and others that are no data: _SUCCESS, .part.crc, _temporary/..."""
    return any(name.startswith(("_", ".")) for name in path.relative_to(folder).parts)


def _is_parquet(path: Path) -> bool:
    if not path.is_file():
        raise InputError(f"{path}: is not a file.")
    try:
        with path.open("rb") as stream:
            return stream.read(4) == _MAGIC
    except OSError as error:
        raise InputError(f"{path}: can't be read ({error.strerror or error}).") from None


def _check_schemas(paths: Sequence[Path]) -> None:
    """All parts have the columns and types of the first."""
    first = _schema(paths[0])
    for path in paths[1:]:
        if _schema(path) != first:
            raise InputError(f"{path}: has other columns or types than {paths[0]}; parts of a table must be alike.")


def _schema(path: Path) -> dict[str, Any]:
    try:
        return dict(pl.read_parquet_schema(path))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise InputError(f"{path}: can't be read as Parquet ({in_one_line(error)}).") from None
