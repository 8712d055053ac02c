"""Which figures may a report have, and in which order? Open to figures of your own."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairview.registry import Registry
from fairview.report.figures.figure import Figure

if TYPE_CHECKING:
    from fairview.report.folder import Content

Maker = Callable[["Content"], Figure | None]


@dataclass(frozen=True)
class FigureEntry:
    """A figure that a report may have.

    Attributes:
        name: of the entry.
        contents: one or two words for the page's list of contents.
        make: the figure of what was read from a run, an audit, a comparison or a tuning; None if it has nothing to say
            there.
        by_attribute: it is about groups: of several sensitive attributes each has one of its own, made of the content
            as if the attribute were the only one.
    """

    name: str
    contents: str
    make: Maker
    by_attribute: bool = False


def _built_in(module: str, function: str = "figure") -> Maker:
    """A figure of this package; its module, and altair with it, is imported when a report is made."""

    def make(content: Content) -> Figure | None:
        figure: Figure | None = getattr(importlib.import_module(f"fairview.report.figures.{module}"), function)(content)
        return figure

    return make


FIGURES = Registry(
    "figure",
    FigureEntry,
    "fairview.figures",
    [
        FigureEntry("frontier", "Frontier", _built_in("frontier")),
        FigureEntry("compared", "Cost of fairness", _built_in("tradeoff", "figure_of_comparison")),
        FigureEntry("comparison", "Differences", _built_in("differences")),
        FigureEntry("attributes", "Attributes", _built_in("attribute_gaps")),
        FigureEntry("leak", "Leak", _built_in("leak"), by_attribute=True),
        FigureEntry("explanation", "Links behind the gap", _built_in("explanation")),
        FigureEntry("mask", "Masks", _built_in("masks")),
        FigureEntry("probes", "Guessing", _built_in("probes"), by_attribute=True),
        FigureEntry("hidden", "Hidden columns", _built_in("hidden_columns")),
        FigureEntry("tradeoff", "Cost of fairness", _built_in("tradeoff", "figure_of_runs")),
        FigureEntry("groups", "Groups", _built_in("group_outcomes"), by_attribute=True),
        FigureEntry("thresholds", "Thresholds", _built_in("threshold_curve"), by_attribute=True),
        FigureEntry("training", "Training", _built_in("training")),
    ],
)
"""Every figure by name, in the order of the page."""


def register_figure(entry: FigureEntry) -> FigureEntry:
    """Add a figure: from then on every report asks for it.

    Args:
        entry: with a name of its own.

    Raises:
        InputError: the name is taken.
    """
    return FIGURES.register(entry)
