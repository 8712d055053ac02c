"""How are more links sorted than memory holds? Partitioned by the node they lead to, and then block by block.

A pair of node numbers becomes one key, (row * n + column) * 2, plus 1 if it was added as the reverse of a given one.
The keys of a batch are sorted and cut where blocks of rows begin; the pieces go to a file for each block. Blocks are
cut so that each holds about as many pairs, whatever the hubs. A block is then read, sorted as a whole, freed of
duplicates, and written as compressed sparse rows. The last bit of a key, which says whether the pair was given, tells
duplicates and one-way links apart, so that the counts are those of `Adjacency.from_pairs`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fairview.data.adjacency import EdgeCounts
from fairview.data.edge_weights import agreed_weights, summed_weights, weights_at
from fairview.groups import UNKNOWN
from fairview.propagation.engines.array_files import append

Ints = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]
Pairs = tuple[Ints, Ints, Reals | None]
"""Numbers of source and target of some links, self-loops removed, and their weights."""

PER_BLOCK = 12_000_000
"""Pairs of a block, about: a hundred megabytes of keys."""

_BINS = 1 << 16


@dataclass(frozen=True)
class Blocks:
    """Sorted links on disk: block k holds the rows from `starts[k]` to `starts[k + 1]`."""

    folder: Path
    starts: tuple[int, ...]
    sizes: tuple[int, ...]  # pairs of each block
    counts: EdgeCounts
    same_and_known: tuple[tuple[int, int], ...]  # pairs that join the same group, and known groups, by attribute

    def load(self, number: int) -> tuple[Ints, npt.NDArray[np.int32], npt.NDArray[np.float32] | None]:
        """Row pointers, columns and weights of a block."""
        stem = self.folder / f"block-{number:05}"
        weights = Path(f"{stem}.weights.bin")
        # plain numbers: np.load reads headers with ast, which threads of Python 3.11 can't share
        return (
            np.fromfile(f"{stem}.indptr.bin", dtype=np.int64),
            np.fromfile(f"{stem}.indices.bin", dtype=np.int32),
            np.fromfile(weights, dtype=np.float32) if weights.exists() else None,
        )

    def remove(self) -> None:
        """Delete the files."""
        for path in self.folder.glob("block-*.bin"):
            path.unlink()


class Histogram:
    """About how many pairs lead to which rows: counts of stretches of rows, a pass over the links before the sort."""

    def __init__(self, nodes: int) -> None:
        self.width = max(-(-nodes // _BINS), 1)
        self.nodes = nodes
        self.counts = np.zeros(-(-nodes // self.width) if nodes else 1, dtype=np.int64)

    def add(self, rows: Ints) -> None:
        self.counts += np.bincount(rows // self.width, minlength=len(self.counts))

    def starts(self, per_block: int = PER_BLOCK) -> tuple[int, ...]:
        """Where blocks of about equal size begin, and the number of rows at the end."""
        total = np.concatenate([[0], np.cumsum(self.counts)])
        blocks = max(-(-int(total[-1]) // per_block), 1)
        wanted = total[-1] * np.arange(1, blocks) / blocks
        cuts = np.unique(np.searchsorted(total, wanted)) * self.width
        inside = cuts[(cuts > 0) & (cuts < self.nodes)]
        return (0, *inside.tolist(), self.nodes)


def partition(
    batches: Iterable[Pairs], folder: Path, *, nodes: int, starts: tuple[int, ...], directed: bool, threads: int
) -> None:
    """Write the keys of every pair, and of its reverse unless directed, to the file of its block."""
    edges = np.array(starts[1:-1], dtype=np.int64) * nodes * 2
    streams = [(folder / f"keys-{k:05}.bin").open("wb") for k in range(len(starts) - 1)]
    values = [(folder / f"values-{k:05}.bin").open("wb") for k in range(len(starts) - 1)]

    def keyed(batch: Pairs) -> tuple[Ints, Reals | None, Ints]:
        source, target, weights = batch
        if directed:  # a node gathers from those that point to it
            keys = (target * nodes + source) * 2
        else:
            keys = np.concatenate([(source * nodes + target) * 2, (target * nodes + source) * 2 + 1])
            weights = None if weights is None else np.concatenate([weights, weights])
        if weights is None:
            keys.sort()
        else:
            order = np.argsort(keys, kind="stable")
            keys, weights = keys[order], weights[order]
        return keys, weights, np.searchsorted(keys, edges)

    try:
        for keys, weights, cuts in _in_order(keyed, batches, threads):
            bounds = [0, *cuts.tolist(), len(keys)]
            for k, (first, last) in enumerate(pairwise(bounds)):
                if first < last:
                    append(streams[k], keys[first:last])
                    if weights is not None:
                        append(values[k], weights[first:last])
    finally:
        for stream in (*streams, *values):
            stream.close()


def build_blocks(
    folder: Path,
    *,
    nodes: int,
    starts: tuple[int, ...],
    given: int,
    self_loops: int,
    directed: bool,
    weighted: bool,
    codes: Sequence[npt.NDArray[np.int16]],
    names: Callable[[int], str],
    threads: int,
    done: Callable[[int], None],
) -> Blocks:
    """Sort each block, remove duplicates, and write it as compressed sparse rows."""

    def build(number: int) -> tuple[tuple[int, int, int, int], npt.NDArray[np.int64]]:
        block = _read(folder, number, weighted)
        if weighted:
            pairs, weights, parallel, unique, weightless = _weighted(*block, nodes, directed, names)
        else:
            (pairs, parallel, unique), weights, weightless = _plain(block[0]), None, 0
        rows = np.arange(starts[number], starts[number + 1] + 1, dtype=np.int64) * nodes
        indptr = np.searchsorted(pairs, rows)
        indices = (pairs - np.repeat(rows[:-1], np.diff(indptr))).astype(np.int32)
        stem = folder / f"block-{number:05}"
        _save(f"{stem}.indptr.bin", indptr.astype(np.int64, copy=False))
        _save(f"{stem}.indices.bin", indices)
        if weights is not None:
            _save(f"{stem}.weights.bin", weights)
        for name in ("keys", "values"):
            (folder / f"{name}-{number:05}.bin").unlink(missing_ok=True)
        same_and_known = np.array([_same_group(each, starts[number], indptr, indices) for each in codes])
        done(1)
        return (len(pairs), parallel, unique, weightless), same_and_known.reshape(-1, 2)

    results = list(_in_order(build, range(len(starts) - 1), threads))
    sizes = tuple(size for (size, *_), _ in results)
    _, parallel, unique, weightless = (sum(column) for column in zip(*(counted for counted, _ in results), strict=True))
    same_and_known = sum(pairs for _, pairs in results)
    counts = EdgeCounts(
        given=given,
        self_loops=self_loops,
        parallel=parallel,
        weightless=weightless,
        one_direction=sum(sizes) - (unique - weightless),
        weighted=weighted,
    )
    return Blocks(folder, starts, sizes, counts, tuple((same, known) for same, known in same_and_known.tolist()))


def _read(folder: Path, number: int, weighted: bool) -> tuple[Ints, Reals | None]:
    keys = np.fromfile(folder / f"keys-{number:05}.bin", dtype=np.int64)
    return keys, np.fromfile(folder / f"values-{number:05}.bin", dtype=np.float64) if weighted else None


def _plain(keys: Ints) -> tuple[Ints, int, int]:
    """Distinct pairs, ascending; how many given ones were repeated, and how many distinct ones were given."""
    keys.sort()
    if len(keys) == 0:
        return keys, 0, 0
    fresh = np.concatenate([[True], keys[1:] != keys[:-1]])
    was_given = (keys & 1) == 0
    unique = int(np.count_nonzero(fresh & was_given))
    parallel = int(np.count_nonzero(was_given)) - unique
    pairs = keys[fresh] >> 1  # given ones come before their likes that were added
    return pairs[np.concatenate([[True], pairs[1:] != pairs[:-1]])], parallel, unique


def _weighted(
    keys: Ints, values: Reals | None, nodes: int, directed: bool, names: Callable[[int], str]
) -> tuple[Ints, npt.NDArray[np.float32], int, int, int]:
    """The same with weights: those of repeated pairs are added up, both directions must agree, zeros go."""
    given = (keys & 1) == 0
    weights = np.empty(0) if values is None else values
    forth, forth_weights = np.unique(keys[given] >> 1), summed_weights(keys[given] >> 1, weights[given])
    back, back_weights = np.unique(keys[~given] >> 1), summed_weights(keys[~given] >> 1, weights[~given])
    pairs, merged = forth, forth_weights
    if not directed:
        pairs = np.union1d(forth, back)
        both = (weights_at(pairs, forth, forth_weights), weights_at(pairs, back, back_weights))
        merged = agreed_weights(pairs, *both, nodes, names)
    weightless = int((forth_weights == 0).sum())
    parallel = int(given.sum()) - len(forth)
    return pairs[merged > 0], merged[merged > 0], parallel, len(forth), weightless


def _same_group(
    codes: npt.NDArray[np.int16], start: int, indptr: Ints, indices: npt.NDArray[np.int32]
) -> tuple[int, int]:
    first = np.repeat(codes[start : start + len(indptr) - 1], np.diff(indptr))
    second = codes[indices]
    known = (first != UNKNOWN) & (second != UNKNOWN)
    return int(np.count_nonzero((first == second) & known)), int(np.count_nonzero(known))


def _save(path: str, array: npt.NDArray[Any]) -> None:
    with Path(path).open("wb") as stream:
        append(stream, array)
        stream.flush()
        os.fsync(stream.fileno())


def _in_order(work: Callable[[Any], Any], items: Iterable[Any], threads: int) -> Iterator[Any]:
    """Results in the order of the items, a few of which are worked on at a time."""
    with ThreadPoolExecutor(threads) as pool:
        waiting: list[Any] = []
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > threads:
                yield waiting.pop(0).result()
        for future in waiting:
            yield future.result()
