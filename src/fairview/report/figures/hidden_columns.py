"""Figure 8: can columns that no model sees be read from the graph, and is it the links that know them?"""

from __future__ import annotations

import altair as alt

from fairview.leakage.sentences import hidden_sentence
from fairview.report.audit_documents import HiddenRow, ScoreBounds
from fairview.report.figures.charts import Series, Values, dots, known, layered, tip
from fairview.report.figures.figure import Figure, FigureTable, Panel
from fairview.report.folder import Content
from fairview.report.words import count, distinct, number, span

MOST = 40
_SOURCES = ("from the columns", "from columns and links")


def figure(content: Content) -> Figure | None:
    """Of an audit that was asked about hidden columns: the score with and without the links."""
    audit = content.audit
    if audit is None or not audit.hidden:
        return None
    measured = [row for row in audit.hidden[:MOST] if row.difference is not None]
    said = hidden_sentence(audit.model_dump())
    panels = (Panel("hidden", "Reading hidden columns", said, _chart(measured)),) if measured else ()
    return Figure(
        key="hidden",
        heading="Does the graph know columns that were left out?",
        reading="A column that was dropped may live on in the links, most of all if the links were made from it. A "
        "separate model tries to predict it twice: from the columns that are left, and from these with the links. "
        "R² is 0 for a guess and 1 for the truth; AUC is 0.5 for a guess and 1 for the truth. If the second mark lies "
        "clearly to the right of the first, the links know the column, and so may every model that uses them.",
        panels=panels,
        tables=(_table(audit.hidden[:MOST]),),
        answer=said or "No hidden column could be measured.",
    )


def _chart(rows: list[HiddenRow]) -> alt.LayerChart:
    labels = distinct([f"{row.name} ({row.measure})" for row in rows])
    values: Values = [
        {"name": label, "series": source, "place": place, "value": part.score, "low": part.low, "high": part.high}
        for label, row in zip(labels, rows, strict=True)
        for place, (source, part) in enumerate(zip(_SOURCES, (row.from_channels, row.from_graph), strict=True))
        if part is not None
    ]
    least = min([0.0, *(row["value"] for row in values), *(row["low"] for row in known(values, "low"))])
    x = {"title": "R² or AUC", "scale": alt.Scale(domain=[least, 1])}
    y = alt.Y("name:N", title=None, sort=None, scale=alt.Scale(domain=labels))
    offset = alt.YOffset("place:O", sort="ascending")
    tips = tip(name="column", series="read", value="score", low="low", high="high")
    return layered(*dots(values, Series(_SOURCES), tips, x, y=y, yOffset=offset), height=max(90, 40 * len(labels) + 20))


def _table(rows: list[HiddenRow]) -> FigureTable:
    columns = ("column", "measure", "nodes", *_SOURCES, "difference", "note")
    lines = [
        (
            row.name,
            row.measure,
            count(row.nodes),
            *(_with_interval(part) for part in (row.from_channels, row.from_graph, row.difference)),
            "known to the links" if row.readable else row.undefined,
        )
        for row in rows
    ]
    return FigureTable("How well hidden columns can be read (95% intervals)", columns, lines)


def _with_interval(part: ScoreBounds | None) -> str:
    return "undefined" if part is None else f"{number(part.score)} ({span(part)})"
