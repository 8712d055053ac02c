"""Do a run's metrics follow from its predictions, and the predictions from its model?

`predictions.csv` holds scores with nine digits or more, so that what follows from their order is compared to 1e-6.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fairview.data.graph import NodeGraph
from fairview.errors import InputError, some
from fairview.methods.evaluate import evaluate_scores
from fairview.metrics.registry import METRICS

NAME = "predictions.csv"
CLOSE = 1e-6
"""Metrics that differ by more are different."""
SCORES_CLOSE = 1e-5
"""A model's scores on another processor differ by less."""


@dataclass(frozen=True)
class Predictions:
    """The rows of `predictions.csv`."""

    ids: tuple[str, ...]
    scores: npt.NDArray[np.float64]
    positive: npt.NDArray[np.bool_]


def read_predictions(path: Path) -> Predictions:
    """Read them back.

    Raises:
        InputError: it is no table of id, score and prediction, or a value is out of range.
    """
    try:
        text = path.read_bytes().decode("utf-8")
        header, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
        if header != ["id", "score", "prediction"] or any(len(row) != 3 or row[2] not in ("0", "1") for row in rows):
            raise ValueError
        scores = np.array([float(row[1]) for row in rows], dtype=np.float64)
    except OSError as error:
        raise InputError(f"{path}: can't be read ({error.strerror or error}).") from None
    except (ValueError, csv.Error):
        raise InputError(f"{path}: is no table of id, score and prediction.") from None
    if not ((scores >= 0) & (scores <= 1)).all():
        raise InputError(f"{path}: has scores that are not between 0 and 1.")
    ids = tuple(row[0] for row in rows)
    if len({*ids}) < len(ids):
        raise InputError(f"{path}: repeats an id.")
    return Predictions(ids, scores, np.array([row[2] == "1" for row in rows], dtype=np.bool_))


def against_threshold(found: Predictions, threshold: float) -> list[str]:
    """Every prediction must say on which side of the threshold its score is."""
    wrong = (found.positive != (found.scores > threshold)) & (np.abs(found.scores - threshold) > CLOSE)
    return _rows(found, wrong, f"a prediction that its score and the threshold {threshold:g} contradict")


def against_model(found: Predictions, model: Any, graph: NodeGraph) -> list[str]:
    """The model must give the same scores for the same nodes."""
    if found.ids != graph.ids:
        return [f"{NAME}: its ids are not those of the graph."]
    scores = np.asarray(model.predict_proba(graph))[:, 1]
    return _rows(found, np.abs(scores - found.scores) > SCORES_CLOSE, "another score than the model gives")


def against_metrics(found: Predictions, metrics: Mapping[str, Mapping[str, Any]], graph: NodeGraph) -> Iterator[str]:
    """Each metric, and the counts of each group, computed again from the predictions and the graph's labels."""
    if found.ids != graph.ids:
        return
    for split, told in metrics.items():
        if split not in graph.splits:
            yield f"metrics.json: the graph has no split '{split}'."
            continue
        again = evaluate_scores(found.positive.astype(np.float64), graph, split=split).to_dict()
        again["auc"] = evaluate_scores(found.scores, graph, split=split).to_dict()["auc"]
        yield from compared({split: told}, {split: again})


def compared(metrics: Mapping[str, Mapping[str, Any]], again: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Metrics as they are told and as they were made again, by split."""
    for split, told in metrics.items():
        if split not in again:
            yield f"metrics.json: the data has no split '{split}'."
            continue
        for name in METRICS:
            if name in told and not _same(told[name], again[split][name]):
                was, now = _shown(told[name]), _shown(again[split][name])
                yield f"metrics.json: {split}: {name} is {was}; the predictions give {now}."
        if told.get("groups", again[split]["groups"]) != again[split]["groups"]:
            yield f"metrics.json: {split}: the counts of the groups are not those that the predictions give."


def _same(told: Any, again: float | None) -> bool:
    if told is None or again is None:
        return told is again
    return bool(abs(told - again) <= CLOSE)


def _shown(value: Any) -> str:
    return "undefined" if value is None else f"{value:.6g}"


def _rows(found: Predictions, wrong: npt.NDArray[np.bool_], what: str) -> list[str]:
    rows = np.flatnonzero(wrong)
    ids = some(f"'{found.ids[row][:40]}'" for row in rows.tolist())
    return [f"{NAME}: {len(rows):,} of {len(wrong):,} rows have {what} (ids {ids})."] if len(rows) else []
