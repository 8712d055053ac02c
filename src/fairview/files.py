"""How is a file read that may be anything? Never waited for without end, and never more of it than expected."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import IO

from fairview.errors import InputError

LARGEST_DOCUMENT = 64 * 2**20
"""Bytes of a document that are read at most; a run's have a few hundred thousand."""

_CHUNK = 1024**2


def read_at_most(path: str | Path, most: int) -> bytes:
    """The first `most` bytes of a file, or of a pipe that somebody writes to, as `<(zcat people.csv.gz)` does.

    Raises:
        InputError: a FIFO that nobody writes to, or a device: reading it might never end.
        OSError: it can't be read.
    """
    number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # else opening a FIFO waits for a writer
    with os.fdopen(number, "rb", buffering=0) as stream:
        status = os.fstat(number)
        if stat.S_ISREG(status.st_mode):
            return stream.read(min(status.st_size + 1, most))
        if os.isatty(number):
            raise InputError(f"{path}: is a terminal, not a file.")
        if not stat.S_ISFIFO(status.st_mode):
            raise InputError(f"{path}: is a device, not a file.")
        first = _first(stream, path, most)
        os.set_blocking(number, True)
        return first + drained(stream, most - len(first))


def read_regular(path: str | Path, most: int = LARGEST_DOCUMENT) -> bytes:
    """The content of a file, and of nothing else: a folder, a pipe or a device is refused, and never waited for.

    Raises:
        InputError: it is no file, or larger than `most` bytes.
        OSError: there is none, or it can't be read.
    """
    number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    try:
        status = os.fstat(number)
        if not stat.S_ISREG(status.st_mode):
            raise InputError(f"{path}: is not a file.")
        if status.st_size > most:
            raise InputError(f"{path}: has {status.st_size:,} bytes; expected at most {most:,}.")
        with os.fdopen(number, "rb", closefd=False) as stream:
            return stream.read()
    finally:
        os.close(number)


def _first(stream: IO[bytes], path: str | Path, most: int) -> bytes:
    """What a pipe holds by now: None says that its writer has not begun, nothing that there is no writer."""
    first: bytes | None = stream.read(min(_CHUNK, most))
    if first == b"":
        raise InputError(f"{path}: is a pipe (FIFO) that nobody writes to. Start its writer first, or pass a file.")
    return first or b""


def drained(stream: IO[bytes], most: int) -> bytes:
    """What a stream still holds, up to `most` bytes."""
    pieces: list[bytes] = []
    total = 0
    while total < most and (piece := stream.read(min(_CHUNK, most - total))):
        pieces.append(piece)
        total += len(piece)
    return b"".join(pieces)


def is_utf8(*texts: str) -> bool:
    r"""Whether texts can be written: a file name in another encoding reaches Python with lone surrogates.

    Example:
        >>> is_utf8("café"), is_utf8("caf\udce9")
        (True, False)
    """
    whole = "".join(texts)
    if whole.isascii():
        return True
    try:
        whole.encode()
    except UnicodeEncodeError:
        return False
    return True


def require_utf8(path: str | Path) -> None:
    """Refuse a path whose name could not be written into a document."""
    if not is_utf8(str(path)):
        raise InputError(f"{str(path)!a}: the name of the file or folder is not UTF-8. Rename it.")
