"""Figure 2: which channels does the model hide from itself, and are they the ones that leak?"""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt

from fairview.propagation.blocks import column_name
from fairview.report.audit_documents import ChannelRow, KeptRow
from fairview.report.documents import KindRecord
from fairview.report.figures.charts import BLUE, NEUTRAL, Series, Values, chart_of, known, layered, tip
from fairview.report.figures.figure import Figure, FigureTable, Panel
from fairview.report.folder import Content
from fairview.report.words import distinct, listed, number, percent, plural

MOST_DRAWN, MOST_LISTED, NAMED = 60, 300, 3


def figure(content: Content) -> Figure | None:
    """Of a model that learns masks: how often it keeps a channel, against its correlations, and a kind of links."""
    channels = sorted(_kept(content), key=lambda kept: kept.keep_probability)
    drawn = [kept for kept in channels if kept.correlation_after is not None][:MOST_DRAWN]
    if content.audit is None or not drawn or all(kept.keep_probability == 1 for kept in channels):
        drawn = []
    kinds = content.record.link_kinds if content.record else {}
    if not drawn and not kinds:
        return None
    parts = [*([_of_channels(content, channels, drawn)] if drawn else []), *([_of_kinds(kinds)] if kinds else [])]
    return Figure(
        key="mask",
        heading="What did the model hide from itself?",
        reading=" ".join([*([_OF_CHANNELS] if drawn else []), *([_OF_KINDS] if kinds else [])]),
        panels=tuple(panel for panel, _ in parts),
        tables=tuple(table for _, table in parts),
        notes=_notes(content, drawn),
    )


_OF_CHANNELS = (
    "The model learns how often it may see each column. Low marks are columns that are mostly hidden. If "
    "hiding follows the leak, the marks on the right (strongly tied to the sensitive attribute) should lie low."
)
_OF_KINDS = (
    "It also learns how much each kind of links counts and how often it may see what that kind brings; 'itself' is "
    "what a node has without links."
)


def _of_channels(content: Content, channels: list[KeptRow], drawn: list[KeptRow]) -> tuple[Panel, FigureTable]:
    least = listed([f"{kept.name} ({percent(kept.keep_probability)})" for kept in drawn[:NAMED]])
    alt_text = (
        f"Probability that a channel is kept, for {plural(len(drawn), 'channel')}, against its correlation with "
        f"{content.audit.sensitive if content.audit else 'the sensitive attribute'}. Kept least: {least}."
    )
    rows = [
        (k.name, percent(k.keep_probability), number(k.correlation_before), number(k.correlation_after))
        for k in channels[:MOST_LISTED]
    ]
    columns = ("channel", "kept with probability", "correlation in the table", "correlation after propagation")
    table = FigureTable("Probability of being kept, the least kept first", columns, rows)
    return Panel("mask", "Probability of being kept", alt_text, _chart(drawn)), table


def _of_kinds(kinds: Mapping[str, KindRecord]) -> tuple[Panel, FigureTable]:
    rows = [(name, number(kind.weight), percent(kind.keep_probability)) for name, kind in kinds.items()]
    words = listed([f"{name} ({kept}, weight {weight})" for name, weight, kept in rows])
    table = FigureTable("Kinds of links", ("kind of links", "weight", "kept with probability"), rows)
    values: Values = [
        {"name": label, "keep": kind.keep_probability, "weight": kind.weight}
        for label, kind in zip(distinct(list(kinds), limit=34), kinds.values(), strict=True)
    ]
    y_axis = alt.Y("name:N", title=None, sort=[row["name"] for row in values])
    x_axis = alt.X("keep:Q", title="probability of being kept", scale=alt.Scale(domain=[0, 1]))
    mark = chart_of(values).mark_point(size=70, strokeWidth=1.8, opacity=1, color=BLUE).encode(
        x=x_axis.axis(format="%"), y=y_axis, tooltip=tip(name="kind of links", keep="kept", weight="weight")
    )  # fmt: skip
    text = chart_of(values).mark_text(align="left", dx=9, dy=1, color=NEUTRAL).encode(
        x=x_axis, y=y_axis, text=alt.Text("weight:Q", format=".2f")
    )  # fmt: skip
    alt_text = f"Probability that a kind of links is kept, with its weight beside the mark: {words}."
    title = "Kinds of links: probability of being kept, and weight"
    return Panel("link-kinds", title, alt_text, layered(mark, text, height=40 + 26 * len(values))), table


