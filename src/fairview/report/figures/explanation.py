"""Figure 9: which links and channels carry the gap, and what is left of it without them?"""

from __future__ import annotations

import altair as alt

from fairview.explanation.sentences import channel_sentence, groups_of, summary
from fairview.report.explanation_documents import ChannelPartRow, ExplanationDocument, RemovalRow
from fairview.report.figures.charts import BLUE, NEUTRAL, ORANGE, Series, Values, chart_of, curves, layered, rule, tip
from fairview.report.figures.figure import Figure, FigureTable, Panel
from fairview.report.folder import Content
from fairview.report.words import count, distinct, number, percent

MOST_CHANNELS, MOST_LISTED = 15, 300
_WORDS = {
    "effect": "those that widen it most",
    "random": "as many at random",
    "within groups": "as many within groups",
    "between groups": "as many between groups",
}
_PARTS = ("own value", "over links")


def figure(content: Content) -> Figure | None:
    """Of an explained run: the gap without links, and the channels' parts of it."""
    found = content.explanation
    if found is None:
        return None
    document = found.model_dump()
    first, second = found.groups
    panels = []
    rows = [row for row in found.removed if row.chosen in _WORDS]
    if rows:
        title = "Gap without some of the links"
        panels.append(Panel("explanation-removed", title, summary(document)[2], _removal_chart(rows)))
    if found.channels:
        channels = found.channels[:MOST_CHANNELS]
        panels.append(
            Panel("explanation-channels", "Parts of the gap", channel_sentence(document), _channel_chart(channels))
        )
    notes = list(found.notes)
    if len(found.channels) > MOST_CHANNELS:
        notes.append(f"Drawn: {MOST_CHANNELS} of {len(found.channels):,} channels, the largest parts first.")
    return Figure(
        key="explanation",
        heading="Which links carry the gap?",
        reading=f"The gap here is the difference between the mean scores of {first} and {second}, as log-odds, before "
        "any threshold. A link's effect is the gap with it less the gap without it; nothing was trained again. If the "
        "line of the links that widen it most falls while the others stay level, these links carry the gap. Below "
        "zero, it has turned round: too many were removed.",
        panels=tuple(panels),
        tables=_tables(found),
        notes=tuple(notes),
        answer=" ".join(summary(document)[:3]),
    )


def _removal_chart(rows: list[RemovalRow]) -> alt.LayerChart:
    ways = [way for way in _WORDS if any(row.chosen == way for row in rows)]
    values: Values = [
        {"series": _WORDS[way], "count": k, "value": gap}
        for way in ways
        for k, gap in [(0, rows[0].gap_before), *((row.k, row.gap_after) for row in rows if row.chosen == way)]
    ]
    series = Series([_WORDS[way] for way in ways])
    tips = tip(series="links removed", count="how many", value="gap")
    x = alt.X("count:Q", title="links removed")
    y = alt.Y("value:Q", title="gap in the mean logit")
    zero = chart_of([{"at": 0}]).mark_rule(color=NEUTRAL, strokeDash=[4, 4], strokeWidth=1.2).encode(y=alt.Y("at:Q"))
    line, spots = curves(values, x, y, tips, series)
    return layered(zero, line, spots, height=260)


def _channel_chart(channels: list[ChannelPartRow]) -> alt.LayerChart:
    labels = distinct([row.channel for row in channels])
    split = all(row.home is not None and row.links is not None for row in channels)
    parts = _PARTS if split else ("gradient times value",)
    values: Values = [
        {"name": label, "series": part, "value": value}
        for label, row in zip(labels, channels, strict=True)
        for part, value in zip(parts, (row.home, row.links) if split else (row.gap,), strict=True)
    ]
    y = alt.Y("name:N", title=None, sort=None, scale=alt.Scale(domain=labels))
    series = Series(parts, colors=(BLUE, ORANGE))
    bars = chart_of(values).mark_bar().encode(
        x=alt.X("value:Q", title="part of the gap in the mean logit"),
        y=y,
        color=series.color(),
        tooltip=tip(name="channel", series="from values", value="part"),
    )  # fmt: skip
    return layered(bars, rule(0), height=max(120, 22 * len(labels) + 20))


def _tables(found: ExplanationDocument) -> tuple[FigureTable, ...]:
    removed = [
        (
            count(row.k),
            _WORDS.get(row.chosen, row.chosen),
            number(row.gap_after),
            percent_or_not(row.statistical_parity_gap_after),
            percent_or_not(row.accuracy_after),
        )
        for row in found.removed[:MOST_LISTED]
    ]
    if found.removed:
        now = found.removed[0]
        metrics = (percent_or_not(now.statistical_parity_gap_before), percent_or_not(now.accuracy_before))
        removed.insert(0, ("0", "none", number(now.gap_before), *metrics))
    kind = ["kind"] if any(row.kind for row in found.links) else []
    links = [
        (
            f"{row.source} – {row.target}",
            groups_of(row.model_dump()),
            *([row.kind or "–"] if kind else []),
            number(row.effect, 6),
        )
        for row in found.links[:MOST_LISTED]
    ]
    nodes = [
        (row.node, row.group or "unknown", count(row.links), number(row.effect, 6)) for row in found.nodes[:MOST_LISTED]
    ]
    channels = [
        (row.channel, number(row.gap), *("–" if part is None else number(part) for part in (row.home, row.links)))
        for row in found.channels[:MOST_LISTED]
    ]
    kinds = [
        (row.kind, count(row.links), *("–" if value is None else number(value) for value in (row.gap, row.effect)))
        for row in found.kinds[:MOST_LISTED]
    ]
    measured = f"gap in positive predictions and accuracy on {found.evaluated}"
    tables = (
        FigureTable(
            f"Links removed ({measured})",
            ("links removed", "which", "gap in the mean logit", "gap in positive predictions", "accuracy"),
            removed,
        ),
        FigureTable("Links that widen the gap most", ("link", "groups", *kind, "effect"), links),
        FigureTable("Nodes whose links widen it most", ("node", "group", "links", "effect"), nodes),
        FigureTable(
            "Parts of the gap by kind of links", ("kind of links", "links", "part of the gap", "effect"), kinds
        ),
        FigureTable("Parts of the gap by channel", ("channel", "part of the gap", *_PARTS), channels),
    )
    return tuple(table for table in tables if table.rows)


def percent_or_not(value: float | None) -> str:
    """A share, or that it is undefined."""
    return "undefined" if value is None else percent(value)
