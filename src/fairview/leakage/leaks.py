"""Which harmless channels betray the sensitive attribute after propagation, beyond what chance does on this graph?

Chance is not small on a graph: where neighbours share the group, averaging over neighbours turns any noise into
something that varies with the group. So the null hypothesis keeps the graph, the groups and the values, and says only
that the rows of X lie on the nodes at random. The rows of X are shuffled together (channels stay tied to each other),
propagated, and correlated with the groups:

    c_h(π) = |correlation of S^h (X shuffled by π) with s|,    g_h(π) = c_h(π) - c_0(π),    h = 1..L.

Each is standardised by its mean and spread over the shuffles, t = (c - mean) / sd and alike for g. The statistic of a
channel at a hop is min(t of c_h, t of g_h): a strong association alone, or a growth that leads nowhere, is no leak. Its
p-value is the share of shuffles whose largest statistic, over all channels and hops, is as large: the chance of a
false alarm is the declared level per graph, not per channel. With several sensitive attributes the largest is taken
over all of them and their combinations, too. The unshuffled X counts as one of the shuffles, which makes the p-values
exact, whatever the distribution of the channels. On large graphs the shuffles are not propagated one by one:
`quick_null` has their correlations up to a small, measured error, and the p-values are exact up to that.

What the null does not cover: values that are alike among neighbours for reasons of their own (docs/audit.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Unpack, get_args

import numpy as np
import numpy.typing as npt

from fairview.arguments import require_number, require_whole
from fairview.data.adjacency import Adjacency
from fairview.errors import InputError, did_you_mean
from fairview.leakage.exact_null import Shuffles, exact_work, shuffled_correlations
from fairview.leakage.quick_null import QuickNull, quick_null
from fairview.propagation.correlation import Codes

Array = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

Shuffling = Literal["auto", "exact", "quick"]
SHUFFLINGS: tuple[Shuffling, ...] = get_args(Shuffling)

MOST_EXACT_WORK = 20_000_000_000
"""Multiplications of propagated shuffles up to which `auto` is `exact`: some twenty seconds."""

_RESOLUTION = 1e-5  # smaller differences of a correlation or a statistic are float32's rounding


@dataclass(frozen=True)
class LeakTest:
    """What shuffling says about each of d channels.

    Attributes:
        p_value: of |correlation| at each hop, this channel and hop alone, shape (hops + 1, d).
        leak_p_value: of association and growth at hops 1..L, all channels and hops counted, shape (hops, d).
        spread: standard deviation of the signed correlation over the shuffles, shape (hops + 1, d).
        quick: channels whose shuffles were not propagated one by one, shape (d,).
        error: of the quick shuffles, in standard deviations, shape (d,); 0 if none was tried (`quick_null`).
    """

    p_value: Array
    leak_p_value: Array
    spread: Array
    quick: npt.NDArray[np.bool_]
    error: Array

    def leaking(self, correlation: Array, *, level: float, innocuous: float) -> npt.NDArray[np.bool_]:
        """`leak_rule` applied to correlations of shape (hops + 1, d): one verdict for each channel."""
        size = np.abs(correlation)
        harmless = (size[0] < innocuous) | (self.p_value[0] > level)
        betrays = (size[1:] >= innocuous) & (size[1:] > size[0]) & (self.leak_p_value <= level)
        return np.asarray(harmless & betrays.any(axis=0))


def leak_rule(level: float, innocuous: float, permutations: int, *, quick: bool = False, several: bool = False) -> str:
    """When exactly a channel is flagged, in one sentence.

    Args:
        level: of the test.
        innocuous: |correlation| below which a channel is harmless.
        permutations: shuffles.
        quick: not all of them were propagated one by one.
        several: the test is of several attributes, and of what they make together.
    """
    where = "in any channel at any hop" + (" for any of the attributes or their combinations" if several else "")
    how = " (quick shuffles: products with vectors that are propagated once)" if quick else ""
    return (
        f"A channel is flagged if it is harmless in the table (|correlation| below {innocuous:g}, or p above {level:g} "
        f"for this channel alone), and if after some hop its |correlation| is {innocuous:g} or more and both it and "
        f"its growth since hop 0 are so large that at most {100 * level:g} % of {permutations:,} shuffles of the rows "
        f"of X before propagation match them {where}{how}."
    )


def leak_tests(
    features: npt.NDArray[np.float32],
    adjacency: Adjacency,
    attributes: Sequence[Codes],
    *,
    tested: Sequence[Bools] | None = None,
    shuffling: Shuffling = "auto",
    **shuffles: Unpack[Shuffles],
) -> list[LeakTest]:
    """Shuffle, propagate, compare: a test for each sensitive attribute, with the same shuffles for all of them.

    `leak_p_value` counts the channels and hops of all attributes: the declared level is the chance of a false alarm for
    any of them.

    Args:
        features: X, shape (n, d).
        adjacency: the links.
        attributes: of each, the group of each node from 0 without gaps, -1 for unknown.
        tested: of each attribute, which channels may leak, shape (d,); not those that hold it. None: all.
        shuffling: `exact` propagates every shuffle, `quick` only a few and those of channels that need it, `auto` is
            `exact` up to `MOST_EXACT_WORK`.
        shuffles: which ones; one hop or more.
    """
    d = features.shape[1]
    if shuffling == "auto":
        work = exact_work(adjacency, d, hops=shuffles["hops"], permutations=shuffles["permutations"])
        shuffling = "exact" if work <= MOST_EXACT_WORK else "quick"
    if shuffling == "exact":
        exact = shuffled_correlations(features, adjacency, attributes, **shuffles)
        nulls = [QuickNull(signed, np.zeros(d, dtype=np.bool_), np.zeros(d)) for signed in exact]
    else:
        nulls = [quick_null(features, adjacency, codes, **shuffles) for codes in attributes]
    tested = [np.ones(d, dtype=np.bool_) for _ in attributes] if tested is None else tested
    statistics = [_statistic(null.correlations, those) for null, those in zip(nulls, tested, strict=True)]
    largest = np.max([each.max(axis=(1, 2), initial=-math.inf) for each in statistics], axis=0)  # of each shuffle
    return [_tested(null, each, largest[:, None, None]) for null, each in zip(nulls, statistics, strict=True)]


def _statistic(signed: Array, tested: Bools) -> Array:
    """Of each shuffle, channel and hop from 1 on."""
    size = np.abs(signed)
    statistic = np.minimum(_standardised(size[:, 1:]), _standardised(size[:, 1:] - size[:, :1]))
    statistic[:, :, ~tested] = -math.inf
    return statistic


def _tested(null: QuickNull, statistic: Array, largest: Array) -> LeakTest:
    signed, size = null.correlations, np.abs(null.correlations)
    p_value = (size >= size[0] - _RESOLUTION).mean(axis=0)
    leak = (largest >= statistic[0] - _RESOLUTION).mean(axis=0)
    return LeakTest(np.asarray(p_value), np.asarray(leak), signed.std(axis=0), null.quick, null.error)


def check_shuffling(shuffling: str) -> None:
    """One of the ways to shuffle."""
    if shuffling not in SHUFFLINGS:
        raise InputError(f"shuffling: no '{shuffling}'.{did_you_mean(str(shuffling), SHUFFLINGS)}")


def check_permutations(permutations: int, level: float) -> None:
    """Enough shuffles for a p-value to get down to the level."""
    require_number(level, "level", share := "a share between 0 and 1, such as 0.05")
    if not 0 < level < 1:
        raise InputError(f"level: {level}; expected {share}.")
    least = math.ceil(round(1 / level, 6)) - 1
    require_whole(permutations, "permutations", least=1)
    if permutations < least:
        raise InputError(f"permutations: {permutations:,}; level {level:g} needs at least {least:,}.")


def _standardised(values: Array) -> Array:
    """(v - mean) / sd over the shuffles; -inf where shuffling changes nothing, and so can't say anything."""
    spread = values.std(axis=0)
    standardised = np.full_like(values, -math.inf)
    np.divide(values - values.mean(axis=0), spread, out=standardised, where=spread > _RESOLUTION)
    return standardised
