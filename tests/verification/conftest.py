"""Folders of every kind, made once and copied for each test; and a forger who computes the hashes again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import fairview as fv
from fairview.manifest import holder_of, sealed
from fairview.runs.evidence import audit_run
from fairview.runs.run import train_run
from fairview.runs.seeds import train_seeds


@pytest.fixture(scope="session")
def many() -> fv.NodeGraph:
    """1,600 nodes, 400 of them without a label and in no split."""
    graph = fv.synthetic_graph(1600, average_degree=4, label_bias=0.1, seed=2)
    hidden = np.random.default_rng(0).permutation(1600) < 400
    graph = graph.replace(labels=np.where(hidden, -1, graph.labels))
    return graph.with_splits(fv.stratified_splits(graph, repeats=1)[0])


@pytest.fixture(scope="session")
def folders(many, tmp_path_factory) -> dict[str, Path]:
    """A run with its audit, two seeds, a comparison, and a certified tuning, all on one graph."""
    made = {name: tmp_path_factory.mktemp(name) / name for name in ("run", "seeds", "comparison", "tuning")}
    quick = {"epochs": 5, "hidden": 3}
    train_run(fv.Vanilla(**quick), many, made["run"])
    audit_run(made["run"], many, probes=False)
    train_seeds(lambda seed: fv.Vanilla(seed=seed, **quick), many, made["seeds"], seeds=range(1, 3))
    methods = ["logistic-regression", "masking"]
    changes = {"vanilla": quick, "masking": quick}
    fv.compare(many, methods=methods, seeds=2, splits=2, folder=made["comparison"], workers=1, changes=changes)
    tuning = fv.tune(many, max_gap=0.15, methods=["parity", "logistic-regression"], trials=2, folder=made["tuning"])
    assert tuning.refused is None
    return made


@pytest.fixture
def copied(folders, tmp_path) -> Callable[[str], Path]:
    """A copy of a folder, by kind."""
    return lambda kind: Path(shutil.copytree(folders[kind], tmp_path / kind))


def edit_json(path: Path, change: Callable[[dict], object]) -> None:
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def forge(folder: Path) -> None:
    """Record every file as it is now, as somebody would who knows how the record is made."""
    import hashlib

    holder = holder_of(folder)
    document = json.loads(holder.read_text())
    document["files"] = {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
        for name in document["files"]
        if (folder / name).exists()
    }
    holder.write_text(sealed(document))


@pytest.fixture
def edit():
    return edit_json


@pytest.fixture
def reseal():
    return forge
