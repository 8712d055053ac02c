"""Thousands of damaged model files: one class of error, or, where every hash was put right, a model that works."""

from __future__ import annotations

import copy
import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import fairview as fv
from fairview.methods import model_files as files

JUNK: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    2**70,
    0.5,
    1e300,
    "",
    "os.system",
    "a\x00b",
    [],
    {},
    [None],
    ["x", "x"],
    {"foreign": True},
    "gcn",
    [[]],
)


def people(rows: int = 40) -> pl.DataFrame:
    made = fv.synthetic_graph(rows, average_degree=4, seed=3)
    return pl.DataFrame(
        {
            "id": [f"n{i}" for i in range(rows)],
            "ok": made.labels,
            "sex": np.array(["f", "m"])[made.sensitive],
            "age": [None if i % 9 == 0 else value for i, value in enumerate(made.features[:, 4].tolist())],
            "kind": np.array(["x", "y", "z"])[np.arange(rows) % 3],
        }
    )


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("fuzz")
    graph = fv.read_graph(
        people(), label="ok", sensitive="sex", categorical=["kind"], missing="indicator", split_seed=0,
        sensitive_as_feature=True,
    )  # fmt: skip
    fv.FairVGNN(epochs=1, hidden=2, views=2, seed=1).fit(graph).save(folder)
    return folder


def refused(folder: Path, name: str, content: bytes) -> None:
    (folder / name).write_bytes(content)
    with pytest.raises(fv.ModelFileError) as caught:
        fv.load_model(folder)
    assert str(caught.value)


def damages(content: bytes, rng: np.random.Generator, places: Any) -> Any:
    """A flipped bit, a byte too many and a byte too few at each place."""
    for place in places:
        flipped = bytearray(content)
        flipped[place] ^= 1 << int(rng.integers(8))
        yield bytes(flipped)
    for place in rng.integers(0, len(content) + 1, size=len(places) // 4):
        extra = int(rng.integers(256)).to_bytes()
        yield content[:place] + extra + content[place:]
    for place in rng.integers(0, len(content), size=len(places) // 4):
        yield content[:place] + content[place + 1 :]


def test_every_byte_of_the_document(saved, tmp_path):
    run, rng = Path(shutil.copytree(saved, tmp_path / "run")), np.random.default_rng(0)
    content = (saved / "model.json").read_bytes()
    for damaged in damages(content, rng, range(len(content))):
        if damaged != content:
            refused(run, "model.json", damaged)


def test_thousands_of_places_in_the_tensors(saved, tmp_path):
    run, rng = Path(shutil.copytree(saved, tmp_path / "run")), np.random.default_rng(1)
    content = (saved / "model.safetensors").read_bytes()
    for damaged in damages(content, rng, rng.integers(0, len(content), size=2000)):
        if damaged != content:
            refused(run, "model.safetensors", damaged)


@pytest.mark.parametrize("name", ["model.json", "model.safetensors"])
def test_truncations(saved, tmp_path, name):
    run = Path(shutil.copytree(saved, tmp_path / "run"))
    content = (saved / name).read_bytes()
    for length in range(0, len(content), 2 if name == "model.safetensors" else 7):
        refused(run, name, content[:length])
    refused(run, name, content + b"\n")
    refused(run, name, content + content)


# --- with every hash put right ----------------------------------------------------------------------------------------


def places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a tree of dictionaries and lists."""
    found = [path] if path else []
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return found + [place for key, value in items for place in places(value, (*path, key))]


def changed(document: dict[str, Any], place: tuple[Any, ...], value: Any, *, remove: bool = False) -> dict[str, Any]:
    document = copy.deepcopy(document)
    node: Any = document
    for key in place[:-1]:
        node = node[key]
    if remove:
        del node[place[-1]]
    else:
        node[place[-1]] = copy.deepcopy(value)
    return document


def works_or_is_refused(run: Path, document: dict[str, Any], table: pl.DataFrame) -> bool:
    """Load, read a table as the model says, predict: whatever goes wrong is an error of ours."""
    (run / "model.json").write_bytes(files.canonical(document))
    try:
        model = fv.load_model(run)
    except fv.ModelFileError:
        return False
    try:
        graph = fv.read_graph(table, recipe=model.facts().recipe)
        assert np.isfinite(model.predict_proba(graph)).all()
    except fv.InputError:  # the model is one, the table does not suit it
        return True
    return True


def fuzz_documents(saved: Path, tmp_path: Path, junk: tuple[Any, ...]) -> tuple[int, int]:
    run = Path(shutil.copytree(saved, tmp_path / "run"))
    document, table = files.checked((saved / "model.json").read_bytes(), "model.json"), people(12)
    tried, accepted = 0, 0
    for place in places(document):
        for value in junk:
            tried += 1
            accepted += works_or_is_refused(run, changed(document, place, value), table)
        accepted += works_or_is_refused(run, changed(document, place, None, remove=True), table)
    return tried, accepted


def test_documents_with_one_wrong_value_each(saved, tmp_path):
    tried, accepted = fuzz_documents(saved, tmp_path, (None, 0, "os.system", []))
    assert tried > 500
    assert 0 < accepted < tried / 2


@pytest.mark.slow
def test_documents_with_every_wrong_value(saved, tmp_path):
    tried, accepted = fuzz_documents(saved, tmp_path, JUNK)
    assert tried > 1500
    assert 0 < accepted < tried / 2


def test_headers_with_one_wrong_value_each(saved, tmp_path):
    run = Path(shutil.copytree(saved, tmp_path / "run"))
    content = (saved / "model.safetensors").read_bytes()
    size = int.from_bytes(content[:8], "little")
    header, payload = json.loads(content[8 : 8 + size]), content[8 + size :]
    document, table = files.checked((saved / "model.json").read_bytes(), "model.json"), people(12)
    tried = 0
    for place in places(header):
        for value in (0, -1, 2**63, "F64", "U8", [], [0, 0], [2**62, 2**62], None):
            text = json.dumps(changed(header, place, value)).encode()
            tensors = len(text).to_bytes(8, "little") + text + payload
            (run / "model.safetensors").write_bytes(tensors)
            document["tensors_sha256"] = hashlib.sha256(tensors).hexdigest()
            works_or_is_refused(run, document, table)
            tried += 1
    assert tried > 300


def test_tensors_with_random_bytes(saved, tmp_path):
    run, rng = Path(shutil.copytree(saved, tmp_path / "run")), np.random.default_rng(2)
    content = (saved / "model.safetensors").read_bytes()
    document, table = files.checked((saved / "model.json").read_bytes(), "model.json"), people(12)
    accepted = 0
    for _ in range(400):
        damaged = bytearray(content)
        for place in rng.integers(0, len(content), size=rng.integers(1, 6)):
            damaged[place] = int(rng.integers(256))
        (run / "model.safetensors").write_bytes(damaged)
        document["tensors_sha256"] = hashlib.sha256(damaged).hexdigest()
        accepted += works_or_is_refused(run, document, table)
    assert 0 < accepted < 400
