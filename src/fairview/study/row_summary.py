"""What does a comparison say? Rows with means, intervals, differences and ranks, as plain data for `summary.json`.

It holds nothing that depends on the clock, so that a resumed comparison has the same bytes; what the rows cost stands
in `timings.csv`, and `with_costs` adds it for those who show it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairview.data.graph import NodeGraph
from fairview.metrics.registry import METRICS
from fairview.study.plan import CONSTANT, PLAIN, Row
from fairview.study.statistics import (
    INTERVAL_RULE,
    PARETO_RULE,
    RANK_RULE,
    Estimate,
    Run,
    difference,
    estimate,
    pareto,
    ranks,
)
from fairview.study.trials import Result, Trial
from fairview.undefined import Metric, Undefined

NEAR_CONSTANT = 0.02
"""A balanced accuracy within this of 1/2 is that of a predictor that looks at nothing."""

Outcomes = Sequence[tuple[Trial, Result]]


def summarise_rows(rows: Mapping[Row, Outcomes]) -> tuple[list[dict[str, Any]], list[str]]:
    """The rows as plain data, in their order, and what a reader must know."""
    runs = {row: [_run(trial, result) for trial, result in outcomes] for row, outcomes in rows.items()}
    found = {row: {name: estimate(of_row, name) for name in METRICS} for row, of_row in runs.items()}
    means = [{name: each.mean for name, each in of_row.items()} for of_row in found.values()]
    plain = {row.encoder: of_row for row, of_row in runs.items() if row.method == PLAIN}
    described = []
    for row, rank, best in zip(rows, ranks(means), pareto(means), strict=True):
        compared = row.method != PLAIN and row.encoder in plain
        against = {n: difference(runs[row], plain[row.encoder], n) for n in METRICS} if compared else None
        described.append(
            {
                "method": row.method,
                "encoder": row.encoder,
                "label": row.label,
                "runs": len(runs[row]),
                "failed": sum(result.failed is not None for _, result in rows[row]),
                "settings": dict(row.settings),
                "mean": {name: _plain(each.mean) for name, each in found[row].items()},
                "std": {name: each.std for name, each in found[row].items()},
                "low": {name: each.low for name, each in found[row].items()},
                "high": {name: each.high for name, each in found[row].items()},
                "undefined": {
                    n: each.mean.reason for n, each in found[row].items() if isinstance(each.mean, Undefined)
                },
                "rank": {"utility": rank.utility, "fairness": rank.fairness, "average": rank.average},
                "pareto": best,
                "difference": None if against is None else {name: _end(each) for name, each in against.items()},
            }
        )
    return described, _notes(rows, described)


def summary_document(
    graph: NodeGraph, rows: Mapping[Row, Outcomes], *, selection: str, seeds: int, splits: int, study_seed: int
) -> dict[str, Any]:
    """What `summary.json` holds."""
    described, notes = summarise_rows(rows)
    drawn = f"{splits} stratified splits drawn with study seed {study_seed}"
    return {
        "kind": "comparison",
        "version": 1,
        "graph": describe_graph(graph),
        "selection": selection,
        "splits": splits,
        "split_rule": "the graph's own split" if splits == 1 else drawn,
        "seeds": seeds,
        "study_seed": study_seed,
        "metrics": list(METRICS),
        "interval_rule": INTERVAL_RULE,
        "rank_rule": RANK_RULE,
        "pareto_rule": PARETO_RULE,
        "reference": PLAIN,
        "rows": described,
        "notes": notes,
    }


def describe_graph(graph: NodeGraph) -> dict[str, Any]:
    return {
        "source": graph.provenance.source,
        "sha256": graph.sha256,
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "sensitive": graph.sensitive_name,
        "groups": graph.group_sizes,
        "group_unknown": graph.sensitive_unknown,
        "sensitive_channels": list(graph.sensitive_channels),
    }


def with_costs(document: Mapping[str, Any], rows: Mapping[Row, Outcomes]) -> dict[str, Any]:
    """The same with the mean `seconds` of a run and the largest `memory_mb` in each row."""
    costs = {(row.method, row.encoder): [result.timing for _, result in outcomes] for row, outcomes in rows.items()}
    described = []
    for row in document["rows"]:
        timings = costs[row["method"], row["encoder"]]
        seconds = sum(timing.seconds for timing in timings) / len(timings)
        described.append(row | {"seconds": seconds, "memory_mb": max(timing.peak_memory_mb for timing in timings)})
    return {**document, "rows": described}


# --- parts ------------------------------------------------------------------------------------------------------------


def _run(trial: Trial, result: Result) -> Run:
    if result.failed is not None:
        failure = Undefined(f"the run failed: {result.failed}")
        return Run(trial.split, trial.seed, dict.fromkeys(METRICS, failure))
    found = result.metrics.get("test", {})
    reasons = found.get("undefined", {})
    lacking = "the graph has no test split" if not found else "undefined"
    metrics: dict[str, Metric] = {
        name: Undefined(reasons.get(name, lacking)) if found.get(name) is None else float(found[name])
        for name in METRICS
    }
    return Run(trial.split, trial.seed, metrics)


def _notes(rows: Mapping[Row, Outcomes], described: Sequence[Mapping[str, Any]]) -> list[str]:
    notes = ["The constant predictor looks at nothing, and its gaps are 0: compare balanced accuracy and FPR with it."]
    for row, found in zip(rows, described, strict=True):
        balanced = found["mean"]["balanced_accuracy"]
        if row.method != CONSTANT and balanced is not None and abs(balanced - 0.5) <= NEAR_CONSTANT:
            notes.append(
                f"{row.label} is close to the constant predictor: its balanced accuracy is {100 * balanced:.1f} %."
            )
        if found["failed"]:
            reasons = dict.fromkeys(result.failed for _, result in rows[row] if result.failed is not None)
            notes.append(f"{row.label}: {found['failed']} of {found['runs']} runs failed ({'; '.join(reasons)}).")
        notes += [f"{row.label}: {note}" for note in dict.fromkeys(n for _, result in rows[row] for n in result.notes)]
        if found["runs"] == 1:
            notes.append(f"{row.label}: a single run has no interval.")
    return list(dict.fromkeys(notes))


def _plain(value: Metric) -> float | None:
    return None if isinstance(value, Undefined) else value


def _end(found: Estimate) -> dict[str, float | None]:
    return {"mean": _plain(found.mean), "low": found.low, "high": found.high}
