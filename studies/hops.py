"""Can a model keep a column at hop 0 and hide it where propagation makes it leak? A graph where it must, and its masks.

python -m studies.hops          prints the graph's correlations by hop, and two tables in Markdown

In `crossed_graph` a column is harmless at hop 0 and at two hops, and gives the group away at one. SIGN has a mask for
each column at each hop, GCN one for each column.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

import fairview as fv
from fairview.data.adjacency import Adjacency
from fairview.data.graph import NodeGraph, Provenance
from fairview.propagation.correlation import sensitive_correlation

SEEDS = (1, 2, 3, 4, 5)
METRICS = ("auc", "accuracy", "statistical_parity_gap", "equal_opportunity_gap")
COLUMNS = ("kind", "own", "noise1", "noise2", "noise3")
SETTINGS: Mapping[str, Any] = {
    "epochs": 100,
    "learning_rate_discriminator": 0.01,
    "learning_rate_generator": 0.01,
    "threads": 1,
}
"""What FairVGNN is trained with, whatever the encoder; everything else is its default."""


def crossed_graph(
    nodes: int = 2000, *, degree: int = 20, crossed: float = 0.9, group_effect: float = 0.5, seed: int = 1
) -> NodeGraph:
    """Nodes of group s and kind t, drawn independently by coins, that meet nodes of group t and kind s.

    So a node's neighbours are of the kind that its group says: the column `kind`, t with a little noise, has nothing to
    do with the group at hop 0, tells it at one hop, and is back at t at two. The label is 1 if ±1 by kind, plus `own`,
    plus ±`group_effect` by group, plus noise is above 0.

    Args:
        nodes: n.
        degree: mean number of neighbours.
        crossed: share of the links that are such; the others join any two nodes.
        group_effect: of group on label, which makes it pay to know the group.
        seed: of the draws.

    Example:
        >>> graph = crossed_graph()
        >>> graph
        NodeGraph(2,000 nodes, 19,638 edges, 5 channels, sensitive 'group': a 986, b 1,014)
        >>> [round(float(row[0]), 2) for row in sensitive_correlation(graph, hops=2)]
        [0.02, 0.98, 0.14]
    """
    rng = np.random.default_rng(seed)
    group, kind = rng.integers(2, size=(2, nodes)).astype(np.int16)
    source, target = rng.integers(nodes, size=(2, nodes * degree // 2))
    meets = (2 * kind + group)[source]
    pure = rng.random(len(source)) < crossed
    for cell in range(4):
        here = pure & (meets == cell)
        target[here] = rng.choice(np.flatnonzero(2 * group + kind == cell), int(here.sum()))
    x = rng.standard_normal((nodes, len(COLUMNS)))
    x[:, 0] = 2 * kind - 1 + 0.5 * x[:, 0]
    score = (2 * kind - 1) + x[:, 1] + group_effect * (2 * group - 1) + 0.7 * rng.standard_normal(nodes)
    graph = NodeGraph(
        features=x.astype(np.float32),
        channels=COLUMNS,
        adjacency=Adjacency.from_pairs(source, target, num_nodes=nodes)[0],
        labels=(score > 0).astype(np.int8),
        sensitive=group,
        groups=("a", "b"),
        sensitive_name="group",
        provenance=Provenance(source="synthetic crossed"),
    )
    return graph.with_splits(fv.stratified_splits(graph, repeats=1)[0])


def models(seed: int) -> dict[str, Any]:
    """What is trained, by name."""
    return {
        "FairVGNN, SIGN": fv.FairVGNN(encoder="sign", seed=seed, **SETTINGS),
        "FairVGNN, GCN": fv.FairVGNN(encoder="gcn", seed=seed, **SETTINGS),
        "plain SIGN": fv.Vanilla(encoder="sign", seed=seed, threads=1),
        "plain GCN": fv.Vanilla(encoder="gcn", seed=seed, threads=1),
    }


def cell(values: list[float], digits: int) -> str:
    """Mean and standard deviation."""
    return f"{np.mean(values):.{digits}f} ± {np.std(values, ddof=1):.{digits}f}"


def main() -> None:
    graph = crossed_graph()
    by_hop = sensitive_correlation(graph, hops=2)
    print(f"correlation of each column with the group, by hop\n\n| column | 0 | 1 | 2 |\n|{'---|' * 4}")
    for column, values in zip(COLUMNS, by_hop.T, strict=True):
        print(f"| {column} | {' | '.join(f'{value:.2f}' for value in values)} |")
    kept: dict[str, list[dict[str, float]]] = {}
    found: dict[str, list[list[float]]] = {}
    for seed in SEEDS:
        for name, model in models(seed).items():
            evaluation = fv.evaluate(model.fit(graph), graph, split="test")
            found.setdefault(name, []).append([100 * float(evaluation[metric]) for metric in METRICS])  # type: ignore[arg-type]
            if name.startswith("FairVGNN"):
                kept.setdefault(name, []).append(model.keep_probability_)
    print(f"\nprobability of being kept, seeds {SEEDS[0]} to {SEEDS[-1]}\n")
    print(f"| model | column | 0 | 1 | 2 |\n|{'---|' * 5}")
    for name, runs in kept.items():
        for column in COLUMNS:
            names = [f"{column}@{hop}" for hop in range(3)] if f"{column}@0" in runs[0] else [column]
            cells = [cell([run[each] for run in runs], 2) for each in names]
            print(f"| {name} | {column} | {' | '.join([*cells, '', ''][:3])} |")
    print(f"\non the test nodes, percent\n\n| model | AUC | accuracy | SP | EO |\n|{'---|' * 5}")
    for name, rows in found.items():
        print(f"| {name} | {' | '.join(cell(list(column), 1) for column in zip(*rows, strict=True))} |")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
