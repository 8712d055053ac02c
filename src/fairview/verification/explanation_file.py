"""Is explanation.json about this graph? Sizes and groups are compared; effects are not measured again."""

from __future__ import annotations

from collections.abc import Iterator

from fairview.data.graph import NodeGraph
from fairview.report.explanation_documents import ExplanationDocument
from fairview.verification import graph_record

NAME = "explanation.json"
NOT_REPEATED = "explanation.json: its effects were not measured again."


def against_graph(explanation: ExplanationDocument, graph: NodeGraph) -> Iterator[str]:
    """What the explanation says of its graph."""
    problems = list(graph_record.against_graph(explanation.graph, graph, NAME, "the explanation"))
    yield from problems
    if not problems and explanation.num_links != graph.num_edges:
        yield f"{NAME}: 'num_links' is not that of the graph."
