"""How is a compressed file read without trusting it?

Nothing is ever written to disk. Sizes are limited twice: by what an archive declares, and by counting what really comes
out of it. An archive with a single dishonest name in it is refused as a whole.
"""

from __future__ import annotations

import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fairview.data.limits import MOST_BYTES, MOST_EXPANSION, MOST_MEMBERS, SMALL
from fairview.errors import InputError, did_you_mean, repeated, shown, some
from fairview.files import drained, read_at_most

_LEAST_FEED, _MOST_FEED = 1024, 1024**2  # compressed bytes handed over at a time
_NOT_ZERO = re.compile(rb"[^\0]")
_READABLE = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,  # a seek to an offset that can't be
    RuntimeError,  # a password is needed; NotImplementedError is one, too
    ValueError,
    OverflowError,
)


def read_bytes(path: str | Path, *, limit: int = MOST_BYTES) -> bytes:
    """The content of a plain or gzip-compressed file, expanded to at most `limit` bytes.

    It counts as gzip if its name ends in `.gz` or it begins with gzip's two magic bytes.

    Raises:
        InputError: no such file, not readable, too large, or broken.
    """
    path = Path(path)
    content = _read_file(path, limit)
    if content[:2] == b"\x1f\x8b" or path.suffix.lower() == ".gz":
        return gunzip(content, limit=limit, name=path.name)
    return content


def gunzip(content: bytes, *, limit: int = MOST_BYTES, name: str = "gzip data") -> bytes:
    """Expand gzip data: one member after the other, as `gzip` writes when files are joined; zero padding is skipped.

    Example:
        >>> import gzip
        >>> gunzip(gzip.compress(b"id,age") + gzip.compress(b"\\n7,31"), limit=100)
        b'id,age\\n7,31'
        >>> gunzip(gzip.compress(bytes(1000)), limit=100, name="zeros.gz")
        Traceback (most recent call last):
        ...
        fairview.errors.InputError: zeros.gz: expands to more than the 100 bytes allowed. If you trust it, expand it \
yourself and raise the limit.
    """
    if not content.startswith(b"\x1f\x8b"):
        raise InputError(f"{name}: not a gzip file, whatever its name says. Rename it if it is not compressed.")
    pieces: list[bytes] = []
    total, place = 0, 0
    while place < len(content):
        if not content.startswith(b"\x1f\x8b", place):
            left = len(content) - place
            raise InputError(f"{name}: {left:,} bytes follow the end of the gzip data. Get the file again.")
        expander = zlib.decompressobj(wbits=31)
        feed, waiting = _LEAST_FEED, b""
        while not expander.eof:
            if not waiting:  # little at first: what follows the end of a member is copied
                waiting = content[place : place + feed]
                place, feed = place + len(waiting), min(2 * feed, _MOST_FEED)
            try:
                piece = expander.decompress(waiting, min(_MOST_FEED, limit - total + 1))
            except zlib.error as error:
                raise InputError(f"{name}: the gzip data is broken ({error}). Get the file again.") from None
            total += len(piece)
            if total > limit:
                raise InputError(_too_large(name, limit))
            if total > max(SMALL, MOST_EXPANSION * len(content)):
                raise InputError(
                    f"{name}: expands to more than {MOST_EXPANSION} times its {len(content):,} bytes. "
                    "If you trust it, expand it yourself."
                )
            pieces.append(piece)
            waiting = expander.unconsumed_tail
            if not piece and not waiting and place == len(content) and not expander.eof:
                raise InputError(f"{name}: the gzip data ends too early. Get the file again.")
        place = _after_padding(content, place - len(expander.unused_data))
    return b"".join(pieces)


def _after_padding(content: bytes, place: int) -> int:
    """The place of the first byte that is not zero."""
    found = _NOT_ZERO.search(content, place)
    return len(content) if found is None else found.start()


def zip_members(path: str | Path) -> tuple[str, ...]:
    """Names of the files in a zip archive, folders and the `__MACOSX` and `.DS_Store` junk left out.

    Raises:
        InputError: broken, or with a member that is not what an honest archive holds.
    """
    with _opened(Path(path)) as archive:
        return tuple(info.filename for info in _sound_members(archive, Path(path).name))


