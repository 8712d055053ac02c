"""Where does a command's graph come from? A known dataset, or own tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairview.errors import InputError

if TYPE_CHECKING:
    from fairview.data.graph import NodeGraph
    from fairview.data.similarity import NearestNeighbours, SimilarityThreshold


def similarity_rule(
    edges: Path | None, neighbours: int | None, threshold: float | None
) -> NearestNeighbours | SimilarityThreshold | None:
    """How to link nodes without edges, if the user said so."""
    from fairview.data.similarity import NearestNeighbours, SimilarityThreshold

    if neighbours is None and threshold is None:
        return None
    if edges is not None or (neighbours is not None and threshold is not None):
        raise InputError("--neighbours and --threshold say how to link nodes without --edges; give at most one of all.")
    if threshold is not None:
        if not 0 < threshold <= 1:
            raise InputError(f"--threshold {threshold:g}: must be above 0, and at most 1.")
        return SimilarityThreshold(threshold=threshold)
    return NearestNeighbours(neighbours=neighbours or 10)


def own_graph(*, neighbours: int | None, threshold: float | None, separator: str | None, **options: Any) -> NodeGraph:
    """Own tables, with the options of the command line."""
    from fairview.data.read import read_graph

    rule = similarity_rule(options.get("edges"), neighbours, threshold)
    return read_graph(similarity=rule, separator="\t" if separator == "\\t" else separator, **options)
