"""Figure 6: would another threshold have been fairer? Gaps and accuracy at every threshold, the chosen one marked."""

from __future__ import annotations

import altair as alt

from fairview.metrics.registry import gap_names
from fairview.report.documents import ThresholdRow, ThresholdsDocument
from fairview.report.figures.charts import GREEN, Series, Values, chart_of, known, layered, rule, tip
from fairview.report.figures.figure import Figure, FigureTable, Panel
from fairview.report.folder import Content
from fairview.report.words import metric_name, number, plural


def figure(content: Content) -> Figure | None:
    """Of an audited model."""
    model = content.audit.model if content.audit else None
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
    panels = [
        Panel("thresholds-gaps", "Gaps at every threshold", text, _gaps(drawn, list(map(metric_name, gaps)), chosen))
    ]
    if accuracy := _values(points, "accuracy"):
        best = max(accuracy, key=lambda row: row["value"])
        text = f"Accuracy by threshold; highest {number(best['value'])} at {number(best['threshold'], 2)}."
        panels.append(Panel("thresholds-accuracy", "Accuracy at every threshold", text, _accuracy(accuracy, chosen)))
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


def _gaps(values: Values, names: list[str], chosen: float | None) -> alt.LayerChart:
    series = Series(names, symbol="stroke")
    x = alt.X("threshold:Q", title="threshold", scale=alt.Scale(zero=False, nice=False))
    y = alt.Y("value:Q", title="gap (0 = equal)", scale=alt.Scale(zero=True))
    tips = tip(series="", threshold="threshold", value="gap", low="low", high="high")
    band = chart_of(known(values, "low", "high")).mark_area(fillOpacity=0.15).encode(
        x=x, y=alt.Y("low:Q", title="gap (0 = equal)"), y2="high:Q", color=series.color()
    )  # fmt: skip
    line = chart_of(values).mark_line(strokeWidth=2).encode(x=x, y=y, color=series.color(), strokeDash=series.dash())
    spots = chart_of(values).mark_point(size=120, opacity=0, filled=True).encode(x=x, y=y, tooltip=tips)
    marked = [rule(chosen, "chosen")] if chosen is not None else []
    return layered(*marked, band, line, spots, height=260)


def _accuracy(values: Values, chosen: float | None) -> alt.LayerChart:
    x = alt.X("threshold:Q", title="threshold", scale=alt.Scale(zero=False, nice=False))
    y = alt.Y("value:Q", title="accuracy", scale=alt.Scale(zero=False))
    tips = tip(threshold="threshold", value="accuracy", low="low", high="high")
    bounds = known(values, "low", "high")
    band = chart_of(bounds).mark_area(fillOpacity=0.15, color=GREEN)
    bands = [band.encode(x=x, y=alt.Y("low:Q", title="accuracy"), y2="high:Q")] if bounds else []
    line = chart_of(values).mark_line(strokeWidth=2, color=GREEN).encode(x=x, y=y)
    spots = chart_of(values).mark_point(size=120, opacity=0, filled=True).encode(x=x, y=y, tooltip=tips)
    marked = [rule(chosen, "chosen")] if chosen is not None else []
    return layered(*marked, *bands, line, spots, height=260)
