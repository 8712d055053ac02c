"""How do a study's results look as plain tables? One line per trial, sorted by id; what it cost is apart.

`results.csv` is the same, byte by byte, however often the study was interrupted; `timings.csv` can't be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from fairview.atomic import write_atomic
from fairview.metrics.registry import METRICS
from fairview.runs.run import csv_cell
from fairview.study.trials import Result, Trial

_SPLITS = ("val", "test")

TRIAL_COLUMNS = ("trial", "dataset", "method", "encoder", "variant", "split", "seed")
TIMING_COLUMNS = (*TRIAL_COLUMNS, "seconds", "peak_memory_mb")


def write_tables(folder: Path, trials: Sequence[Trial], results: Sequence[Result]) -> None:
    """Write `results.csv` and `timings.csv`."""
    results_text, timings_text = tables(trials, results)
    write_atomic(folder / "results.csv", results_text)
    write_atomic(folder / "timings.csv", timings_text)


def tables(trials: Sequence[Trial], results: Sequence[Result]) -> tuple[str, str]:
    """The text of both."""
    pairs = sorted(zip(trials, results, strict=True), key=lambda pair: pair[0].id)
    metrics = [f"{split}_{metric}" for split in _SPLITS for metric in METRICS]
    columns = (*TRIAL_COLUMNS, "best_epoch", *metrics, "undefined", "notes", "failed")
    return _csv(columns, [_result(*pair) for pair in pairs]), _csv(TIMING_COLUMNS, [_timing(*pair) for pair in pairs])


def _result(trial: Trial, result: Result) -> list[Any]:
    values = [result.metrics.get(split, {}).get(metric) for split in _SPLITS for metric in METRICS]
    undefined = [
        f"{split} {metric}: {reason}"
        for split in _SPLITS
        for metric, reason in result.metrics.get(split, {}).get("undefined", {}).items()
    ]
    return [*_trial(trial), result.best_epoch, *values, "; ".join(undefined), "; ".join(result.notes), result.failed]


def _timing(trial: Trial, result: Result) -> list[Any]:
    return [*_trial(trial), round(result.timing.seconds, 3), round(result.timing.peak_memory_mb, 1)]


def _trial(trial: Trial) -> list[Any]:
    return [trial.id, trial.dataset, trial.method, trial.encoder, trial.variant, trial.split, trial.seed]


def _csv(columns: Iterable[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = [",".join(columns)] + [",".join(map(_cell, row)) for row in rows]
    return "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    return "" if value is None else csv_cell(value) if isinstance(value, str) else repr(value)
