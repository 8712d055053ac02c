"""The first figure of a tuning: which models are there, which would be taken at which limit, and what does it cost?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import altair as alt

from fairview.metrics.registry import METRICS, gap_names
from fairview.report.documents import MetricsRow
from fairview.report.figures.charts import (
    BLUE,
    GREEN,
    NEUTRAL,
    PURPLE,
    VERMILLION,
    Series,
    Values,
    chart_of,
    known,
    layered,
)
from fairview.report.figures.figure import Figure, FigureTable, Panel, Slider, SliderStep
from fairview.report.figures.tradeoff import largest_note
from fairview.report.folder import Content
from fairview.report.tuning_documents import CandidateRow, ChoiceRow, TuningDocument, gap_metric
from fairview.report.verdict.tuning_verdict import less_or_more
from fairview.report.words import (
    capitalised,
    distinct,
    listed,
    main_gaps,
    metric_name,
    number,
    percent,
    plural,
    points,
    span,
)

WITHOUT_GROUP, WITH_GROUP = "group not needed", "group needed to predict"
MAJORITY, PLAIN = "majority answer", "best without a limit"
SERIES = (WITHOUT_GROUP, WITH_GROUP, PLAIN, MAJORITY)
_COLORS = dict(zip(SERIES, (BLUE, VERMILLION, GREEN, NEUTRAL), strict=True))
_SHAPES = dict(zip(SERIES, ("circle", "diamond", "triangle-up", "square"), strict=True))
NOBODY = -1
"""The candidate that is ringed where none is taken."""
NOWHERE = -1000.0
"""The limit where none is asked for: outside the chart."""
MOST_LISTED = 500


def figure(content: Content) -> Figure | None:
    """Of a tuning."""
    return None if content.tuning is None else frontier_figure(content.tuning)


def frontier_figure(tuning: TuningDocument) -> Figure | None:
    """Utility against each limited gap; without a limit, against the main gaps."""
    if not tuning.frontier and not tuning.yardsticks:
        return None
    names = _names(tuning)
    gaps = _gaps(tuning)
    panels = [panel for gap in gaps if (panel := _panel(tuning, names, gap, f"limit_{gaps.index(gap)}")) is not None]
    strong = sum(row.on_frontier for row in tuning.frontier)
    shown = plural(len(tuning.frontier), "candidate")
    answer = f"{strong:,} of the {shown} shown are on the frontier: no other one is both more useful and more equal."
    return Figure(
        key="frontier",
        heading="Which models are there to choose from?",
        reading="Up is more useful, left is more equal. Models on the frontier are strong and joined, with bars for "
        "what chance alone could do (95% intervals); all others are faint. Hollow diamonds are models that need each "
        "person's group when they predict. The ring is the model that was taken, the dashed line the limit. A model "
        "left of the line need not be certified: its gap must be shown to lie there."
        if panels
        else "Nothing can be drawn: no model has both a gap and a measure of usefulness. The table has what is known.",
        panels=tuple(panels),
        tables=(_table(tuning, names),),
        notes=(
            "All numbers of this figure are of the validation nodes, in percent and percentage points.",
            *_said(tuning),
        ),
        answer=answer,
        slider=_slider(tuning, names, [f"limit_{place}" for place in range(len(gaps))]),
    )


def _said(tuning: TuningDocument) -> tuple[str, ...]:
    """What to know about gaps and limits of several attributes."""
    largest = largest_note(list(tuning.graph.attributes))
    if not largest:
        return ()
    limits = [limit for limit in tuning.limits if limit.attribute is not None]
    if not limits:
        return (largest,)
    each = listed([f"{metric_name(limit.metric)} by {limit.attribute} {points(limit.limit)}" for limit in limits], 20)
    return (f"{largest} The limits are: {each}. A model right of a line may keep those.",)


def _names(tuning: TuningDocument) -> list[str]:
    """A model may be a candidate at several thresholds, which then tell them apart."""
    titles = Counter(row.title for row in tuning.frontier)
    return distinct(
        row.title if titles[row.title] == 1 or row.threshold is None else f"{row.title}, threshold {row.threshold:.3f}"
        for row in tuning.frontier
    )


def _gaps(tuning: TuningDocument) -> list[str]:
    """The gaps that were asked for, else the main ones; only registered names get into keys and file names."""
    asked = list(dict.fromkeys(map(gap_metric, [limit.gap for limit in tuning.limits] or tuning.gaps)))
    return [gap for gap in asked if gap in gap_names()] or list(main_gaps())


def _panel(tuning: TuningDocument, names: list[str], gap: str, parameter: str) -> Panel | None:
    """The plane of one gap; `parameter` is the name of its limit, which no other panel has."""
    utility = tuning.utility
    rows: Values = []
    for place, (name, row) in enumerate(zip(names, tuning.frontier, strict=True)):
        series = WITH_GROUP if row.group_at_prediction else WITHOUT_GROUP
        strong = row.on_frontier or row is tuning.candidate
        rows.append(_place(name, series, row.metrics, utility, gap) | {"candidate": place, "strong": strong})
    for yardstick in tuning.yardsticks:
        series = MAJORITY if yardstick.name == "constant" else PLAIN
        mark = _place(yardstick.label or series, series, yardstick.metrics, utility, gap)
        rows.append(mark | {"candidate": NOBODY, "strong": True})
    values = known(rows, "gap", "utility")
    if not values:
        return None
    limits = list(dict.fromkeys(limit.limit for limit in tuning.limits if limit.metric == gap))
    limit = limits[0] if len(limits) == 1 else None  # those of several attributes may differ
    chosen = tuning.chosen.candidate if tuning.chosen else None
    title = f"{metric_name(utility)} against {metric_name(gap)}"
    places = [
        f"{row['name']}: {row['utility']:.1f}% at a gap of {row['gap']:.1f} points" for row in values if row["strong"]
    ]
    text = f"{title}. {'' if limit is None else f'The limit is {points(limit)}. '}{listed(places, 8)}."
    at = alt.param(name=parameter, value=NOWHERE if limit is None else 100 * limit)
    taken = alt.param(name="taken", value=NOBODY if chosen is None else chosen)
    chart = _chart(values, utility, gap, limit or 0.0, parameter).add_params(at, taken)
    return Panel(f"frontier-{gap.replace('_', '-')}", capitalised(title), text, chart)


def _place(name: str, series: str, row: MetricsRow, utility: str, gap: str) -> dict[str, object]:
    """A model in the plane, in percent."""
    (gap_low, gap_high), (low, high) = (row.interval(metric) or (None, None) for metric in (gap, utility))
    ends = {"gap_low": gap_low, "gap_high": gap_high, "low": low, "high": high}
    numbers = {"gap": row.value(gap), "utility": row.value(utility)} | ends
    return {"name": name, "series": series} | {
        field: None if value is None else round(100 * value, 4) for field, value in numbers.items()
    }


def _joined(values: Values) -> Iterator[dict[str, object]]:
    """The models of the frontier that this plane's frontier goes through, each kind on a line of its own."""
    for series in (WITHOUT_GROUP, WITH_GROUP):
        best = float("-inf")
        strong = (row for row in values if row["series"] == series and row["strong"])
        for row in sorted(strong, key=lambda row: (row["gap"], -row["utility"])):
            if row["utility"] > best:
                best = row["utility"]
                yield row


