r"""Where does a study keep what is done, so that no kill can lose or spoil it? In lines that are only ever appended.

The first line says which study the file belongs to, each further one holds an entry. Every line carries the sha256 of
its own content and is on the disk before the next step begins. A kill can tear the last line only; that one is cut off.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, NoReturn, Self

from fairview._version import __version__
from fairview.errors import FairviewError, InputError
from fairview.files import read_regular

LARGEST = 2**30
"""Bytes of a journal that are read at most; a trial takes a few thousand."""

FORMAT = 1

_PACKAGES = ("numpy", "scipy", "scikit-learn", "torch")


def result_versions() -> dict[str, str]:
    """The versions that a result may depend on."""
    return {"fairview": __version__} | {name: metadata.version(name) for name in _PACKAGES}


class Journal:
    """An append-only file of checked lines; open it with `Journal.open`, as a context.

    Attributes:
        path: the file.
        entries: line number and content, as they were when it was opened.
        torn: whether a torn last line was cut off.
    """

    def __init__(self, path: Path, stream: BinaryIO) -> None:
        self.path, self._stream = path, stream
        self.entries: list[tuple[int, dict[str, Any]]] = []
        self.torn = False

    @classmethod
    def open(cls, path: str | Path, *, identity: Mapping[str, Any]) -> Journal:
        """Open a journal, or begin one.

        Args:
            path: the file; its folder is made if need be.
            identity: what must be equal for a journal to be of the same study, beside the format and the versions.

        Raises:
            InputError: a line is damaged, the journal is of another study, or another process is writing to it.
        """
        path = Path(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.exists() and not path.is_file():
                raise InputError(f"{path}: is not a file.")
            stream = path.open("a+b")
        except OSError as error:
            raise FairviewError(f"{path}: can't be written ({error.strerror or error}).") from None
        journal = cls(path, stream)
        try:
            _lock(stream, path)
            header = {"journal": FORMAT, "versions": result_versions(), **identity}
            whole = journal._load(header)
            if whole is not None:
                journal.torn = True
                stream.truncate(whole)
                os.fsync(stream.fileno())
            if stream.seek(0, os.SEEK_END) == 0:
                journal.append(header)
        except BaseException:
            stream.close()
            raise
        return journal

    @classmethod
    def read(cls, path: str | Path, *, identity: Mapping[str, Any]) -> Journal:
        """What a journal holds, also while another process writes to it; without a file, nothing."""
        path = Path(path)
        try:
            content = read_regular(path, LARGEST)
        except FileNotFoundError:
            content = b""
        except OSError as error:
            raise FairviewError(f"{path}: can't be read ({error.strerror or error}).") from None
        journal = cls(path, io.BytesIO(content))
        journal._load({"journal": FORMAT, "versions": result_versions(), **identity})
        return journal

    def append(self, entry: Mapping[str, Any]) -> None:
        """Write an entry; when this returns it is on the disk."""
        place = self._stream.seek(0, os.SEEK_END)
        try:
            self._stream.write(encode(entry))
            self._stream.flush()
            os.fsync(self._stream.fileno())
        except OSError as error:
            with suppress(OSError):  # a line that stays torn will be noticed when the journal is opened next
                os.ftruncate(self._stream.fileno(), place)
            raise FairviewError(f"{self.path}: can't be written ({error.strerror or error}).") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()

    # --- reading ------------------------------------------------------------------------------------------------------

    def _load(self, header: dict[str, Any]) -> int | None:
        """Fill `entries`; where a torn last line begins, if there is one."""
        self._stream.seek(0)
        lines = self._stream.read().splitlines(keepends=True)
        contents: list[dict[str, Any]] = []
        for number, line in enumerate(lines, start=1):
            entry = decode(line)
            if entry is not None:
                contents.append(entry)
            elif number < len(lines) or not (contents or encode(header).startswith(line)):
                raise InputError(
                    f"{self.path}: line {number} is damaged. Restore the file, or use another folder; the other lines "
                    "can't be trusted to be complete."
                )
        if contents and contents[0] != header:
            self._refuse(contents[0], header)
        self.entries = list(enumerate(contents[1:], start=2))
        return None if len(contents) == len(lines) else sum(map(len, lines[:-1]))

    def _refuse(self, held: Mapping[str, Any], header: Mapping[str, Any]) -> NoReturn:
        if "journal" not in held:
            raise InputError(f"{self.path}: not a journal of fairview. Use another folder.")
        names = sorted(name for name in header.keys() | held.keys() if held.get(name) != header.get(name))
        differences = ", ".join(
            f"{name} {_words(held.get(name))} there, {_words(header.get(name))} now" for name in names
        )
        raise InputError(
            f"{self.path}: belongs to another study ({differences}). Their numbers don't mix: use another folder."
        )


def encode(entry: Mapping[str, Any]) -> bytes:
    r"""A line with its own checksum.

    Example:
        >>> encode({"a": 1})
        b'{"entry": {"a": 1}, "sha256": "f9d86028c6e0d64e"}\n'
    """
    body = json.dumps(entry, sort_keys=True, allow_nan=False)
    check = hashlib.sha256(body.encode()).hexdigest()[:16]
    return f'{{"entry": {body}, "sha256": "{check}"}}\n'.encode()


def decode(line: bytes) -> dict[str, Any] | None:
    """What `encode` was given; None unless the line is what it would write, byte by byte."""
    try:
        entry = json.loads(line)["entry"]
        return entry if isinstance(entry, dict) and encode(entry) == line else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _words(value: object) -> str:
    if isinstance(value, Mapping):
        return " ".join(f"{name} {version}" for name, version in value.items())
    return str(value)


def _lock(stream: BinaryIO, path: Path) -> None:
    """One writer at a time. The lock ends with the process, however that ends."""
    try:
        import fcntl
    except ImportError:  # Windows has none
        return
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise InputError(f"{path}: another process is writing to it. Wait for it, or use another folder.") from None
