"""Figure 4: what does fairness cost? Every model, and the majority answer, in one plane."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, pstdev

import altair as alt

from fairview.metrics.registry import METRICS
from fairview.report.attributes import attribute_names
from fairview.report.documents import ComparisonDocument, MetricsRow
from fairview.report.figures.charts import Series, Values, chart_of, known, layered, tip
from fairview.report.figures.figure import Figure, FigureTable, Panel
from fairview.report.folder import Content, RunDocuments
from fairview.report.words import (
    capitalised,
    distinct,
    encoder_name,
    listed,
    main_gaps,
    method_name,
    metric_name,
    number,
    span,
    with_need,
)

MOST = 60
UTILITIES = ("auc", "balanced_accuracy")


@dataclass(frozen=True)
class Point:
    """A model in the plane; `series` gives the colour, `kind` the shape, `std` the deviation over its runs."""

    name: str
    series: str
    kind: str
    row: MetricsRow
    std: Mapping[str, float | None] = field(default_factory=dict)


def figure_of_comparison(content: Content) -> Figure | None:
    """The means of a comparison."""
    if content.comparison is None:
        return None
    figure = tradeoff_figure(compared_points(content.comparison), "95% intervals over splits and seeds")
    return _noted(figure, content)


def _noted(figure: Figure | None, content: Content) -> Figure | None:
    note = largest_note(attribute_names(content)[:-1])
    return figure if figure is None or not note else replace(figure, notes=(note, *figure.notes))


def largest_note(names: Sequence[str]) -> str:
    """What a gap is with several sensitive attributes; empty with one."""
    return f"Gaps are the largest of {listed(names, 8)}, and of all combinations of their groups." if names else ""


def figure_of_runs(content: Content) -> Figure | None:
    """The model, or each seed of it, and what it is compared with; not beside a comparison, which has its own."""
    if content.comparison is not None:
        return None
    model = content.model
    others: list[MetricsRow] = list(model.rows) if model else []
    if content.tuning is not None and not others:  # one point, which says less than the frontier
        return None
    figure = _of_models(content, others)
    return _noted(figure, content)


def _of_models(content: Content, others: list[MetricsRow]) -> Figure | None:
    tests = [(run, test) for run in content.runs if (test := run.test) is not None]
    words = "95% intervals over the tested nodes"
    if len(tests) > 1:
        rows: list[MetricsRow] = [test.model_copy(update={"name": run.name} | _need(run)) for run, test in tests]
        return tradeoff_figure(model_points(rows + others[1:]), words, (_over_runs(rows),))
    rows = [
        test.model_copy(update={"name": run.record.method if run.record else "model"} | _need(run))
        for run, test in tests
    ]
    return tradeoff_figure(model_points(others or rows), words)


def _need(run: RunDocuments) -> dict[str, bool]:
    return {"group_at_prediction": bool(run.record and run.record.group_at_prediction)}


def compared_points(comparison: ComparisonDocument) -> list[Point]:
    """The rows of a comparison, coloured by method and shaped by encoder."""
    points = []
    for row in comparison.rows[:MOST]:
        intervals = {metric: {"low": row.low.get(metric), "high": row.high.get(metric)} for metric in METRICS}
        means = {metric: row.mean.get(metric) for metric in METRICS}
        facts = {"undefined": row.undefined, "group_at_prediction": row.group_at_prediction}
        metrics = MetricsRow.model_validate({"intervals": intervals} | facts | means)
        name, series = (
            with_need(text, row.group_at_prediction) for text in (row.title, method_name(row.method) or row.title)
        )
        points.append(Point(name, series, encoder_name(row.encoder) or "no encoder", metrics, row.std))
    return points


def model_points(rows: Sequence[MetricsRow]) -> list[Point]:
    """Models by name."""
    labels = distinct([_row_name(row) for row in rows[:MOST]], limit=48)
    return [Point(label, label, label, row) for label, row in zip(labels, rows, strict=False)]


def _row_name(row: MetricsRow) -> str:
    """In words; the constant of fairview 0.1.0 said yes to everybody, even where most are negative."""
    says_yes, accuracy = row.value("false_positive_rate") == 1, row.value("accuracy")
    if row.name == "constant" and says_yes and accuracy is not None and accuracy < 0.5:
        return "always yes"
    return with_need(method_name(row.name), row.group_at_prediction)


def tradeoff_figure(points: list[Point], interval_words: str, tables: tuple[FigureTable, ...] = ()) -> Figure | None:
    """Utility against gap, with bars for what chance alone could do."""
    if not points:
        return None
    planes = zip(itertools.cycle(UTILITIES), main_gaps(), strict=False)
    panels = [panel for utility, gap in planes if (panel := _panel(points, utility, gap)) is not None]
    deviation = "mean ± deviation over runs, " if any(point.std for point in points) else ""
    table = FigureTable(
        f"All models; {deviation}{interval_words} in brackets",
        ("model", *map(metric_name, METRICS)),
        [(point.name, *(_cell(point, metric) for metric in METRICS)) for point in points],
    )
    reasons = dict.fromkeys(
        f"{point.name}: the {metric_name(metric)} is undefined: {reason}."
        for point in points
        for metric, reason in point.row.undefined.items()
        if metric in METRICS
    )
    need = (
        " A model that needs the group must be told each person's sensitive group to decide about them; that is often "
        "forbidden."
        if any(point.row.group_at_prediction for point in points)
        else ""
    )
    return Figure(
        key="tradeoff",
        heading="What does fairness cost?",
        reading="Up is more useful, left is more equal: the best place is the top left. Bars show what chance alone "
        f"could do ({interval_words}). A predictor that gives everyone the same answer is perfectly equal and useless; "
        "a model is worth something only if it lies clearly above it." + need
        if panels
        else "Nothing can be drawn: no model has both a gap and a measure of usefulness. The table has what is known.",
        panels=tuple(panels),
        tables=(table, *tables),
        notes=tuple(reasons)[:8],
    )


def _over_runs(rows: Sequence[MetricsRow]) -> FigureTable:
    """Mean and deviation (ddof 0) of each metric over the runs; undefined if it is so in one of them."""
    cells = []
    for metric in METRICS:
        values = [value for row in rows if (value := row.value(metric)) is not None]
        numbers = (fmean(values), pstdev(values)) if len(values) == len(rows) else (None, None)
        cells.append((metric_name(metric), *map(number, numbers)))
    return FigureTable(f"Mean and deviation over {len(rows)} runs", ("metric", "mean", "deviation"), cells)


def _cell(point: Point, metric: str) -> str:
    text, std, interval = number(point.row.value(metric)), point.std.get(metric), point.row.interval(metric)
    text = text if std is None else f"{text} ±\u00a0{number(std)}"
    return text if interval is None else f"{text} ({span(interval, digits=2)})"


def _panel(points: list[Point], utility: str, gap: str) -> Panel | None:
    values: Values = []
    for point in points:
        gap_low, gap_high = point.row.interval(gap) or (None, None)
        low, high = point.row.interval(utility) or (None, None)
        place = {"gap": point.row.value(gap), "gap_low": gap_low, "gap_high": gap_high}
        place |= {"utility": point.row.value(utility), "low": low, "high": high}
        values.append({"name": point.name, "series": point.series, "kind": point.kind} | place)
    values = known(values, "gap", "utility")
    if not values:
        return None
    places = [f"{row['name']}: {number(row['utility'], 2)} at a gap of {number(row['gap'], 2)}" for row in values]
    title = f"{metric_name(utility)} against {metric_name(gap)}"
    key = utility if gap in main_gaps()[: len(UTILITIES)] else gap
    text = f"{title}. {listed(places, 8)}."
    return Panel(f"tradeoff-{key.replace('_', '-')}", capitalised(title), text, _chart(values, utility, gap))


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
