"""Folders with the files of a benchmark: archives, tables and edge files that are not what they must be."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st
from tests.fuzz.damage import bytes_of
from tests.fuzz.trial import CASES, try_many, unchanged

import fairview as fv
from fairview.data.datasets import bail, files
from fairview.data.datasets.registry import DATASETS

COLUMNS = ("WHITE", "ALCHY", "FILE", "TIME", "RECID")
ROWS = [(i % 2, i % 3, i % 4, i * (i % 2), (i // 2) % 2) for i in range(40)]
TABLE = "\n".join(",".join(map(str, row)) for row in [COLUMNS, *ROWS]).encode() + b"\n"
EDGES = "".join(f"{i:.18e} {(i + 1) % 40:.18e}\n" for i in range(40)).encode()
SOUND = {"bail.csv": TABLE, "bail_edges.txt": EDGES}


def zipped(members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"bail/{name}", content)
    return buffer.getvalue()


Case = tuple[dict[str, bytes], bool]
"""Files of a folder, and whether the dataset's hashes are those of the files."""


@st.composite
def data_folders(draw: st.DrawFn) -> Case:
    """Bare files, or an archive; either is damaged, or holds damaged files."""
    held = dict(SOUND)
    name = draw(st.sampled_from(sorted(held)))
    held[name] = draw(bytes_of(held[name]) | st.binary(max_size=20))
    if draw(st.booleans()):
        held.pop("bail_edges.txt")
    if draw(st.booleans()):
        archive = zipped(held)
        return {"bail.zip": draw(st.just(archive) | bytes_of(archive, encodings=False))}, draw(st.booleans())
    return held, draw(st.booleans())


def dataset_of(held: Mapping[str, bytes]) -> fv.Dataset:
    """Bail in small, pinned to these contents."""
    pins = {name: hashlib.sha256(held.get(name, b"")).hexdigest() for name in SOUND}
    pinned = [dataclasses.replace(file, sha256=pins[file.name], limit=100_000) for file in bail.BAIL.files]
    return dataclasses.replace(bail.BAIL, name="small-bail", train_labels=10, files=tuple(pinned))


def contents(held: Mapping[str, bytes]) -> dict[str, bytes]:
    """The bare files, out of the archive if there is a readable one."""
    try:
        with zipfile.ZipFile(io.BytesIO(held["bail.zip"])) as archive:
            return {Path(name).name: archive.read(name) for name in archive.namelist()}
    except Exception:  # there is none, or it is damaged
        return dict(held)


def load(dataset: fv.Dataset, folder: Path) -> fv.NodeGraph:
    with DATASETS.added(dataset):
        return fv.load_dataset(dataset.name, data_dir=folder)


@pytest.mark.parametrize("cases", CASES)
def test_damaged_data_folders_give_a_graph_or_an_error(cases, tmp_path, monkeypatch):
    monkeypatch.delenv(files.DATA_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "data"

    def read(case: Case) -> None:
        held, pinned_to_damage = case
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name, content in held.items():
            (folder / name).write_bytes(content)
        dataset = dataset_of(contents(held) if pinned_to_damage else SOUND)
        with unchanged(folder):
            graph = load(dataset, folder)
        assert np.isfinite(graph.features).all()

    try_many(cases, data_folders(), read)
