"""The inputs in `tests/corpus`, each of which once broke a reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from tests.fuzz.test_datasets import dataset_of, load
from tests.fuzz.test_pyg import SOUND
from tests.fuzz.trial import in_time, outcome
from torch_geometric.data import Data

import fairview as fv
from fairview.training import checkpoint
from fairview.verification.comparison_folder import _outcomes

CORPUS = Path(__file__).parents[1] / "corpus"


def table(path: Path, _: Path) -> object:
    return fv.read_graph(path, label="ok", sensitive="sex")


def journal(path: Path, _: Path) -> object:
    return _outcomes(path, "0" * 64)


def comparison(path: Path, folder: Path) -> object:
    (folder / "summary.json").write_bytes(path.read_bytes())
    return fv.write_report(folder)


def dataset(path: Path, folder: Path) -> object:
    (folder / "bail.csv").write_bytes(path.read_bytes())
    return load(dataset_of({"bail.csv": path.read_bytes()}), folder)


def pyg(path: Path, _: Path) -> object:
    data = Data()
    for name, value in (SOUND | json.loads(path.read_bytes())).items():
        data[name] = value
    return fv.from_pyg(data)


def progress(path: Path, folder: Path) -> object:
    changes = json.loads(path.read_bytes())
    sound: dict[str, Any] = {"history": [], "best_epoch": 0, "best_score": 0.0, "left_out": []}
    about = json.dumps(None if changes is None else sound | changes)
    tensors = {"state.x": torch.zeros(1)}
    header = {"identity": "x", "progress": about, "sha256": checkpoint._digest(tensors, "x", about)}
    (folder / "checkpoint.safetensors").write_bytes(safetensors.torch.save(tensors, header))
    return checkpoint.load_checkpoint(folder / "checkpoint.safetensors", identity="x")


READERS = {
    "tables": table, "journals": journal, "comparisons": comparison, "datasets": dataset, "pyg": pyg,
    "checkpoints": progress,
}  # fmt: skip
FILES = sorted(path for path in CORPUS.glob("*/*") if path.is_file())


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_once_broke_a_reader_is_refused(path, tmp_path):
    with in_time():
        made = outcome(lambda given: READERS[path.parent.name](given, tmp_path), path)
    assert isinstance(made, fv.FairviewError)


def test_every_reader_has_a_folder_that_is_not_empty():
    assert {path.parent.name for path in FILES} == {*READERS}
