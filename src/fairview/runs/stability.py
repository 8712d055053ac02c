"""What may another machine give for the same seed? Re-runs with perturbed last bits tell, as `stability.json`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import ValidationError

from fairview.arguments import require_whole
from fairview.atomic import as_text
from fairview.data.graph import NodeGraph
from fairview.data.splits import with_default_split
from fairview.errors import InputError, in_one_line
from fairview.locks import folder_lock
from fairview.manifest import forget, recorded, write_recorded
from fairview.methods.estimator import Estimator
from fairview.methods.evaluate import evaluate_scores
from fairview.metrics.registry import METRICS
from fairview.runs.finished import read_json
from fairview.runs.last_bits import LAST_BIT, Rerun
from fairview.runs.stability_document import MOST_RERUNS, Range, Stability

NAME = "stability.json"


def measure_stability(
    model: Estimator,
    graph: NodeGraph,
    *,
    reruns: int,
    scores: npt.NDArray[np.float64] | None = None,
    threshold: float = 0.5,
    size: float = LAST_BIT,
    done: Callable[[int], None] | None = None,
) -> Stability:
    """Fit a model again and again with perturbed last bits, and say how far scores and metrics move.

    Args:
        model: with its parameters set; it is not changed.
        graph: with splits.
        reruns: how often.
        scores: of the run itself, if it is at hand; otherwise it is fitted once more, without perturbation.
        threshold: the score above which a node is predicted positive.
        size: of the perturbation, relative.
        done: called with 1 after each re-run.

    Example:
        >>> import fairview as fv
        >>> found = measure_stability(fv.LogisticRegression(), fv.load_dataset("german"), reruns=2)
        >>> found.moves, found.largest_score_change < 1e-4
        (False, True)
    """
    require_whole(reruns, "reruns", least=1, most=MOST_RERUNS)
    graph, _ = with_default_split(graph)
    seed = int(getattr(model, "seed", 0) or 0)
    if scores is None:
        scores = _scores(Rerun(seed, 0, size=0.0).fit(model, graph), graph)
    others = []
    for number in range(1, reruns + 1):
        others.append(_scores(Rerun(seed, number, size).fit(model, graph), graph))
        if done is not None:
            done(1)
    decisions = scores > threshold
    splits = [split for split in ("val", "test") if split in graph.splits]
    metrics = {split: _metrics(scores, graph, split, threshold) for split in splits}
    theirs = {split: [_metrics(each, graph, split, threshold) for each in others] for split in splits}
    return Stability(
        reruns=reruns,
        largest_score_change=max(float(np.abs(each - scores).max(initial=0.0)) for each in others),
        flipped_share=max(float(((each > threshold) != decisions).mean()) if len(each) else 0.0 for each in others),
        metrics={
            split: {name: Range.over(value, [row[name] for row in theirs[split]]) for name, value in found.items()}
            for split, found in metrics.items()
        },
    )


def stability_of_run(
    folder: str | Path,
    model: Estimator,
    fitted: Estimator,
    graph: NodeGraph,
    *,
    reruns: int,
    done: Callable[[int], None] | None = None,
) -> Stability:
    """Measure the stability of a finished run, and write `stability.json`; what is there already is read back.

    Args:
        folder: of the run.
        model: of the run, unfitted.
        fitted: of the run, as `load_model` reads it.
        graph: that it was trained on.
        reruns: how often.
        done: called with 1 after each re-run.
    """
    folder = Path(folder)
    earlier = read_stability(folder)
    if earlier is not None and earlier.reruns == reruns:
        return earlier
    graph, _ = with_default_split(graph)
    if fitted.facts().graph_sha256 != graph.sha256:
        raise InputError(f"{folder}: its model was trained on another graph than the one given.")
    found = measure_stability(
        model, graph, reruns=reruns, scores=_scores(fitted, graph), threshold=fitted.threshold_, done=done
    )
    with folder_lock(folder):
        forget(folder, ["report.html"])
        (folder / "report.html").unlink(missing_ok=True)
        write_recorded(folder / NAME, as_text(found.model_dump(mode="json")))
    return found


def read_stability(folder: Path) -> Stability | None:
    """What an earlier measurement wrote; None where there is none that was finished."""
    if NAME not in (recorded(folder) or {}):
        return None
    try:
        return Stability.model_validate(read_json(folder / NAME))
    except ValidationError as error:
        raise InputError(f"{folder / NAME}: {in_one_line(error)}") from None


def against_metrics(stability: Stability, metrics: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Where the run's own values are not those of `metrics.json`."""
    return [
        f"{NAME}: {split} {name} of the run is {found.run}, and {metrics.get(split, {}).get(name)} in metrics.json."
        for split, ranges in stability.metrics.items()
        for name, found in ranges.items()
        if found.run is not None and metrics.get(split, {}).get(name) != found.run
    ]


def _scores(model: Any, graph: NodeGraph) -> npt.NDArray[np.float64]:
    return np.asarray(model.predict_proba(graph), dtype=np.float64)[:, 1]


def _metrics(
    scores: npt.NDArray[np.float64], graph: NodeGraph, split: str, threshold: float
) -> Mapping[str, float | None]:
    found = evaluate_scores(scores, graph, split=split, threshold=threshold).to_dict()
    return {name: found[name] for name in METRICS}
