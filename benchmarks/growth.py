"""How does the training time grow with the graph? Seconds per epoch on synthetic graphs, average degree 20.

python -m benchmarks.growth            10^4, 10^5 and 10^6 nodes, with and without the sampled adversary
"""

from __future__ import annotations

import sys
import time

import fairview as fv
from fairview.machine import peak_memory_mb
from fairview.methods.fairvgnn import FairVGNNNetwork
from fairview.training.kept_memory import memory_kept
from fairview.training.machine import torch_threads

SIZES = (10_000, 100_000, 1_000_000)
SAMPLE = 2048


def seconds_per_epoch(graph: fv.NodeGraph, encoder: str, sample: int | None, seconds: float = 3.0) -> float:
    """The mean over epochs of the default preset; the first one counts only if it takes longer than that."""
    model = fv.FairVGNN.from_preset("any", encoder, preset="default", adversary_sample=sample)
    with torch_threads(model.thread_count(graph)), memory_kept():
        network = FairVGNNNetwork(model, graph)
        times = [_timed(network)]
        while times[0] < 2 * seconds and sum(times[1:]) < seconds:
            times.append(_timed(network))
    return times[0] if len(times) == 1 else sum(times[1:]) / len(times[1:])


def _timed(network: FairVGNNNetwork) -> float:
    start = time.perf_counter()
    network.epoch()
    return time.perf_counter() - start


def main(sizes: tuple[int, ...] = SIZES) -> None:
    """Print the table of docs/speed.md."""
    print(f"| nodes | edges | GCN | GIN | SAGE | GCN, {SAMPLE:,} sampled | GIN, {SAMPLE:,} sampled | peak memory |")
    print("|---|---|---|---|---|---|---|---|")
    for size in sizes:
        graph = fv.synthetic_graph(size, average_degree=20.0, seed=1)
        labels = min(size // 2, 6_000)
        graph = graph.with_splits(fv.stratified_splits(graph, repeats=1, seed=0, train_labels=labels)[0])
        times = [seconds_per_epoch(graph, kind, None) for kind in ("gcn", "gin", "sage")]
        times += [seconds_per_epoch(graph, kind, SAMPLE) for kind in ("gcn", "gin")]
        memory = peak_memory_mb() / 1024
        cells = " | ".join(f"{value:.3f} s" for value in times)
        print(f"| {size:,} | {graph.num_edges:,} | {cells} | {memory:.1f} GiB |", flush=True)


if __name__ == "__main__":
    main(tuple(int(size) for size in sys.argv[1:]) or SIZES)
