"""Figure 4: what does fairness cost? Every model, and the constant predictor, in one plane."""

from __future__ import annotations

from dataclasses import dataclass

import altair as alt

from fairview.report.documents import METRICS, Comparison, Row
from fairview.report.figures.charts import Figure, Panel, Series, Table, Values, chart_of, known, layered, tip
from fairview.report.words import distinct, encoder_name, listed, method_name, metric_name, number, span

MOST = 60
PLANES = (("auc", "statistical_parity_gap"), ("balanced_accuracy", "equal_opportunity_gap"))


@dataclass(frozen=True)
class Point:
    """A model in the plane; `series` gives the colour, `kind` the shape."""

    name: str
    series: str
    kind: str
    row: Row


def compared_points(comparison: Comparison) -> list[Point]:
    """The rows of a comparison, coloured by method and shaped by encoder."""
    points = []
    for found in comparison.rows[:MOST]:
        numbers = {metric: found.mean.get(metric) for metric in METRICS}
        intervals = {metric: {"low": found.low.get(metric), "high": found.high.get(metric)} for metric in METRICS}
        row = Row.model_validate({"name": found.title, "intervals": intervals, "undefined": found.undefined} | numbers)
        series = method_name(found.method) or found.title
        points.append(Point(found.title, series, encoder_name(found.encoder) or "no encoder", row))
    return points


def model_points(rows: list[Row]) -> list[Point]:
    """Models by name."""
    labels = distinct([method_name(row.name) for row in rows[:MOST]], limit=48)
    return [Point(label, label, label, row) for label, row in zip(labels, rows, strict=False)]


def tradeoff_figure(points: list[Point], interval_words: str) -> Figure | None:
    """Utility against gap, with bars for what chance alone could do."""
    panels = [panel for utility, gap in PLANES if (panel := _panel(points, utility, gap)) is not None]
    if not points:
        return None
    table = Table(
        f"All models; {interval_words} in brackets",
        ("model", *(metric_name(metric) for metric in METRICS)),
        [(point.name, *(_cell(point.row, metric) for metric in METRICS)) for point in points],
    )
    reasons = dict.fromkeys(
        f"{point.name}: the {metric_name(metric)} is undefined: {reason}."
        for point in points
        for metric, reason in point.row.undefined.items()
    )
    return Figure(
        key="tradeoff",
        heading="What does fairness cost?",
        reading="Up is more useful, left is more equal: the best place is the top left. Bars show what chance alone "
        f"could do ({interval_words}). A predictor that gives everyone the same answer is perfectly equal and useless; "
        "a model is worth something only if it lies clearly above it."
        if panels
        else "Nothing can be drawn: no model has both a gap and a measure of usefulness. The table has what is known.",
        panels=tuple(panels),
        tables=(table,),
        notes=tuple(reasons)[:8],
    )


def _cell(row: Row, metric: str) -> str:
    interval = row.interval(metric)
    text = number(row.value(metric))
    return text if interval is None else f"{text} ({span(interval, digits=2)})"


def _panel(points: list[Point], utility: str, gap: str) -> Panel | None:
    values: Values = []
    for point in points:
        x, y = point.row.interval(gap), point.row.interval(utility)
        values.append(
            {
                "name": point.name,
                "series": point.series,
                "kind": point.kind,
                "gap": point.row.value(gap),
                "utility": point.row.value(utility),
                "gap_low": x and x[0],
                "gap_high": x and x[1],
                "low": y and y[0],
                "high": y and y[1],
            }
        )
    values = known(values, "gap", "utility")
    if not values:
        return None
    said = [f"{row['name']}: {number(row['utility'], 2)} at a gap of {number(row['gap'], 2)}" for row in values]
    text = f"{metric_name(utility)} against {metric_name(gap)}. {listed(said, 8)}."
    title = f"{metric_name(utility)} against {metric_name(gap)}"
    title = title[0].upper() + title[1:]
    return Panel(f"tradeoff-{utility.replace('_', '-')}", title, text, _chart(values, utility, gap))


def _chart(values: Values, utility: str, gap: str) -> alt.LayerChart:
    names = list(dict.fromkeys(str(row["series"]) for row in values))
    kinds = list(dict.fromkeys(str(row["kind"]) for row in values))
    colour = Series(names).color()
    shape = Series(kinds, field="kind", grey=True).shape() if kinds != names else Series(names).shape()
    x_title, y_title = f"{metric_name(gap)} (0 = equal)", metric_name(utility)
    x_scale, y_scale = alt.Scale(zero=True, nice=False, padding=12), alt.Scale(zero=False, nice=False, padding=12)
    x, y = alt.X("gap:Q", title=x_title, scale=x_scale), alt.Y("utility:Q", title=y_title, scale=y_scale)
    tips = tip(name="model", utility=metric_name(utility), low="low", high="high",
               gap=metric_name(gap), gap_low="low ", gap_high="high ")  # fmt: skip
    across = chart_of(known(values, "gap_low", "gap_high")).mark_rule(strokeOpacity=0.55, strokeWidth=1.6).encode(
        x=alt.X("gap_low:Q", title=x_title, scale=x_scale), x2="gap_high:Q", y=y, color=colour
    )  # fmt: skip
    along = chart_of(known(values, "low", "high")).mark_rule(strokeOpacity=0.55, strokeWidth=1.6).encode(
        x=x, y=alt.Y("low:Q", title=y_title, scale=y_scale), y2="high:Q", color=colour
    )  # fmt: skip
    mark = chart_of(values).mark_point(size=95, filled=True, opacity=1).encode(
        x=x, y=y, color=colour, shape=shape, tooltip=tips
    )  # fmt: skip
    return layered(across, along, mark, height=300)
