"""With several sensitive attributes: how large are the gaps of each, and of the combinations of their groups?"""

from __future__ import annotations

import altair as alt

from fairview.leakage.sentences import AuditJSON, by_attribute, headline
from fairview.report.audit_documents import AuditDocument
from fairview.report.documents import MetricsRow
from fairview.report.figures.charts import Series, Values, dots, known, layered, tip
from fairview.report.figures.figure import Figure, FigureTable, Panel
from fairview.report.folder import Content
from fairview.report.verdict.graph_verdict import worst_of
from fairview.report.verdict.measured import largest, measure
from fairview.report.verdict.model_verdict import too_small
from fairview.report.words import capitalised, distinct, listed, main_gaps, metric_name, number, percent, points, span

MOST = 40
_LARGEST = " The gap of a model is the largest of all lines."


def figure(content: Content) -> Figure | None:
    """Of runs and audits with several attributes."""
    measured = measure(content)
    attributes = measured.attributes if measured else {}
    audit = content.audit if content.audit is not None and content.audit.attributes else None
    if not attributes and audit is None:
        return None
    tables = [_gap_table(attributes)] if attributes else []
    tables += [_leak_table(audit)] if audit is not None and audit.channels else []
    panel = _panel(attributes)
    return Figure(
        key="attributes",
        heading="Which of the sensitive attributes matters?",
        reading="The last line is about all combinations of the groups: two attributes can each look harmless while a "
        f"combination of their groups does not.{_LARGEST if attributes else ''} "
        "Below, each attribute has a part of its own.",
        panels=() if panel is None else (panel,),
        tables=tuple(tables),
        notes=tuple(too_small(content)),
        answer=_answer(attributes, audit),
    )


def _answer(attributes: dict[str, MetricsRow], audit: AuditDocument | None) -> str:
    gaps = [
        f"The largest {metric_name(gap)} is that of {name}: {points(attributes[name].value(gap))}."
        for gap in main_gaps()
        if (name := largest(attributes, gap))
    ]
    if gaps or audit is None:
        return " ".join(gaps)
    leads = {name: headline(part) for name, part in by_attribute(audit.model_dump()).items()}
    return leads[worst_of(leads)].text


def _panel(attributes: dict[str, MetricsRow]) -> Panel | None:
    names = list(attributes)[:MOST]
    labels = dict(zip(names, distinct(names, limit=40), strict=True))
    gaps = list(main_gaps())
    values: Values = []
    for name in names:
        for place, gap in enumerate(gaps):
            low, high = attributes[name].interval(gap) or (None, None)
            row = {"name": labels[name], "series": capitalised(metric_name(gap)), "place": place}
            values.append(row | {"value": attributes[name].value(gap), "low": low, "high": high})
    values = known(values, "value")
    if not values:
        return None
    x = {"title": "gap (0 = equal)", "scale": alt.Scale(zero=True), "axis": alt.Axis(format="%")}
    y = alt.Y("name:N", title=None, sort=None, scale=alt.Scale(domain=list(labels.values())))
    offset = alt.YOffset("place:O", sort="ascending")  # by number: a text here would become part of an expression
    tips = tip(name="attribute", series="gap", value="gap", low="low", high="high")
    series = Series([capitalised(metric_name(gap)) for gap in gaps])
    marks = dots(values, series, tips, x, y=y, yOffset=offset)
    said = listed([f"{row['name']}, {row['series']}: {percent(row['value'])}" for row in values], 12)
    chart = layered(*marks, height=max(90, 22 * len(gaps) * len(labels)))
    return Panel("attributes-gaps", "Gaps by attribute, with 95% intervals", f"Gaps by attribute. {said}.", chart)


def _gap_table(attributes: dict[str, MetricsRow]) -> FigureTable:
    gaps = list(dict.fromkeys(gap for row in attributes.values() for gap in row.metrics))
    rows = [(name, *(_cell(row, gap) for gap in gaps)) for name, row in attributes.items()]
    columns = ("attribute", *(capitalised(metric_name(gap)) for gap in gaps))
    return FigureTable("Gaps by attribute, in points, 95% intervals in brackets", columns, rows)


def _cell(row: MetricsRow, gap: str) -> str:
    text, interval = points(row.value(gap)), row.interval(gap)
    return text if interval is None else f"{text} ({span(interval, scale=100, digits=1)})"


def _leak_table(audit: AuditDocument) -> FigureTable:
    rows = [(name, *_leaks(part)) for name, part in by_attribute(audit.model_dump()).items()]
    columns = ("attribute", "links within the group", "flagged columns", "best guess from the table", "after hops")
    return FigureTable("What the graph reveals of each attribute: AUC of the best guess", columns, rows)


def _leaks(document: AuditJSON) -> tuple[str, ...]:
    flagged = [channel["name"] for channel in document["channels"] if channel["leaking"]]
    names = "undefined" if "leaking" in document["undefined"] else listed(flagged) if flagged else "none"
    best = []
    for after in (False, True):
        guesses = [
            probe["auc"] for probe in document["probe"] if probe["auc"] is not None and bool(probe["hop"]) is after
        ]
        best.append(number(max(guesses)) if guesses else "unknown")
    return percent(document["homophily"]), names, *best
