"""Is every file of a folder the one that was written? `run.json` holds their sha256, in other folders `files.json`.

In a propagated folder `manifest.json` does.

The document that holds them ends with the sha256 of itself. A file is struck out before it is replaced and recorded
again when it is whole, so that a kill leaves at most a file that is not recorded. Hashes tell accidents, mix-ups and
careless edits; they are no signature, and can't stop somebody who computes them again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fairview.atomic import as_text, write_atomic
from fairview.errors import InputError, option
from fairview.files import read_regular

OWN = "files.json"
"""Where the hashes are in a folder that is no run."""

DERIVED = ("audit.json", "certificate.json", "explanation.json", "report.html", "stability.json")
"""What may be written into a run folder after the run; without a record it is half-written, or somebody else's."""


def sealed(document: Mapping[str, Any]) -> str:
    """The text of a document that ends with the sha256 of the rest.

    Example:
        >>> text = sealed({"kind": "files"})
        >>> unsealed(text.encode(), "files.json")["kind"]
        'files'
        >>> unsealed(text.replace("files", "flies").encode(), "files.json")
        Traceback (most recent call last):
        ...
        fairview.errors.InputError: files.json: does not match its own sha256; it is damaged or changed.
    """
    rest = {name: value for name, value in document.items() if name != "sha256"}
    return as_text(rest | {"sha256": hashlib.sha256(as_text(rest).encode()).hexdigest()})


def unsealed(content: bytes, name: str | Path) -> dict[str, Any]:
    """The document, if every byte is as `sealed` wrote it."""
    document = _parsed(content, name)
    try:
        as_written = sealed(document).encode() == content
    except (ValueError, RecursionError):
        as_written = False
    if not as_written:
        raise InputError(f"{name}: does not match its own sha256; it is damaged or changed.")
    return document


def holder_of(folder: Path) -> Path:
    """The document that holds the hashes of a folder, or would hold them."""
    own = (folder / name for name in ("run.json", "manifest.json"))
    return next((path for path in own if path.exists()), folder / OWN)


def recorded(folder: str | Path) -> dict[str, str] | None:
    """The sha256 of each recorded file; None where none were kept, as by version 0.1.0.

    Raises:
        InputError: the document that holds them is damaged or changed.
    """
    document = _document(holder_of(Path(folder)))
    return None if document is None else dict(document["files"])


def check_recorded(path: str | Path, content: bytes) -> None:
    """The content of a file must be what its folder's record says.

    Raises:
        InputError: it is not, or the file is not recorded although it should be.
    """
    path = Path(path)
    holder = holder_of(path.parent)
    known = recorded(path.parent)
    if known is None or path == holder:
        return
    if path.name not in known:
        if holder.name == OWN and path.name not in DERIVED:
            return  # put beside what is recorded, as by `model.save`
        raise InputError(
            f"{path}: is not recorded in {holder.name}: it was not finished, or is of another folder. Make it again, "
            "or remove it."
        )
    if hashlib.sha256(content).hexdigest() != known[path.name]:
        raise InputError(f"{path}: does not match its sha256 in {holder.name}; it is damaged or changed.")


def check_absent(path: str | Path) -> None:
    """A file that is not there must not be recorded.

    Raises:
        InputError: it is.
    """
    path = Path(path)
    if path.name in (recorded(path.parent) or ()):
        holder = holder_of(path.parent).name
        raise InputError(f"{path}: is missing, although {holder} records it. Put it back, or make the folder again.")


