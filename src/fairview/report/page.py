"""How does content become one HTML file that needs nothing else? Template, style, one script, charts as JSON.

Nothing from the data becomes markup: Jinja escapes every text, charts are JSON in which `<` can't appear, and the
content security policy allows the one script whose hash it names, no connection, and no evaluation of strings.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from functools import cache
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup

from fairview._version import __version__
from fairview.leakage.sentences import reasons
from fairview.optional import require
from fairview.report.attributes import attribute_names
from fairview.report.documents import RunRecord, visible
from fairview.report.figures import NEEDS, Figure
from fairview.report.figures.figure import FigureTable
from fairview.report.folder import Content
from fairview.report.tuning_documents import TuningDocument
from fairview.report.verdict import frame_of, verdict_of
from fairview.report.words import count, listed, metric_name, plural, points

Facts = Iterable[tuple[str, str]]


def page(content: Content, figures: list[Figure]) -> str:
    """The page with figures that are already made."""
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(resource),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    script = bundle()
    return environment.get_template("page.html.j2").render(
        title=content.title,
        kind=_kind(content),
        unfinished=content.unfinished,
        verdict=verdict_of(content),
        frame=frame_of(content),
        figures=figures,
        sections=_sections(content),
        notes=_notes(content),
        style=Markup(resource("page.css")),  # noqa: S704 (our own file)
        script=Markup(script),  # noqa: S704 (our own script, with the libraries it needs)
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        spec=lambda panel: Markup(inert_json(panel.spec())),  # noqa: S704 (no `<` in it)
        steps=lambda slider: Markup(inert_json([asdict(step) for step in slider.steps])),  # noqa: S704 (no `<` in it)
        version=__version__,
        compared=content.comparison is not None,
        several=attribute_names(content),
        is_number=_is_number,
    )


def inert_json(document: Any) -> str:
    r"""JSON that can't end the element it stands in.

    Example:
        >>> inert_json({"name": "</script>"})
        '{"name":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(document, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def bundle() -> str:
    """Vega, Vega-Lite, Vega-Embed and our few lines that draw with them, as one script; no network is needed."""
    vl_convert = require("vl_convert", *NEEDS)
    script = str(vl_convert.javascript_bundle(resource("page.js")))
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def resource(name: str) -> str:
    """A file of the folder `templates`."""
    return resources.files("fairview.report").joinpath("templates", name).read_text(encoding="utf-8")


def _kind(content: Content) -> str:
    if content.tuning is not None:
        return "Model under a limit" if content.tuning.limits else "Tuning"
    if content.comparison is not None:
        return "Comparison"
    if len(content.runs) > 1:
        return f"{len(content.runs)} runs"
    if content.runs:
        return "Run"
    return "Graph audit" if content.audit is not None else "Explanation"


def _sections(content: Content) -> Iterator[tuple[str, Facts]]:
    """Data, settings, versions: how to make it again, as lists of facts with a heading."""
    record, audit = content.record, content.audit
    yield "Data", _data(content, record)
    if content.tuning is not None:
        yield "Tuning", _tuning(content.tuning)
    if audit is not None and audit.channels:
        level = "unknown" if audit.level is None else f"{audit.level:g}"
        counts = {"operator": audit.operator, "hops": count(audit.hops), "permutations": count(audit.permutations)}
        yield "How leaks were measured", [*counts.items(), ("shuffling", audit.shuffling or "none"), ("level", level)]
    if content.comparison is not None:
        settings = {name: value for name, value in content.study.items() if name not in ("kind", "version", "graph")}
        trials = {"splits": content.comparison.splits, "seeds": content.comparison.seeds}
        yield "Study", [(visible(name), plain_setting(value)) for name, value in (trials | settings).items()]
    if record is not None:
        yield "Settings", _settings(content, record)
        machine = ((name.replace("_", " "), text) for name, text in record.machine.items())
        versions = [*record.versions.items(), ("platform", record.platform), *machine]
        yield "Versions and machine", [(name, text) for name, text in versions if text]


