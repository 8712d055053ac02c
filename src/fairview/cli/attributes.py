"""How are the gaps of several sensitive attributes shown? A line for each attribute, and one for all combinations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fairview.cli.output import percent, print_table, with_interval
from fairview.errors import quoted


def print_attributes(
    documents: Mapping[str, Mapping[str, Any]], cell: Callable[[Mapping[str, Any], str], str] | None = None
) -> None:
    """The gaps of each attribute; nothing where there is one only.

    Args:
        documents: evaluations as `metrics.json` has them, by split or by what was evaluated.
        cell: writes a metric of one attribute; by default its value, with the interval below.
    """
    from fairview.metrics.registry import METRICS, gap_names

    write = cell or with_interval
    rows, reasons = [], []
    for where, document in documents.items():
        for name, gaps in document.get("attributes", {}).items():
            rows.append([where, name, *(write(gaps, gap) for gap in gap_names())])
            reasons += [
                f"{where}, {name}: {METRICS[gap].short} is undefined: {why}."
                for gap, why in gaps.get("undefined", {}).items()
            ]
            left_out: dict[str, list[str]] = {}
            for gap, groups in gaps.get("left_out", {}).items():
                if groups:
                    left_out.setdefault(quoted(groups, limit=20), []).append(METRICS[gap].short)
            reasons += [
                f"{where}, {name}: too few nodes for the {' and the '.join(shorts)}, and left out: {groups}."
                for groups, shorts in left_out.items()
            ]
    if not rows:
        return
    caption = "Percent. The gap of a model is the largest of these; the last line of each compares all combinations."
    columns = ["", "attribute", *(METRICS[gap].short for gap in gap_names())]
    print_table("Gaps by attribute", columns, rows, caption="\n".join([caption, *dict.fromkeys(reasons)]))


def print_groups(title: str, document: Mapping[str, Any]) -> None:
    """What was predicted for the groups of each attribute, and for their combinations."""
    parts = document.get("attributes") or {"": document}
    names = ("group", "nodes", "positives", "predicted_positive")
    rates = ("selection_rate", "true_positive_rate", "false_positive_rate")
    columns = ["group", "nodes", "positive", "predicted positive", "selection %", "TPR %", "FPR %"]
    for name, part in parts.items():
        rows = [[*(group[n] for n in names), *(percent(group[rate]) for rate in rates)] for group in part["groups"]]
        print_table(f"{title} by {name}" if name else title, columns, rows)
