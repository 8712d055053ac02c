"""Who may write into a folder? One process at a time; what a dead one locked is free at once.

The system ends a lock with the process that holds it, however that ends. Where it has no such locks (Windows), there is
none.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fairview.errors import FairviewError, InputError
from fairview.files import require_utf8

NAME = ".lock"
"""The file that is locked; it is gone when the work is done."""

_LONGEST = 20  # digits of a process's number

_held: dict[tuple[int, int, str], int] = {}
"""How often this thread of this process holds a folder: (process, thread, folder) -> depth."""


@contextmanager
def folder_lock(folder: str | Path) -> Iterator[None]:
    """Keep other processes and threads from writing into a folder; it is made if need be.

    Within its own thread a lock may be taken again.

    Raises:
        InputError: another process, or another thread, holds it; or its name is not UTF-8.
        FairviewError: the folder can't be written to.

    Example:
        >>> import tempfile
        >>> with folder_lock(tempfile.mkdtemp()) as _:
        ...     pass
    """
    folder = Path(folder)
    require_utf8(folder)
    key = (os.getpid(), threading.get_ident(), os.path.realpath(folder))
    if key in _held:
        _held[key] += 1
        try:
            yield
        finally:
            _held[key] -= 1
        return
    stream = _acquired(folder)
    _held[key] = 1
    try:
        yield
    finally:
        del _held[key]
        if stream is not None:
            (folder / NAME).unlink(missing_ok=True)  # while it is still locked: nobody else's is removed
            os.close(stream)


def _acquired(folder: Path) -> int | None:
    """The open and locked file; None where the system has no locks."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FairviewError(f"{folder}: can't be written ({error.strerror or error}).") from None
    try:
        import fcntl
    except ImportError:
        return None
    path = folder / NAME
    while True:
        try:
            stream = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
        except OSError as error:
            raise FairviewError(f"{path}: can't be written ({error.strerror or error}).") from None
        if not stat.S_ISREG(os.fstat(stream).st_mode):
            os.close(stream)
            raise FairviewError(f"{path}: is not a file. Remove it.")
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(stream, _LONGEST, 0).decode(errors="replace").strip()
            os.close(stream)
            who = f"process {holder}" if holder.isdigit() else "another process"
            raise InputError(f"{folder}: {who} is working in it. Wait for it, or use another folder.") from None
        except OSError:  # a file system without locks, as some network drives
            os.close(stream)
            return None
        content = os.pread(stream, _LONGEST + 1, 0)
        if content and not (len(content) <= _LONGEST and content.isdigit()):
            os.close(stream)
            raise InputError(f"{path}: was not written by fairview. Move it away, or use another folder.")
        if _is_still(path, stream):
            os.ftruncate(stream, 0)
            os.pwrite(stream, str(os.getpid()).encode(), 0)
            return stream
        os.close(stream)  # its holder was just done, and removed it


def _is_still(path: Path, stream: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(stream))
    except OSError:
        return False
