"""How do the same charts become files of their own? SVG and PNG, drawn without a browser."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from fairview.atomic import write_atomic
from fairview.errors import InputError, option
from fairview.optional import require
from fairview.report.figures import NEEDS, Figure

FORMATS = ("svg", "png")
WIDTH = 640


def write_figures(figures: Sequence[Figure], folder: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Write every chart in every format; file names are fixed words, never names from the data."""
    wrong = [name for name in formats if name not in FORMATS]
    if wrong:
        raise InputError(f"{option('formats', wrong[:1])}: expected {', '.join(FORMATS)}.")
    vl_convert = require("vl_convert", *NEEDS)
    draw = {"svg": vl_convert.vegalite_to_svg, "png": partial(vl_convert.vegalite_to_png, scale=2)}
    written = []
    for panel in (panel for figure in figures for panel in figure.panels):
        spec = panel.spec(WIDTH)
        spec["config"] = spec["config"] | {"background": "white", "padding": 12}
        for form in (form for form in FORMATS if form in formats):
            written.append(folder / f"{panel.key}.{form}")
            write_atomic(written[-1], draw[form](json.dumps(spec), allowed_base_urls=[]))
    return written
