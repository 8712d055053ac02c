"""How is a file replaced so that nobody ever sees half of it? Written beside, flushed to disk, renamed."""

from __future__ import annotations

import json
import os
import stat
import tempfile
from pathlib import Path
from typing import Any

from fairview.errors import FairviewError, InputError


def write_atomic(path: str | Path, content: bytes | str) -> None:
    """Write a file whole or not at all; on failure the old one is untouched and nothing is left beside it.

    Raises:
        FairviewError: the folder can't be written to, the disk is full, or the path leads to no plain file.
    """
    path = Path(path)
    check_replaceable(path)
    data = content.encode() if isinstance(content, str) else content
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(path)
    except OSError as error:
        raise FairviewError(f"{path}: can't be written ({error.strerror or error}).") from None
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


_NO_FILES = {stat.S_IFCHR: "device", stat.S_IFBLK: "device", stat.S_IFIFO: "pipe (FIFO)", stat.S_IFSOCK: "socket"}


def check_replaceable(path: Path) -> None:
    """Nothing is at the path, or a plain file is: a rename would remove a link, a device or a pipe.

    Raises:
        InputError: something else is there.
    """
    try:
        kind = stat.S_IFMT(path.lstat().st_mode)
    except (OSError, ValueError):  # nothing is there, or whoever writes says why nothing can be
        return
    if kind == stat.S_IFLNK:
        raise InputError(
            f"{path}: is a symbolic link (to {path.readlink()}), and links are neither followed nor replaced. Name the "
            "file itself."
        )
    if kind == stat.S_IFDIR:
        raise InputError(f"{path}: is a folder, not a file. Name a file in it.")
    if kind != stat.S_IFREG:
        raise InputError(f"{path}: is a {_NO_FILES.get(kind, 'special file')}, not a file. Name a file.")


def write_json(path: str | Path, document: Any, *, indent: int = 2) -> None:
    """Write a JSON file whole or not at all; a number that JSON lacks (NaN, infinity) is a `ValueError`."""
    write_atomic(path, as_text(document, indent=indent))


def as_text(document: Any, *, indent: int = 2) -> str:
    """A JSON document as it is written to a file."""
    return json.dumps(document, indent=indent, ensure_ascii=False, allow_nan=False) + "\n"


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