def _chart(values: Values, utility: str, gap: str, limit: float, parameter: str) -> alt.LayerChart:
    present = [name for name in SERIES if any(row["series"] == name for row in values)]
    look = Series(present, colors=[_COLORS[name] for name in present], shapes=[_SHAPES[name] for name in present])
    inside = ["#ffffff" if name == WITH_GROUP else _COLORS[name] for name in present]
    fill = alt.Fill("series:N", title=None, scale=alt.Scale(domain=present, range=inside))
    strong, faint = ([row for row in values if row["strong"] is wanted] for wanted in (True, False))
    end = max(max(row["gap"], row["gap_high"] or 0 if row["strong"] else 0) for row in values)
    end = max(1.04 * end, 125 * limit, 1.0)
    x_scale, y_scale = alt.Scale(domain=[0, end], nice=False), alt.Scale(zero=False, nice=False, padding=14)
    x_title, y_title = f"{metric_name(gap)} (points; 0 = equal)", f"{metric_name(utility)} (%)"
    x, y = alt.X("gap:Q", title=x_title, scale=x_scale), alt.Y("utility:Q", title=y_title, scale=y_scale)
    tips = [
        alt.Tooltip("name:N", title="model"),
        alt.Tooltip("series:N", title=""),
        *(
            alt.Tooltip(f"{field}:Q", title=title, format=".1f")
            for field, title in (
                ("utility", y_title), ("low", "from"), ("high", "to"),
                ("gap", f"{metric_name(gap)} (points)"), ("gap_low", "from "), ("gap_high", "to "),
            )
        ),
    ]  # fmt: skip
    others = chart_of(faint).mark_point(size=30, strokeWidth=1.2, opacity=0.28).encode(
        x=x, y=y, color=look.color(), shape=look.shape(), fill=fill, tooltip=tips
    )  # fmt: skip
    crowd = len(strong) > 20
    bar: dict[str, Any] = {"strokeOpacity": 0.16 if crowd else 0.32, "strokeWidth": 1.4, "clip": True}
    across = chart_of(known(strong, "gap_low", "gap_high")).mark_rule(**bar).encode(
        x=alt.X("gap_low:Q", title=x_title, scale=x_scale), x2="gap_high:Q", y=y, color=look.color()
    )  # fmt: skip
    along = chart_of(known(strong, "low", "high")).mark_rule(**bar).encode(
        x=x, y=alt.Y("low:Q", title=y_title, scale=y_scale), y2="high:Q", color=look.color()
    )  # fmt: skip
    line = chart_of(list(_joined(values))).mark_line(strokeWidth=1.8, opacity=0.75).encode(
        x=x, y=y, order="gap:Q", color=look.color(), detail="series:N",
        strokeDash=alt.condition(f"datum.series === '{WITH_GROUP}'", alt.value([5, 4]), alt.value([1, 0])),
    )  # fmt: skip
    marks = chart_of(strong).mark_point(size=44 if crowd else 80, strokeWidth=2, opacity=1).encode(
        x=x, y=y, color=look.color(), shape=look.shape(), fill=fill, tooltip=tips
    )  # fmt: skip
    candidates = chart_of([row | {"text": "taken"} for row in values if row["candidate"] != NOBODY])
    seen = alt.condition("datum.candidate === taken", alt.value(1), alt.value(0))
    ring = candidates.mark_point(size=330, strokeWidth=2.6, filled=False, shape="circle", color=PURPLE).encode(
        x=x, y=y, opacity=seen
    )  # fmt: skip
    name = candidates.mark_text(dy=-19, fontWeight=600, color=NEUTRAL).encode(x=x, y=y, text="text:N", opacity=seen)
    at = alt.X(datum=alt.expr(parameter), type="quantitative", title=x_title, scale=x_scale)
    data = chart_of([{"text": "limit"}])
    border = data.mark_rule(color=NEUTRAL, strokeDash=[5, 4], strokeWidth=1.6, clip=True).encode(x=at)
    word = data.mark_text(color=NEUTRAL, align="left", baseline="top", dx=5, clip=True).encode(
        x=at, y=alt.value(2), text="text:N"
    )  # fmt: skip
    return layered(border, word, others, across, along, line, marks, ring, name, height=340)


