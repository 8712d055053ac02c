"""What is one trial? A method with its settings, fitted to the design graph, and its scores for every node."""

from __future__ import annotations

import hashlib
import io
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fairview.atomic import write_atomic, write_json
from fairview.data.limits import MOST_BYTES
from fairview.errors import FairviewError, InputError, in_one_line, option
from fairview.files import read_regular
from fairview.methods.contract import Facts
from fairview.methods.estimator import Estimator
from fairview.methods.model_files import load_model, write_model
from fairview.methods.registry import needs_group, resolve_method
from fairview.metrics.ranking import auc_of
from fairview.tuning.choice import Scored
from fairview.tuning.holdout import Holdout

_WEIGHTS = {"statistical_parity_weight": "λ", "equal_opportunity_weight": "λ EO", "equalized_odds_weight": "λ odds"}
"""How the weights of penalties are written."""


@dataclass(frozen=True, eq=False)
class Trial:
    """A fitted model.

    Attributes:
        method: its name.
        settings: what was varied, by parameter.
        model: fitted.
        scores: the probability of the positive class, for every node of the graph.
        seconds: of the fit.
    """

    method: str
    settings: Mapping[str, Any]
    model: Estimator
    scores: npt.NDArray[np.float64] = field(repr=False)
    seconds: float

    @property
    def label(self) -> str:
        """For a table or a chart: the method, its weights, then what else was varied."""
        weights = {word: self.settings[name] for name, word in _WEIGHTS.items() if name in self.settings}
        told = _WEIGHTS.keys() | {"penalise"}  # the same for all trials
        rest = {name.replace("_", " "): value for name, value in self.settings.items() if name not in told}
        penalised = self.method == "vanilla" and any(weights.values())
        head = "Penalised model" if penalised else resolve_method(self.method).label
        return ", ".join([head, *(_setting(*pair) for pair in (weights | rest).items())])

    @property
    def group_at_prediction(self) -> bool:
        """Whether it needs each node's group to predict it."""
        return needs_group(self.model)

    def scored(self, holdout: Holdout) -> Scored:
        """The scores with their AUC where models are ranked and judged."""
        graph = holdout.graph
        val = np.flatnonzero(graph.split("val") & graph.labelled)
        return Scored(self.scores, *(self.auc(graph.labels, rows) for rows in (holdout.tuning, val)))

    def auc(self, labels: npt.NDArray[np.int8], rows: npt.NDArray[np.intp]) -> float:
        """On the labelled ones of some nodes; NaN without both labels."""
        return auc_of(*(self.scores[rows[labels[rows] == label]] for label in (1, 0)))


def fit_trial(model: Estimator, method: str, settings: Mapping[str, Any], holdout: Holdout) -> Trial:
    """Fit a model to the design graph, and predict the graph as it is."""
    start = time.perf_counter()
    model.fit(holdout.design)
    if getattr(model, "interrupted_", False):  # Ctrl-C keeps the best epoch so far; a trial must be whole
        raise KeyboardInterrupt
    return finished(model, method, settings, holdout, time.perf_counter() - start)


def finished(
    model: Estimator, method: str, settings: Mapping[str, Any], holdout: Holdout, seconds: float, **prepared: Any
) -> Trial:
    """The trial of a model that is fitted already; `prepared` is handed on to its `predict_proba`.

    The model's facts then name the graph itself: methods are given a copy of it with labels and groups left blank.
    """
    model.facts_ = Facts.of(holdout.graph, model.facts().channels)
    found = np.asarray(model.predict_proba(holdout.graph, **prepared), dtype=np.float64)
    if found.shape != (holdout.graph.num_nodes, 2) or not ((found >= 0) & (found <= 1)).all():
        raise InputError(
            f"predict_proba: no probabilities of shape ({holdout.graph.num_nodes}, 2): one row per node, negative and "
            "positive class."
        )
    return Trial(method, _listed(settings), model, found[:, 1], seconds)


# --- on disk ----------------------------------------------------------------------------------------------------------


def save_trial(trial: Trial, folder: Path) -> None:
    """Model, scores, and last `trial.json`, which says that the rest is whole."""
    write_model(trial.model, folder)
    stream = io.BytesIO()
    np.save(stream, trial.scores, allow_pickle=False)
    write_atomic(folder / "scores.npy", stream.getvalue())
    document = {
        "kind": "trial",
        "version": 1,
        "method": trial.method,
        "settings": dict(trial.settings),
        "seconds": trial.seconds,
        "sha256": {name: _sha256(folder / name) for name in ("model.json", "scores.npy")},
    }
    write_json(folder / "trial.json", document)


def load_trial(folder: Path, method: str, settings: Mapping[str, Any], holdout: Holdout) -> Trial | None:
    """The trial that was saved in a folder; None if there is none, or not a whole one.

    Raises:
        InputError: it is of another method or other settings.
    """
    path = folder / "trial.json"
    if not path.exists():
        return None
    try:
        document = json.loads(read_regular(path))
        whole = all(_sha256(folder / name) == digest for name, digest in document["sha256"].items())
        same = (document["method"], document["settings"]) == (method, json.loads(json.dumps(dict(settings))))
        seconds = float(document["seconds"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        return None
    if not same:
        raise InputError(f"{folder}: holds another trial than expected. Use another {option('folder')}.")
    if not whole:
        return None
    try:
        model = load_model(folder, method=resolve_method(method).method)
        scores = _read_scores(folder / "scores.npy", holdout.graph.num_nodes)
    except (FairviewError, OSError, ValueError):
        return None
    if model.facts().graph_sha256 != holdout.graph.sha256:
        return None
    return Trial(method, _listed(settings), model, scores, seconds)


def _read_scores(path: Path, nodes: int) -> npt.NDArray[np.float64]:
    """So many probabilities; whatever else `np.load` would open, or ask memory for, is a ValueError."""
    stream = io.BytesIO(read_regular(path, MOST_BYTES))
    try:
        whole = np.lib.format.read_magic(stream) == (1, 0)
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    except Exception as error:  # whatever a reader of Python's syntax makes of a damaged header
        raise ValueError("not an array as np.save writes it") from error
    content = stream.read() if whole else b""
    if (shape, dtype, len(content)) != ((nodes,), np.dtype(np.float64), 8 * nodes):
        raise ValueError("not one score for each node")
    scores = np.frombuffer(content, dtype=np.float64)
    if not ((scores >= 0) & (scores <= 1)).all():
        raise ValueError("scores that are not between 0 and 1")
    return scores


@dataclass(frozen=True)
class Failure:
    """A trial that could not be fitted, and why."""

    method: str
    settings: Mapping[str, Any]
    reason: str

    @classmethod
    def of(cls, error: FairviewError, method: str, settings: Mapping[str, Any]) -> Failure:
        return cls(method, dict(settings), in_one_line(error))


def _listed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON has them, which has no tuples."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in settings.items()}


def _sha256(path: Path) -> str:
    return hashlib.sha256(read_regular(path, MOST_BYTES)).hexdigest()


def _setting(name: str, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"{name} {value}"
    return f"{name} {value:g}"
