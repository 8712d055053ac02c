"""Does a number of ours meet the paper's? Within two deviations, better, or worse (for a gap, larger is worse)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fairview.metrics.registry import METRICS
from fairview.paper.cells import NOT_IN_PAPER, CellResult
from fairview.paper.numbers import Number, paper_dataset
from fairview.study.statistics import GAPS

if TYPE_CHECKING:
    from fairview.paper.artefacts import ArtefactResult

Word = Literal["within", "better", "worse", "undefined", "not judged"]


@dataclass(frozen=True)
class MetricVerdict:
    """Of one metric: the word, and ours minus the paper's in percentage points."""

    word: Word
    difference: float | None


def judge(metric: str, ours: float | None, printed: Number, *, own_std: float | None = None) -> MetricVerdict:
    """Compare a mean of ours with a printed number, both in percent.

    Args:
        metric: gaps are better when smaller, the others when larger.
        ours: None if it is undefined.
        printed: the paper's mean; two of its deviations are allowed.
        own_std: used in place of the paper's deviation where none is printed; without either nothing is judged.

    Example:
        >>> judge("statistical_parity_gap", 5.82, Number(1.71, 1.68)).word
        'worse'
        >>> judge("auc", 72.61, Number(72.41, 2.10)).word
        'within'
    """
    if ours is None:
        return MetricVerdict("undefined", None)
    difference = ours - printed.mean
    std = printed.std if printed.std is not None else own_std
    if std is None:
        return MetricVerdict("not judged", difference)
    if abs(difference) <= 2 * std + 1e-9:
        return MetricVerdict("within", difference)
    return MetricVerdict("better" if (difference < 0) == (metric in GAPS) else "worse", difference)


def verdicts(row: CellResult) -> dict[str, MetricVerdict]:
    """By metric; empty where the row is not compared."""
    if not row.cell.compared or row.reason:
        return {}
    return {
        metric: judge(metric, row.mean(metric), printed, own_std=row.std(metric) if row.count > 1 else None)
        for metric, printed in (row.cell.printed or {}).items()
    }


def in_words(row: CellResult) -> str:
    """The verdict of a whole row, for the last column of a table."""
    if row.reason:
        return row.reason
    if row.cell.not_compared == NOT_IN_PAPER:
        return NOT_IN_PAPER
    if not row.cell.compared:
        return f"not compared: {row.cell.not_compared}"
    judged = verdicts(row)
    parts = []
    for word in ("worse", "better", "undefined"):
        named = [f"{METRICS[metric].short}{_signed(v.difference)}" for metric, v in judged.items() if v.word == word]
        if named:
            parts.append(f"{word}: {', '.join(named)}")
    if any(verdict.word == "not judged" for verdict in judged.values()):
        parts.append("not judged: a single run, and the paper prints no deviation")
    return "; ".join(parts) if parts else "within two deviations"


def falls_short(row: CellResult) -> bool:
    """Some metric is worse than the paper's by more than two deviations, or missing."""
    return any(verdict.word in ("worse", "undefined") for verdict in verdicts(row).values())


def shortfalls(document: ArtefactResult) -> list[str]:
    """What of a table is not as good as the paper's: compared rows that are worse or lack runs, sizes that differ."""
    short = []
    for row in document.rows:
        lacking = f"{row.count} of {row.planned} runs; " if row.lacks_runs or row.earlier else ""
        if ((row.reason or lacking) and row.cell.compared) or falls_short(row):
            words = [document.name, row.cell.dataset, row.cell.encoder or "", row.cell.block, row.cell.row]
            short.append(f"{' '.join(word for word in words if word)} ({lacking}{in_words(row)})")
    differing = [record for record in document.series if str(record.get("verdict", "")).startswith("differs")]
    compared = [record for record in differing if paper_dataset(str(record["dataset"])) is not None]
    return short + [f"{document.name} {record['dataset']} {record['size']} {record['verdict']}" for record in compared]


def is_compared(document: ArtefactResult) -> bool:
    """Whether anything of it is set against the paper's numbers."""
    return any(row.cell.compared for row in document.rows) or any("verdict" in record for record in document.series)


def _signed(difference: float | None) -> str:
    return "" if difference is None else f" {difference:+.2f}"
