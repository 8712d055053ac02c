"""What do all charts share? Colours that colour-blind people can tell apart, shapes and dashes beside them, whiskers.

Text from the data only ever goes into values: field names, expressions and titles of tooltips are fixed, so that a
column called `datum.x` or `a[0]` is a label like any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import altair as alt

Values = list[dict[str, Any]]

# Okabe and Ito's palette without black and yellow: what is left can be seen on white and on near-black.
BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
PALETTE = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY)
NEUTRAL = "#808080"
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [1, 3], [12, 4])


def layered(*layers: alt.Chart | alt.LayerChart, height: int) -> alt.LayerChart:
    """Layers on top of each other, in a chart of this height."""
    return cast(alt.LayerChart, alt.layer(*layers).properties(height=height))


def chart_of(values: Values) -> alt.Chart:
    """A chart of values that are stored inside it."""
    return alt.Chart(alt.InlineData(values=values))


def tip(**titles: str) -> list[alt.Tooltip]:
    """Tooltips of fixed fields: `tip(name="channel", value="correlation")`; numbers with three digits, counts whole."""
    return [
        alt.Tooltip(f"{field}:N", title=title)
        if field in ("name", "series", "text")
        else alt.Tooltip(f"{field}:Q", title=title, format="," if field == "count" else ".3f")
        for field, title in titles.items()
    ]


@dataclass(frozen=True)
class Series:
    """Colour, shape and dash of a few named series, told apart by all of them at once."""

    names: Sequence[str]
    field: str = "series"
    symbol: str | None = None
    grey: bool = False
    colors: Sequence[str] = PALETTE
    shapes: Sequence[str] = SHAPES

    def color(self) -> alt.Color:
        """Of lines and fills."""
        return alt.Color(f"{self.field}:N", title=None, scale=self._scale(self.colors), **self._legend())

    def shape(self) -> alt.Shape:
        """Of points."""
        return alt.Shape(f"{self.field}:N", title=None, scale=self._scale(self.shapes), **self._legend())

    def dash(self) -> alt.StrokeDash:
        """Of lines."""
        return alt.StrokeDash(f"{self.field}:N", title=None, scale=self._scale(DASHES), **self._legend())

    def _scale(self, range_: Sequence[Any]) -> alt.Scale:
        n = len(self.names)
        return alt.Scale(domain=list(self.names), range=[range_[place % len(range_)] for place in range(n)])

    def _legend(self) -> dict[str, Any]:
        """Of lines a stroke; of shapes that have no colour of their own, grey: black can't be seen in the dark."""
        if self.grey:
            return {"legend": alt.Legend(symbolFillColor=NEUTRAL, symbolStrokeColor=NEUTRAL)}
        return {} if self.symbol is None else {"legend": alt.Legend(symbolType=self.symbol)}


def dots(
    values: Values, series: Series, tips: list[alt.Tooltip], x: Mapping[str, Any], **places: Any
) -> tuple[alt.Chart, alt.Chart]:
    """A point per row at its `value`, on a bar from `low` to `high`; `x` describes the axis, `places` the rows."""
    intervals = chart_of(known(values, "low", "high")).mark_rule(strokeWidth=2)
    points = chart_of(values).mark_point(size=70, filled=True, opacity=1)
    return (
        intervals.encode(x=alt.X("low:Q", **x), x2="high:Q", color=series.color(), **places),
        points.encode(x=alt.X("value:Q", **x), color=series.color(), shape=series.shape(), tooltip=tips, **places),
    )


def curves(
    values: Values,
    x: alt.X,
    y: alt.Y,
    tips: list[alt.Tooltip],
    series: Series | None = None,
    spot: int = 120,
    **mark: Any,
) -> tuple[alt.Chart, alt.Chart]:
    """Lines, one for each series, and unseen spots of this size that show the tooltips."""
    look = {} if series is None else {"color": series.color(), "strokeDash": series.dash()}
    line = chart_of(values).mark_line(**{"strokeWidth": 2} | mark).encode(x=x, y=y, **look)
    return line, chart_of(values).mark_point(size=spot, opacity=0, filled=True).encode(x=x, y=y, tooltip=tips)


def rule(value: float, text: str = "", scale: alt.Scale | None = None) -> alt.LayerChart:
    """A dashed line from top to bottom, with a word above it."""
    data = chart_of([{"at": value, "text": text}])
    x = alt.X("at:Q") if scale is None else alt.X("at:Q", scale=scale)
    line = data.mark_rule(color=NEUTRAL, strokeDash=[4, 4], strokeWidth=1.2).encode(x=x)
    word = data.mark_text(color=NEUTRAL, baseline="bottom", dy=-3).encode(x=x, y=alt.value(0), text="text:N")
    return cast(alt.LayerChart, alt.layer(line, word) if text else alt.layer(line))


def known(values: Values, *fields: str) -> Values:
    """The rows in which every field has a value."""
    return [row for row in values if all(row.get(field) is not None for field in fields)]
