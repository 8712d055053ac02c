"""How long does the audit of a large graph take? ``python -m benchmarks.large_audit`` writes its tables and runs it.

10⁶ nodes, 10⁷ edges, 8 channels in Parquet by default: degrees follow a power law, and most links join the same group.
The command is that of a user, reading, correlations, shuffles, probes and label leaks included.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

TARGET = 60.0  # seconds
_SAME_GROUP = 0.8


def write_tables(folder: Path, nodes: int, edges: int, *, seed: int = 0) -> None:
    """`nodes.parquet` and `edges.parquet`, both in no order; about `edges` different links."""
    rng = np.random.default_rng(seed)
    group = (rng.random(nodes) < 0.4).astype(np.int64)
    attraction = np.minimum(rng.pareto(1.5, nodes) + 1, nodes**0.5)
    first = _drawn(np.arange(nodes), attraction, edges, rng)
    wanted = np.where(rng.random(edges) < _SAME_GROUP, group[first], 1 - group[first])
    second = np.empty(edges, dtype=np.int64)
    for code in (0, 1):
        members = np.flatnonzero(group == code)
        second[wanted == code] = _drawn(members, attraction[members], int((wanted == code).sum()), rng)
    values = rng.standard_normal((nodes, 8))
    names = rng.permutation(nodes)
    channels = {f"c{j}": values[:, j] for j in range(8)}
    label = (values[:, 0] + rng.standard_normal(nodes) > 0).astype(np.int64)
    people = {"id": names, **channels, "label": label, "gender": np.array(["f", "m"])[group]}
    pl.DataFrame(people).write_parquet(folder / "nodes.parquet")
    pl.DataFrame({"source": names[first], "target": names[second]}).write_parquet(folder / "edges.parquet")


def _drawn(
    nodes: npt.NDArray[np.int64], attraction: npt.NDArray[np.float64], count: int, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    reach = np.cumsum(attraction)
    return np.asarray(nodes[np.searchsorted(reach, rng.random(count) * reach[-1])])


def measure(folder: Path, options: list[str]) -> dict[str, Any]:
    """Run the command in a process of its own; its time, processor time and largest memory."""
    tables = ["--nodes", str(folder / "nodes.parquet"), "--edges", str(folder / "edges.parquet")]
    command = [sys.executable, "-m", "fairview", "audit", *tables, "--label", "label", "--sensitive", "gender"]
    start = perf_counter()
    answer = subprocess.run([*command, *options, "--format", "json"], stdout=subprocess.PIPE, check=True)
    seconds, used = perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    document = json.loads(answer.stdout)
    return {
        "nodes": document["graph"]["nodes"],
        "edges": document["graph"]["edges"],
        "shuffling": document["shuffling"],
        "seconds": seconds,
        "target": TARGET,
        "processor_seconds": used.ru_utime + used.ru_stime,
        "peak_memory_gb": used.ru_maxrss / 2**20,
        "load_average": os.getloadavg()[0],
        "notes": document["notes"],
    }


def main() -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--edges", type=int, default=10_000_000)
    given, options = parser.parse_known_args()  # the others are for `fairview audit`
    with TemporaryDirectory() as folder:
        write_tables(Path(folder), given.nodes, given.edges)
        print(json.dumps(measure(Path(folder), options), indent=2))


if __name__ == "__main__":
    main()
