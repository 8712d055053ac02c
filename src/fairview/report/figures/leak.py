"""Figure 1: how strongly is each channel tied to the sensitive attribute, before and after propagation?

Paper: Figure 2(c)-(d), correlation variation; there the first eight channels, here those that rise most.
"""

from __future__ import annotations

from typing import Any

import altair as alt

from fairview.leakage.sentences import LINES, headline, one_line_each, rule_sentence
from fairview.report.audit_documents import AuditDocument, ChannelRow
from fairview.report.figures.charts import BLUE, NEUTRAL, VERMILLION, Series, Values, chart_of, layered, tip
from fairview.report.figures.figure import Figure, FigureTable, Panel
from fairview.report.folder import Content
from fairview.report.words import count, distinct, listed, number, percent, plural, span

MOST_LISTED = 300
_KINDS = ("the sensitive attribute", "flagged", "other columns")


def figure(content: Content) -> Figure | None:
    """Of every audit."""
    return None if content.audit is None else leak_figure(content.audit)


def leak_figure(audit: AuditDocument) -> Figure | None:
    """A dumbbell per column, the largest rise first; the sensitive attribute itself on top for scale."""
    channels = sorted((c for c in audit.channels if c.correlation[0] is not None), key=_order)
    if not channels:
        return None
    hops, sensitive = len(channels[0].correlation) - 1, audit.sensitive
    lines = one_line_each([channel.name for channel in channels])
    drawn = [(label, channels[place]) for place, label in lines[:LINES]]
    flagged = [channel for channel in channels if channel.leaking and not channel.sensitive]
    names = f": {listed([channel.name for channel in flagged])}" if flagged else ""
    alt_text = (
        f"Absolute correlation with {sensitive} of {plural(len(drawn), 'column')}, before message passing and after "
        f"{plural(hops, 'hop')}. {plural(len(flagged), 'column')} flagged{names}."
    )
    document = audit.model_dump()
    answer = headline(document).text
    rising = max((channel for channel in channels if not channel.sensitive), key=_change, default=None)
    if rising is not None and _change(rising) > 0:
        answer += f" The largest rise of a single column's correlation is {number(_change(rising), 2)} ({rising.name})."
    notes = [rule_sentence(document)]
    if len(drawn) < len(lines):
        notes.append(
            f"Drawn: the first {len(drawn)} of {plural(len(lines), 'column')}, flagged ones and largest rises first. "
            f"{len(lines) - len(drawn):,} are left out; audit.json has them all."
        )
    if len(lines) < len(channels):
        notes.append("A column with categories has one line: that of its strongest category.")
    label_leaks = [row for row in audit.label_leaks if row.auc is not None]
    if label_leaks:
        notes.append(
            "Too good to be true: these columns alone predict the label with an AUC above "
            f"{number(audit.label_leak_threshold or 0.95, 2)}, and may be a copy of it: "
            f"{listed([f'{row.name} ({number(row.auc)})' for row in label_leaks], 8)}."
        )
    title = f"Correlation with {sensitive}, before and after message passing"
    top = f"The first {len(drawn)} of {plural(len(lines), 'column')}" if len(drawn) < len(lines) else "All columns"
    tables = [_table(f"{top}: correlation with {sensitive}", drawn, hops)]
    if len(drawn) < len(channels):
        every = f"All {len(channels):,} channels"
        if len(channels) > MOST_LISTED:
            every = f"Every channel, the first {MOST_LISTED} of {len(channels):,}"
        named = [(channel.name, channel) for channel in channels[:MOST_LISTED]]
        tables.append(_table(f"{every}: correlation with {sensitive}", named, hops))
    return Figure(
        key="leak",
        heading="Does the graph leak the sensitive attribute?",
        reading=f"Each line is one column of the data. The hollow mark is how strongly it is tied to {sensitive} in "
        "the table; the filled mark is the same after each node has looked at its neighbours. A line that moves to the "
        "right says more about the sensitive attribute than before: a harmless column has become a clue.",
        panels=(Panel("leak", title, alt_text, _chart(drawn, hops)),),
        tables=(*tables, *_homophily(audit)),
        notes=tuple(notes),
        answer=answer,
    )


def _order(channel: ChannelRow) -> tuple[bool, bool, float]:
    return (not channel.sensitive, not channel.leaking, -_change(channel))


