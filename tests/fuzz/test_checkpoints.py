"""Checkpoints of a run, also such as someone would write who knows the format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import safetensors
import safetensors.torch
import torch
from hypothesis import strategies as st
from tests.fuzz.damage import bytes_of, document_of
from tests.fuzz.trial import CASES, try_many

import fairview as fv
from fairview.runs.run import run_identity, train_run
from fairview.training import checkpoint

SETTINGS = {"epochs": 3, "hidden": 2, "seed": 1, "threads": 1}
OTHERS = (
    torch.zeros(0), torch.tensor(7), torch.full((3,), float("nan")), torch.zeros(2, 2), torch.full((4,), 1e30),
    torch.zeros(5, dtype=torch.int64), torch.zeros(3, dtype=torch.bool), torch.zeros(3, dtype=torch.float64),
)  # fmt: skip


class StopError(Exception):
    """Stands for a kill."""


@pytest.fixture(scope="module")
def small() -> fv.NodeGraph:
    made = fv.synthetic_graph(24, average_degree=3, seed=1)
    return made.with_splits(fv.stratified_splits(made, repeats=1)[0])


@pytest.fixture
def folder(small, tmp_path, monkeypatch) -> Path:
    """A run that was killed after its second epoch."""
    monkeypatch.setattr("fairview.runs.run.CHECKPOINT_EVERY", 1)

    def stop(progress: Any, _: int) -> None:
        if progress.epochs == 2:
            raise StopError

    with pytest.raises(StopError):
        train_run(fv.Vanilla(**SETTINGS), small, tmp_path / "run", notice=stop)
    return tmp_path / "run"


def resumed(folder: Path, content: bytes, graph: fv.NodeGraph) -> None:
    """Load the checkpoint, and if it is one, train the rest."""
    path = folder / "checkpoint.safetensors"
    path.write_bytes(content)
    model = fv.Vanilla(**SETTINGS)
    earlier = checkpoint.load_checkpoint(path, identity=run_identity(model, graph))
    assert path.read_bytes() == content
    model.fit(graph, resume=earlier)


@st.composite
def forged(draw: st.DrawFn, content: bytes, identity: str) -> bytes:
    """Another progress or other tensors, with a hash that fits."""
    tensors = safetensors.torch.load(content)
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    about = header["__metadata__"]["progress"]
    if draw(st.booleans()):
        about = json.dumps(draw(document_of(json.loads(about))))
    for _ in range(draw(st.integers(0, 2))):
        name = draw(st.sampled_from([*sorted(tensors), "state.x", "best.x", "x"]))
        kind = draw(st.sampled_from(("remove", "other", "swap")))
        if kind == "remove":
            tensors.pop(name, None)
        elif kind == "other":
            tensors[name] = draw(st.sampled_from(OTHERS)).clone()
        else:
            tensors[name] = tensors[draw(st.sampled_from(sorted(tensors)))].clone()
    digest = checkpoint._digest(tensors, identity, about)
    return safetensors.torch.save(tensors, {"identity": identity, "progress": about, "sha256": digest})


@pytest.mark.parametrize("cases", CASES)
def test_damaged_checkpoints_are_resumed_from_or_refused(folder, small, cases):
    content = (folder / "checkpoint.safetensors").read_bytes()
    identity = run_identity(fv.Vanilla(**SETTINGS), small)
    inputs = st.one_of(bytes_of(content, encodings=False), forged(content, identity), forged(content, identity))
    try_many(cases, inputs, lambda given: resumed(folder, given, small))
