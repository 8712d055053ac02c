"""How are the scores of a propagated folder written? Some nodes at a time, into one file that appears when whole."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from fairview.errors import FairviewError, InputError, in_one_line
from fairview.methods.contract import Method
from fairview.progress import track
from fairview.propagation.folder import Propagated

ROWS = 200_000
"""Nodes that are predicted at a time."""


@dataclass(frozen=True)
class Scored:
    """How many nodes were scored, and how many of them are above the model's threshold."""

    nodes: int
    positive: int


def write_scores(model: Method, propagated: Propagated, path: str | Path) -> Scored:
    """Write id, score and prediction of every node, in the folder's order: Parquet, or CSV if the name ends so.

    Memory does not grow with the folder. The file is there whole or not at all.

    Raises:
        FairviewError: the file can't be written.
    """
    path, positive, nodes = Path(path), 0, 0
    threshold = getattr(model, "threshold_", 0.5)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as work:
            parts = []
            with track("Predicting", total=propagated.num_nodes) as advance:
                for number, frame in enumerate(_scored(model, propagated, threshold)):
                    parts.append(Path(work) / f"{number:06}.parquet")
                    frame.write_parquet(parts[-1], compression="zstd")
                    positive += int(frame["prediction"].sum())
                    nodes += frame.height
                    advance(frame.height)
            whole = Path(work) / "whole"
            _join(parts, whole, csv=path.suffix.lower() == ".csv")
            with whole.open("rb") as stream:
                os.fsync(stream.fileno())
            whole.replace(path)
    except OSError as error:
        raise FairviewError(f"{path}: can't be written ({error.strerror or error}).") from None
    except pl.exceptions.PolarsError as error:
        raise FairviewError(f"{path}: can't be written ({in_one_line(error)}).") from None
    return Scored(nodes, positive)


def _scored(model: Method, propagated: Propagated, threshold: float) -> Iterator[pl.DataFrame]:
    for frame in propagated.frames(rows=ROWS):
        scores = np.asarray(model.predict_proba(propagated.graph_of(frame)), dtype=np.float64)
        if scores.shape != (frame.height, 2):
            raise InputError(f"predict_proba: shape {scores.shape}; expected ({frame.height}, 2): one row per node.")
        positive = (scores[:, 1] > threshold).astype(np.int8)
        yield pl.DataFrame({"id": frame["id"], "score": scores[:, 1], "prediction": positive})


def _join(parts: list[Path], whole: Path, *, csv: bool) -> None:
    """One file of all parts, streamed."""
    empty = pl.DataFrame(schema={"id": pl.String, "score": pl.Float64, "prediction": pl.Int8}).lazy()
    joined = pl.scan_parquet(parts) if parts else empty
    if csv:
        quoted = pl.col("id").str.replace(r"^([=+\-@\t\r])", "'${1}")  # no spreadsheet takes it for a formula
        joined.with_columns(quoted).sink_csv(whole)
    else:
        joined.sink_parquet(whole, compression="zstd")
