"""What is a figure made of? Charts and tables with words around them; altair is needed only to draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair as alt

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

CONFIG: dict[str, Any] = {
    "font": _FONT,
    "background": None,
    "view": {"stroke": None},
    "title": {"anchor": "start", "fontSize": 13, "fontWeight": 600, "color": "#333", "offset": 10, "limit": 0},
    "axis": {
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "labelColor": "#444",
        "titleColor": "#444",
        "gridColor": "#ddd",
        "domainColor": "#999",
        "tickColor": "#999",
        "labelLimit": 220,
        "labelFlush": False,
    },
    "axisQuantitative": {"tickCount": 6},
    "legend": {
        "orient": "top",
        "direction": "horizontal",
        "title": None,
        "labelFontSize": 11,
        "labelColor": "#444",
        "labelLimit": 160,
        "columns": 2,
        "symbolStrokeWidth": 2,
        "symbolSize": 70,
        "symbolOpacity": 1,
        "offset": 18,
    },
    "text": {"font": _FONT, "fontSize": 11},
}


@dataclass(frozen=True)
class Panel:
    """One chart of a figure; `text` says in words what it shows."""

    key: str
    title: str
    text: str
    chart: alt.LayerChart

    def spec(self, width: int | str = "container") -> dict[str, Any]:
        """The Vega-Lite document, as wide as the page, or as given."""
        document = self.chart.properties(width=width, title=self.title, description=self.text).to_dict()
        return document | {"config": CONFIG, "autosize": {"type": "fit-x", "contains": "padding"}}


@dataclass(frozen=True)
class FigureTable:
    """The numbers behind a figure, as texts; the first column names the rows."""

    caption: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


@dataclass(frozen=True)
class SliderStep:
    """A place of a slider: its name, what it leads to in a word and in a sentence, and the charts' parameters there."""

    name: str
    result: str
    text: str
    parameters: dict[str, float]


@dataclass(frozen=True)
class Slider:
    """A question with a few possible answers, to be moved through; the table has all of them, for those who can't.

    Attributes:
        heading: the question.
        label: of the slider.
        caution: what must be known before it is moved.
        steps: its places.
        start: the place it starts at.
        table: every place.
    """

    heading: str
    label: str
    caution: str
    steps: tuple[SliderStep, ...]
    start: int
    table: FigureTable


@dataclass(frozen=True)
class Figure:
    """A section of the page: a heading, how to read it, charts, and the tables behind them.

    Attributes:
        key: the section's id on the page; lower-case letters and hyphens.
        heading: the question it answers.
        reading: how to read the charts, for everybody.
        panels: the charts; there may be none.
        tables: their numbers.
        notes: small print below the charts.
        answer: the answer to the heading, above the reading.
        contents: for the page's list of contents; taken from the registry.
        slider: below the charts, and moves their parameters.
        part: of several sensitive attributes, the one that it is about; empty if it is about none in particular.
    """

    key: str
    heading: str
    reading: str
    panels: tuple[Panel, ...]
    tables: tuple[FigureTable, ...]
    notes: tuple[str, ...] = ()
    answer: str = ""
    contents: str = ""
    slider: Slider | None = None
    part: str = ""

    def in_part(self, part: str, place: int) -> Figure:
        """The same figure in the place-th part of the page, where another figure may have its key."""
        panels = tuple(replace(panel, key=f"{panel.key}-{place}") for panel in self.panels)
        return replace(self, key=f"{self.key}-{place}", panels=panels, part=part)
