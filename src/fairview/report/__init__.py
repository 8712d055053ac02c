"""Results in, one HTML file out: numbers, intervals and pictures that can be shown to someone who was not there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairview.report.folder import Content

__all__ = ["render", "write_report"]


def write_report(folder: str | Path, *, figures: Sequence[str] | None = None, overwrite: bool = False) -> Path:
    """Write `report.html` into a run, audit, comparison or tuning folder, whole or not at all.

    Args:
        folder: what `fairview train`, `audit`, `compare` or `tune` left behind.
        figures: also write each chart into `figures/`, in these formats: "svg", "png".
        overwrite: replace a `report.html`, and charts, that fairview did not write.

    Returns:
        The path of the report.

    Raises:
        InputError: there is nothing to report, a document is not what it must be, or a file of that name is foreign.
    """
    from fairview.arguments import require_folder
    from fairview.locks import folder_lock
    from fairview.manifest import write_recorded
    from fairview.outputs import check_folder
    from fairview.report.export import figure_names, write_figures
    from fairview.report.figures import figures_of
    from fairview.report.folder import read_folder
    from fairview.report.page import page

    folder = require_folder(folder, "write_report")
    content = read_folder(folder)
    path = folder / "report.html"
    check_folder(folder, [path.name], overwrite=overwrite)
    with folder_lock(folder):
        drawn = figures_of(content)
        charts = [f"figures/{name}" for name in figure_names(drawn, figures or ())]
        check_folder(folder, [path.name, *charts], overwrite=overwrite)
        write_recorded(path, page(content, drawn))
        if figures:
            write_figures(drawn, folder / "figures", figures, overwrite=overwrite)
    return path


def render(content: Content) -> str:
    """The page of a content that was read with `fairview.report.folder.read_folder`."""
    from fairview.report.figures import figures_of
    from fairview.report.page import page

    return page(content, figures_of(content))
