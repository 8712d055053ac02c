"""Figure 5: what happens to each group? Rates, scores, calibration and ranking, side by side."""

from __future__ import annotations

from itertools import pairwise
from typing import TypeVar, cast

import altair as alt

from fairview.report.audit_documents import CalibrationRow, ModelAuditDocument, RocRow, ScoresRow
from fairview.report.documents import GroupRow, RateBounds
from fairview.report.figures.charts import NEUTRAL, Series, Values, chart_of, curves, dots, known, layered, tip
from fairview.report.figures.figure import Figure, FigureTable, Panel
from fairview.report.folder import Content
from fairview.report.words import count, distinct, listed, number, percent, span

MOST = 12
_Axis = TypeVar("_Axis", alt.X, alt.Y)
_RATES = {
    "selection_rate": "gets a yes",
    "true_positive_rate": "gets a yes if really positive",
    "false_positive_rate": "gets a yes if really negative",
}


def figure(content: Content) -> Figure | None:
    """From the audit of a model, or the run's own test; each panel is left out if its numbers are not there."""
    audit, test = content.audit, content.test
    model = content.model or ModelAuditDocument()
    groups = model.groups or (test.groups if test else [])
    sensitive = audit.sensitive if audit else "the sensitive attribute"
    if not groups:
        return None
    names = list(dict.fromkeys(row.group for row in groups))[:MOST]
    labels = dict(zip(names, distinct(names, limit=40), strict=True))
    drawn = [row for row in groups if row.group in labels]
    panels = [
        _rates(drawn, labels, sensitive),
        _scores([row for row in model.scores if row.group in labels], labels, sensitive),
        _calibration([row for row in model.calibration if row.group in labels], labels),
        _roc([row for row in model.roc if row.group in labels], labels),
    ]
    notes = [f"Drawn: the first {MOST} of {len(groups):,} groups."] if len(groups) > len(drawn) else []
    return Figure(
        key="groups",
        heading=f"What happens to each group of {sensitive}?",
        reading="“Yes” is the positive prediction. Compare the groups line by line: marks far apart, with bars that do "
        "not overlap, are a difference that chance does not explain. Scores show how sure the model is; calibration "
        "whether a score means the same for everyone (on the diagonal it does); ranking whether it orders each group "
        "equally well.",
        panels=tuple(panel for panel in panels if panel is not None),
        tables=(_group_table(groups), *_detail_tables(model.calibration, model.roc)),
        notes=tuple(notes),
    )


def _rates(groups: list[GroupRow], labels: dict[str, str], sensitive: str) -> Panel | None:
    places = {name: place for place, name in enumerate(labels)}
    values: Values = [
        {"name": name, "series": labels[group.group], "place": places[group.group], "count": group.nodes}
        | rate.model_dump()
        for group in groups
        for key, name in _RATES.items()
        if (rate := getattr(group, key)) is not None
    ]
    values = known(values, "value")
    if not values:
        return None
    x = {"title": "share of the group", "scale": alt.Scale(domain=[0, 1]), "axis": alt.Axis(format="%")}
    y = alt.Y("name:N", title=None, sort=None, scale=alt.Scale(domain=list(_RATES.values())))
    offset = alt.YOffset("place:O", sort="ascending")  # by number: a text here would become part of an expression
    tips = tip(series="group", name="rate", value="share", low="low", high="high", count="nodes in the group")
    marks = dots(values, Series(list(labels.values())), tips, x, y=y, yOffset=offset)
    rates = listed([f"{row['series']} {row['name']}: {percent(row['value'])}" for row in values], 9)
    chart = layered(*marks, height=3 * max(44, 18 * len(labels)))
    return Panel("groups-rates", "Rates, with 95% intervals", f"Rates by {sensitive}. {rates}.", chart)


def _scores(rows: list[ScoresRow], labels: dict[str, str], sensitive: str) -> Panel | None:
    values: Values = []
    for scores in rows:
        total = sum(scores.counts)
        for counted, (low, high) in zip(scores.counts, pairwise(scores.edges), strict=True):
            row = {"series": labels[scores.group], "share": counted / total if total else 0.0, "count": counted}
            values.append(row | {"x": (low + high) / 2, "low": low, "high": high})
    if not values:
        return None
    series = Series(list(labels.values()), symbol="stroke")
    seen = [row for row in values if row["count"]] or values
    ends = [min(row["low"] for row in seen), max(row["high"] for row in seen)]  # empty steps at the ends are left out
    values = [row for row in values if ends[0] <= row["x"] <= ends[1]]
    tips = tip(series="group", low="score from", high="score to", share="share of the group", count="nodes")
    x = alt.X("x:Q", title="score (how sure the model is of a yes)", scale=alt.Scale(domain=ends, nice=False))
    y = alt.Y("share:Q", title="share of the group", axis=alt.Axis(format="%"))
    text = f"Share of each group of {sensitive} by score, in {len(rows[0].counts)} steps."
    lines = curves(values, x, y, tips, series, spot=160, interpolate="step")
    return Panel("groups-scores", "Scores", text, layered(*lines, height=240))