def _data(content: Content, record: RunRecord | None) -> Iterator[tuple[str, str]]:
    documents = (content.tuning, content.audit, content.comparison, content.explanation)
    graph = next((document.graph for document in documents if document is not None), None)
    yield "source", content.title
    if graph is not None:
        yield "nodes", count(graph.nodes)
        yield "edges", count(graph.edges)
        yield "sensitive attribute", graph.sensitive or "unknown"
        for attribute, groups in graph.attributes.items():
            yield f"groups of {attribute}", listed([f"{name} {size:,}" for name, size in groups.items()], 50)
        yield from ((f"group {name}", plural(size, "node")) for name, size in list(graph.groups.items())[:50])
        if graph.sensitive_channels:
            yield "sensitive channels among the features", listed(graph.sensitive_channels, 12)
    sha256 = (record.data.sha256 if record else "") or (graph.sha256 if graph else "")
    if sha256:
        yield "sha256 of the graph", sha256
    if record is not None:
        yield from ((f"sha256 of {name}", text) for name, text in record.data.files.items())
        yield from (("note", note) for note in record.data.notes[:50])


def _tuning(tuning: TuningDocument) -> Iterator[tuple[str, str]]:
    yield from ((f"limit on the {metric_name(limit.metric)}", points(limit.limit)) for limit in tuning.limits)
    yield "confidence", "none" if tuning.confidence is None or not tuning.limits else f"{tuning.confidence:g}"
    yield "utility", metric_name(tuning.utility)
    yield "models", count(tuning.trials)
    yield "candidates shown", f"{len(tuning.frontier):,}"
    yield from ((f"nodes for {name}", f"{size:,}") for name, size in list(tuning.nodes.items())[:20])
    if tuning.chosen is not None:
        yield from ((f"chosen: {name}", plain_setting(value)) for name, value in tuning.chosen.settings.items())
    yield from ((f"seconds, {name}", "unknown" if s is None else f"{s:,.1f}") for name, s in tuning.seconds.items())


def _settings(content: Content, record: RunRecord) -> Iterator[tuple[str, str]]:
    seeds = [str(run.record.seed) for run in content.runs if run.record and run.record.seed is not None]
    yield "method", record.method
    if record.group_at_prediction is not None:
        yield "needs the group at prediction", "yes" if record.group_at_prediction else "no"
    yield ("seeds" if len(seeds) > 1 else "seed"), listed(seeds, 20) or "none"
    yield "epochs", f"{count(record.epochs)}{f', number {record.best_epoch:,} kept' if record.best_epoch else ''}"
    yield from ((name, plain_setting(value)) for name, value in record.parameters.items())
    yield from (("left out of the selection", visible(str(note))) for note in record.selection_left_out[:20])
    yield from (("note", note) for note in record.notes[:20])
    if record.identity:
        yield "hash of settings and data", record.identity


def plain_setting(value: Any) -> str:
    """A setting as text."""
    return visible(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _notes(content: Content) -> list[str]:
    """What the documents remark, but for what stands among the data already."""
    audit, run = content.audit, content.run
    notes = [
        *(content.tuning.notes if content.tuning else []),
        *(content.comparison.notes if content.comparison else []),
    ]
    if audit is not None:
        notes += [*audit.notes, *(audit.model.notes if audit.model else [])]
        notes += [f"{name} is undefined: {reason}." for name, reason in reasons(audit.model_dump()).items()]
        for attribute, part in audit.attributes.items():
            notes += [f"{attribute}: {note}" for note in part.notes]
            notes += [f"{attribute}: {name} is undefined: {reason}." for name, reason in part.undefined.items()]
    if run is not None and run.test is not None:
        test = run.test
        lacking = {metric: why for metric, why in test.without_interval.items() if metric not in test.undefined}
        notes += [f"The {metric_name(metric)} on test has no interval: {why}." for metric, why in lacking.items()]
    told = run.record.data.notes if run is not None and run.record is not None else []
    return [note for note in notes if note not in told][:50]


def _is_number(table: FigureTable, column: int) -> bool:
    """Is this a column of numbers, to be set to the right?"""
    cells = [row[column] for row in table.rows]
    words = ("undefined", "unknown")
    return bool(cells) and all(cell[:1].isdigit() or cell[:1] in "−–" or cell in words for cell in cells)
