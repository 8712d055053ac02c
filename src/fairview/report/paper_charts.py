"""How do the paper's figures look with our numbers? Charts as SVG, and all tables and figures on one page.

Each chart is a pure function of a document of `fairview paper`.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment

from fairview.atomic import write_atomic
from fairview.metrics.registry import METRICS
from fairview.optional import require
from fairview.paper.artefacts import ArtefactResult
from fairview.paper.cells import CellResult, change
from fairview.paper.pages import PageTable, tables
from fairview.paper.table3 import LOWEST_LOSS, NO_TIME
from fairview.paper.table4 import ONE_SWITCH
from fairview.report.figures import NEEDS
from fairview.study.statistics import GAPS

if TYPE_CHECKING:
    import altair as alt
else:
    alt = require("altair", *NEEDS)

from fairview.report.figures.charts import NEUTRAL, Series, chart_of

WIDTH, HEIGHT = 300, 220

PRINTED = "FairVGNN, in the paper"
GAP_ROWS = {LOWEST_LOSS: "plain, lowest loss", "vanilla": "plain, same rule as FairVGNN", "fairvgnn": "FairVGNN"}
"""The rows of Table 3 that its chart has, and what it calls them."""

_GAP_NAMES = [METRICS[metric].short for metric in GAPS]

Chart = alt.FacetChart | alt.HConcatChart


def charts(document: ArtefactResult) -> dict[str, Chart]:
    """The charts of a document, by file name without ending; a table has none."""
    rows, series = document.rows, document.series
    masked = [row for row in rows if "rank" in row.cell.facts]
    if document.name == "fig1":
        first = {"fig1-ab": _masked_channels(masked)} if masked else {}
        return first | ({"fig1-cd": _correlations(series)} if series else {})
    if document.name == "fig4" and rows:
        return {"fig4": _thresholds(rows)}
    if document.name == "table3" and (gaps := _gaps(rows)):
        return {"table3": gaps}
    if document.name in BASES and (changes := _changes(rows, BASES[document.name])):
        return {document.name: changes}
    return {"fig5": _correlations(series)} if document.name == "fig5" and series else {}


BASES = {"table4": "full", "table6": "adaptive", "fig3": "without-wc"}
"""The row that the others of a setting are set against."""


def write_charts(document: ArtefactResult, folder: Path) -> list[Path]:
    """Each chart as SVG, drawn without a browser."""
    written = []
    for name, svg in drawn(document).items():
        written.append(folder / f"{name.replace(document.name, document.stem, 1)}.svg")
        write_atomic(written[-1], svg)
    return written


def drawn(document: ArtefactResult) -> dict[str, str]:
    """The charts as SVG texts."""
    vl_convert = require("vl_convert", *NEEDS)
    return {
        name: vl_convert.vegalite_to_svg(chart.to_json(), allowed_base_urls=[])
        for name, chart in charts(document).items()
    }


def write_page(documents: Mapping[str, ArtefactResult], checks: PageTable, folder: Path) -> Path:
    """`paper.html`: every table and figure of the folder, and the claims; one file, nothing loaded from elsewhere."""
    sections = [
        {
            "title": document.title,
            "quick": document.scope["quick"],
            "stem": stem,
            "tables": tables(document),
            "images": [base64.b64encode(svg.encode()).decode() for svg in drawn(document).values()],
            "notes": document.notes,
        }
        for stem, document in documents.items()
    ]
    page = Environment(autoescape=True).from_string(_PAGE).render(sections=sections, checks=checks)
    write_atomic(folder / "paper.html", page)
    return folder / "paper.html"


# --- charts -----------------------------------------------------------------------------------------------------------


def _gaps(rows: Sequence[CellResult]) -> Chart | None:
    """A panel per dataset and gap: the plain models, FairVGNN and what the paper prints of it, encoder by encoder."""
    records = []
    for row in rows:
        name = GAP_ROWS.get(row.cell.row)
        if name is None or not row.known or row.cell.dataset == NO_TIME:
            continue
        records += [record | {"series": name} for record in _means(row, GAPS)]
        if row.cell.row == "fairvgnn":
            records += [record | {"series": PRINTED} for record in _printed(row, GAPS)]
    if not records:
        return None
    names = [name for name in (*GAP_ROWS.values(), PRINTED) if any(record["series"] == name for record in records)]
    series = Series(names)
    base = chart_of(records).encode(
        x=alt.X("encoder:N", title=None, axis=alt.Axis(labelAngle=0)), xOffset=alt.XOffset("series:N", sort=names)
    )
    points = base.mark_point(filled=True, size=50).encode(
        y=alt.Y("mean:Q", title="percent"), color=series.color(), shape=series.shape()
    )
    spread = base.mark_rule().encode(y="low:Q", y2="high:Q", color=series.color())
    panel = alt.layer(spread, points).properties(width=170, height=150)
    datasets = list(dict.fromkeys(record["dataset"] for record in records))
    facet: Chart = panel.facet(
        row=alt.Row("metric:N", title=None, sort=_GAP_NAMES), column=alt.Column("dataset:N", title=None, sort=datasets)
    ).resolve_scale(y="independent")
    return facet


def _changes(rows: Sequence[CellResult], base: str) -> Chart | None:
    """A panel per gap: for each setting what another row has more than the base, with the interval."""
    settings: dict[tuple[str, str | None], dict[str, CellResult]] = {}
    for row in rows:
        if row.known and row.cell.block in ("", ONE_SWITCH):
            settings.setdefault((row.cell.dataset, row.cell.encoder), {})[row.cell.row] = row
    records, names = [], []
    for (dataset, encoder), of_setting in settings.items():
        for name, row in of_setting.items():
            if base not in of_setting or name == base:
                continue
            names.append(name)
            for metric in GAPS:
                more = change(row, of_setting[base], metric)
                if (mean := more.value("mean")) is not None:
                    ends = [100 * (mean if end is None else end) for end in (more.low, more.high)]
                    numbers = {"mean": 100 * mean, "low": ends[0], "high": ends[1], "zero": 0.0}
                    where = {"setting": f"{dataset} {encoder}", "series": name, "metric": METRICS[metric].short}
                    records.append(where | numbers)
    if not records:
        return None
    series = Series(list(dict.fromkeys(names)))
    chart = chart_of(records)
    data = chart.encode(y=alt.Y("setting:N", title=None, sort=None), yOffset="series:N")
    points = data.mark_point(filled=True, size=50).encode(
        x=alt.X("mean:Q", title=f"gap less that of {base}, in points"), color=series.color(), shape=series.shape()
    )
    spread = data.mark_rule().encode(x="low:Q", x2="high:Q", color=series.color())
    zero = chart.mark_rule(color=NEUTRAL).encode(x="zero:Q")
    height = 40 * len({record["setting"] for record in records})
    return (
        alt.layer(zero, spread, points)
        .properties(width=WIDTH, height=height)
        .facet(column=alt.Column("metric:N", title=None, sort=_GAP_NAMES))
    )


def _masked_channels(rows: Sequence[CellResult]) -> Chart:
    """Utility and gaps against the |correlation| of the masked channel; a dashed line where nothing is masked."""
    records = [
        record | {"correlation": abs(row.cell.facts.get("correlation", 0.0)), "masked": bool(row.cell.masked)}
        for row in rows
        for record in _means(row, _CURVES)
    ]
    base = chart_of(records).encode(y=_PERCENT, color=alt.Color("encoder:N", legend=None))
    x = alt.X("correlation:Q", title="|correlation| of the masked channel with the sensitive attribute")
    points = base.transform_filter("datum.masked").mark_point(filled=True).encode(x=x)
    rule = base.transform_filter("!datum.masked").mark_rule(strokeDash=[4, 4])
    return _by_metric(alt.layer(points, rule), "encoder")


def _thresholds(rows: Sequence[CellResult]) -> Chart:
    """Each metric against the threshold, where there are several."""
    known = [row for row in rows if "threshold" in row.cell.facts and row.known]
    several = Counter((row.cell.dataset, row.cell.encoder) for row in known)
    records = [
        record | {"threshold": row.cell.facts["threshold"]}
        for row in known
        if several[row.cell.dataset, row.cell.encoder] > 1
        for record in _means(row, _CURVES)
    ]
    base = chart_of(records).encode(
        x=alt.X(
            "threshold:Q",
            scale=alt.Scale(type="log"),
            title="clamping threshold ε",
            axis=alt.Axis(values=sorted({record["threshold"] for record in records}), format="~g"),
        ),
        color=alt.Color("encoder:N", title="encoder"),
    )
    lines = base.mark_line(point=True).encode(y=_PERCENT)
    spread = base.mark_rule().encode(y="low:Q", y2="high:Q")
    return _by_metric(alt.layer(lines, spread), "dataset")


_CURVES = ("auc", "f1", *GAPS)
_PERCENT = alt.Y("mean:Q", title="percent", scale=alt.Scale(zero=False))


def _by_metric(layers: alt.LayerChart | alt.FacetChart, columns: str) -> Chart:
    """A row of panels for each metric, each with an axis of its own: gaps are small beside an AUC."""
    names = [METRICS[metric].short for metric in _CURVES]
    chart: Chart = (
        layers.properties(width=WIDTH, height=HEIGHT // 2)
        .facet(
            row=alt.Row("metric:N", title=None, sort=names), column=alt.Column(f"{columns}:N", title=None, sort=None)
        )
        .resolve_scale(y="independent")
    )
    return chart


def _correlations(series: Sequence[Mapping[str, Any]]) -> Chart:
    """A panel per dataset, a tile per channel and hop, red and blue for the sign."""
    colour = alt.Color("correlation:Q", scale=alt.Scale(scheme="redblue", domain=[-1, 1]))
    panels = []
    for dataset in dict.fromkeys(record["dataset"] for record in series):
        of_dataset = [record for record in series if record["dataset"] == dataset]
        records = [dict(record) | {"channel": f"{record['place']:02d} {record['channel']}"} for record in of_dataset]
        base = chart_of(records).encode(x=alt.X("hop:O", title="hops"), y=alt.Y("channel:N", title=None))
        texts = base.mark_text(fontSize=9).encode(text=alt.Text("correlation:Q", format=".2f"))
        title = f"{dataset} (homophily {of_dataset[0]['homophily']:.4f})"
        panel = alt.layer(base.mark_rect().encode(color=colour), texts)
        panels.append(panel.properties(width=WIDTH, height=20 * len({r["channel"] for r in of_dataset}), title=title))
    return alt.hconcat(*panels)


def _means(row: CellResult, metrics: Sequence[str]) -> list[dict[str, Any]]:
    """Tidy records for a chart; what is undefined is left out."""
    cell, records = row.cell, []
    for metric in metrics:
        mean, std = row.mean(metric), row.std(metric) or 0.0
        if mean is not None:
            named = {"dataset": cell.dataset, "encoder": cell.encoder, "row": cell.row, "block": cell.block}
            numbers = {"mean": mean, "low": max(0.0, mean - std), "high": mean + std}
            records.append(named | {"metric": METRICS[metric].short} | numbers)
    return records


def _printed(row: CellResult, metrics: Sequence[str]) -> list[dict[str, Any]]:
    """The same for what the paper prints."""
    records = []
    for metric in metrics:
        number = (row.cell.printed or {}).get(metric)
        if number is not None:
            std = number.std or 0.0
            named = {"dataset": row.cell.dataset, "encoder": row.cell.encoder, "metric": METRICS[metric].short}
            records.append(named | {"mean": number.mean, "low": max(0.0, number.mean - std), "high": number.mean + std})
    return records


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="generator" content="fairview">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>FairVGNN's tables and figures, from our runs</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; margin: 0 0 1.5rem; font-size: 13px; display: block; overflow-x: auto; }
th, td { padding: .2rem .6rem; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top; }
img { max-width: 100%; }
.warn { background: #fff3cd; padding: .5rem 1rem; }
</style>
</head>
<body>
<h1>FairVGNN's tables and figures, from our runs</h1>
{% macro shown(table) %}
<table><thead><tr>{% for column in table.columns %}<th>{{ column }}</th>{% endfor %}</tr></thead>
<tbody>{% for row in table.rows %}
<tr>{% for cell in row %}<td>{{ cell }}</td>{% endfor %}</tr>{% endfor %}
</tbody></table>
{% endmacro %}
<h2>The paper's claims</h2>
{{ shown(checks) }}
{% for section in sections %}
<h2 id="{{ section.stem }}">{{ section.title }}</h2>
{% if section.quick %}<p class="warn">A smoke test: two epochs per run. The numbers mean nothing.</p>{% endif %}
{% for image in section.images %}
<p><img alt="{{ section.title }}" src="data:image/svg+xml;base64,{{ image }}"></p>
{% endfor %}
{% for table in section.tables %}<h3>{{ table.title }}</h3>{{ shown(table) }}{% endfor %}
<ul>{% for note in section.notes %}<li>{{ note }}</li>{% endfor %}</ul>
{% endfor %}
</body>
</html>
"""
