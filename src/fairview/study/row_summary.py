"""What does a comparison say? Rows with means, intervals, differences and ranks, as plain data for `summary.json`.

It holds nothing that depends on the clock, so that a resumed comparison has the same bytes; what the rows cost stands
in `timings.csv`, and `with_costs` adds it for those who show it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairview.data.graph import NodeGraph
from fairview.data.summary import describe_graph
from fairview.metrics.intervals import FEW
from fairview.metrics.registry import METRICS
from fairview.study.plan import PLAIN, Row
from fairview.study.statistics import (
    INTERVAL_RULE,
    PARETO_RULE,
    RANK_RULE,
    RunMetrics,
    difference,
    estimate,
    pareto,
    ranks,
)
from fairview.study.trials import Result, Trial
from fairview.undefined import Metric, Undefined

NEAR_CONSTANT = 0.02
"""A balanced accuracy within this of 1/2 is that of the same answer for everybody."""

UNRANKED = "It gives everybody the same answer: a yardstick, not a competitor."

_PARTS = ("mean", "std", "low", "high")

Outcomes = Sequence[tuple[Trial, Result]]


def summarise_rows(rows: Mapping[Any, Outcomes]) -> tuple[list[dict[str, Any]], list[str]]:
    """The rows as plain data, in their order, and what a reader must know.

    Args:
        rows: each a `Row`, or anything with the same facts.
    """
    runs = {row: [_run(trial, result) for trial, result in outcomes] for row, outcomes in rows.items()}
    estimates = {row: {name: estimate(of_row, name) for name in METRICS} for row, of_row in runs.items()}
    lost = {row for row, outcomes in rows.items() if all(result.failed is not None for _, result in outcomes)}
    ranked = [row for row in rows if not row.entry.looks_at_nothing and row not in lost]
    means = [{name: each.mean for name, each in estimates[row].items()} for row in ranked]
    places = dict(zip(ranked, zip(ranks(means), pareto(means), strict=True), strict=True))
    plain: dict[str | None, list[RunMetrics]] = {}
    for row in rows:
        if row.method == PLAIN:
            plain.setdefault(row.encoder, runs[row])
    described = []
    for row in rows:
        rank, best = places.get(row, (None, False))
        against = None
        if row.method != PLAIN and row.encoder in plain:
            each_difference = {n: difference(runs[row], plain[row.encoder], n) for n in METRICS}
            against = {n: {part: d.value(part) for part in ("mean", "low", "high")} for n, d in each_difference.items()}
        described.append(
            {
                "method": row.method,
                "encoder": row.encoder,
                "label": row.label,
                "runs": len(runs[row]),
                "failed": sum(result.failed is not None for _, result in rows[row]),
                "settings": dict(row.settings),
                "group_at_prediction": row.entry.group_at_prediction or bool(row.settings.get("group_at_prediction")),
                **{part: {n: each.value(part) for n, each in estimates[row].items()} for part in _PARTS},
                "undefined": {
                    n: each.mean.reason for n, each in estimates[row].items() if isinstance(each.mean, Undefined)
                },
                "rank": {part: getattr(rank, part, None) for part in ("utility", "fairness", "average")},
                "unranked": None if rank is not None else "All its runs failed." if row in lost else UNRANKED,
                "pareto": best,
                "difference": against,
            }
        )
    return described, _notes(rows, described)


def summary_document(
    graph: NodeGraph,
    rows: Mapping[Row, Outcomes],
    study: Mapping[str, Any],
    *,
    selection: str,
    notes: Sequence[str],
    own_split: str = "the graph's own split",
) -> dict[str, Any]:
    """What `summary.json` holds.

    Args:
        graph: that was compared on.
        rows: with their outcomes.
        study: what `study.json` holds.
        selection: the rule in words.
        notes: before those of the rows.
        own_split: where the split comes from, if there is one only.
    """
    described, of_rows = summarise_rows(rows)
    drawn = f"{study['splits']} stratified splits drawn with study seed {study['study_seed']}"
    return {
        "kind": "comparison",
        "version": 1,
        "graph": describe_graph(graph),
        "selection": selection,
        "splits": study["splits"],
        "split_rule": own_split if study["splits"] == 1 else drawn,
        "seeds": study["seeds"],
        "study_seed": study["study_seed"],
        "metrics": list(METRICS),
        "interval_rule": INTERVAL_RULE,
        "rank_rule": RANK_RULE,
        "pareto_rule": PARETO_RULE,
        "reference": PLAIN,
        "rows": described,
        "notes": [*notes, *of_rows],
    }


def with_costs(document: Mapping[str, Any], rows: Mapping[Row, Outcomes]) -> dict[str, Any]:
    """The same with what each row cost."""
    costs = [row_costs([result.timing for _, result in outcomes]) for outcomes in rows.values()]
    return {**document, "rows": [row | cost for row, cost in zip(document["rows"], costs, strict=True)]}


def row_costs(timings: Sequence[Any]) -> dict[str, float]:
    """The mean `seconds` of a run and the largest `memory_mb`.

    Example:
        >>> from fairview.study.trials import Timing
        >>> row_costs([Timing(seconds=1, peak_memory_mb=300), Timing(seconds=2, peak_memory_mb=200)])
        {'seconds': 1.5, 'memory_mb': 300.0}
    """
    return {
        "seconds": sum(timing.seconds for timing in timings) / len(timings),
        "memory_mb": max(timing.peak_memory_mb for timing in timings),
    }


def few_runs(trials: Sequence[Any]) -> str:
    """How little an interval rests on; empty from five splits, or seeds of one split, on."""
    splits, seeds = {trial.split for trial in trials}, {trial.seed for trial in trials}
    units, words = (len(splits), "splits") if len(splits) > 1 else (len(seeds), "seeds")
    return f"The intervals rest on {units} {words} only: use {FEW} or more." if units < FEW else ""


# --- parts ------------------------------------------------------------------------------------------------------------


def _run(trial: Trial, result: Result) -> RunMetrics:
    if result.failed is not None:
        failure = Undefined(f"the run failed: {result.failed}")
        return RunMetrics(trial.split, trial.seed, dict.fromkeys(METRICS, failure))
    values = result.metrics.get("test", {})
    reasons = values.get("undefined", {})
    lacking = "undefined" if values else "the graph has no test split"
    metrics: dict[str, Metric] = {
        name: Undefined(reasons.get(name, lacking)) if values.get(name) is None else float(values[name])
        for name in METRICS
    }
    return RunMetrics(trial.split, trial.seed, metrics)


def _notes(rows: Mapping[Any, Outcomes], described: Sequence[Mapping[str, Any]]) -> list[str]:
    notes = ["The majority answer has gaps of 0 by construction: compare balanced accuracy and FPR with it."]
    for row, numbers in zip(rows, described, strict=True):
        balanced = numbers["mean"]["balanced_accuracy"]
        if not row.entry.looks_at_nothing and balanced is not None and abs(balanced - 0.5) <= NEAR_CONSTANT:
            notes.append(
                f"{row.label} is close to the same answer for everybody: its balanced accuracy is "
                f"{100 * balanced:.1f} %."
            )
        if numbers["failed"]:
            reasons = dict.fromkeys(result.failed for _, result in rows[row] if result.failed is not None)
            notes.append(f"{row.label}: {numbers['failed']} of {numbers['runs']} runs failed ({'; '.join(reasons)}).")
        notes += [f"{row.label}: {note}" for note in dict.fromkeys(n for _, result in rows[row] for n in result.notes)]
        if numbers["runs"] == 1:
            notes.append(f"{row.label}: a single run has no interval.")
        elif few := few_runs([trial for trial, _ in rows[row]]):
            notes.append(few)
    return list(dict.fromkeys(notes))
