"""Damaged model files: one class of error, or, where every hash was put right, a model that works."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import strategies as st
from tests.fuzz.damage import VALUES, bytes_of, changed, document_of, places
from tests.fuzz.trial import CASES, try_many, unchanged

import fairview as fv
from fairview.methods import model_files as files


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


def test_every_other_byte_of_the_document(saved, tmp_path):
    run, rng = Path(shutil.copytree(saved, tmp_path / "run")), np.random.default_rng(0)
    content = (saved / "model.json").read_bytes()
    for damaged in damages(content, rng, range(0, len(content), 2)):
        if damaged != content:
            refused(run, "model.json", damaged)


def test_thousands_of_places_in_the_tensors(saved, tmp_path):
    run, rng = Path(shutil.copytree(saved, tmp_path / "run")), np.random.default_rng(1)
    content = (saved / "model.safetensors").read_bytes()
    for damaged in damages(content, rng, rng.integers(0, len(content), size=1000)):
        if damaged != content:
            refused(run, "model.safetensors", damaged)


@pytest.mark.parametrize("name", ["model.json", "model.safetensors"])
def test_truncations(saved, tmp_path, name):
    run = Path(shutil.copytree(saved, tmp_path / "run"))
    content = (saved / name).read_bytes()
    for length in range(0, len(content), 5 if name == "model.safetensors" else 7):
        refused(run, name, content[:length])
    refused(run, name, content + b"\n")
    refused(run, name, content + content)


# --- with every hash put right ----------------------------------------------------------------------------------------


def works_or_is_refused(run: Path, document: Any, table: pl.DataFrame) -> bool:
    """Load, read a table as the model says, predict: whatever goes wrong is an error of ours."""
    (run / "model.json").write_bytes(files.canonical(document) if isinstance(document, dict) else json_bytes(document))
    with unchanged(run):
        model = fv.load_model(run)
        try:
            graph = fv.read_graph(table, recipe=model.facts().recipe)
            assert np.isfinite(model.predict_proba(graph)).all()
        except fv.InputError:  # the model is one, the table does not suit it
            return True
    return True


def json_bytes(document: Any) -> bytes:
    return json.dumps(document).encode()


@pytest.fixture
def run(saved, tmp_path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "run"))


@pytest.mark.parametrize("cases", CASES)
def test_documents_with_wrong_values_give_a_model_or_an_error(run, cases):
    document, table = files.checked((run / "model.json").read_bytes(), "model.json"), people(12)
    accepted = []
    try_many(cases, document_of(document), lambda made: accepted.append(works_or_is_refused(run, made, table)))
    assert 0 < len(accepted) < cases / 2


@st.composite
def tensor_files(draw: st.DrawFn, content: bytes) -> bytes:
    """Tensors whose header has wrong values, or whose numbers are others."""
    size = int.from_bytes(content[:8], "little")
    if draw(st.booleans()):
        return draw(bytes_of(content[8 + size :], encodings=False).map(lambda tail: content[: 8 + size] + tail))
    header = json.loads(content[8 : 8 + size])
    known = places(header)
    value = draw(st.sampled_from((0, -1, 2**63, "F64", "U8", "BF16", [], [0, 0], [2**62, 2**62], None, *VALUES[:20])))
    text = json.dumps(changed(header, draw(st.sampled_from(known)), value)).encode()
    return len(text).to_bytes(8, "little") + text + content[8 + size :]


@pytest.mark.parametrize("cases", CASES)
def test_other_tensors_give_a_model_or_an_error(run, cases):
    document, table = files.checked((run / "model.json").read_bytes(), "model.json"), people(12)

    def read(tensors: bytes) -> None:
        (run / "model.safetensors").write_bytes(tensors)
        works_or_is_refused(run, document | {"tensors_sha256": hashlib.sha256(tensors).hexdigest()}, table)

    try_many(cases, tensor_files((run / "model.safetensors").read_bytes()), read)
