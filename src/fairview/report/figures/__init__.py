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


def figures_of(content: Content, *, parts: bool = True) -> list[Figure]:
    """In the order of the page.

    Args:
        content: of a folder or a result.
        parts: of several sensitive attributes each has figures of its own, after the others; else there are only those
            of the combinations of their groups.

    Raises:
        FairviewError: altair is not installed.
    """
    from fairview.report.attributes import by_attribute

    require("altair", *NEEDS)
    views = by_attribute(content) if parts else {}
    whole = [entry for entry in FIGURES.values() if not (views and entry.by_attribute)]
    figures = [
        replace(figure, contents=entry.contents) for entry in whole if (figure := entry.make(content)) is not None
    ]
    for place, (name, view) in enumerate(views.items(), 1):
        figures += [
            replace(figure.in_part(name, place), contents=entry.contents)
            for entry in FIGURES.values()
            if entry.by_attribute and (figure := entry.make(view)) is not None
        ]
    return figures
