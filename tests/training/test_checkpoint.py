from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch

import fairview as fv
from fairview.training import checkpoint
from fairview.training.checkpoint import load_checkpoint, save_checkpoint
from fairview.training.loop import Progress


def progress() -> Progress:
    return Progress(
        history=[{"epoch": 1, "loss": {"classifier": 0.1 + 0.2}, "val": {"auc": 2 / 3, "f1": None}, "score": -1e-17}],
        best_epoch=1,
        best_score=-1e-17,
        best={"encoder.weight": torch.tensor([[0.1, -0.0]])},
        left_out=["auc: só"],
    )


STATE = {
    "now.weight": torch.tensor([1 / 3, 2.0], dtype=torch.float64),
    "steps": torch.tensor(7),
    "random.mask": torch.Generator().manual_seed(3).get_state(),
    "flags": torch.tensor([True, False]),
}


@pytest.fixture
def path(tmp_path) -> Path:
    save_checkpoint(tmp_path / "c.safetensors", progress(), STATE, identity="run 1")
    return tmp_path / "c.safetensors"


def test_progress_and_state_come_back_bit_by_bit(path):
    found, state = load_checkpoint(path, identity="run 1")
    assert found.history == progress().history
    assert (found.best_epoch, found.best_score, found.left_out) == (1, -1e-17, ["auc: só"])
    assert found.best.keys() == {"encoder.weight"}
    assert torch.equal(found.best["encoder.weight"], progress().best["encoder.weight"])
    assert state.keys() == STATE.keys()
    for name, tensor in STATE.items():
        assert torch.equal(state[name], tensor)
        assert state[name].dtype == tensor.dtype


def test_a_run_that_was_interrupted_is_not_when_it_goes_on(tmp_path):
    stopped = progress()
    stopped.interrupted = True
    save_checkpoint(tmp_path / "c", stopped, STATE, identity="")
    assert not load_checkpoint(tmp_path / "c", identity="")[0].interrupted


def test_another_run_is_refused(path):
    with pytest.raises(
        fv.ModelFileError,
        match=r": belongs to a run with other settings or other data\. Use the same ones, or another folder\.$",
    ):
        load_checkpoint(path, identity="run 2")


def test_every_flipped_bit_and_every_truncation_is_noticed(path):
    content, rng = path.read_bytes(), np.random.default_rng(0)
    for place in range(0, len(content), max(1, len(content) // 800)):
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        with pytest.raises(fv.ModelFileError):
            load_checkpoint(path, identity="run 1")
    for length in range(0, len(content), max(1, len(content) // 150)):
        path.write_bytes(content[:length])
        with pytest.raises(fv.ModelFileError):
            load_checkpoint(path, identity="run 1")


def forged(path: Path, tensors: dict[str, torch.Tensor], about: str) -> None:
    """As someone would write it who knows the format."""
    digest = checkpoint._digest(tensors, "run 1", about)
    metadata = {"identity": "run 1", "progress": about, "sha256": digest}
    path.write_bytes(safetensors.torch.save(tensors, metadata))


@pytest.mark.parametrize(
    "about",
    ["", "null", "[]", "5", '{"surplus": 1}', "[" * 100_000, '{"history": ' + "9" * 5000 + "}"],
    ids=["empty", "null", "list", "number", "surplus", "deep", "digits"],
)
def test_progress_that_is_none(path, about):
    forged(path, {}, about)
    with pytest.raises(fv.ModelFileError, match="not a checkpoint"):
        load_checkpoint(path, identity="run 1")


def test_tensors_of_types_that_numpy_lacks(path):
    save = {"state.a": torch.zeros(2, dtype=torch.bfloat16)}
    path.write_bytes(safetensors.torch.save(save, {"identity": "", "progress": "", "sha256": ""}))
    with pytest.raises(fv.ModelFileError, match="not a checkpoint"):
        load_checkpoint(path, identity="")


def test_other_files(path, monkeypatch):
    path.write_bytes(safetensors.torch.save({"a": torch.zeros(1)}))
    with pytest.raises(fv.ModelFileError, match="not a checkpoint"):
        load_checkpoint(path, identity="run 1")
    path.write_text(json.dumps({"a": 1}))
    with pytest.raises(fv.ModelFileError, match="not a checkpoint"):
        load_checkpoint(path, identity="run 1")
    monkeypatch.setattr(checkpoint, "LARGEST", 3)
    with pytest.raises(fv.ModelFileError, match="larger than 3 bytes; that is no checkpoint"):
        load_checkpoint(path, identity="run 1")
    path.unlink()
    with pytest.raises(fv.ModelFileError, match="not a checkpoint"):
        load_checkpoint(path, identity="run 1")
    path.mkdir()
    with pytest.raises(fv.ModelFileError, match="is not a file"):
        load_checkpoint(path, identity="run 1")
    path.rmdir()
    os.mkfifo(path)
    with pytest.raises(fv.ModelFileError, match="is not a file"):
        load_checkpoint(path, identity="run 1")
