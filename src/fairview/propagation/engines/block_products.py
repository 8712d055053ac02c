"""How is S X computed from blocks of links? Some channels at a time in memory, a block of rows after the other.

With L and R the diagonals of `one_hop`, S X = L (A + c I) R X. R X of as many channels as the memory allows is held as
float64; each block of A gives its rows of the product, which are written in their place. Blocks are read in order, so
that the disk streams; rows of R X are gathered at random, which is why they must be in memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fairview.propagation.engines.link_blocks import Blocks
from fairview.propagation.operators import Operator

Reals = npt.NDArray[np.float64]


def degree_factors(blocks: Blocks, operator: Operator, nodes: int) -> Reals:
    """The diagonal of L: each node's degree with its self-loops, to the power of the operator."""
    power = {"gcn": -0.5, "mean": -1.0, "sum": 0.0}[operator.kind]
    degree = np.full(nodes, operator.self_loops)
    for number in range(len(blocks.starts) - 1):
        indptr, _, weights = blocks.load(number)
        first, last = blocks.starts[number], blocks.starts[number + 1]
        if weights is None:
            degree[first:last] += np.diff(indptr)
        else:
            filled = np.flatnonzero(np.diff(indptr))  # reduceat needs stretches that are not empty
            degree[first + filled] += np.add.reduceat(weights.astype(np.float64), indptr[filled])
    return np.asarray(np.power(degree, power, out=np.zeros(nodes), where=degree > 0))


def multiply(
    blocks: Blocks,
    operator: Operator,
    factors: Reals,
    source: Path,
    target: Path,
    *,
    width: int,
    threads: int,
    done: Callable[[int], None],
) -> None:
    """One hop: read X of some channels, (n, width) float64, and write S X likewise."""
    nodes = len(factors)
    values = np.fromfile(source, dtype=np.float64).reshape(nodes, width)
    if operator.kind == "gcn":
        values *= factors[:, None]
    ones = np.ones(max(blocks.sizes))
    with target.open("wb") as stream:
        stream.truncate(nodes * width * 8)
        handle = stream.fileno()

        def product(number: int) -> None:
            indptr, indices, weights = blocks.load(number)
            first, last = blocks.starts[number], blocks.starts[number + 1]
            data = ones[: len(indices)] if weights is None else weights.astype(np.float64)
            block = sparse.csr_array((data, indices, indptr.astype(np.int32)), shape=(last - first, nodes))
            moved = block @ values
            moved += operator.self_loops * values[first:last]
            moved *= factors[first:last, None]
            _write_at(handle, moved, first * width * 8)
            done(1)

        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(product, range(len(blocks.starts) - 1)))
        stream.flush()
        os.fsync(handle)


def _write_at(handle: int, array: Reals, offset: int) -> None:
    view = memoryview(np.ascontiguousarray(array).data).cast("B")
    while len(view):
        written = os.pwrite(handle, view[: 1 << 30], offset)
        view, offset = view[written:], offset + written
