"""Do a run's metrics follow from its predictions, and the predictions from its model?

`predictions.csv` holds every digit of the scores, so that all that `metrics.json` says can be computed again.
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

from fairview.csv_cells import may_be_written_as, spreadsheet_safe
from fairview.data.graph import NodeGraph
from fairview.data.limits import MOST_BYTES
from fairview.errors import InputError, repeated, some
from fairview.files import read_regular
from fairview.methods.evaluate import evaluate_scores
from fairview.metrics.registry import METRICS

NAME = "predictions.csv"
CLOSE = 1e-6
"""Numbers that differ by more are different."""
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
        text = read_regular(path, MOST_BYTES).decode("utf-8")
        header, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
        if header != ["id", "score", "prediction"] or any(len(row) != 3 or row[2] not in ("0", "1") for row in rows):
            raise ValueError
        scores = np.array([float(row[1]) for row in rows], dtype=np.float64)
    except OSError as error:
        raise InputError(f"{path}: can't be read ({error.strerror or error}).") from None
    except InputError:
        raise
    except (ValueError, csv.Error):
        raise InputError(f"{path}: is no table of id, score and prediction.") from None
    if not ((scores >= 0) & (scores <= 1)).all():
        raise InputError(f"{path}: has scores that are not between 0 and 1.")
    ids = tuple(row[0] for row in rows)
    if any(not _has_quote(name) for name in repeated(ids)):
        raise InputError(f"{path}: repeats an id.")
    return Predictions(ids, scores, np.array([row[2] == "1" for row in rows], dtype=np.bool_))


def against_threshold(found: Predictions, threshold: float) -> list[str]:
    """Every prediction must say on which side of the threshold its score is."""
    wrong = (found.positive != (found.scores > threshold)) & (np.abs(found.scores - threshold) > CLOSE)
    return _rows(found, wrong, f"a prediction that its score and the threshold {threshold:g} contradict")


def against_model(found: Predictions, model: Any, graph: NodeGraph) -> list[str]:
    """The model must give the same scores for the same nodes."""
    if not _are_ids_of(found, graph):
        return [f"{NAME}: its ids are not those of the graph."]
    scores = np.asarray(model.predict_proba(graph))[:, 1]
    return _rows(found, np.abs(scores - found.scores) > SCORES_CLOSE, "another score than the model gives")


def against_metrics(
    found: Predictions,
    metrics: Mapping[str, Mapping[str, Any]],
    graph: NodeGraph,
    threshold: float,
    *,
    intervals: bool,
    whole: bool,
) -> Iterator[str]:
    """All that `metrics.json` says, computed again from the predictions and the graph's labels.

    Args:
        found: the predictions.
        metrics: by split.
        graph: with the splits.
        threshold: of the model.
        intervals: compare them, too; another version of NumPy may draw other resamples.
        whole: nothing may be missing; version 0.1.0 wrote less.
    """
    if not _are_ids_of(found, graph):
        return
    above = np.nextafter(threshold, np.inf)  # a prediction counts, also beside a score that contradicts it
    scores = np.where(found.positive, np.maximum(found.scores, above), np.minimum(found.scores, threshold))
    for split in [name for name in ("val", "test") if whole and name in graph.splits and name not in metrics]:
        yield f"metrics.json: {split}: is missing."
    for split, told in metrics.items():
        if split not in graph.splits:
            yield f"metrics.json: the graph has no split '{split}'."
            continue
        again = evaluate_scores(scores, graph, split=split, intervals=intervals, threshold=threshold).to_dict()
        yield from compared(told, again, split, whole=whole)


def compared(told: Mapping[str, Any], again: Mapping[str, Any], split: str, *, whole: bool) -> Iterator[str]:
    """What metrics say of a split, and what they are when they are made again; `whole`: nothing may be missing."""
    for name, value in again.items():
        if name not in told and (not whole or _is_foreign(name)):
            continue
        if name in METRICS and not _same(told.get(name), value):
            was, now = _shown(told.get(name)), _shown(value)
            yield f"metrics.json: {split}: {name} is {was}; the predictions give {now}."
        elif name not in told or not _same(told[name], value):
            yield f"metrics.json: {split}: '{name}' is not what the predictions give."


def _are_ids_of(found: Predictions, graph: NodeGraph) -> bool:
    """Row by row; version 0.1.0 put a quote before ids that a spreadsheet would take for formulas."""
    return len(found.ids) == len(graph.ids) and all(map(may_be_written_as, found.ids, graph.ids))


def _has_quote(name: str) -> bool:
    """Whether it may be `-5` as version 0.1.0 wrote it, beside an id that is `'-5` itself."""
    return name[:1] == "'" and spreadsheet_safe(name[1:]) == name


def _is_foreign(name: str) -> bool:
    """Whether it is a metric of another package, which may not have been installed when the run was made."""
    return name in METRICS and name not in METRICS.built_in


def _same(told: Any, again: Any) -> bool:
    if isinstance(told, dict) and isinstance(again, dict):
        wanted = [name for name in again if name in told or not _is_foreign(name)]
        more = [name for name in told if name in METRICS and name not in again]
        return not more and all(name in told and _same(told[name], again[name]) for name in wanted)
    if isinstance(told, list) and isinstance(again, list):
        return len(told) == len(again) and all(map(_same, told, again))
    if (
        isinstance(told, int | float)
        and isinstance(again, int | float)
        and isinstance(told, bool) is isinstance(again, bool)
    ):
        return bool(abs(told - again) <= CLOSE)
    return bool(told == again)


def _shown(value: Any) -> str:
    return "undefined" if value is None else f"{value:.6g}"


def _rows(found: Predictions, wrong: npt.NDArray[np.bool_], what: str) -> list[str]:
    rows = np.flatnonzero(wrong)
    ids = some(f"'{found.ids[row][:40]}'" for row in rows.tolist())
    return [f"{NAME}: {len(rows):,} of {len(wrong):,} rows have {what} (ids {ids})."] if len(rows) else []