def mismatches(folder: str | Path, *, names: Iterable[str] | None = None) -> tuple[list[str], list[str]]:
    """What is wrong with the recorded files of a folder, and the names of those that were checked.

    Args:
        folder: with a record.
        names: look at these only, which must all be recorded.

    Raises:
        InputError: the document that holds the hashes is damaged or changed.
    """
    folder = Path(folder)
    holder, known = holder_of(folder), recorded(folder)
    if known is None:
        return [], []
    problems = []
    looked_at = list(known if names is None else names)
    for name in looked_at:
        try:
            same = file_sha256(folder / name) == known.get(name)
        except FileNotFoundError:
            problems.append(f"{name}: is missing, although {holder.name} records it.")
            continue
        except OSError as error:
            problems.append(f"{name}: can't be read ({error.strerror or error}).")
            continue
        if not same:
            problems.append(f"{name}: does not match its sha256 in {holder.name}; it is damaged or changed.")
    loose = [name for name in DERIVED if names is None and name not in known and (folder / name).exists()]
    problems += [f"{name}: is not recorded in {holder.name}: it was not finished, or is another's." for name in loose]
    return problems, [holder.name, *looked_at]


def write_recorded(path: str | Path, content: bytes | str) -> None:
    """Write a file and record its hash; in between it is not recorded."""
    path = Path(path)
    forget(path.parent, [path.name])
    write_atomic(path, content)
    record(path.parent, [path.name])


def record(folder: str | Path, names: Iterable[str]) -> None:
    """Record the files of these names as they are now; a run of version 0.1.0 stays as it is."""
    folder = Path(folder)
    _change(folder, {name: file_sha256(folder / name) for name in names})


def forget(folder: str | Path, names: Iterable[str]) -> None:
    """Strike files out of the record, before they are replaced or removed."""
    _change(Path(folder), dict.fromkeys(names))


def with_hashes(document: Mapping[str, Any], folder: Path, names: Iterable[str]) -> str:
    """The sealed text of a document that records these files."""
    return sealed({**document, "files": {name: file_sha256(folder / name) for name in sorted(names)}})


def file_sha256(path: Path) -> str:
    """Of a file's content; a pipe or a device is not waited for."""
    if not path.is_file():
        raise FileNotFoundError(2, "not a file", str(path))
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _change(folder: Path, changes: Mapping[str, str | None]) -> None:
    holder = holder_of(folder)
    document = _document(holder)
    if document is not None and document.get("kind") == "propagated":
        raise InputError(f"{folder}: is a propagated folder, which stays as it is. Use another {option('folder')}.")
    if document is None:
        if holder.exists() or not any(changes.values()):
            return
        document = {"kind": "files", "version": 1, "files": {}}
    files = {name: value for name, value in (document["files"] | changes).items() if value is not None}
    if files != document["files"] or not holder.exists():
        write_atomic(holder, sealed(document | {"files": dict(sorted(files.items()))}))


def _document(path: Path) -> dict[str, Any] | None:
    """The document that holds the hashes; None without one, and for one of a version that kept none."""
    try:
        if not path.exists():
            return None
        content = read_regular(path)
    except OSError as error:
        raise InputError(f"{path}: can't be read ({error.strerror or error}).") from None
    document = _parsed(content, path)
    if path.name == "run.json" and "method" in document and not document.keys() & {"version", "files", "sha256"}:
        return None
    document = unsealed(content, path)
    if path.name == OWN and (document.get("kind"), document.get("version")) != ("files", 1):
        raise InputError(f"{path}: is not the record of a folder, or of a newer version of fairview.")
    files = document.get("files")
    if not isinstance(files, dict) or not all(isinstance(value, str) for value in files.values()):
        raise InputError(f"{path}: has no list of the folder's files.")
    if any(not _is_inside(name) for name in files):
        raise InputError(f"{path}: names a file outside its folder.")
    return document


def _parsed(content: bytes, name: str | Path) -> dict[str, Any]:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        raise InputError(f"{name}: can't be read as JSON; it is damaged.") from None
    if not isinstance(document, dict):
        raise InputError(f"{name}: holds no JSON object; it is damaged, or of another program.")
    return document


def _is_inside(name: str) -> bool:
    path = Path(name)
    return bool(name) and not path.is_absolute() and ".." not in path.parts and "\0" not in name
