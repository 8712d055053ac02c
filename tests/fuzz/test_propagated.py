"""Propagated folders with other values, damaged bytes, and hashes that were put right."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import strategies as st
from tests.fuzz.damage import bytes_of, json_of
from tests.fuzz.trial import CASES, try_many

import fairview as fv
from fairview.manifest import sealed


@pytest.fixture(scope="module", params=["sex", ["sex", "age"]], ids=["one attribute", "two"])
def folder(request, tmp_path_factory) -> Path:
    people = {"id": [f"p{k}" for k in range(40)], "age": [k % 7 for k in range(40)], "x": list(range(40))}
    people |= {"sex": ["fm"[k % 2] for k in range(40)], "ok": [k // 2 % 2 for k in range(40)]}
    links = {"source": [f"p{k}" for k in range(39)], "target": [f"p{k + 1}" for k in range(39)]}
    home = tmp_path_factory.mktemp("propagated") / "folder"
    fv.propagate(people, links, folder=home, label="ok", sensitive=request.param, split_seed=0)
    return home


@st.composite
def spoilt(draw: st.DrawFn, folder: Path) -> tuple[str, bytes]:
    """The manifest with other values under a hash that fits, or a file with damaged bytes."""
    name = draw(st.sampled_from(("manifest.json", "manifest.json", "part-00000.parquet")))
    content = (folder / name).read_bytes()
    if name.endswith(".json") and draw(st.booleans()):
        changed = draw(json_of(json.loads(content)))
        try:
            return name, sealed(dict(json.loads(changed))).encode()
        except (TypeError, ValueError, RecursionError):  # no document that a hash could be put into
            return name, changed
    return name, draw(bytes_of(content, encodings=False))


@pytest.mark.parametrize("cases", CASES)
def test_spoilt_propagated_folders_are_read_or_refused(cases, folder, tmp_path):
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))

    def read(given: tuple[str, bytes]) -> None:
        name, content = given
        (copy / name).write_bytes(content)
        try:
            opened = fv.open_propagated(copy)
            opened.check()
            assert opened.graph().num_nodes == opened.num_nodes
        finally:
            shutil.copy(folder / name, copy / name)

    try_many(cases, spoilt(folder), read)
