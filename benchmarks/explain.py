"""Does `explain` find links that were planted to carry a gap, and what does it cost? ``python -m benchmarks.explain``.

The plant: every node has a score, which has nothing to do with its group, and the label follows it. Neutral links join
nodes of about the same score, as similarity or friendship does, whatever their group. Then biased links are added, 5 %
of all: they join low scores of the first group with high scores of the second, so that message passing lifts the one
group and lowers the other. A model is fitted as usual. Recall: how many of the planted links are among the tenth of
all links with the largest effects. ``--random`` joins anybody with anybody instead: then the neutral links are of the
same kind as the planted ones, only fewer, and the recall says so.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from time import perf_counter, process_time
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import spearmanr

import fairview as fv
from fairview.data.synthetic.generator import Channel

BIASED = 0.05
TOP = 0.1
TARGET_RECALL = 0.9
NUM_NODES = 100_000
NUM_LINKS = 1_000_000
MODELS: dict[str, Callable[[int], fv.Estimator]] = {
    "plain GCN": lambda seed: fv.Vanilla(seed=seed),
    "plain GCN, mean": lambda seed: fv.Vanilla(operator="mean", seed=seed),
    "plain GIN": lambda seed: fv.Vanilla(encoder="gin", seed=seed),
    "plain GCN, two layers": lambda seed: fv.Vanilla(depth=2, seed=seed),
    "plain SAGE": lambda seed: fv.Vanilla(encoder="sage", seed=seed),
    "FairVGNN, GCN": lambda seed: fv.FairVGNN(epochs=50, seed=seed),
}

Links = npt.NDArray[np.integer[Any]]


def planted_graph(
    num_nodes: int = 2000, *, degree: int = 10, share: float = BIASED, extreme: float = 0.2, similar: bool = True,
    seed: int = 0,
) -> tuple[fv.NodeGraph, set[tuple[int, int]]]:  # fmt: skip
    """The graph, with splits, and its planted links, each with the lower node first.

    Args:
        num_nodes: in two groups of the same size.
        degree: neutral links of a node.
        share: of planted links among all.
        extreme: share of the nodes whose score counts as low, and as high.
        similar: neutral links join nodes whose ranks by score differ by a twentieth of the nodes at most.
        seed: of everything.
    """
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((num_nodes, 6))
    groups = np.array(["a", "b"])[rng.permutation(num_nodes) % 2]
    labels = features[:, 0] + 0.5 * rng.standard_normal(num_nodes) > 0
    order = np.argsort(features[:, 0])
    neutral = num_nodes * degree // 2
    reach = num_nodes // 20 if similar else num_nodes
    first = rng.integers(0, num_nodes, 3 * neutral)
    second = first + rng.integers(-reach, reach + 1, 3 * neutral)
    inside = (second >= 0) & (second < num_nodes) & (first != second)
    pairs = np.unique(np.sort(np.stack([order[first[inside]], order[second[inside]]]), axis=0), axis=1)
    pairs = pairs[:, rng.permutation(pairs.shape[1])[:neutral]]
    size = int(extreme * num_nodes)
    low, high = order[:size], order[-size:]
    low, high = low[groups[low] == "a"], high[groups[high] == "b"]
    taken, planted = set(map(tuple, pairs.T.tolist())), set[tuple[int, int]]()
    while len(planted) < round(share / (1 - share) * neutral):
        one, other = int(rng.choice(low)), int(rng.choice(high))
        pair = min(one, other), max(one, other)
        if pair not in taken:
            planted.add(pair)
    graph = fv.NodeGraph.from_arrays(
        features=features, edges=np.hstack([pairs, np.array(sorted(planted)).T]), labels=labels, sensitive=groups
    )
    return graph.with_splits(fv.stratified_splits(graph)[0]), planted


def recall(found: fv.Explanation, planted: set[tuple[int, int]], top: float = TOP) -> float:
    """The share of the planted links among the top of all links."""
    every = found.every
    first = np.argsort(-every.effect, kind="stable")[: int(top * len(every.effect))]
    named = set(zip(every.source[first].tolist(), every.target[first].tolist(), strict=True))
    return len(named & planted) / len(planted)


def recalls(
    seeds: int, models: Sequence[str] = tuple(MODELS), *, similar: bool = True, extreme: float = 0.2
) -> list[dict[str, Any]]:
    """By model: the recall over seeds, each with a graph and a model of its own, and what removal does."""
    rows = []
    for name in models:
        found = []
        for seed in range(1, seeds + 1):
            graph, planted = planted_graph(similar=similar, extreme=extreme, seed=seed)
            explanation = fv.explain(MODELS[name](seed).fit(graph), graph, shares=(BIASED,))
            removed = {row.chosen: row for row in explanation.removed if row.k == round(BIASED * explanation.num_links)}
            gaps = {row.chosen: row.after.gap for row in removed.values()} | {"none": explanation.gap}
            found.append((recall(explanation, planted), gaps))
        values = [each for each, _ in found]
        gaps = {way: float(np.mean([each[way] for _, each in found if way in each])) for way in found[0][1]}
        rows.append({"model": name, "mean": float(np.mean(values)), "least": min(values), "gap": gaps})
        print(json.dumps(rows[-1]), flush=True)
    return rows


def check(name: str = "plain GCN, two layers", num_nodes: int = 800, seed: int = 1) -> dict[str, Any]:
    """Every link removed: do the estimates rank the links as removal does?"""
    graph, planted = planted_graph(num_nodes, seed=seed)
    found = fv.explain(MODELS[name](seed).fit(graph), graph, top=graph.num_edges)
    estimates, effects = (np.array([getattr(link, which) for link in found.links]) for which in ("estimate", "effect"))
    names = [tuple(sorted((int(link.source), int(link.target)))) for link in found.links]
    tenth = int(TOP * len(names))
    by_estimate = {names[place] for place in np.argsort(-estimates)[:tenth].tolist()}
    return {
        "model": name,
        "spearman": float(spearmanr(estimates, effects).statistic),
        "recall": {"estimates": len(by_estimate & planted) / len(planted), "removal": recall(found, planted)},
    }


def cost(num_nodes: int = NUM_NODES, num_links: int = NUM_LINKS) -> dict[str, Any]:
    """Seconds of `explain` on a large graph, and of its one pass over the links alone."""
    from fairview.explanation.links import LinkList
    from fairview.explanation.score_of import score_of

    channels = [Channel(f"c{j}") for j in range(16)]
    graph = fv.synthetic_graph(num_nodes, average_degree=2 * num_links / num_nodes, channels=channels)
    graph = graph.with_splits(fv.stratified_splits(graph)[0])
    model = fv.Vanilla(epochs=5).fit(graph)
    links, weights = LinkList.of(graph.adjacency), graph.sensitive - 0.5
    score = score_of(model, graph)
    one_pass = _seconds(lambda: score.parts(links, weights / num_nodes))
    whole = _seconds(lambda: fv.explain(model, graph))
    return {"nodes": num_nodes, "links": len(links), "one_pass": one_pass, "explain": whole}


def _seconds(work: Callable[[], object]) -> dict[str, float]:
    """By the clock and of the processor: on a busy machine they differ."""
    start, cpu = perf_counter(), process_time()
    work()
    return {"seconds": round(perf_counter() - start, 2), "cpu_seconds": round(process_time() - cpu, 2)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--extreme", type=float, default=0.2)
    parser.add_argument("--random", action="store_true")
    parser.add_argument("--cost", action="store_true")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    if given.cost or given.check:
        print(json.dumps(cost() if given.cost else check()))
        return
    rows = recalls(given.seeds, given.models, similar=not given.random, extreme=given.extreme)
    if not given.random and any(row["model"] == "plain GCN" and row["mean"] < TARGET_RECALL for row in rows):
        raise SystemExit(3)


if __name__ == "__main__":
    main()
