"""What does a link weigh? Never less than 0: parallel edges add up, and both directions of a link agree.

The decision is docs/adr/0019.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from fairview.arrays import as_array
from fairview.errors import InputError, option, some
from fairview.remedies import remedies

Weights = npt.NDArray[np.float32]
Keys = npt.NDArray[np.int64]

SMALLEST, LARGEST = 1e-12, 1e12
"""Between these, no sum over neighbours and no reciprocal of it leaves float32."""

RULE = f"a weight is 0 or a number from {SMALLEST:g} to {LARGEST:g}"
REMEDY = f"{RULE}. Correct them, or rescale all weights"

_ROUNDING = 1e-6  # relative: both directions of a link may differ by float32's rounding


def edge_weights(values: npt.ArrayLike, number: int, what: str = "edge_weight") -> npt.NDArray[np.float64]:
    """One number per edge, from an array of shape (m,) or (m, 1).

    Raises:
        InputError: other shapes, texts, negative numbers, NaN, and what is out of range, with examples.
    """
    array = as_array(values, what)
    if array.shape == (number, 1):
        array = array[:, 0]
    if array.shape != (number,):
        raise InputError(f"{what}: shape {array.shape}; expected ({number},), one weight for each edge.")
    if number and array.dtype.kind not in "iuf":
        raise InputError(f"{what}: {array.dtype} values; {RULE}.")
    with np.errstate(over="ignore"):  # a long double beyond float64 is infinite, and refused below
        wide = array.astype(np.float64)
    wrong = out_of_range(wide)
    if len(wrong):
        examples = some([f"edge {k}: {wide[k]:g}" for k in wrong[:5].tolist()])
        more = f" and {len(wrong) - 5:,} more" if len(wrong) > 5 else ""
        raise InputError(f"{what}: {len(wrong):,} of {number:,} weights can't be used ({examples}{more}); {REMEDY}.")
    return wide


def out_of_range(values: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
    """The places of NaN, and of numbers that are negative, too small or too large."""
    return np.flatnonzero(~((values == 0) | (values >= SMALLEST) & (values <= LARGEST)))


def summed_weights(keys: Keys, weights: npt.NDArray[np.float64]) -> Weights:
    """The sum of the weights of each distinct key, by ascending key; in whichever order they come, the same bits."""
    if len(keys) == 0:
        return np.empty(0, dtype=np.float32)
    order = np.lexsort((weights, keys))
    ordered = keys[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    sums = np.add.reduceat(weights[order], starts)
    if len(beyond := np.flatnonzero(sums > LARGEST)):
        raise InputError(
            f"edge_weight: parallel edges add up to {sums[beyond[0]]:g}; the largest weight is {LARGEST:g}. "
            "Rescale the weights."
        )
    return sums.astype(np.float32)


def symmetric_weights(
    pairs: Keys, weights: Weights, both: Keys, num_nodes: int, names: Sequence[str] | None = None
) -> Weights:
    """Weights of all pairs `both` that are made of `pairs` and their reverses, each equal to that of its reverse.

    Raises:
        InputError: a pair and its reverse have different weights.
    """
    reverse = both % num_nodes * num_nodes + both // num_nodes
    forth, back = (weights_at(keys, pairs, weights) for keys in (both, reverse))
    return agreed_weights(both, forth, back, num_nodes, str if names is None else lambda node: f"'{names[node]}'")


def agreed_weights(
    both: Keys, forth: Weights, back: Weights, num_nodes: int, name: Callable[[int], str] = str
) -> Weights:
    """The weight of each pair from that of its two directions, NaN where one was not given; both must be the same.

    `name` is what messages call a node.
    """
    differ = np.flatnonzero(back > forth * (1 + _ROUNDING))  # each link once: the lighter direction
    if len(differ):
        examples = []
        for k in differ[:5].tolist():
            ends = divmod(int(both[k]), num_nodes)
            examples.append(f"{name(ends[0])} to {name(ends[1])}: {forth[k]:g}, back: {back[k]:g}")
        more = f" and {len(differ) - 5:,} more" if len(differ) > 5 else ""
        raise InputError(
            f"edge_weight: {len(differ):,} links have another weight in each direction ({'; '.join(examples)}{more})."
            + remedies("give each link one weight", f"pass {option('directed', True)}")
        )
    return np.fmax(forth, back)


def weights_at(keys: Keys, pairs: Keys, weights: Weights) -> Weights:
    """The weights of some pairs, NaN where they are not among the known ones, which are ascending."""
    found = np.full(len(keys), np.nan, dtype=np.float32)
    if len(pairs):
        places = np.minimum(np.searchsorted(pairs, keys), len(pairs) - 1)
        there = pairs[places] == keys
        found[there] = weights[places[there]]
    return found
