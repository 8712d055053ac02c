"""How do a study's results look as plain tables? One line per trial, sorted by id; what it cost is apart.

`results.csv` is the same, byte by byte, however often the study was interrupted; `timings.csv` can't be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from fairview.atomic import write_atomic
from fairview.csv_cells import csv_cell, spreadsheet_safe
from fairview.metrics.registry import METRICS
from fairview.study.trials import Result, Trial

_SPLITS = ("val", "test")

TRIAL_COLUMNS = ("trial", "dataset", "method", "encoder", "variant", "split", "seed")
TIMING_COLUMNS = (*TRIAL_COLUMNS, "seconds", "peak_memory_mb")


def write_tables(folder: Path, trials: Sequence[Trial], results: Sequence[Result]) -> None:
    """Write `results.csv` and `timings.csv`."""
    results_text, timings_text = tables(trials, results)
    write_atomic(folder / "results.csv", results_text)
    write_atomic(folder / "timings.csv", timings_text)


def tables(trials: Sequence[Trial], results: Sequence[Result], *, with_quotes: bool = False) -> tuple[str, str]:
    """The text of both; version 0.1.0 put a quote before texts that a spreadsheet would take for a formula."""
    pairs = sorted(zip(trials, results, strict=True), key=lambda pair: pair[0].id)
    metrics = [f"{split}_{metric}" for split in _SPLITS for metric in METRICS]
    columns = (*TRIAL_COLUMNS, "best_epoch", *metrics, "undefined", "notes", "failed")
    rows, timings = [_result(*pair) for pair in pairs], [_timing(*pair) for pair in pairs]
    return _csv(columns, rows, with_quotes), _csv(TIMING_COLUMNS, timings, with_quotes)


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


def _csv(columns: Iterable[str], rows: Iterable[Sequence[Any]], with_quotes: bool) -> str:
    lines = [",".join(columns)] + [",".join(_cell(value, with_quotes) for value in row) for row in rows]
    return "\n".join(lines) + "\n"


def _cell(value: Any, with_quotes: bool) -> str:
    if not isinstance(value, str):
        return "" if value is None else repr(value)
    return csv_cell(spreadsheet_safe(value) if with_quotes else value)
