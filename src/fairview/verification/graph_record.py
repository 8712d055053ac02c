"""Is what a document says of its graph true of the graph at hand? Its source aside, all of it can be counted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from fairview.data.graph import NodeGraph
from fairview.data.splits import with_default_split
from fairview.data.summary import describe_graph
from fairview.report.documents import GraphRecord

_COUNTED = ("nodes", "edges", "sensitive", "groups", "group_unknown", "sensitive_channels", "attributes")


def against_graph(told: Any, graph: NodeGraph, name: str, what: str) -> Iterator[str]:
    """What is not true.

    Args:
        told: the document's part on its graph.
        graph: the one given, before or after the usual split was drawn.
        name: of the file.
        what: it holds, such as `the audit`.
    """
    try:
        record = told if isinstance(told, GraphRecord) else GraphRecord.model_validate(told)
    except ValidationError:
        yield f"{name}: does not say which graph it is of."
        return
    if record.sha256 not in (graph.sha256, with_default_split(graph)[0].sha256):
        yield f"{name}: {what} is of another graph than the one given."
        return
    again = GraphRecord.model_validate(describe_graph(graph))
    for part in _COUNTED:
        if getattr(record, part) != getattr(again, part):
            yield f"{name}: '{part}' is not that of the graph."
