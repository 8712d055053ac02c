"""How are the scores of a propagated folder written? Some nodes at a time, into one file that appears when whole."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from fairview.errors import FairviewError, InputError, in_one_line
from fairview.methods.contract import Method
from fairview.progress import track
from fairview.propagation.folder import Propagated
from fairview.runs.run import PREDICTIONS_HEADER, prediction_lines

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
    path = Path(path)
    write = _csv if path.suffix.lower() == ".csv" else _parquet
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as work:
            whole = Path(work) / "whole"
            with track("Predicting", total=propagated.num_nodes) as advance:
                tally = _Tally(advance)
                write(map(tally.counted, _scored(model, propagated)), whole)
            with whole.open("rb") as stream:
                os.fsync(stream.fileno())
            whole.replace(path)
    except OSError as error:
        raise FairviewError(f"{path}: can't be written ({error.strerror or error}).") from None
    except pl.exceptions.PolarsError as error:
        raise FairviewError(f"{path}: can't be written ({in_one_line(error)}).") from None
    return Scored(tally.nodes, tally.positive)


class _Tally:
    """Counts the frames that pass."""

    def __init__(self, advance: Callable[[int], None]) -> None:
        self.advance, self.nodes, self.positive = advance, 0, 0

    def counted(self, frame: pl.DataFrame) -> pl.DataFrame:
        self.nodes += frame.height
        self.positive += int(frame["prediction"].sum())
        self.advance(frame.height)
        return frame


def _scored(model: Method, propagated: Propagated) -> Iterator[pl.DataFrame]:
    threshold = getattr(model, "threshold_", 0.5)
    for frame in propagated.frames(rows=ROWS):
        scores = np.asarray(model.predict_proba(propagated.graph_of(frame)), dtype=np.float64)
        if scores.shape != (frame.height, 2):
            raise InputError(f"predict_proba: shape {scores.shape}; expected ({frame.height}, 2): one row per node.")
        positive = (scores[:, 1] > threshold).astype(np.int8)
        yield pl.DataFrame({"id": frame["id"], "score": scores[:, 1], "prediction": positive})


def _parquet(frames: Iterator[pl.DataFrame], whole: Path) -> None:
    """Parts beside the file, which polars then streams into one."""
    parts = []
    for number, frame in enumerate(frames):
        parts.append(whole.with_name(f"{number:06}.parquet"))
        frame.write_parquet(parts[-1], compression="zstd")
    empty = pl.DataFrame(schema={"id": pl.String, "score": pl.Float64, "prediction": pl.Int8})
    joined = pl.scan_parquet(parts) if parts else empty.lazy()
    joined.sink_parquet(whole, compression="zstd")


def _csv(frames: Iterator[pl.DataFrame], whole: Path) -> None:
    """As `predictions.csv` of a run."""
    with whole.open("w", encoding="utf-8", newline="") as stream:
        stream.write(PREDICTIONS_HEADER)
        for frame in frames:
            stream.writelines(prediction_lines(*(frame[name].to_list() for name in frame.columns)))