def _table(tuning: TuningDocument, names: list[str]) -> FigureTable:
    shown = (tuning.utility, *(metric for metric in METRICS if METRICS[metric].is_gap))
    order = sorted(
        zip(names, tuning.frontier, strict=True),
        key=lambda pair: (pair[1] is not tuning.candidate, not pair[1].on_frontier, -(_utility(tuning, pair[1]) or -1)),
    )
    rows = [
        (
            name,
            _standing(tuning, row),
            "yes" if row.on_frontier else "no",
            "yes" if row.group_at_prediction else "no",
            "–" if row.threshold is None else number(row.threshold),
            *(_cell(row.metrics, metric) for metric in shown),
            "–" if row.upper_bound is None else number(100 * row.upper_bound, 1),
            "–" if row.p_value is None else number(row.p_value, 4),
        )
        for name, row in order[:MOST_LISTED]
    ]
    rows += [
        (
            row.label or (MAJORITY if row.name == "constant" else PLAIN),
            "yardstick",
            *("–", "–", "–"),
            *(_cell(row.metrics, metric) for metric in shown),
            *("–", "–"),
        )
        for row in tuning.yardsticks
    ]
    columns = ("model", "result", "on the frontier", "needs the group", "threshold", *map(metric_name, shown))
    count = f"all {len(order):,}" if len(order) <= MOST_LISTED else f"the first {MOST_LISTED} of {len(order):,}"
    caption = f"The candidates shown ({count}), in percent and points; 95% intervals in brackets"
    return FigureTable(caption, (*columns, "upper bound", "p-value"), rows)


