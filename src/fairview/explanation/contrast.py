"""Which gap is explained? The difference between the mean logits of two groups, as one weight for each node.

All that looks at groups is here, and takes codes and names: whichever sensitive attribute they are of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fairview.errors import InputError, quoted

Reals = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class Contrast:
    """The gap c · u of the logits u, with c_i = 1/n for the n nodes of the first group, -1/m for the m of the second.

    Attributes:
        groups: the two; the one with the higher mean logit first, so that the gap is not negative.
        nodes: how many of each.
        weights: c, (nodes of the graph,); 0 for whoever is in neither group, or not looked at.
    """

    groups: tuple[str, str]
    nodes: tuple[int, int]
    weights: Reals

    def gap(self, logits: Reals) -> float:
        """c · u."""
        return float(self.weights @ logits)


def widest_contrast(
    logits: Reals, codes: npt.NDArray[np.int16], groups: Sequence[str], chosen: npt.NDArray[np.bool_], name: str
) -> Contrast:
    """The two groups whose mean logits lie furthest apart.

    Args:
        logits: of every node.
        codes: of their groups, -1 where it is not known.
        groups: their names.
        chosen: the nodes to look at.
        name: of the attribute, for messages.

    Raises:
        InputError: fewer than two groups have nodes: there is no gap.

    Example:
        >>> codes, everyone = np.array([0, 1, 1], dtype=np.int16), np.ones(3, dtype=bool)
        >>> contrast = widest_contrast(np.array([1.0, 2.0, 4.0]), codes, ("f", "m"), everyone, "sex")
        >>> contrast.groups, contrast.weights.tolist()
        (('m', 'f'), [-1.0, 0.5, 0.5])
    """
    members = [(code, chosen & (codes == code)) for code in range(len(groups))]
    present = [(float(logits[those].mean()), code, those) for code, those in members if those.any()]
    if len(present) < 2:
        found = f"only {quoted([groups[code] for _, code, _ in present])} has nodes" if present else "none is known"
        raise InputError(f"explain: the gap is undefined: of the groups of '{name}', {found}; two are needed.")
    high, low = max(present, key=lambda each: each[0]), min(present, key=lambda each: each[0])
    if high[1] == low[1]:  # all alike
        high, low = present[0], present[1]
    counts = int(high[2].sum()), int(low[2].sum())
    weights = high[2] / counts[0] - low[2] / counts[1]
    return Contrast((groups[high[1]], groups[low[1]]), counts, weights)
