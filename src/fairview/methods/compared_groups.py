"""Between which groups does a penalty keep the scores together?

With one sensitive attribute, between its groups. With several, between those of each attribute and between all
combinations, with equal weight: where the combinations' scores agree, those of each attribute do, too; the attributes
are there because they are compared more surely, from more nodes. Combinations of fewer than `FEW` nodes are left out,
as they are left out of the gap between combinations: a handful of people must not steer the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairview.attributes import Attribute
from fairview.data.graph import BoolArray, NodeGraph
from fairview.errors import InputError, did_you_mean, quoted
from fairview.groups import UNKNOWN
from fairview.metrics.intervals import FEW

Compared = str | tuple[str, ...]
"""Names of sensitive attributes, one or several; `race & sex` is that of all together."""


def compared_groups(
    graph: NodeGraph, names: Compared | None, among: BoolArray
) -> tuple[tuple[Attribute, ...], tuple[str, ...]]:
    """The attributes whose groups a penalty compares, and what to know about them.

    Args:
        graph: with its sensitive attributes.
        names: of those that are asked for; None asks for each, and for all together.
        among: the nodes that training may know more of; of the others no group is looked at.

    Example:
        >>> graph = NodeGraph.from_arrays(
        ...     features=np.zeros((8, 1)), edges=[[], []], sensitive={"sex": list("ffffmmmm"), "old": list("nnyynnyy")}
        ... )
        >>> found, notes = compared_groups(graph, None, np.ones(8, dtype=np.bool_))
        >>> [attribute.name for attribute in found], len(notes)
        (['sex', 'old'], 1)
        >>> [attribute.name for attribute in compared_groups(graph, "old", np.ones(8, dtype=np.bool_))[0]]
        ['old']
    """
    every = {each.name: each for each in (*graph.attributes, *((graph.crossed,) if graph.several else ()))}
    asked = list(every) if names is None else [names] if isinstance(names, str) else list(dict.fromkeys(names))
    if not asked:
        raise InputError(f"penalise: names no sensitive attribute.{did_you_mean('', list(every))}")
    if wrong := [name for name in asked if name not in every]:
        raise InputError(f"penalise: no sensitive attribute '{wrong[0]}'.{did_you_mean(wrong[0], list(every))}")
    found, notes = [], []
    for name in asked:
        attribute = every[name].hidden(~among)
        if graph.several and name == graph.sensitive_name:
            attribute, left_out = _large_enough(attribute)
            if left_out:
                notes.append(f"Combinations of fewer than {FEW} nodes are left out of the penalty: {quoted(left_out)}.")
            if sum(size > 0 for size in attribute.sizes.values()) < 2 and len(asked) > 1:
                continue
        found.append(attribute)
    return tuple(found), tuple(notes)


def written_params(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters as files have them: without `penalise` where it asks for nothing."""
    return {name: value for name, value in parameters.items() if name != "penalise" or value is not None}


def _large_enough(attribute: Attribute) -> tuple[Attribute, Sequence[str]]:
    sizes = np.array(list(attribute.sizes.values()))
    small = (sizes > 0) & (sizes < FEW)
    where = (attribute.codes != UNKNOWN) & small[attribute.codes]
    return attribute.hidden(where), [name for name, left in zip(attribute.groups, small, strict=True) if left]