def _change(channel: ChannelRow) -> float:
    if channel.change is not None:
        return channel.change
    first, last = channel.correlation[0], channel.correlation[-1]
    return 0.0 if first is None or last is None else abs(last) - abs(first)


def _chart(drawn: list[tuple[str, ChannelRow]], hops: int) -> alt.LayerChart:
    labels = distinct([label for label, _ in drawn])
    lines: Values = []
    marks: Values = []
    for label, (_, channel) in zip(labels, drawn, strict=True):
        kind = _KINDS[0 if channel.sensitive else 1 if channel.leaking else 2]
        sizes = [abs(value) for value in channel.correlation if value is not None]
        row: dict[str, Any] = {"name": label, "series": kind, "change": _change(channel)}
        lines.append(row | {"low": min(sizes), "high": max(sizes)})
        marks += [
            row | {"hop": hop, "value": abs(value), "signed": value, "text": _hop_name(hop)}
            for hop, value in enumerate(channel.correlation)
            if value is not None
        ]
    axis = alt.Axis(grid=True, ticks=False, domain=False, labelPadding=9)
    names = alt.Y("name:N", sort=None, scale=alt.Scale(domain=labels), title=None, axis=axis)
    kinds = Series(_KINDS, colors=(NEUTRAL, VERMILLION, BLUE), shapes=("diamond", "triangle-right", "circle"))
    scale = alt.Scale(domain=[0, 1] if max(row["high"] for row in lines) > 0.5 else [0, 0.5], nice=False)
    title = "absolute correlation (0 to 1)"
    line = chart_of(lines).mark_rule(strokeWidth=2, strokeOpacity=0.65).encode(
        y=names, x=alt.X("low:Q", scale=scale, title=title), x2="high:Q", color=kinds.color()
    )  # fmt: skip
    tips = tip(name="channel", series="", text="where", signed="correlation", change="change of |correlation|")
    end = f"datum.hop == {hops}"
    mark = chart_of(marks).mark_point(strokeWidth=1.8, opacity=1).encode(
        y=names,
        x=alt.X("value:Q", scale=scale, title=title),
        color=kinds.color(),
        shape=kinds.shape(),
        fill=alt.condition(end, kinds.color(), alt.value("#ffffff"), legend=None),
        size=alt.condition(f"datum.hop > 0 && datum.hop < {hops}", alt.value(14), alt.value(60)),
        tooltip=tips,
    )  # fmt: skip
    return layered(line, mark, height=max(60, 20 * len(drawn)))


def _hop_name(hop: int) -> str:
    return "in the table" if hop == 0 else f"after {plural(hop, 'hop')}"


def _table(caption: str, lines: list[tuple[str, ChannelRow]], hops: int) -> FigureTable:
    further = ("change of size", "p-value at the end", "p-value of the leak", "rank before → after", "note")
    rows = []
    for label, channel in lines:
        last_p = channel.p_value[-1] if channel.p_value else None
        leak_p = min((p for p in channel.leak_p_value or [] if p is not None), default=None)
        ranks = channel.rank or []
        note = "sensitive" if channel.sensitive else "flagged" if channel.leaking else ""
        note = "constant" if channel.constant and not note else note
        rows.append((
            label,
            *(_with_interval(channel, hop) for hop in range(hops + 1)),
            number(_change(channel)),
            *("–" if p is None else number(p) for p in (last_p, leak_p)),
            f"{ranks[0]} → {ranks[-1]}" if ranks else "–",
            note,
        ))  # fmt: skip
    return FigureTable(caption, ("channel", *map(_hop_name, range(hops + 1)), *further), rows)


def _with_interval(channel: ChannelRow, hop: int) -> str:
    text = number(channel.correlation[hop])
    low, high = (ends[hop] if ends and hop < len(ends) else None for ends in (channel.low, channel.high))
    return text if low is None or high is None else f"{text} ({span((low, high), digits=2)})"


def _homophily(audit: AuditDocument) -> tuple[FigureTable, ...]:
    """How much people are linked to their own group."""
    rows = [
        (row.group, count(row.nodes), percent(row.homophily), number(row.mean_degree, 1))
        for row in audit.homophily_by_group[:MOST_LISTED]
    ]
    if audit.homophily is not None or rows:
        rows.append(("all", count(audit.graph.nodes), percent(audit.homophily), "–"))
    columns = ("group", "nodes", "links within the group", "links per node")
    return (FigureTable("Who is linked to whom", columns, rows),) if rows else ()
