"""Graphs, and a method of one's own that watches what it is given."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from scipy.special import expit

import fairview as fv
from fairview.methods.registry import METHODS


class Column(fv.Estimator):
    """Scores each node by one channel. Keeps the graphs that it is given, and fails or is interrupted on demand."""

    search_space: ClassVar[dict[str, tuple[int, ...]]] = {"place": (0, 1, 2, 3, 4, 5, 6, 7)}
    graphs: ClassVar[list[fv.NodeGraph]] = []
    fails: ClassVar[dict[int, BaseException]] = {}
    """What the n-th fit raises."""

    def __init__(self, *, place: int = 0) -> None:
        self.place = place

    def fit(self, graph: fv.NodeGraph) -> Column:
        self.graphs.append(graph)
        if (error := self.fails.get(len(self.graphs))) is not None:
            raise error
        self.scale_ = float(1 / graph.features[:, self.place].std())
        self.facts_ = fv.Facts.of(graph)
        return self

    def predict_proba(self, graph: fv.NodeGraph) -> np.ndarray:
        positive = expit(self.scale_ * graph.features[:, self.place].astype(np.float64))
        return np.stack([1 - positive, positive], axis=1)

    def tensors(self) -> dict[str, torch.Tensor]:
        return {"scale": torch.tensor(self.scale_, dtype=torch.float64)}

    def restore(self, tensors: dict[str, torch.Tensor], facts: fv.Facts) -> Column:
        self.scale_, self.facts_ = float(tensors["scale"]), facts
        return self


@pytest.fixture
def column(monkeypatch) -> Iterator[type[Column]]:
    """The method `column`, registered for one test, with an empty memory; few other limits are looked at."""
    monkeypatch.setattr("fairview.tuning.decision.OTHER_LIMITS", (0.1, 0.2, 0.3))
    with METHODS.added(fv.MethodEntry(name="column", words="one column", target=Column)):
        Column.graphs, Column.fails = [], {}
        yield Column


def with_split(graph: fv.NodeGraph, **shares: float) -> fv.NodeGraph:
    return graph.with_splits(fv.stratified_splits(graph, repeats=1, **shares)[0])


@pytest.fixture(scope="session")
def few() -> fv.NodeGraph:
    """600 nodes in two groups, all of them labelled and in a split."""
    return with_split(fv.synthetic_graph(600, average_degree=4, label_bias=0.1, seed=1))


@pytest.fixture(scope="session")
def many() -> fv.NodeGraph:
    """1,600 nodes, 400 of them without a label and in no split."""
    graph = fv.synthetic_graph(1600, average_degree=4, label_bias=0.1, seed=2)
    hidden = np.random.default_rng(0).permutation(1600) < 400
    return with_split(graph.replace(labels=np.where(hidden, -1, graph.labels)))


@pytest.fixture(scope="session")
def tuned(many, tmp_path_factory) -> Path:
    """The folder of a certified tuning."""
    folder = tmp_path_factory.mktemp("tuned") / "certified"
    tuning = fv.tune(many, max_gap=0.15, methods=["parity", "logistic-regression"], trials=2, folder=folder)
    assert tuning.refused is None
    return folder


def same(document: Any) -> Any:
    """A document without what differs from run to run: seconds, and where it was written."""
    if isinstance(document, dict):
        return {name: same(value) for name, value in document.items() if name not in ("seconds", "run")}
    return [same(each) for each in document] if isinstance(document, list) else document


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def without_seconds():
    return same


@pytest.fixture(scope="session")
def read_json():
    return read
