"""Which nodes are linked? An `Adjacency` is sorted, free of duplicates and self-loops, and symmetric unless directed.

Self-loops are left out on purpose: how many of them a model adds is a setting of the propagation, not of the data.
Links may have weights (docs/adr/0019) and kinds (docs/adr/0032).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fairview.arrays import as_array
from fairview.attributes import Attribute
from fairview.data.edge_weights import edge_weights, summed_weights, symmetric_weights
from fairview.data.link_kinds import LinkKinds, kinds_of, kinds_of_pairs
from fairview.errors import InputError, some
from fairview.groups import UNKNOWN

IntArray = npt.NDArray[np.integer[Any]]


class Rebuilt:
    """A frozen dataclass whose copies, also in another process, go through its constructor and its checks."""

    def __reduce__(self) -> tuple[Any, ...]:
        fields = {part.name: getattr(self, part.name) for part in dataclasses.fields(self)}  # type: ignore[arg-type]
        plain = {name: dict(value) if isinstance(value, MappingProxyType) else value for name, value in fields.items()}
        return partial(type(self), **plain), ()


@dataclass(frozen=True, kw_only=True)
class EdgeCounts:
    """What became of the pairs that were given."""

    given: int
    self_loops: int = 0
    parallel: int = 0
    weightless: int = 0  # pairs of weight 0
    one_direction: int = 0  # pairs whose reverse was not given, and was added
    weighted: bool = False

    def notes(self, *, directed: bool) -> list[str]:
        """What was changed, in words, for the provenance."""
        notes = []
        if self.self_loops:
            notes.append(f"{self.self_loops:,} self-loops dropped")
        if self.parallel:
            notes.append(f"{self.parallel:,} parallel edges merged" + (", weights added up" if self.weighted else ""))
        if self.weightless:
            notes.append(f"{self.weightless:,} edges of weight 0 dropped")
        if self.one_direction and not directed:
            both = ", with the same weight both ways" if self.weighted else ""
            notes.append(f"{self.one_direction:,} edges given in one direction only, made symmetric{both}")
        return notes


@dataclass(frozen=True, kw_only=True, eq=False)
class Adjacency(Rebuilt):
    """Compressed sparse rows: the neighbours of node i are ``indices[indptr[i]:indptr[i + 1]]``, ascending.

    Make one with `from_pairs` or `from_csr`; both establish what the class promises.

    Example:
        >>> adjacency, counts = Adjacency.from_pairs([0, 0, 1, 2], [1, 1, 2, 2], num_nodes=4)
        >>> adjacency.indptr.tolist(), adjacency.indices.tolist()
        ([0, 1, 3, 4, 4], [1, 0, 2, 1])
        >>> counts
        EdgeCounts(given=4, self_loops=1, parallel=1, weightless=0, one_direction=2, weighted=False)

        Weights of parallel edges are added up:

        >>> adjacency, _ = Adjacency.from_pairs([0, 0], [1, 1], num_nodes=2, weights=[0.5, 2.0])
        >>> adjacency.weights.tolist()
        [2.5, 2.5]

        A link has one kind, both ways:

        >>> adjacency, _ = Adjacency.from_pairs([0, 1], [1, 2], num_nodes=3, kinds=["friend", "colleague"])
        >>> [adjacency.kinds.names[code] for code in adjacency.kinds.codes]
        ['friend', 'friend', 'colleague', 'colleague']
    """

    indptr: npt.NDArray[np.int64]  # (n + 1,)
    indices: npt.NDArray[np.int32]  # (number of directed pairs,)
    directed: bool = False
    weights: npt.NDArray[np.float32] | None = None  # of each directed pair; None: plain links
    kinds: LinkKinds | None = None  # of each directed pair; None: all alike

    def __post_init__(self) -> None:
        self.indptr.flags.writeable = False
        self.indices.flags.writeable = False
        if self.weights is not None:
            if self.weights.shape != self.indices.shape or self.weights.dtype != np.float32:
                raise InputError(f"edge_weight: expected {len(self.indices):,} weights of float32.")
            self.weights.flags.writeable = False
        if self.kinds is not None and self.kinds.codes.shape != self.indices.shape:
            raise InputError(f"link_kind: expected {len(self.indices):,} kinds.")

    @property
    def num_nodes(self) -> int:
        return len(self.indptr) - 1

    @property
    def num_pairs(self) -> int:
        """Directed pairs: an undirected edge counts twice."""
        return len(self.indices)

    @property
    def num_edges(self) -> int:
        """Edges, counted once unless directed."""
        return self.num_pairs if self.directed else self.num_pairs // 2

    @property
    def degree(self) -> npt.NDArray[np.int64]:
        """Links of each node, whatever their weight."""
        return np.diff(self.indptr)

    @property
    def weighted(self) -> bool:
        return self.weights is not None

    @property
    def content(self) -> list[npt.NDArray[Any]]:
        """All that a model may see of the links, for a hash."""
        arrays: list[npt.NDArray[Any]] = [self.indptr, self.indices]
        weights = [] if self.weights is None else [self.weights]
        return [*arrays, *weights, *([] if self.kinds is None else [self.kinds.codes])]

    def for_channels(self, places: Sequence[int] | None) -> Adjacency:  # noqa: ARG002 - links know no channels
        """The links of the same graph with some of its channels; None if its features are others."""
        return self

    @property
    def sources(self) -> npt.NDArray[np.int32]:
        """The first node of each directed pair; `indices` holds the second."""
        return np.repeat(np.arange(self.num_nodes, dtype=np.int32), self.degree)

    def same_group(self, attribute: Attribute) -> tuple[int, int]:
        """Pairs whose ends have the same group of an attribute, and pairs whose ends have a known one."""
        first, second = attribute.codes[self.sources], attribute.codes[self.indices]
        known = (first != UNKNOWN) & (second != UNKNOWN)
        return int((first == second)[known].sum()), int(known.sum())

    def to_scipy(self) -> sparse.csr_array:
        """The adjacency matrix A as float32, with the weights or ones; its arrays are copies."""
        values = np.ones(self.num_pairs, dtype=np.float32) if self.weights is None else self.weights.copy()
        shape = (self.num_nodes, self.num_nodes)
        index = np.int32 if self.num_pairs < 2**31 else np.int64  # mixed types would make scipy copy and convert
        return sparse.csr_array((values, self.indices.astype(index), self.indptr.astype(index)), shape=shape)

    def keeping(self, kept: npt.NDArray[np.bool_]) -> Adjacency:
        """The marked pairs alone, as they are; of an undirected link both pairs must be marked, or neither."""
        indptr = np.concatenate([[0], np.cumsum(kept, dtype=np.int64)])[self.indptr]
        weights = None if self.weights is None else self.weights[kept]
        kinds = None if self.kinds is None else self.kinds.at(kept)
        return dataclasses.replace(self, indptr=indptr, indices=self.indices[kept], weights=weights, kinds=kinds)

    def by_kind(self) -> dict[str, Adjacency]:
        """The links of each kind alone, by its name, which have no kinds any more; empty without kinds."""
        if self.kinds is None:
            return {}
        plain = dataclasses.replace(self, kinds=None)
        return {name: plain.keeping(self.kinds.codes == code) for code, name in enumerate(self.kinds.names)}

    def equals(self, other: Adjacency) -> bool:
        """The same links, with the same weights and kinds, or none."""
        mine, given = ((a.indptr, a.indices, a.weights if a.weights is not None else ()) for a in (self, other))
        same_kind = self.directed == other.directed and self.weighted == other.weighted
        same_kind &= other.kinds is None if self.kinds is None else self.kinds.equals(other.kinds)
        return same_kind and all(np.array_equal(one, another) for one, another in zip(mine, given, strict=True))

    @classmethod
    def from_pairs(
        cls,
        source: npt.ArrayLike,
        target: npt.ArrayLike,
        *,
        num_nodes: int,
        directed: bool = False,
        weights: npt.ArrayLike | None = None,
        kinds: npt.ArrayLike | LinkKinds | None = None,
        names: Sequence[str] | None = None,
    ) -> tuple[Adjacency, EdgeCounts]:
        """Build from pairs of node numbers; loops go, duplicates merge, the reverse is added unless `directed`.

        Args:
            source: first node of each pair.
            target: second node of each pair.
            num_nodes: how many there are.
            directed: keep pairs as they are.
            weights: of each pair. Those of duplicates are added up, and pairs of weight 0 go. Unless `directed`, a
                pair and its reverse must have the same weight if both are given.
            kinds: of each pair, texts or whole numbers. A pair has one, and unless `directed` its reverse has the same.
            names: what messages call the nodes; their numbers by default.

        Raises:
            InputError: a number is outside 0..num_nodes - 1, the arrays are not equally long lists of integers, a
                weight is not one, or a pair has two kinds.
        """
        first, second = _node_numbers(source, "source"), _node_numbers(target, "target")
        if first.shape != second.shape:
            raise InputError(f"edges: {len(first):,} sources but {len(second):,} targets; they must pair up.")
        if not 0 <= num_nodes <= np.iinfo(np.int32).max:
            raise InputError(f"edges: {num_nodes:,} nodes; expected between 0 and what 32-bit node numbers can hold.")
        outside = (first < 0) | (first >= num_nodes) | (second < 0) | (second >= num_nodes)
        if outside.any():
            examples = [f"({first[k]}, {second[k]})" for k in np.flatnonzero(outside)[:5]]
            raise InputError(
                f"edges: {int(outside.sum()):,} of {len(first):,} edges name a node outside 0..{num_nodes - 1} "
                f"({some(examples)})."
            )
        given = None if weights is None else edge_weights(weights, len(first))
        named = None if kinds is None else kinds_of(kinds, len(first))
        kept = first != second
        first, second = first[kept].astype(np.int64), second[kept].astype(np.int64)
        keys = first * num_nodes + second  # one number for each pair
        pairs = _unique(keys)  # ascending
        parallel = len(keys) - len(pairs)
        values = None if given is None else summed_weights(keys, given[kept])
        weightless = 0 if values is None else int((values == 0).sum())
        one_way = len(pairs) - weightless
        if not directed:
            both = _unique(np.concatenate([pairs, second * num_nodes + first]))
            values = None if values is None else symmetric_weights(pairs, values, both, num_nodes, names)
            pairs = both
        if named is not None:
            named = kinds_of_pairs(keys, named.at(kept), pairs, num_nodes, directed=directed, names=names)
        if values is not None and weightless:
            named = None if named is None else named.at(values > 0)
            pairs, values = pairs[values > 0], values[values > 0]
        counts = EdgeCounts(
            given=len(kept),
            self_loops=len(kept) - len(keys),
            parallel=parallel,
            weightless=weightless,
            one_direction=len(pairs) - one_way,
            weighted=values is not None,
        )
        rows = np.arange(num_nodes + 1, dtype=np.int64) * num_nodes
        indptr = np.searchsorted(pairs, rows).astype(np.int64, copy=False)
        indices = (pairs - np.repeat(rows[:-1], np.diff(indptr))).astype(np.int32)
        return cls(indptr=indptr, indices=indices, directed=directed, weights=values, kinds=named), counts

    @classmethod
    def from_csr(
        cls,
        indptr: npt.ArrayLike,
        indices: npt.ArrayLike,
        *,
        directed: bool = False,
        weights: npt.ArrayLike | None = None,
        kinds: npt.ArrayLike | LinkKinds | None = None,
    ) -> Adjacency:
        """Take compressed rows as they are, after checking everything that the class promises."""
        starts, neighbours = _node_numbers(indptr, "indptr").astype(np.int64), _node_numbers(indices, "indices")
        bounds_are_fine = len(starts) > 0 and starts[0] == 0 and starts[-1] == len(neighbours)
        if not bounds_are_fine or (np.diff(starts) < 0).any():
            raise InputError("edges: indptr must rise from 0 to the number of indices.")
        num_nodes = len(starts) - 1
        sources = np.repeat(np.arange(num_nodes), np.diff(starts))
        adjacency, counts = cls.from_pairs(
            sources, neighbours, num_nodes=num_nodes, directed=directed, weights=weights, kinds=kinds
        )
        changed = counts.self_loops or counts.parallel or counts.weightless or counts.one_direction
        if changed or (adjacency.indices != neighbours).any():
            raise InputError(
                "edges: the rows must be sorted, without self-loops or duplicates, and symmetric unless directed; "
                "use Adjacency.from_pairs to make them so."
            )
        return adjacency


def _unique(keys: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """np.unique, in place of which a plain sort is several times quicker on integers."""
    keys = np.sort(keys)
    return keys if len(keys) == 0 else keys[np.concatenate([[True], keys[1:] != keys[:-1]])]


def _node_numbers(values: npt.ArrayLike, which: str) -> IntArray:
    array = as_array(values, f"edges: {which}")
    if array.size == 0:
        return np.empty(0, dtype=np.int64)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise InputError(
            f"edges: {which} must be a list of integer node numbers, got {array.dtype} with shape {array.shape}."
        )
    return array
