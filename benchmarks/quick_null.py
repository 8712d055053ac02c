"""Are quick shuffles as good as exact ones? ``python -m benchmarks.quick_null`` compares them and counts false alarms.

Both use the same shuffles, so that they are compared shuffle by shuffle. With `--seeds N` each kind of graph is drawn N
times; `--nodes` names the sizes.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import binomtest

from fairview.data.adjacency import Adjacency
from fairview.groups import UNKNOWN
from fairview.leakage.leaks import LeakTest, leak_tests
from fairview.propagation.operators import OPERATORS, Operator

DEGREES = ("regular", "poisson", "power", "star")
LEVEL = 0.05
PERMUTATIONS = 199


@dataclass(frozen=True)
class Draw:
    """A random graph whose channels have nothing to do with groups or links."""

    features: npt.NDArray[np.float32]
    adjacency: Adjacency
    codes: npt.NDArray[np.int16]

    def test(self, shuffling: Any, *, operator: Any, hops: int, seed: int) -> LeakTest:
        """Both tests have the same shuffles."""
        (test,) = leak_tests(
            self.features,
            self.adjacency,
            [self.codes],
            operator=Operator(kind=operator),
            hops=hops,
            permutations=PERMUTATIONS,
            seed=seed,
            shuffling=shuffling,
        )
        return test


def draw(nodes: int, degrees: str, seed: int, *, groups: int = 2) -> Draw:
    """A graph in which most links join the same group.

    Every second one is directed with weights, and has nodes of unknown group. The channels are normal, tied to another
    one, a rare mark, heavy-tailed, with a mean far from 0, a mark of one in a hundred, rounded, and uniform.
    """
    rng = np.random.default_rng([nodes, DEGREES.index(degrees), seed, groups])
    codes = np.sort(rng.integers(0, groups, nodes)).astype(np.int16)
    first, second = _links(codes, degrees, rng)
    odd = bool(seed % 2)
    weights = rng.exponential(size=len(first)) if odd else None
    adjacency, _ = Adjacency.from_pairs(first, second, num_nodes=nodes, directed=odd, weights=weights)
    if odd:
        codes[rng.random(nodes) < 0.1] = UNKNOWN
    values = rng.standard_normal((nodes, 8))
    values[:, 1] = values[:, 0] + 0.3 * values[:, 1]
    values[:, 2] = values[:, 2] > 1.5
    values[:, 3] = np.exp(2 * values[:, 3])
    values[:, 4] = 35 + 11 * values[:, 4]
    values[:, 5] = rng.random(nodes) < 0.01
    values[:, 6] = np.round(values[:, 6])
    values[:, 7] = rng.random(nodes)
    return Draw(values.astype(np.float32), adjacency, codes)


def _links(
    codes: npt.NDArray[np.int16], degrees: str, rng: np.random.Generator
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Ends of about five links a node; the nodes lie in the order of their groups."""
    nodes = len(codes)
    everybody = np.arange(nodes)
    if degrees == "star":
        return np.zeros(nodes - 1, dtype=np.int64), everybody[1:]
    if degrees == "regular":
        first = np.repeat(everybody, 5)
        return first, (first + np.tile([1, 2, 5, 11, 23], nodes)) % nodes
    attraction = np.ones(nodes) if degrees == "poisson" else np.minimum(rng.pareto(1.4, nodes) + 1, nodes**0.6)
    first = rng.choice(nodes, 5 * nodes, p=attraction / attraction.sum())
    second = rng.choice(nodes, 5 * nodes, p=attraction / attraction.sum())
    for code in range(codes.max() + 1):
        members = np.flatnonzero(codes == code)
        stay = np.flatnonzero((codes[first] == code) & (rng.random(len(first)) < 0.7))
        weight = attraction[members]
        second[stay] = rng.choice(members, len(stay), p=weight / weight.sum())
    return first, second


def compare(sizes: list[int], seeds: int) -> Iterator[dict[str, Any]]:
    """For each size and kind of graph: how many channels were quick, and how far the p-values are apart."""
    for nodes, degrees, operator in product(sizes, DEGREES, OPERATORS):
        apart, alone, quick, alarms, disagree = [], [], [], {"exact": 0, "quick": 0}, 0
        for seed in range(seeds):
            graph = draw(nodes, degrees, seed, groups=2 + seed // 2 % 2)
            hops = 1 + seed % 3
            tests = {how: graph.test(how, operator=operator, hops=hops, seed=seed) for how in alarms}
            alarm = {how: bool(test.leak_p_value.min() <= LEVEL) for how, test in tests.items()}
            alarms = {how: count + alarm[how] for how, count in alarms.items()}
            disagree += alarm["exact"] != alarm["quick"]
            apart.append(float(np.abs(tests["quick"].leak_p_value - tests["exact"].leak_p_value).max()))
            alone.append(float(np.abs(tests["quick"].p_value - tests["exact"].p_value).max()))
            quick.append(float(tests["quick"].quick.mean()))
        yield {
            "nodes": nodes,
            "degrees": degrees,
            "operator": operator,
            "graphs": seeds,
            "quick_channels": float(np.mean(quick)),
            "leak_p_value_apart": max(apart),
            "p_value_apart": max(alone),
            "alarms": alarms,
            "disagree": disagree,
        }


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Over all graphs: alarms of both tests with their binomial intervals of 95 %."""
    graphs = sum(row["graphs"] for row in rows)
    alarms: dict[str, Any] = {}
    for how in ("exact", "quick"):
        count = sum(row["alarms"][how] for row in rows)
        bounds = binomtest(count, graphs, LEVEL).proportion_ci()
        alarms[how] = {"graphs": graphs, "alarms": count, "low": bounds.low, "high": bounds.high}
    disagree = sum(row["disagree"] for row in rows)
    return {"level": LEVEL, "permutations": PERMUTATIONS, "alarms": alarms, "disagree": disagree}


def main() -> None:
    """Print a JSON line for each kind of graph, then the summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[500, 2000, 20_000])
    parser.add_argument("--seeds", type=int, default=12)
    given = parser.parse_args()
    rows = []
    for row in compare(given.nodes, given.seeds):
        print(json.dumps(row), flush=True)
        rows.append(row)
    print(json.dumps(summary(rows), indent=2))


if __name__ == "__main__":
    main()
