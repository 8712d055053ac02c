"""How do the same charts become files of their own? SVG and PNG, drawn without a browser."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from pathlib import Path

from fairview.atomic import write_atomic
from fairview.errors import InputError, option
from fairview.marks import PNG_MARK, SVG_MARK
from fairview.optional import require
from fairview.outputs import check_folder
from fairview.report.figures import NEEDS, Figure
from fairview.report.figures.figure import Panel

FORMATS = ("svg", "png")
WIDTH = 640
_PNG_HEADER = 33  # bytes: the signature, and the first chunk


def write_figures(
    figures: Sequence[Figure], folder: Path, formats: Sequence[str] = FORMATS, *, overwrite: bool = False
) -> list[Path]:
    """Write every chart in every format; file names are fixed words, never names from the data."""
    names = figure_names(figures, formats)
    vl_convert = require("vl_convert", *NEEDS)
    check_folder(folder, names, overwrite=overwrite)
    written = []
    for name, (panel, form) in names.items():
        spec = panel.spec(WIDTH)
        spec["config"] = spec["config"] | {"background": "white", "padding": 12}
        text = json.dumps(spec)
        written.append(folder / name)
        if form == "svg":
            write_atomic(written[-1], vl_convert.vegalite_to_svg(text, allowed_base_urls=[]).encode() + SVG_MARK)
        else:
            write_atomic(written[-1], _marked(vl_convert.vegalite_to_png(text, scale=2, allowed_base_urls=[])))
    return written


def figure_names(figures: Sequence[Figure], formats: Sequence[str]) -> dict[str, tuple[Panel, str]]:
    """The file of each chart in each format."""
    wrong = [name for name in formats if name not in FORMATS]
    if wrong:
        raise InputError(f"{option('formats', wrong[:1])}: expected {', '.join(FORMATS)}.")
    panels = (panel for figure in figures for panel in figure.panels)
    return {f"{panel.key}.{form}": (panel, form) for panel in panels for form in FORMATS if form in formats}


def _marked(png: bytes) -> bytes:
    """With a text chunk after the header that says which software wrote it; nothing that is seen changes."""
    chunk = b"tEXt" + PNG_MARK
    length, checksum = (len(PNG_MARK).to_bytes(4), zlib.crc32(chunk).to_bytes(4))
    return png[:_PNG_HEADER] + length + chunk + checksum + png[_PNG_HEADER:]
