"""How strongly is each channel tied to the sensitive attribute, before and after propagation?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from fairview.arguments import require_whole
from fairview.data.graph import NodeGraph
from fairview.data.graph_argument import require_graph
from fairview.errors import InputError
from fairview.groups import UNKNOWN
from fairview.progress import track
from fairview.propagation.one_hop import one_hop
from fairview.propagation.operators import Operator

Values = npt.NDArray[np.floating[Any]]
Codes = npt.NDArray[np.integer[Any]]

_GCN = Operator()
_CHUNK = 1 << 17  # numbers whose intermediate results stay in the processor's cache
_SHIFT_ROWS = 1 << 13
_ROUNDING = {8: 1e-12, 4: 1e-6}  # by bytes per number: a spread below this share of the values is rounding


def sensitive_correlation(graph: NodeGraph, operator: Operator = _GCN, hops: int = 2) -> npt.NDArray[np.float64]:
    """The correlation ρ of each channel with the sensitive attribute after 0 to `hops` hops, shape (hops + 1, d).

    Two groups: Pearson's correlation of the channel of S^h X with the group's code, 0 for the first group and 1 for the
    second. More groups: the correlation ratio η, the root of the share of the channel's variance that lies between the
    groups, never negative; with two groups it would be |ρ|.

    Nodes of unknown group are propagated, but take no part in the correlation. A channel that is constant at a hop
    has correlation 0 there.

    Paper: section 3, the equation of ρ_i; figures 1 (c, d) and 5.

    Raises:
        InputError: fewer than two groups have a node, or `hops` is negative.

    Example:
        >>> graph = NodeGraph.from_arrays(features=[[0.0], [1.0], [1.0]], edges=[[0], [1]], sensitive=["f", "m", "m"])
        >>> sensitive_correlation(graph, hops=1).round(6).tolist()
        [[1.0], [0.5]]
    """
    require_graph(graph, "sensitive_correlation")
    require_whole(hops, "hops", least=0)
    codes = known_groups(graph)
    values: Values = graph.features.astype(np.float64)
    by_hop = [group_correlation(values, codes)]
    if hops:
        hop = one_hop(graph.adjacency, operator)
        with track("Propagating", total=hops) as advance:
            for _ in range(hops):
                values = hop(values)
                by_hop.append(group_correlation(values, codes))
                advance(1)
    return np.array(by_hop)


def known_groups(graph: NodeGraph) -> npt.NDArray[np.int16]:
    """The group of each node as codes 0, 1, ... without gaps; -1 where it is not known.

    Raises:
        InputError: fewer than two groups have a node.
    """
    return np.asarray(codes_without_gaps(graph.group_sizes, graph.sensitive_name)[graph.sensitive])


def codes_without_gaps(group_sizes: Mapping[str, int], name: str) -> npt.NDArray[np.int16]:
    """The new code of each group's, groups without a node left out; the last one, which code -1 finds, is -1.

    Args:
        group_sizes: nodes of each group.
        name: of the sensitive attribute.

    Raises:
        InputError: fewer than two groups have a node.
    """
    groups, sizes = list(group_sizes), list(group_sizes.values())
    with_nodes = np.flatnonzero(sizes)
    if len(with_nodes) < 2:
        has = "no node's group is known"
        if len(with_nodes):
            has = f"only the group '{groups[with_nodes[0]]}' has nodes"
        raise InputError(f"sensitive attribute '{name}': {has}; a correlation needs two groups.")
    place = np.full(len(groups) + 1, UNKNOWN, dtype=np.int16)
    place[with_nodes] = np.arange(len(with_nodes))
    return place


def group_correlation(values: Values, codes: Codes) -> npt.NDArray[np.float64]:
    """ρ (two groups, signed) or η (more) of each column of `values`, shape (n, columns) -> (columns,).

    With n_g nodes and mean m_g in group g, and m and v the mean and the variance of all:

        η² = Σ_g n_g (m_g - m)² / (n v),    ρ = sign(m_1 - m_0) η.

    One pass over the values, in pieces that fit the cache. They are shifted by the mean of the first rows, so that a
    large mean costs no accuracy.

    Args:
        values: any number of columns, float64 or float32.
        codes: the group of each row, from 0 without gaps; -1 rows are left out.

    Example:
        >>> group_correlation(np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]]), np.array([0, 0, 1])).round(4).tolist()
        [0.866, 0.0]
    """
    sums = GroupSums(int(codes.max()) + 1, values.shape[1])
    sums.add(values, codes)
    return sums.correlation()


class GroupSums:
    """The sums behind `group_correlation`, of rows that come in pieces.

    Args:
        groups: how many there are, each with a row somewhere.
        width: columns.
        bytes_per_number: of the type that the values were rounded to; by default that of the first piece.
    """

    def __init__(self, groups: int, width: int, *, bytes_per_number: int | None = None) -> None:
        self.sums, self.squares = np.zeros((groups, width)), np.zeros(width)
        self.sizes = np.zeros(groups, dtype=np.int64)
        self.bytes_per_number = bytes_per_number
        self.shift: Values | None = None

    def add(self, values: Values, codes: Codes) -> None:
        """Take in some rows; those of unknown group, -1, are left out."""
        known = codes != UNKNOWN
        if not known.all():
            values, codes = values[known], codes[known]
        if len(values) == 0:
            return
        if self.shift is None:
            self.shift = values[:_SHIFT_ROWS].mean(axis=0, dtype=np.float64).astype(values.dtype)
            self.bytes_per_number = self.bytes_per_number or values.dtype.itemsize
        number, width = self.sums.shape
        step = max(_CHUNK // max(width, 1), 1)
        everyone = np.arange(number)[:, None]
        for start in range(0, len(values), step):
            rows = slice(start, start + step)
            moved = values[rows] - self.shift
            self.sums += (codes[rows] == everyone).astype(values.dtype) @ moved
            self.squares += np.einsum("nc,nc->c", moved, moved)
        self.sizes += np.bincount(codes, minlength=number)

    def correlation(self) -> npt.NDArray[np.float64]:
        """ρ or η of each column."""
        (number, width), total, sizes = self.sums.shape, int(self.sizes.sum()), self.sizes[:, None]
        if self.shift is None:
            return np.zeros(width)
        mean = self.sums.sum(axis=0) / total
        variance = self.squares / total - mean**2
        apart = self.sums / sizes - mean
        between = (sizes * apart**2).sum(axis=0) / total
        size = self.shift.astype(np.float64) ** 2 + self.squares / total
        varies = variance > (_ROUNDING[self.bytes_per_number or 8] ** 2) * size
        ratio = np.divide(between, variance, out=np.zeros(width), where=varies)
        eta = np.sqrt(np.minimum(ratio, 1.0))
        return np.asarray(eta * np.sign(apart[1] - apart[0])) if number == 2 else eta
