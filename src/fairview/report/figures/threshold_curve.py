"""Figure 6: would another threshold have been fairer? Gaps and accuracy at every threshold, the chosen one marked."""

from __future__ import annotations

from typing import Any

import altair as alt

from fairview.metrics.registry import gap_names
from fairview.report.audit_documents import ThresholdRow, ThresholdsDocument
from fairview.report.figures.charts import GREEN, Series, Values, chart_of, curves, known, layered, rule, tip
from fairview.report.figures.figure import Figure, FigureTable, Panel
from fairview.report.folder import Content
from fairview.report.words import metric_name, number, plural


def figure(content: Content) -> Figure | None:
    """Of an audited model."""
    model = content.model
    return None if model is None or model.thresholds is None else thresholds_figure(model.thresholds)


def thresholds_figure(thresholds: ThresholdsDocument) -> Figure | None:
    """The gaps with their bands, and below them the accuracy."""
    points = _telling(thresholds.points)
    gaps = {gap: values for gap in gap_names() if (values := _values(points, gap))}
    if not gaps:
        return None
    chosen = thresholds.chosen
    drawn = [row for values in gaps.values() for row in values]
    largest = max(drawn, key=lambda row: row["value"])
    text = (
        f"Gaps at {plural(len(points), 'threshold')}; the largest is {number(largest['value'])} "
        f"({largest['series']}) at {number(largest['threshold'], 2)}."
    )
    series = Series(list(map(metric_name, gaps)), symbol="stroke")
    chart = _chart(drawn, "gap (0 = equal)", chosen, series)
    panels = [Panel("thresholds-gaps", "Gaps at every threshold", text, chart)]
    if accuracy := _values(points, "accuracy"):
        best = max(accuracy, key=lambda row: row["value"])
        text = f"Accuracy by threshold; highest {number(best['value'])} at {number(best['threshold'], 2)}."
        chart = _chart(accuracy, "accuracy", chosen)
        panels.append(Panel("thresholds-accuracy", "Accuracy at every threshold", text, chart))
    metrics = ("accuracy", *gaps)
    rows = [
        (
            number(point.threshold, 2),
            *(number(point.value(metric)) for metric in metrics),
            "chosen" if chosen is not None and abs(point.threshold - chosen) < 1e-9 else "",
        )
        for point in thresholds.points
    ]
    return Figure(
        key="thresholds",
        heading="Would another threshold change the answer?",
        reading="A person gets a yes when the score lies above the threshold. A gap that is small only at the "
        "chosen threshold (the dashed line) may be luck: look at its neighbours too. Shaded: the 95% interval "
        "at each threshold by itself.",
        panels=tuple(panels),
        notes=("Thresholds below and above those drawn give everyone the same answer.",)
        if len(points) < len(rows)
        else (),
        tables=(FigureTable("Every threshold", ("threshold", *map(metric_name, metrics), ""), rows),),
    )


def _values(points: list[ThresholdRow], metric: str) -> Values:
    """A metric and its band at every threshold where it has a value."""
    return [
        {
            "series": metric_name(metric),
            "threshold": point.threshold,
            "value": point.value(metric),
            "low": point.low.get(metric),
            "high": point.high.get(metric),
        }
        for point in points
        if point.value(metric) is not None
    ]


def _telling(points: list[ThresholdRow]) -> list[ThresholdRow]:
    """Without the flat ends, where everyone gets the same answer: three points beyond the first and last change."""
    changes = [place for place in range(1, len(points)) if points[place].metrics != points[place - 1].metrics]
    return points[max(0, changes[0] - 4) : changes[-1] + 4] if changes else points


def _chart(values: Values, y_title: str, chosen: float | None, series: Series | None = None) -> alt.LayerChart:
    """Curves with bands; the gaps are told apart as `series`, the accuracy is alone."""
    x = alt.X("threshold:Q", title="threshold", scale=alt.Scale(zero=False, nice=False))
    y = alt.Y("value:Q", title=y_title, scale=alt.Scale(zero=series is not None))
    names = {} if series is None else {"series": ""}
    tips = tip(**names, threshold="threshold", value=y_title.split(" (")[0], low="low", high="high")
    alone: dict[str, Any] = {"color": GREEN} if series is None else {}
    layers = [rule(chosen, "chosen")] if chosen is not None else []
    if bounds := known(values, "low", "high"):
        color = {} if series is None else {"color": series.color()}
        band = chart_of(bounds).mark_area(fillOpacity=0.15, **alone)
        layers.append(band.encode(x=x, y=alt.Y("low:Q", title=y_title), y2="high:Q", **color))
    return layered(*layers, *curves(values, x, y, tips, series, **alone), height=260)