def _notes(content: Content, drawn: list[KeptRow]) -> tuple[str, ...]:
    notes = [f"The {NAMED} least kept channels are named."] if len(drawn) > NAMED else []
    record = content.record
    if record is not None and record.parameters.get("encoder") == "sign":
        notes.append("NAME@1 is a column after one hop, NAME@0 the node's own value; 'after' is that hop.")
    return tuple(notes)


def _kept(content: Content) -> list[KeptRow]:
    """From the audit, or put together from the run's masks and the graph's correlations."""
    audit, run = content.audit, content.run
    if audit is not None and audit.model is not None and audit.model.keep:
        return audit.model.keep
    masks = (run.record.keep_probability if run and run.record else None) or {}
    return [
        KeptRow(
            name=name,
            keep_probability=masks[name],
            correlation_before=channel.correlation[0],
            correlation_after=channel.correlation[hop],
        )
        for channel in (audit.channels if audit else [])
        for name, hop in _columns(channel, masks)
    ]


def _columns(channel: ChannelRow, masks: Mapping[str, float]) -> list[tuple[str, int]]:
    """What is masked of a channel, and the hop that it is seen at: the channel as such, or each hop that has a mask."""
    if channel.name in masks:
        return [(channel.name, -1)]
    hops = ((column_name(channel.name, hop), hop) for hop in range(len(channel.correlation)))
    return [(name, hop) for name, hop in hops if name in masks]


def _chart(drawn: list[KeptRow]) -> alt.LayerChart:
    labels = distinct([kept.name for kept in drawn], limit=34)
    values: Values = [
        {
            "name": label,
            "keep": kept.keep_probability,
            "before": None if kept.correlation_before is None else abs(kept.correlation_before),
            "after": abs(kept.correlation_after or 0.0),
            "left": kept.correlation_before,
            "right": kept.correlation_after,
        }
        for label, kept in zip(labels, drawn, strict=True)
    ]
    both = known(values, "before")
    largest = max([row["after"] for row in values] + [row["before"] for row in both])
    scale = alt.Scale(domain=[0, 1 if largest > 0.5 else 0.5])
    x_title, y_title = "absolute correlation with the sensitive attribute", "probability of being kept"
    y = alt.Y("keep:Q", title=y_title, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%"))
    kinds = ("before propagation", "after propagation")
    series = Series(kinds, colors=(NEUTRAL, BLUE))
    tips = tip(name="channel", keep="kept with probability", left="correlation before", right="correlation after")
    line = chart_of(both).mark_rule(color=NEUTRAL, opacity=0.5).encode(
        x=alt.X("before:Q", scale=scale, title=x_title), x2="after:Q", y=y
    )  # fmt: skip
    marks = [row | {"x": row["before"], "series": kinds[0]} for row in both]
    marks += [row | {"x": row["after"], "series": kinds[1]} for row in values]
    mark = chart_of(marks).mark_point(size=55, strokeWidth=1.8, opacity=1).encode(
        x=alt.X("x:Q", scale=scale, title=x_title),
        y=y,
        color=series.color(),
        shape=series.shape(),
        fill=alt.condition("datum.series == 'after propagation'", series.color(), alt.value("#ffffff"), legend=None),
        tooltip=tips,
    )  # fmt: skip
    named = [row | {"end": max(row["after"], row["before"] or 0.0)} for row in values[:NAMED]]
    name = chart_of(named).mark_text(align="left", dx=8, dy=1, color=NEUTRAL, limit=150).encode(
        x=alt.X("end:Q", scale=scale, title=x_title), y=y, text="name:N"
    )  # fmt: skip
    return layered(line, mark, name, height=320)
