"""How often does Theorem 2's bound fail as printed, and does the corrected one ever?

Run with ``python -m studies.theorem2``. A thousand random clamped weight matrices in each of a few worlds, and small
trained models with one layer on German and on a synthetic graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import fairview as fv
from fairview.leakage.theorem2 import Bounds, bounds, theorem2

DRAWS = 1000
HIDDEN = 16
CHANNELS = 27  # as German has
EPOCHS = 20


def random_bounds(*, one_sign: bool, homophilous: bool, seed: int = 0) -> Iterator[Bounds]:
    """Weights N(0, 1) clamped at ε p, with p uniform, ε between 0.01 and 1, and Δμ normal."""
    rng = np.random.default_rng(seed)
    for _ in range(DRAWS):
        epsilon, keep = 10 ** rng.uniform(-2, 0), rng.random(CHANNELS)
        difference = rng.normal(size=CHANNELS)
        weight = np.clip(rng.normal(size=(HIDDEN, CHANNELS)), -epsilon * keep, epsilon * keep)
        chi = rng.uniform(0.5, 1) if homophilous else rng.random()
        yield bounds(weight, np.abs(difference) if one_sign else difference, keep, epsilon=epsilon, chi=chi)


def trained_models() -> Iterator[tuple[str, fv.NodeGraph, fv.FairVGNN]]:
    """One layer, mean operator, both clamps, three seeds, on four graphs."""
    german = fv.load_dataset("german")
    homophilous = fv.synthetic_graph(600, homophily=0.8, seed=1)
    mixed = fv.synthetic_graph(600, homophily=0.3, seed=2)
    graphs = {"german": german, "german, standardised": _standardised(german)}
    for name, graph in (("synthetic, χ 0.8", homophilous), ("synthetic, χ 0.3", mixed)):
        graphs[name] = graph.with_splits(fv.stratified_splits(graph, repeats=1)[0])
    for name, graph in graphs.items():
        for encoder in ("gcn", "gin", "mlp"):
            for regulariser in ("adaptive", "plain"):
                for seed in (1, 2, 3):
                    settings: dict[str, Any] = {"encoder": encoder, "weight_regulariser": regulariser, "seed": seed}
                    yield name, graph, fv.FairVGNN(operator="mean", epochs=EPOCHS, **settings).fit(graph)


def _standardised(graph: fv.NodeGraph) -> fv.NodeGraph:
    spread = graph.features.std(axis=0)
    return graph.with_features((graph.features - graph.features.mean(axis=0)) / np.where(spread > 0, spread, 1))


def main() -> None:
    print("| clamped weights | tried | printed fails | corrected fails |")
    print("|---|---|---|---|")
    for name, one_sign, homophilous in (
        ("random, χ from 0 to 1", False, False),
        ("random, χ from 0.5 to 1", False, True),
        ("random, χ from 0.5 to 1, Δμ >= 0", True, True),
    ):
        drawn = list(random_bounds(one_sign=one_sign, homophilous=homophilous))
        printed, corrected = (sum(not getattr(b, f"{kind}_holds") for b in drawn) for kind in ("printed", "corrected"))
        print(f"| {name} | {len(drawn):,} | {printed:,} | {corrected} |", flush=True)
    by_graph: dict[str, list[tuple[bool, bool, float]]] = {}
    for name, graph, model in trained_models():
        result = theorem2(model, graph)
        if result.predicted is None or result.measured is None:
            raise RuntimeError(result.reason)
        ratio = result.measured / result.predicted
        by_graph.setdefault(name, []).append((not result.printed_holds, not result.corrected_holds, ratio))
    for name, results in by_graph.items():
        counts = [sum(bool(result[place]) for result in results) for place in (0, 1)]
        print(f"| trained on {name} | {len(results)} | {counts[0]} | {counts[1]} |")
    print("\nmeasured / predicted difference of the groups' means, smallest and largest:")
    for name, results in by_graph.items():
        ratios = [result[2] for result in results]
        print(f"  {name}: {min(ratios):.2f} to {max(ratios):.2f}")


if __name__ == "__main__":
    main()
