"""How does a comparison look in a notebook, and as a table?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fairview import notebook
from fairview.metrics.registry import METRICS

if TYPE_CHECKING:
    import polars as pl

    from fairview.study.comparison import Comparison


GROUP_MARK = "†"
GROUP_MARK_MEANS = f"{GROUP_MARK} needs each node's sensitive group at prediction."


def marked_label(row: Mapping[str, Any]) -> str:
    """A row's label, with a mark if the group is needed at prediction.

    Example:
        >>> marked_label({"label": "Group thresholds", "group_at_prediction": True})
        'Group thresholds †'
    """
    return f"{row['label']} {GROUP_MARK}" if row.get("group_at_prediction") else str(row["label"])


def comparison_html(comparison: Comparison) -> str:
    """Means and standard deviations of each row, and the differences to the plain model."""
    summary = comparison.summary
    metrics = [name for name in summary["metrics"] if name not in METRICS or METRICS[name].in_tables]
    names = [METRICS[name].short if name in METRICS else name for name in metrics]
    runs = f"{summary['seeds']} seeds, {summary['split_rule']}"
    means = [[marked_label(row), *(_mean(row, metric) for metric in metrics)] for row in summary["rows"]]
    differences = [
        [marked_label(row), *(_difference(row["difference"][metric]) for metric in metrics)]
        for row in summary["rows"]
        if row["difference"] is not None
    ]
    marks = [GROUP_MARK_MEANS] if any(row.get("group_at_prediction") for row in summary["rows"]) else []
    return notebook.block(
        f"Comparison on {summary['graph']['source']}: {runs}",
        notebook.table(["", *names], means, caption="Mean ± standard deviation over the runs; a gap of 0 means equal"),
        notebook.table(
            ["", *names],
            differences,
            caption="Difference to the plain model with the same encoder, with intervals; for gaps below 0 is fairer",
        ),
        notebook.notes([*marks, *summary["notes"]]),
        notebook.paragraph(f"Files: {comparison.folder}"),
    )


def comparison_text(comparison: Comparison) -> str:
    """The means in percent, a line per row, for a terminal."""
    summary = comparison.summary
    metrics = [name for name, entry in METRICS.items() if entry.in_tables and name in summary["metrics"]]
    width = max(len(marked_label(row)) for row in summary["rows"])
    head = f"Comparison on {summary['graph']['source']}, seeds: {summary['seeds']}, {summary['split_rule']}"
    lines = [head, " " * width + "".join(f"{METRICS[name].short:>10}" for name in metrics)]
    for row in summary["rows"]:
        means = (row["mean"][name] for name in metrics)
        cells = "".join("         -" if mean is None else f"{100 * mean:10.1f}" for mean in means)
        failed = f"  ({row['failed']} of {row['runs']} runs failed)" if row["failed"] else ""
        lines.append(f"{marked_label(row):<{width}}{cells}{failed}")
    marks = [GROUP_MARK_MEANS] if any(row.get("group_at_prediction") for row in summary["rows"]) else []
    return "\n".join([*lines, *marks, f"Percent on the test nodes, mean over the runs. Files: {comparison.folder}"])


def comparison_frame(comparison: Comparison) -> pl.DataFrame:
    """One row per method, encoder and metric; see `Comparison.to_frame`."""
    import polars as pl

    schema: dict[str, Any] = dict.fromkeys(("method", "encoder", "metric"), pl.String) | {"runs": pl.Int64}
    schema |= dict.fromkeys(("mean", "std", "low", "high"), pl.Float64)
    schema |= dict.fromkeys(("difference", "difference_low", "difference_high"), pl.Float64) | {"undefined": pl.String}
    rows = []
    for row in comparison.summary["rows"]:
        for metric in comparison.summary["metrics"]:
            against = (row["difference"] or {}).get(metric) or {}
            rows.append(
                {"method": row["method"], "encoder": row["encoder"], "metric": metric, "runs": row["runs"]}
                | {name: row[name][metric] for name in ("mean", "std", "low", "high")}
                | {"difference": against.get("mean"), "undefined": row["undefined"].get(metric)}
                | {f"difference_{end}": against.get(end) for end in ("low", "high")}
            )
    return pl.DataFrame(rows, schema=schema)


def _mean(row: Mapping[str, Any], metric: str) -> str | None:
    mean, std = row["mean"][metric], row["std"][metric]
    if mean is None:
        return None
    return f"{mean:.3f}" if std is None or row["runs"] == 1 else f"{mean:.3f} ± {std:.3f}"


def _difference(estimate: Mapping[str, float | None]) -> str | None:
    mean, low, high = estimate["mean"], estimate["low"], estimate["high"]
    if mean is None:
        return None
    return f"{mean:+.3f}" if low is None or high is None else f"{mean:+.3f} ({low:+.3f} to {high:+.3f})"
