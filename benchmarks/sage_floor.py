"""How near is GraphSAGE to its floor? Seconds of an epoch beside those of its bare sparse products.

python -m benchmarks.sage_floor            10^5 and 10^6 nodes, average degree 20, 8 channels, preset `default`

The products are those of the epoch itself, as many and as wide, run again alone on the same matrices.
"""

from __future__ import annotations

import sys
import time
from typing import NamedTuple

import torch
from torch import Tensor

import fairview as fv
from fairview.methods.fairvgnn import FairVGNNNetwork
from fairview.nn import sparse
from fairview.training.kept_memory import memory_kept
from fairview.training.machine import torch_threads

SIZES = (100_000, 1_000_000)


class Floor(NamedTuple):
    """Seconds of an epoch, and of its sparse products alone."""

    epoch: float
    products: float
    multiplied: int


def floor(size: int) -> Floor:
    """An epoch of FairVGNN with SAGE, and what it multiplies, alone."""
    graph = fv.synthetic_graph(size, average_degree=20.0, seed=1)
    graph = graph.with_splits(fv.stratified_splits(graph, repeats=1, seed=0, train_labels=min(size // 2, 6_000))[0])
    model = fv.FairVGNN.from_preset("any", "sage", preset="default")
    multiplied: list[tuple[Tensor, torch.Size]] = []
    times = sparse._times

    def counted(matrix: Tensor, dense: Tensor, base: Tensor | None = None) -> Tensor:
        multiplied.append((matrix, dense.shape))
        return times(matrix, dense, base)

    with torch_threads(model.thread_count(graph)), memory_kept():
        network = FairVGNNNetwork(model, graph)
        network.epoch()
        start = time.perf_counter()
        network.epoch()
        epoch = time.perf_counter() - start
        sparse._times = counted
        try:
            network.epoch()
        finally:
            sparse._times = times
        products = 0.0
        for matrix, shape in multiplied:
            dense = torch.ones(shape, dtype=matrix.dtype)
            start = time.perf_counter()
            times(matrix, dense)
            products += time.perf_counter() - start
    return Floor(epoch, products, len(multiplied))


def main(sizes: tuple[int, ...] = SIZES) -> None:
    """Print the table of docs/speed.md."""
    print("| nodes | epoch | its sparse products, alone | ratio |\n|---|---|---|---|")
    for size in sizes:
        found = floor(size)
        ratio = found.epoch / found.products
        print(
            f"| {size:,} | {found.epoch:.1f} s | {found.multiplied} in {found.products:.1f} s | {ratio:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main(tuple(int(size) for size in sys.argv[1:]) or SIZES)
