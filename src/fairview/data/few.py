"""Is this enough to say anything? What a reader must know about a graph that is very small."""

from __future__ import annotations

import numpy as np

from fairview.data.graph import NodeGraph
from fairview.metrics.intervals import FEW

FEW_NODES = 50
"""Labelled nodes below which a model's numbers say little."""


def few_nodes(graph: NodeGraph) -> tuple[str, ...]:
    """Warnings, in words; none for a graph that is large enough.

    Example:
        >>> import numpy as np
        >>> graph = NodeGraph.from_arrays(
        ...     features=np.zeros((5, 1)), edges=[[], []], labels=[0, 1, 1, 0, 1], sensitive=list("fmfmf"),
        ...     splits={"test": [False, False, False, True, True]},
        ... )
        >>> for warning in few_nodes(graph):
        ...     print(warning)
        Only 5 labelled nodes: the numbers say little about anybody else.
        test: only 1 node of group 'f', 1 of group 'm': the gaps rest on very little.
    """
    labelled = int(graph.labelled.sum())
    warnings = []
    if labelled < FEW_NODES:
        warnings.append(f"Only {labelled} labelled nodes: the numbers say little about anybody else.")
    for split in ("val", "test"):
        if split not in graph.splits:
            continue
        counts = np.bincount(graph.sensitive[graph.split(split) & graph.labelled] + 1, minlength=len(graph.groups) + 1)
        small = [(count, name) for count, name in zip(counts[1:].tolist(), graph.groups, strict=True) if count < FEW]
        if small:
            (first, group), *others = small
            listed = ", ".join([f"{first} node{'s' if first != 1 else ''} of group '{group}'",
                                *(f"{count} of group '{name}'" for count, name in others)])  # fmt: skip
            warnings.append(f"{split}: only {listed}: the gaps rest on very little.")
    return tuple(warnings)
