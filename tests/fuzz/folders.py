"""Folders of which one file is spoilt at a time, with the hashes of the others that name it put right."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from tests.fuzz.damage import bytes_of, json_of, lines_of

from fairview.atomic import as_text
from fairview.manifest import sealed

SEALED = ("run.json", "files.json")
"""Documents that end with the sha256 of themselves."""

Spoilt = tuple[str, bytes | None, bool]
"""A file's name, its content or None to remove it, and whether hashes of it are put right."""


def spoilt(folder: Path, names: list[str]) -> st.SearchStrategy[Spoilt]:
    """One of these files, damaged as suits its kind."""
    return st.one_of([_spoilt(folder / name, name) for name in names])


def _spoilt(path: Path, name: str) -> st.SearchStrategy[Spoilt]:
    content = path.read_bytes()
    damage = bytes_of(content)
    if path.suffix == ".json":
        damage = json_of(json.loads(content))
    elif path.suffix == ".jsonl" and content:
        damage = lines_of(content)
    damage = st.one_of(
        damage, damage, damage, damage, damage, damage, st.sampled_from((None, b"", b"null", b"[]", b"{}"))
    )
    return st.tuples(st.just(name), damage, st.booleans())


@contextmanager
def with_spoilt(folder: Path, case: Spoilt) -> Iterator[None]:
    """Inside, the folder holds the spoilt file; afterwards it is as before."""
    name, content, right = case
    kept = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)
        if right:
            put_hashes_right(folder, folder / name)
    try:
        yield
    finally:
        for path in [path for path in folder.rglob("*") if path.is_file() and path not in kept]:
            path.unlink()
        for path, before in kept.items():
            if not path.exists() or path.read_bytes() != before:
                path.write_bytes(before)


def put_hashes_right(folder: Path, spoilt_file: Path) -> None:
    """Every sha256 that stands beside the name of a file becomes the file's, as a forger would make it."""
    if spoilt_file.name in SEALED:
        _seal(spoilt_file)
    documents = sorted(folder.rglob("*.json"), key=lambda path: (-len(path.parts), path.name in SEALED, path))
    for path in documents:  # the innermost first: the outer ones hold their hashes
        if path == spoilt_file:
            continue
        document = json.loads(path.read_bytes())
        if _right(document, path.parent):
            path.write_text(sealed(document) if path.name in SEALED else as_text(document), encoding="utf-8")


def _seal(path: Path) -> None:
    try:
        document = json.loads(path.read_bytes())
        text = sealed(document).encode()
    except (ValueError, RecursionError, AttributeError):  # no document that could be sealed
        return
    path.write_bytes(text)


def _right(node: Any, folder: Path) -> bool:
    """Whether some hash was another."""
    if isinstance(node, list):
        return sum(_right(each, folder) for each in node) > 0
    if not isinstance(node, dict):
        return False
    found = False
    for name, value in node.items():
        is_hash = isinstance(value, str) and len(value) == 64 and (folder / name).is_file()
        if is_hash and (now := hashlib.sha256((folder / name).read_bytes()).hexdigest()) != value:
            node[name], found = now, True
        found |= _right(value, folder)
    return found
