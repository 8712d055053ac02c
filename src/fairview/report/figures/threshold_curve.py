"""Figure 6: would another threshold have been fairer? Gaps and accuracy at every threshold, the chosen one marked."""

from __future__ import annotations

import altair as alt

from fairview.report.documents import ThresholdPoint, Thresholds
from fairview.report.figures.charts import (
    GREEN,
    Figure,
    Panel,
    Series,
    Table,
    Values,
    chart_of,
    known,
    layered,
    rule,
    tip,
)
from fairview.report.words import metric_name, number, plural

_GAPS = ("statistical_parity_gap", "equal_opportunity_gap")


def thresholds_figure(thresholds: Thresholds) -> Figure | None:
    """The gaps with their bands, and below them the accuracy."""
    points = _telling(thresholds.points)
    gaps: Values = [
        {
            "series": metric_name(gap),
            "threshold": point.threshold,
            "value": getattr(point, gap),
            "low": point.low.get(gap),
            "high": point.high.get(gap),
        }
        for gap in _GAPS
        for point in points
    ]
    gaps = known(gaps, "value")
    accuracy: Values = [
        {
            "threshold": point.threshold,
            "value": point.accuracy,
            "low": point.low.get("accuracy"),
            "high": point.high.get("accuracy"),
        }
        for point in points
        if point.accuracy is not None
    ]
    if not gaps:
        return None
    names = [name for name in map(metric_name, _GAPS) if any(row["series"] == name for row in gaps)]
    largest = max(gaps, key=lambda row: row["value"])
    text = (
        f"Gaps at {plural(len(points), 'threshold')}; the largest is {number(largest['value'])} "
        f"({largest['series']}) at {number(largest['threshold'], 2)}."
    )
    panels = [Panel("thresholds-gaps", "Gaps at every threshold", text, _gaps(gaps, names, thresholds.chosen))]
    if accuracy:
        best = max(accuracy, key=lambda row: row["value"] or 0.0)
        said = f"Accuracy by threshold; highest {number(best['value'])} at {number(best['threshold'], 2)}."
        chart = _accuracy(accuracy, thresholds.chosen)
        panels.append(Panel("thresholds-accuracy", "Accuracy at every threshold", said, chart))
    rows = [
        (
            number(point.threshold, 2),
            number(point.accuracy),
            number(point.statistical_parity_gap),
            number(point.equal_opportunity_gap),
            "chosen" if thresholds.chosen is not None and abs(point.threshold - thresholds.chosen) < 1e-9 else "",
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
        tables=(Table("Every threshold", ("threshold", "accuracy", *map(metric_name, _GAPS), ""), rows),),
    )


def _telling(points: list[ThresholdPoint]) -> list[ThresholdPoint]:
    """Without the flat ends, where everyone gets the same answer: three points beyond the first and last change."""

    def said(point: ThresholdPoint) -> tuple[float | None, ...]:
        return point.accuracy, point.statistical_parity_gap, point.equal_opportunity_gap

    changes = [place for place in range(1, len(points)) if said(points[place]) != said(points[place - 1])]
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