def _calibration(rows: list[CalibrationRow], labels: dict[str, str]) -> Panel | None:
    values = [
        {"series": labels[group.group], "count": b.nodes} | b.model_dump(exclude={"nodes"})
        for group in rows
        for b in group.bins[:50]
    ]
    if not values:
        return None
    series = Series(list(labels.values()))
    y_title = "share that is really positive"
    x, y = _share("predicted", "mean score", alt.X), _share("observed", y_title, alt.Y)
    tips = tip(
        series="group", predicted="mean score", observed="really positive", low="low", high="high", count="nodes"
    )
    bar = chart_of(known(values, "low", "high")).mark_rule(strokeOpacity=0.5, strokeWidth=1.5).encode(
        x=x, y=_share("low", y_title, alt.Y), y2="high:Q", color=series.color()
    )  # fmt: skip
    line = chart_of(values).mark_line(strokeWidth=1.5).encode(x=x, y=y, color=series.color())
    mark = chart_of(values).mark_point(size=55, filled=True, opacity=1).encode(
        x=x, y=y, color=series.color(), shape=series.shape(), tooltip=tips
    )  # fmt: skip
    text = "Share of positives against the mean score, per group; on the diagonal a score means what it says."
    chart = layered(_diagonal("predicted", "observed"), bar, line, mark, height=260)
    return Panel("groups-calibration", "Calibration", text, chart)


def _roc(rows: list[RocRow], labels: dict[str, str]) -> Panel | None:
    values = [
        {"series": labels[group.group], "fpr": fpr, "tpr": tpr, "order": place, "auc": group.auc}
        for group in rows
        for place, (fpr, tpr) in enumerate(group.points)
    ]
    if not values:
        return None
    titles = {"fpr": "yes among the really negative", "tpr": "yes among the really positive"}
    x, y = _share("fpr", titles["fpr"], alt.X), _share("tpr", titles["tpr"], alt.Y)
    series = Series(list(labels.values()), symbol="stroke")
    line, spots = curves(values, x, y, tip(series="group", auc="AUC", **titles), series)
    aucs = listed([f"{labels[group.group]} AUC {number(group.auc)}" for group in rows], MOST)
    chart = layered(_diagonal("fpr", "tpr"), line.encode(order="order:Q"), spots, height=260)
    return Panel("groups-ranking", "Ranking (ROC)", f"ROC curve of each group. {aucs}.", chart)


def _share(field: str, title: str, axis: type[_Axis]) -> _Axis:
    """An axis from 0 to 100%."""
    return axis(f"{field}:Q", title=title, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%"))


def _diagonal(x: str, y: str) -> alt.Chart:
    line = chart_of([{x: 0, y: 0}, {x: 1, y: 1}]).mark_line(color=NEUTRAL, strokeDash=[4, 4], strokeWidth=1.2)
    return cast(alt.Chart, line.encode(x=f"{x}:Q", y=f"{y}:Q"))


def _group_table(groups: list[GroupRow]) -> FigureTable:
    def cell(rate: RateBounds | None) -> str:
        if rate is None or rate.value is None or rate.interval is None:
            return percent(rate.value if rate else None)
        return f"{percent(rate.value)} ({span(rate, scale=100, digits=1)})"

    columns = ("group", "nodes", "positive labels", *_RATES.values(), "note")
    rows = []
    for group in groups[:300]:
        rates = (cell(getattr(group, rate)) for rate in _RATES)
        note = "small group" if group.small else ""
        rows.append((group.group, count(group.nodes), count(group.positives), *rates, note))
    return FigureTable("Groups: counts and rates, 95% intervals in brackets", columns, rows)


def _detail_tables(calibration: list[CalibrationRow], roc: list[RocRow]) -> tuple[FigureTable, ...]:
    tables = []
    if calibration:
        rows = [
            (group.group, percent(b.predicted), percent(b.observed), span(b, scale=100, digits=1), count(b.nodes))
            for group in calibration[:MOST]
            for b in group.bins[:50]
        ]
        columns = ("group", "mean score", "really positive", "95% interval", "nodes")
        tables.append(FigureTable("Calibration", columns, rows))
    if roc:
        ranking = [(group.group, number(group.auc), span(group)) for group in roc[:300]]
        tables.append(FigureTable("Ranking within each group", ("group", "AUC", "95% interval"), ranking))
    return tuple(tables)
