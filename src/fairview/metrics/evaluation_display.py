"""How do evaluations look in a notebook, and as a table of metrics?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fairview import notebook
from fairview.metrics.intervals import Interval
from fairview.metrics.registry import METRICS
from fairview.undefined import Undefined, plain

if TYPE_CHECKING:
    import polars as pl

    from fairview.metrics.evaluation import Evaluation, GroupCounts


def evaluation_html(evaluation: Evaluation) -> str:
    """The metrics with their intervals, and the groups behind them."""
    rows = [
        [_words(row["metric"]), row["value"], notebook.interval(row["low"], row["high"])]
        for row in metric_rows(evaluation)
    ]
    columns = ["metric", "value", "interval"]
    if not evaluation.intervals:
        columns, rows = columns[:2], [row[:2] for row in rows]
    unknown = f", {evaluation.group_unknown:,} of unknown group" if evaluation.group_unknown else ""
    return notebook.block(
        f"Evaluation of {evaluation.nodes:,} nodes{unknown}",
        notebook.table(columns, rows, caption="Metrics as fractions; a gap of 0 means equal", most=len(rows)),
        groups_table(evaluation.groups),
        notebook.notes(undefined_sentences(evaluation)),
    )


def groups_table(groups: tuple[GroupCounts, ...]) -> str:
    """What was predicted for each group."""
    rows = [
        [
            group.group,
            group.nodes,
            group.positives,
            group.predicted_positive,
            *map(plain, (group.selection_rate, group.true_positive_rate, group.false_positive_rate)),
        ]
        for group in groups
    ]
    columns = ["group", "nodes", "positive labels", "predicted positive", "selection rate", "TPR", "FPR"]
    return notebook.table(columns, rows, caption="Groups")


def undefined_sentences(evaluation: Evaluation) -> list[str]:
    """Why metrics have no value."""
    return [f"{_words(name)} is undefined: {reason}" for name, reason in evaluation.undefined.items()]


def evaluations_frame(evaluations: Mapping[str, Evaluation]) -> pl.DataFrame:
    """One row per model and metric; see `Evaluation.to_frame`."""
    import polars as pl

    schema = {"model": pl.String, "metric": pl.String, "value": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    rows = [{"model": model} | row for model, found in evaluations.items() for row in metric_rows(found)]
    return pl.DataFrame(rows, schema=schema | {"undefined": pl.String})


def metric_rows(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Metric, value, interval and reason, None where there is none."""
    rows = []
    for name, value in evaluation.metrics.items():
        found = evaluation.intervals.get(name)
        low, high = (found.low, found.high) if isinstance(found, Interval) else (None, None)
        reason = value.reason if isinstance(value, Undefined) else None
        rows.append({"metric": name, "value": plain(value), "low": low, "high": high, "undefined": reason})
    return rows


def _words(metric: str) -> str:
    return METRICS[metric].words if metric in METRICS else metric
