"""How does a run become a model card? A README.md in Hugging Face's format: YAML on top, Markdown below.

Nothing from the data becomes markup: every text is escaped where the template puts it, and the metadata are quoted.
The last line has the hash of the rest, so that a card that somebody wrote or completed by hand is never overwritten.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from fairview.arguments import require_folder
from fairview.atomic import check_replaceable, write_atomic
from fairview.errors import InputError
from fairview.files import read_regular
from fairview.methods.registry import METHODS
from fairview.metrics.registry import METRICS
from fairview.report.documents import EvaluationDocument, GroupsRow, RateBounds
from fairview.report.folder import Content, RunDocuments, read_folder
from fairview.report.page import plain_setting, resource
from fairview.report.verdict import frame_of, verdict_of
from fairview.report.words import capitalised, count, listed, metric_name, model_name, number, percent, plural, span

_HUB_METRICS = {"auc": "roc_auc", "f1": "f1", "accuracy": "accuracy"}
"""Metrics that the Hub has a name for."""
_MARK = re.compile(rb"<!-- fairview card sha256:([0-9a-f]{64}) -->\n\Z")


def write_card(folder: str | Path) -> Path:
    """Write a model card, `README.md`, into a run or tuning folder.

    Args:
        folder: what `fairview train` or `tune` left behind.

    Returns:
        The path of the card.

    Raises:
        InputError: there is no model to describe, or a README.md that is not an unchanged card of fairview.
    """
    folder = require_folder(folder, "write_card")
    path = folder / "README.md"
    check_replaceable(path)
    text = model_card(read_folder(folder), str(folder))
    if path.exists() and not _is_ours(path):
        raise InputError(
            f"{path}: was not written by fairview, or was changed since, so it is kept. Move it away for a new card."
        )
    write_atomic(path, text)
    return path


def model_card(content: Content, folder: str = "this folder") -> str:
    """The card of what was read from a folder."""
    run, tuning = content.run, content.tuning
    if run is None or len(content.runs) > 1:
        if tuning is not None:
            why = "the tuning refused, so there is no model to describe."
        elif run is not None:
            why = (
                f"there are {len(content.runs):,} runs in it, and a card describes one model. Give one, such as seed-1."
            )
        else:
            why = "there is no model to describe. Give the folder of a run or of a tuning."
        raise InputError(f"{folder}: {why}")
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(resource),
        autoescape=False,  # noqa: S701 (Markdown, escaped by `finalize`)
        finalize=lambda value: value if isinstance(value, Markup) else in_markdown(str(value)),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    test, threshold = run.test, tuning.chosen.threshold if tuning and tuning.chosen else None
    method = model_name(run.record.method, run.record.parameters) if run.record else "model"
    name = f"{capitalised(method)} on {content.title}"
    text = environment.get_template("card.md.j2").render(
        metadata=Markup(in_yaml(_metadata(content, run, name))),  # noqa: S704 (quoted)
        name=name,
        unfinished=content.unfinished,
        method=method,
        verdict=verdict_of(content),
        frame=frame_of(content),
        threshold="" if threshold is None else f". A yes is a score above {threshold:g}",
        group_words=_group_words(content, run),
        data=list(_data(content, run)),
        evaluation=list(_evaluation(test)),
        tested="some" if test is None or test.nodes is None else f"{test.nodes:,}",
        groups=list(_groups(test)) if test is None or not test.attributes else [],
        attributes=[]
        if test is None
        else [(attribute, list(_gaps(part)), list(_groups(part))) for attribute, part in test.attributes.items()],
        undefined=list(_lacking(test)),
        folder=Markup("run") if tuning is not None else Markup("."),
        settings=list(_settings(content, run)),
        table=_table,
    )
    body = re.sub(r"\n{3,}", "\n\n", text).rstrip("\n") + "\n\n"
    return f"{body}<!-- fairview card sha256:{hashlib.sha256(body.encode()).hexdigest()} -->\n"


def in_markdown(text: str) -> str:
    r"""A text that Markdown shows as it is: no emphasis, link, image, table, heading, list or HTML comes of it.

    Example:
        >>> print(in_markdown("<b>a_b</b> | [x](http://y)"))
        \<b\>a\_b\</b\> \| \[x\](http\://y)
    """
    text = re.sub(r"([\\`*_{}\[\]<>#|~&!$@^]|:(?=\S)|(?<=www)\.|---)", r"\\\1", " ".join(text.split()))
    text = re.sub(r"^(?=[-+=])", r"\\", text)  # no list, no rule
    return re.sub(r"^(\d+)(?=[.)](?: |$))", r"\1\\", text)


def in_yaml(value: Any, indent: str = "") -> str:
    """Mappings, lists and scalars as YAML; every text is quoted as in JSON, which YAML reads in the same way.

    Example:
        >>> print(in_yaml({"tags": ["a: b"], "results": [{"value": 0.5}]}), end="")
        tags:
        - "a: b"
        results:
        - value: 0.5
    """
    if isinstance(value, dict):
        return "".join(
            f"{indent}{name}:\n{in_yaml(part, indent + '  ' * isinstance(part, dict))}"
            if isinstance(part, dict | list)
            else f"{indent}{name}: {_scalar(part)}\n"
            for name, part in value.items()
        )
    lines = []
    for part in value:
        inner = in_yaml(part, f"{indent}  ") if isinstance(part, dict) else f"{indent}  {_scalar(part)}\n"
        lines.append(f"{indent}- {inner[len(indent) + 2 :]}")
    return "".join(lines)


def _scalar(value: str | float) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _metadata(content: Content, run: RunDocuments, name: str) -> dict[str, Any]:
    """What the Hub reads. The licence is left out: it is the owner's to give."""
    tags = ["fairview", "fairness", "graph-ml", "node-classification"]
    tags += ["certified-fairness"] if run.certificate is not None and run.certified_model is not False else []
    metadata: dict[str, Any] = {"library_name": "fairview", "pipeline_tag": "graph-ml", "tags": tags}
    test = run.test
    measured = {metric: value for metric in METRICS if test and (value := test.value(metric)) is not None}
    if not measured:
        return metadata
    dataset = {"type": "graph", "name": content.title, "split": "test"}
    dataset |= {"revision": run.record.data.sha256} if run.record and run.record.data.sha256 else {}
    metrics = [
        {"type": _HUB_METRICS.get(metric, metric), "name": metric_name(metric), "value": round(value, 6)}
        for metric, value in measured.items()
    ]
    result = {
        "task": {"type": "node-classification", "name": "Node classification"},
        "dataset": dataset,
        "metrics": metrics,
    }
    metadata["metrics"] = [_HUB_METRICS[metric] for metric in measured if metric in _HUB_METRICS]
    return metadata | {"model-index": [{"name": name, "results": [result]}]}


def _group_words(content: Content, run: RunDocuments) -> str:
    entry = METHODS.get(run.record.method) if run.record else None
    chosen = content.tuning.chosen if content.tuning else None
    told = run.record is not None and run.record.group_at_prediction
    if chosen.group_at_prediction if chosen else told or (entry is not None and entry.group_at_prediction):
        return "It needs each node's sensitive group when it predicts. In many places that is not allowed."
    return "" if entry is None and chosen is None else "It does not need the sensitive group of a node to predict."


def _data(content: Content, run: RunDocuments) -> Iterator[tuple[str, str]]:
    yield "source", content.title
    documents = (content.tuning, content.audit)
    graph = next((document.graph for document in documents if document is not None), None)
    if graph is not None:
        yield "nodes", count(graph.nodes)
        yield "edges", count(graph.edges)
        yield "sensitive attribute", graph.sensitive or "unknown"
        yield from ((f"group {name}", plural(size, "node")) for name, size in list(graph.groups.items())[:50])
    if content.tuning is not None:
        yield from ((f"nodes for {name}", f"{size:,}") for name, size in list(content.tuning.nodes.items())[:20])
    if run.record is not None:
        yield "sha256 of the graph", run.record.data.sha256 or "unknown"
        yield from ((f"sha256 of {name}", sha256) for name, sha256 in list(run.record.data.files.items())[:50])
        yield from (("note", note) for note in run.record.data.notes[:20])


def _evaluation(test: EvaluationDocument | None) -> Iterator[tuple[str, str, str]]:
    if test is not None:
        for metric in (metric for metric in METRICS if metric in test.metrics):
            yield metric_name(metric), number(test.value(metric)), span(test.interval(metric))


def _lacking(test: EvaluationDocument | None) -> Iterator[str]:
    if test is not None:
        yield from (f"The {metric_name(m)} is undefined: {why}." for m, why in test.undefined.items())
        without = {m: why for m, why in test.without_interval.items() if m not in test.undefined}
        yield from (f"The {metric_name(m)} has no interval: {why}." for m, why in without.items())


def _gaps(row: GroupsRow) -> Iterator[tuple[str, str, str]]:
    """Of one of several sensitive attributes, with the combinations that a gap leaves out."""
    for metric in (metric for metric in METRICS if metric in row.metrics):
        left_out = row.left_out.get(metric)
        without = f", without {listed(left_out, 60)} (too few tested nodes)" if left_out else ""
        yield f"{metric_name(metric)}{without}", number(row.value(metric)), span(row.interval(metric))


def _groups(test: GroupsRow | None) -> Iterator[tuple[str, ...]]:
    for row in test.groups[:50] if test is not None else ():
        rates = (row.selection_rate, row.true_positive_rate, row.false_positive_rate)
        yield row.group, f"{row.nodes:,}", count(row.positives), *map(_rate, rates)


def _rate(rate: RateBounds | None) -> str:
    return percent(None if rate is None else rate.value)


def _settings(content: Content, run: RunDocuments) -> Iterator[tuple[str, str]]:
    record = run.record
    if record is not None:
        yield "method", record.method
        yield "seed", "none" if record.seed is None else str(record.seed)
        yield from ((name, plain_setting(value)) for name, value in list(record.parameters.items())[:200])
    tuning = content.tuning
    if tuning is not None and tuning.chosen is not None:
        yield "chosen among", plural(len(tuning.frontier) if tuning.trials is None else tuning.trials, "model")
        yield "utility of the choice", metric_name(tuning.utility)
    if record is not None:
        yield from record.versions.items()


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
    """A table whose cells are escaped."""
    lines = [columns, ["---"] * len(columns)]
    texts = ["| " + " | ".join(lines[0]) + " |", "|" + "|".join(lines[1]) + "|"]
    texts += ["| " + " | ".join(in_markdown(cell) or "–" for cell in row) + " |" for row in rows]
    return Markup("\n".join([*texts, ""]))  # noqa: S704 (escaped)


def _is_ours(path: Path) -> bool:
    """Whether a file is a card as it was written."""
    try:
        data = read_regular(path)
    except (OSError, InputError):
        return False
    mark = _MARK.search(data)
    return mark is not None and hashlib.sha256(data[: mark.start()]).hexdigest().encode() == mark[1]
