"""Which figures does this content have? Each is a pure function of its documents; what is not known is left out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fairview.optional import require
from fairview.report.figures.figure import Figure
from fairview.report.figures.registry import FIGURES

if TYPE_CHECKING:
    from fairview.report.folder import Content

__all__ = ["NEEDS", "Figure", "figures_of"]

NEEDS = ("report", "Reports need altair and vl-convert")
"""For `require`: the extra, and what it is for."""


def figures_of(content: Content) -> list[Figure]:
    """In the order of the page.

    Raises:
        FairviewError: altair is not installed.
    """
    require("altair", *NEEDS)
    figures = ((entry, entry.make(content)) for entry in FIGURES.values())
    return [replace(figure, contents=entry.contents) for entry, figure in figures if figure is not None]
