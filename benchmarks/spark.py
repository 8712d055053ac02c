"""How long does Spark take for a hop, beside the engine of memory? `python -m benchmarks.spark`."""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

import fairview as fv

CHANNELS = 8
LINKS_PER_NODE = 10


def write_tables(folder: Path, links: int) -> tuple[Path, Path]:
    """A random graph as two Parquet files."""
    draw = np.random.default_rng(0)
    nodes = links // LINKS_PER_NODE
    features = {f"x{place}": draw.normal(size=nodes) for place in range(CHANNELS)}
    people, edges = folder / "people.parquet", folder / "links.parquet"
    pl.DataFrame(
        {"id": np.arange(nodes), **features, "s": draw.integers(0, 2, nodes), "y": draw.integers(0, 2, nodes)}
    ).write_parquet(people)
    ends = {"source": draw.integers(0, nodes, links), "target": draw.integers(0, nodes, links)}
    pl.DataFrame(ends).write_parquet(edges)
    return people, edges


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--links", type=int, default=2_000_000)
    parser.add_argument("--master", default="local[2]")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        people, edges = write_tables(folder, given.links)
        print(f"load before: {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
        for engine, master in (("memory", None), ("spark", given.master)):
            start = time.perf_counter()
            made = fv.propagate(
                people, edges, folder=folder / engine, engine=engine, master=master, hops=1, label="y", sensitive="s"
            )
            stages = made.cost.seconds if made.cost else {}
            parts = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in stages.items())
            seconds = time.perf_counter() - start
            print(f"{engine}: {made.facts.links:,} links, {made.facts.nodes:,} nodes, {seconds:.1f} s ({parts})")


if __name__ == "__main__":
    main()
