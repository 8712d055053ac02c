"""What do studies of paired rows share? A journal, one line of JSON a model, and differences as tables print them."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from fairview.study.statistics import Estimate
from fairview.undefined import Metric, Undefined

METRICS = ("auc", "f1", "accuracy", "balanced_accuracy", "statistical_parity_gap", "equal_opportunity_gap")


def read_journal(path: Path) -> list[dict[str, Any]]:
    """What was trained so far."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def append(path: Path, record: dict[str, Any]) -> None:
    """Write down one model, so that a study that is stopped resumes after it."""
    with path.open("a") as stream:
        stream.write(json.dumps(record) + "\n")


def metrics_of(record: dict[str, Any]) -> dict[str, Metric]:
    """Those of a journal's line; null is undefined."""
    return {name: Undefined("no value") if value is None else value for name, value in record["metrics"].items()}


def in_points(difference: Estimate) -> str:
    """A difference with its interval in percentage points, in bold if that excludes 0.

    Example:
        >>> in_points(Estimate(0.012, low=0.002, high=0.022)), in_points(Estimate(0.012))
        ('**+1.2 (+0.2, +2.2)**', '+1.2')
    """
    if not isinstance(difference.mean, float):
        return "undefined"
    if difference.low is None or difference.high is None:
        return f"{100 * difference.mean:+.1f}"
    text = f"{100 * difference.mean:+.1f} ({100 * difference.low:+.1f}, {100 * difference.high:+.1f})"
    return f"**{text}**" if difference.low > 0 or difference.high < 0 else text


def tidy_numbers(own: Estimate, minus_reference: Estimate) -> list[str]:
    """Mean, deviation, difference and its interval, as CSV cells."""
    numbers = [own.value("mean"), own.value("std"), *(minus_reference.value(part) for part in ("mean", "low", "high"))]
    return ["" if number is None else f"{number:.5f}" for number in numbers]


def write_csv(path: Path, header: Sequence[str], lines: Iterable[Sequence[str]]) -> None:
    """One line per row and metric."""
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(lines)
