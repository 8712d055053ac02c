from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fairview.paper.artefacts import ArtefactResult
from fairview.paper.cells import SHOWN, Cell, CellResult


@pytest.fixture
def make_row() -> Callable[..., CellResult]:
    """A row whose metrics are given as lists of runs, in percent; the others are 50."""

    def make(row: str, dataset: str = "german", encoder: str | None = "gcn", **given: Any) -> CellResult:
        runs = {name: given.pop(name) for name in SHOWN if name in given}
        count = max((len(values) for values in runs.values()), default=1)
        values = {name: tuple(v / 100 for v in runs.get(name, [50.0] * count)) for name in SHOWN}
        cell = Cell(dataset=dataset, encoder=encoder, row=row, method=given.pop("method", row), **given)
        return CellResult(cell, tuple((0, seed) for seed in range(1, count + 1)), values, seconds=1.0)

    return make


@pytest.fixture
def around() -> Callable[..., list[float]]:
    """Three runs around a level, no two rows alike: differences of equal runs have no interval."""

    def make(level: float, row: str, *, noise: float = 0.1) -> list[float]:
        draws = np.random.default_rng(zlib.crc32(row.encode())).uniform(-noise, noise, 3)
        return [float(level + draw) for draw in draws - draws.mean()]

    return make


@pytest.fixture
def make_document() -> Callable[..., ArtefactResult]:
    def make(name: str, rows: Any = (), series: Any = (), **scope: Any) -> ArtefactResult:
        asked = {"splits": 0, "seeds": 5, "quick": False} | scope
        return ArtefactResult(name, name.title(), asked, tuple(rows), tuple(series), ("a note",), {"platform": "here"})

    return make
