"""Figure 8: against the plain model, is the difference more than chance?"""

from __future__ import annotations

import altair as alt

from fairview.metrics.registry import METRICS
from fairview.report.documents import ComparisonRow
from fairview.report.figures.charts import BLUE, NEUTRAL, VERMILLION, Series, Values, dots, layered, rule, tip
from fairview.report.figures.figure import Figure, FigureTable, Panel
from fairview.report.folder import Content
from fairview.report.words import (
    capitalised,
    count,
    difference_verdict,
    distinct,
    listed,
    main_gaps,
    metric_name,
    number,
    plural,
    span,
)

MOST = 40
_UTILITY = ("auc", "f1", "accuracy")
_VERDICTS = Series(
    ("better", "can't tell", "worse"), colors=(BLUE, NEUTRAL, VERMILLION), shapes=("triangle-up", "circle", "cross")
)


def figure(content: Content) -> Figure | None:
    """Of a comparison: differences to the plain model with intervals, a panel per metric."""
    comparison = content.comparison
    if comparison is None or not comparison.rows:
        return None
    rows = [row for row in comparison.rows if row.difference][:MOST]
    labels = distinct([row.title for row in rows])
    panels = [panel for metric in (*main_gaps(), *_UTILITY) if (panel := _panel(rows, labels, metric)) is not None]
    cost = _cost_table(comparison.rows)
    return Figure(
        key="comparison",
        heading="Against the plain model, is the difference more than chance?",
        reading="Each mark is the difference to the plain model on the same splits and seeds; 0 means no difference. "
        "For gaps left is better, for the others right is better. A bar that touches 0 means: these trials can't tell."
        if panels
        else "No difference was measured: no plain model has the same encoder, or the numbers are undefined.",
        panels=tuple(panels),
        tables=(_difference_table(rows), cost) if panels else (cost,),
    )


def _panel(rows: list[ComparisonRow], labels: list[str], metric: str) -> Panel | None:
    values: Values = []
    for row, label in zip(rows, labels, strict=True):
        difference = (row.difference or {}).get(metric)
        if difference is not None and difference.mean is not None:
            verdict = difference_verdict(metric, difference.low, difference.high)
            interval = {"low": difference.low, "high": difference.high}
            values.append({"name": label, "series": verdict, "value": difference.mean} | interval)
    if not values:
        return None
    name = metric_name(metric)
    order = alt.Scale(domain=[row["name"] for row in values])
    y = alt.Y("name:N", title=None, sort=None, scale=order, axis=alt.Axis(grid=True))
    tips = tip(name="model", value="difference", low="low", high="high", series="this is")
    marks = dots(values, _VERDICTS, tips, {"title": f"difference of the {name}"}, y=y)
    places = listed([f"{row['name']} {number(row['value'])} ({row['series']})" for row in values], 10)
    chart = layered(rule(0.0), *marks, height=max(60, 26 * len(values)))
    text = f"Difference of the {name} to the plain model. {places}."
    return Panel(f"difference-{metric.replace('_', '-')}", capitalised(name), text, chart)


def _difference_table(rows: list[ComparisonRow]) -> FigureTable:
    metrics = [metric for metric in METRICS if any(metric in (row.difference or {}) for row in rows)]
    cells = [(row.title, *(_difference(row, metric) for metric in metrics)) for row in rows]
    columns = ("model", *map(metric_name, metrics))
    return FigureTable("Differences to the plain model, 95% intervals in brackets", columns, cells)


def _difference(row: ComparisonRow, metric: str) -> str:
    difference = (row.difference or {}).get(metric)
    if difference is None or difference.mean is None:
        return "–"
    verdict = difference_verdict(metric, difference.low, difference.high)
    return f"{number(difference.mean)} ({span(difference)}), {verdict}"


def _or_dash(value: float | None, digits: int) -> str:
    return "–" if value is None else number(value, digits)


def _cost_table(rows: list[ComparisonRow]) -> FigureTable:
    cells = []
    for row in rows[:MOST]:
        ranks = (_or_dash(row.rank.get(name), 1) for name in ("utility", "fairness", "average"))
        cost = (_or_dash(row.seconds, 2), _or_dash(row.memory_mb, 0))
        cells.append((row.title, count(row.runs), *ranks, "yes" if row.pareto else "no", *cost))
    names = ("rank by usefulness", "rank by fairness", "average rank", "on the front")
    columns = ("model", "runs", *names, "seconds per run", "peak MB of the process")
    return FigureTable(f"Ranks and cost of {plural(len(cells), 'model')}", columns, cells)
