"""Can a fair model be trained on this graph? All reasons why not, before any training."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fairview.attributes import Attribute
from fairview.data.graph import NodeGraph
from fairview.data.splits import with_default_split
from fairview.errors import quoted


def reasons_against(graph: NodeGraph) -> list[str]:
    """Why no model can be trained and compared between groups; empty if it can.

    A graph without splits is looked at with the one that training draws.

    Example:
        >>> graph = NodeGraph.from_arrays(
        ...     features=np.zeros((2, 1)), edges=[[], []], labels=[1, 1], sensitive=["f", "f"]
        ... )
        >>> reasons_against(graph)
        ["one group only ('f'); at least two are needed to compare", "all 2 labels are '1'; both classes are needed"]
    """
    reasons = [reason for attribute in graph.attributes if (reason := _groups(graph, attribute))]
    wrong = _classes(graph, np.ones(graph.num_nodes, dtype=np.bool_), "no node has a label")
    return reasons + ([wrong] if wrong else _of_the_splits(graph))


def _groups(graph: NodeGraph, attribute: Attribute) -> str | None:
    present = [name for name, size in attribute.sizes.items() if size]
    if len(present) >= 2:
        return None
    which = f"one group only ({quoted(present)})" if present else "no node has a sensitive value"
    of = f"'{attribute.name}': " if graph.several else ""
    return f"{of}{which}; at least two are needed to compare"


def _of_the_splits(graph: NodeGraph) -> list[str]:
    drawn = not graph.splits
    graph, _ = with_default_split(graph)
    nothing = np.zeros(graph.num_nodes, dtype=np.bool_)
    train, val = (graph.splits.get(name, nothing) for name in ("train", "val"))
    wrong = _classes(graph, train, "no node of the train split has a label", " in the train split")
    reasons = [wrong] if wrong else []
    if not (val & graph.labelled).any():
        reasons.append("no node of the val split has a label")
    if drawn and reasons:
        return [f"{int(graph.labelled.sum()):,} labelled nodes are too few to divide into train, val and test"]
    return reasons


def _classes(graph: NodeGraph, mask: npt.NDArray[np.bool_], empty: str, where: str = "") -> str | None:
    labels = graph.labels[mask & graph.labelled]
    if not len(labels):
        return empty
    if (labels == labels[0]).all():
        return f"all {len(labels):,} labels{where} are '{graph.classes[int(labels[0])]}'; both classes are needed"
    return None