def _standing(tuning: TuningDocument, row: CandidateRow) -> str:
    result = "certified" if row.certified else "not certified" if row.tested else "not tested"
    if row is tuning.candidate:
        return f"chosen, {result}" if tuning.limits else "chosen"
    return result if tuning.limits else "–"


def _utility(tuning: TuningDocument, row: CandidateRow) -> float | None:
    return row.metrics.value(tuning.utility)


def _cell(row: MetricsRow, metric: str) -> str:
    value, interval = row.value(metric), row.interval(metric)
    text = number(None if value is None else 100 * value, 1)
    return text if interval is None else f"{text} ({span(interval, scale=100, digits=1)})"


def _slider(tuning: TuningDocument, names: list[str], limits: list[str]) -> Slider | None:
    choices = _with_the_limit_asked_for(tuning)
    if not choices:
        return None
    plain = tuning.yardstick("plain")
    without = None if plain is None else plain.metrics.value(tuning.utility)
    steps, rows = [], []
    for row in choices:
        taken = None if row.candidate is None else tuning.frontier[row.candidate]
        result, text, cells = "Refusal", "No candidate could be shown to keep this limit.", ("–", "–")
        if not row.refused:
            value = row.utility if taken is None or row.utility is not None else _utility(tuning, taken)
            lost = None if without is None or value is None else without - value
            result = "A candidate that is not shown" if row.candidate is None else names[row.candidate]
            cells = percent(value), "–" if lost is None else points(lost)
            text = f"{capitalised(metric_name(tuning.utility))} {percent(value)}{_cost(lost, without)}."
            if taken is not None and taken.group_at_prediction:
                text += " It needs each person's group when it predicts."
        place = dict.fromkeys(limits, 100 * row.limit) | {"taken": NOBODY if row.candidate is None else row.candidate}
        steps.append(SliderStep(points(row.limit), result, text, place))
        rows.append((points(row.limit), result, *cells))
    asked = min((limit.limit for limit in tuning.limits), default=choices[len(choices) // 2].limit)
    start = min(range(len(choices)), key=lambda place: abs(choices[place].limit - asked))
    columns = ("limit", "model that would be taken", metric_name(tuning.utility), "cost against no limit")
    several = " for all the gaps asked for at once" if len(tuning.limits) > 1 else ""
    return Slider(
        heading="What would another limit have given?",
        label=f"Limit{several}",
        caution="For insight, not for choosing: a limit that is picked after looking at this page is not covered by "
        "any certificate. Set the limit first, by what is acceptable; for another one, certify on nodes that nobody "
        "has looked at.",
        steps=tuple(steps),
        start=start,
        table=FigureTable("The model at every limit", columns, rows),
    )


def _cost(lost: float | None, without: float | None) -> str:
    if lost is None:
        return ""
    words = less_or_more(lost)
    than = "as" if words == "as much" else "than"
    return f", {words} {than} the most useful model without a limit ({percent(without)})"


def _with_the_limit_asked_for(tuning: TuningDocument) -> list[ChoiceRow]:
    """The grid and, where all limits are the same, that one with what was really taken."""
    choices = list(tuning.choices)
    asked = {limit.limit for limit in tuning.limits}
    if len(asked) == 1 and choices and not any(abs(row.limit - min(asked)) < 1e-9 for row in choices):
        chosen = tuning.chosen
        candidate = chosen.candidate if chosen else None
        if candidate is not None or chosen is None:
            utility = chosen.utility if chosen else None
            choices.append(ChoiceRow(limit=min(asked), candidate=candidate, utility=utility))
    return sorted(choices, key=lambda row: row.limit)
