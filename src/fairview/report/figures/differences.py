"""Figure 8: against the plain model, is the difference more than chance?"""

from __future__ import annotations

import altair as alt

from fairview.report.documents import METRICS, Compared, Comparison
from fairview.report.figures.charts import (
    BLUE,
    NEUTRAL,
    VERMILLION,
    Figure,
    Panel,
    Table,
    chart_of,
    known,
    layered,
    rule,
    tip,
)
from fairview.report.words import count, distinct, listed, metric_name, number, plural, span

MOST = 40
SHOWN = ("statistical_parity_gap", "equal_opportunity_gap", "auc", "f1", "accuracy")
_LOWER_IS_BETTER = ("statistical_parity_gap", "equal_opportunity_gap", "equalized_odds_gap", "false_positive_rate")
_RANKS = ("utility", "fairness", "average")
_VERDICTS = ("better", "can't tell", "worse")


def difference_verdict(metric: str, low: float | None, high: float | None) -> str:
    """What an interval of a difference says.

    Example:
        >>> difference_verdict("statistical_parity_gap", -0.2, -0.1), difference_verdict("auc", -0.1, 0.1)
        ('better', "can't tell")
    """
    if low is None or high is None or low <= 0 <= high:
        return "can't tell"
    return "better" if (high < 0) == (metric in _LOWER_IS_BETTER) else "worse"


def comparison_figure(comparison: Comparison) -> Figure | None:
    """Differences against the plain model with intervals, a panel per metric."""
    if not comparison.rows:
        return None
    rows = [row for row in comparison.rows if row.difference][:MOST]
    labels = distinct([row.title for row in rows])
    panels = [_panel(rows, labels, metric) for metric in SHOWN]
    cost = _cost_table(comparison.rows)
    if not any(panels):
        return Figure(
            key="comparison",
            heading="Against the plain model, is the difference more than chance?",
            reading="No difference was measured: no plain model has the same encoder, or the numbers are undefined.",
            panels=(),
            tables=(cost,),
        )
    return Figure(
        key="comparison",
        heading="Against the plain model, is the difference more than chance?",
        reading="Each mark is the difference to the plain model on the same splits and seeds; 0 means no difference. "
        "For gaps left is better, for the others right is better. A bar that touches 0 means: these trials can't tell.",
        panels=tuple(panel for panel in panels if panel is not None),
        tables=(_difference_table(rows), cost),
    )


def _panel(rows: list[Compared], labels: list[str], metric: str) -> Panel | None:
    values = []
    for row, label in zip(rows, labels, strict=True):
        found = (row.difference or {}).get(metric)
        if found is not None and found.mean is not None:
            said = difference_verdict(metric, found.low, found.high)
            values.append({"name": label, "series": said, "value": found.mean, "low": found.low, "high": found.high})
    if not values:
        return None
    order = [str(row["name"]) for row in values]
    colour = alt.Color(
        "series:N", title=None, scale=alt.Scale(domain=list(_VERDICTS), range=[BLUE, NEUTRAL, VERMILLION])
    )
    shape = alt.Shape(
        "series:N", title=None, scale=alt.Scale(domain=list(_VERDICTS), range=["triangle-up", "circle", "cross"])
    )
    title = f"difference of the {metric_name(metric)}"
    y = alt.Y("name:N", title=None, sort=None, scale=alt.Scale(domain=order), axis=alt.Axis(grid=True))
    bar = chart_of(known(values, "low", "high")).mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", title=title), x2="high:Q", y=y, color=colour
    )  # fmt: skip
    mark = chart_of(values).mark_point(size=70, filled=True, opacity=1).encode(
        x=alt.X("value:Q", title=title), y=y, color=colour, shape=shape,
        tooltip=tip(name="model", value="difference", low="low", high="high", series="this is"),
    )  # fmt: skip
    said = listed([f"{row['name']} {number(float(str(row['value'])))} ({row['series']})" for row in values], 10)
    chart = layered(rule(0.0), bar, mark, height=max(60, 26 * len(values)))
    key = f"difference-{metric.replace('_', '-')}"
    name = metric_name(metric)
    return Panel(key, name[0].upper() + name[1:], f"Difference of the {name} to the plain model. {said}.", chart)


def _difference_table(rows: list[Compared]) -> Table:
    metrics = [metric for metric in METRICS if any(metric in (row.difference or {}) for row in rows)]
    cells = []
    for row in rows:
        found = [(metric, (row.difference or {}).get(metric)) for metric in metrics]
        said = (
            "–"
            if d is None or d.mean is None
            else f"{number(d.mean)} ({span(d)}), {difference_verdict(m, d.low, d.high)}"
            for m, d in found
        )
        cells.append((row.title, *said))
    columns = ("model", *(metric_name(metric) for metric in metrics))
    return Table("Differences to the plain model, 95% intervals in brackets", columns, cells)


def _cost_table(rows: list[Compared]) -> Table:
    cells = [
        (
            row.title,
            count(row.runs),
            *("–" if row.rank.get(name) is None else number(row.rank[name], 1) for name in _RANKS),
            "yes" if row.pareto else "no",
            "–" if row.seconds is None else number(row.seconds, 2),
            "–" if row.memory_mb is None else number(row.memory_mb, 0),
        )
        for row in rows[:MOST]
    ]  # fmt: skip
    columns = (
        "model",
        "runs",
        "rank by usefulness",
        "rank by fairness",
        "average rank",
        "on the front",
        "seconds per run",
        "peak MB of the process",
    )
    return Table(f"Ranks and cost of {plural(len(cells), 'model')}", columns, cells)