def read_zip_member(path: str | Path, member: str, *, limit: int = MOST_BYTES) -> bytes:
    """One file of a zip archive, expanded in memory to at most `limit` bytes, whatever the archive declares."""
    path = Path(path)
    with _opened(path) as archive:
        sound = {info.filename: info for info in _sound_members(archive, path.name)}
        if member not in sound:
            raise InputError(f"{path.name}: no member '{shown(member)}'.{did_you_mean(member, list(sound))}")
        info = sound[member]
        place = f"{path.name}: member '{member}'"
        if info.file_size > limit:
            raise InputError(_too_large(place, limit))
        with archive.open(info) as stream:
            content = drained(stream, limit + 1)
        if len(content) > limit:
            raise InputError(_too_large(place, limit))
        if len(content) != info.file_size:
            raise InputError(f"{place}: {len(content):,} bytes, but {info.file_size:,} declared. Get the file again.")
        return content


# --- what an honest archive looks like --------------------------------------------------------------------------------


def _sound_members(archive: zipfile.ZipFile, name: str) -> list[zipfile.ZipInfo]:
    infos = archive.infolist()
    if len(infos) > MOST_MEMBERS:
        raise InputError(f"{name}: {len(infos):,} members; at most {MOST_MEMBERS:,} are read. Leave some out.")
    twice = sorted(repeated(info.filename for info in infos))
    problems = [f"{name}: refused: the names {some(map(repr, twice))} occur twice."] if twice else []
    for info in infos:
        reason = _objection(info)
        if reason:
            problems.append(f"{name}: refused: member {shown(repr(info.orig_filename))} {reason}.")
    if problems:
        raise InputError([*problems[:5], *([f"{name}: and {len(problems) - 5:,} more."] if len(problems) > 5 else [])])
    return [info for info in infos if not info.is_dir() and not _is_junk(info.filename)]


def _objection(info: zipfile.ZipInfo) -> str | None:
    """What is wrong with a member, or None. `orig_filename` is the name before zipfile makes it look harmless."""
    for filename in (info.orig_filename, info.filename):
        if filename.startswith("/"):
            return "has an absolute path"
        if "\\" in filename:
            return "has a backslash in its name"
        if re.match(r"[A-Za-z]:", filename):
            return "has a drive letter in its name"
        if ".." in filename.split("/"):
            return "leaves its folder with '..'"
        if not filename or any(ord(character) < 32 for character in filename):
            return "has an empty name or control characters in it"
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "is a link or a device, not a file"
    if info.flag_bits & 0x1:
        return "is encrypted; zip it again without a password"
    if info.compress_type not in _READABLE:
        return "is compressed in an unusual way; zip it again with the usual one (deflate)"
    if info.file_size > max(SMALL, MOST_EXPANSION * info.compress_size):
        times = f"more than {MOST_EXPANSION} times as many"
        return f"declares {info.file_size:,} bytes out of {info.compress_size:,}, {times}"
    return None


def _is_junk(filename: str) -> bool:
    """What the Finder leaves in an archive."""
    parts = filename.split("/")
    return "__MACOSX" in parts or parts[-1] == ".DS_Store" or parts[-1].startswith("._")


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """The archive, every way in which it can turn out broken made an `InputError`."""
    with _readable(path):
        if path.exists() and not path.is_dir() and not path.is_file():
            raise InputError(f"{path}: is a pipe or a device, not a file.")
        file = path.open("rb")
    with file:
        try:
            with zipfile.ZipFile(file) as archive:
                yield archive
        except InputError:  # is a ValueError, but says already what to say
            raise
        except _BROKEN as error:
            raise InputError(f"{path.name}: the zip archive is broken ({error}). Get the file again.") from None


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Say why a file can't be opened or read."""
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{path}: no such file.") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder, not a file.") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error}).") from None


def _read_file(path: Path, limit: int) -> bytes:
    with _readable(path):
        content = read_at_most(path, limit + 1)
    if len(content) > limit:
        raise InputError(f"{path.name}: more than the {limit:,} bytes allowed. Raise the limit if you mean it.")
    return content


def _too_large(name: str, limit: int) -> str:
    return (
        f"{name}: expands to more than the {limit:,} bytes allowed. "
        "If you trust it, expand it yourself and raise the limit."
    )
