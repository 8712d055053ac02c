"""On which synthetic graphs are models under a limit tried? Four, each with one thing that is known.

Run with ``python -m studies.graphs``: it prints AUC and gaps of plain models on all three.

- `Population`: nodes drawn independently from one distribution, so that more of the same can be drawn. The true gap of
  any model is its gap on a new, large draw; for a linear rule on the columns there is a formula.
- `neighbour_graph`: what decides lies in the neighbours' columns, and not in one's own.
- `crossed_graph`: two sensitive attributes, whose gaps may be small alone and large between combinations.
- `bent_graph`: what decides lies in bends and in a product of columns, where a linear model sees little.

In all of them links join the same group more often than not, with a fixed mean degree, and the groups' base rates
differ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

from fairview.attributes import Attribute
from fairview.data.graph import NodeGraph, Provenance
from fairview.data.synthetic.random_edges import random_edges
from fairview.propagation.one_hop import one_hop
from fairview.propagation.operators import Operator

Array = npt.NDArray[np.float64]
Groups = npt.NDArray[np.int16]

GROUPS = ("a", "b")


@dataclass(frozen=True, kw_only=True)
class Population:
    """A distribution of nodes, from which graphs of any size can be drawn.

    A node is of group s = 1 with probability `share`. Its d columns are x = δ s + e, e ~ N(0, I), with δ the `shift`
    for the first `proxies` columns and 0 for the others. Its label is 1 if `signal` Σ e / √d + √(1 - signal²) ε exceeds
    the quantile that gives its group the base rate 1/2 ± base_rate_gap / 2, group 1 the lower one; a share of
    `label_noise` of the labels is then drawn anew, by a coin. Links: `average_degree` for each node, a share of
    `homophily` of them within the group.

    Args:
        base_rate_gap: difference of the groups' base rates before the noise.
        shift: of the proxies' means in group 1; below 0 they are lower, as is the base rate.
        proxies: columns that are tied to the group.
        columns: d.
        homophily: share of the links that join the same group.
        label_noise: share of the labels that are a coin's.
        signal: correlation of what decides with the columns.
        share: of group 1.
        average_degree: links of a node.
    """

    base_rate_gap: float = 0.2
    shift: float = -0.5
    proxies: int = 3
    columns: int = 8
    homophily: float = 0.8
    label_noise: float = 0.1
    signal: float = 0.8
    share: float = 0.4
    average_degree: float = 10.0

    @property
    def difference(self) -> Array:
        """δ: the columns' means in group 1 minus those in group 0."""
        return np.where(np.arange(self.columns) < self.proxies, self.shift, 0.0)

    def graph(self, nodes: int = 20_000, *, seed: int) -> NodeGraph:
        """Nodes drawn from the population, with links among themselves; another seed gives other nodes.

        Example:
            >>> Population().graph(5000, seed=1)
            NodeGraph(5,000 nodes, 25,000 edges, 8 channels, sensitive 'group': a 2,978, b 2,022)
        """
        rng = np.random.default_rng(seed)
        group = (rng.random(nodes) < self.share).astype(np.int16)
        own = rng.standard_normal((nodes, self.columns))
        score = self.signal * own.sum(axis=1) / math.sqrt(self.columns)
        score += math.sqrt(1 - self.signal**2) * rng.standard_normal(nodes)
        rates = np.array([0.5 + self.base_rate_gap / 2, 0.5 - self.base_rate_gap / 2])
        labels = score > norm.isf(rates)[group]
        coin = rng.random(nodes) < self.label_noise
        labels[coin] = rng.random(int(coin.sum())) < 0.5
        features = own + self.difference * group[:, None]
        return _graph("population", features, group, labels, self.average_degree, self.homophily, rng)

    def statistical_parity_gap(self, weights: Array, bias: float) -> float:
        """The true gap of the rule w·x + b > 0: |Φ((w·δ + b) / |w|) - Φ(b / |w|)|.

        Example:
            >>> round(Population(shift=0.8).statistical_parity_gap(np.eye(8)[0], -0.4), 4)
            0.3108
        """
        size = float(np.linalg.norm(weights))
        return float(abs(norm.cdf((weights @ self.difference + bias) / size) - norm.cdf(bias / size)))


def neighbour_graph(nodes: int = 10_000, *, homophily: float = 0.8, seed: int) -> NodeGraph:
    """A graph whose links carry what the columns don't.

    Each of six columns is N(0, 1) noise, `x0` higher by 0.6 in group b. What decides is the mean over the neighbours of
    x0 + 1.5 |x1|, with a little of the node's own x2. As most neighbours are of the same group, the
    group gets into it, though no node's own columns say much of its label. |x1| can't be read off the mean of x1: a
    model must bend before it averages.

    Example:
        >>> neighbour_graph(5000, seed=1)
        NodeGraph(5,000 nodes, 25,000 edges, 6 channels, sensitive 'group': a 2,978, b 2,022)
    """
    rng = np.random.default_rng(seed)
    group = (rng.random(nodes) < 0.4).astype(np.int16)
    features = rng.standard_normal((nodes, 6))
    features[:, 0] += 0.6 * group
    bare = _graph("neighbours", features, group, np.zeros(nodes, dtype=np.bool_), 10.0, homophily, rng)
    hop = one_hop(bare.adjacency, Operator(kind="mean", self_loops=0.0))
    sent = hop((features[:, 0] + 1.5 * np.abs(features[:, 1]))[:, None])[:, 0]
    score = _standard(np.asarray(sent, dtype=np.float64)) + 0.35 * features[:, 2] + 0.45 * rng.standard_normal(nodes)
    return bare.replace(labels=(score > np.quantile(score, 0.6)).astype(np.int8))


def bent_graph(nodes: int = 10_000, *, homophily: float = 0.8, seed: int) -> NodeGraph:
    """A graph whose columns decide by bends and a product; the links say nothing of the label but through the group.

    Eight columns of N(0, 1) noise, `x0` and `x5` higher by 0.6 in group b. What decides is a U in x0, a step in x1, a
    wave in x2, the product of x3 and x4, a line in x5, and noise. Bends of single columns are what splines see; the
    product is left to trees and networks.

    Example:
        >>> bent_graph(5000, seed=1)
        NodeGraph(5,000 nodes, 25,000 edges, 8 channels, sensitive 'group': a 2,978, b 2,022)
    """
    rng = np.random.default_rng(seed)
    group = (rng.random(nodes) < 0.4).astype(np.int16)
    x = rng.standard_normal((nodes, 8))
    x[:, [0, 5]] += 0.6 * group[:, None]
    parts = (x[:, 0] ** 2 / 1.5, 1.2 * (x[:, 1] > 0.8), np.sin(2.5 * x[:, 2]), 0.6 * x[:, 3] * x[:, 4], 0.5 * x[:, 5])
    score = np.sum(parts, axis=0) + 0.7 * rng.standard_normal(nodes)
    return _graph("bent", x, group, score > np.quantile(score, 0.6), 10.0, homophily, rng)


def crossed_graph(
    nodes: int = 10_000, *, together: float = 1.0, race: float = 0.0, sex: float = 0.0, share: float = 0.5, seed: int
) -> NodeGraph:
    """A graph with two sensitive attributes, nodes drawn independently from one distribution.

    Six columns of N(0, 1) noise decide, all alike. `x0` is higher by `together` where race and sex are both the first
    or both the second, `x1` by `race` in race b, `x2` by `sex` in sex m. With `together` alone the gaps of either
    attribute are 0 for any rule on the columns, and those between combinations are not.

    Args:
        nodes: n.
        together: how much the combinations differ beyond the attributes.
        race: how much race a and b do.
        sex: how much sex f and m do.
        share: of race b, and of sex m; far from one half, one of the combinations is rare.
        seed: of the draw.

    Example:
        >>> crossed_graph(5000, seed=1).attributes[1].sizes
        {'f': 2564, 'm': 2436}
    """
    rng = np.random.default_rng(seed)
    by_race, by_sex = (rng.random((2, nodes)) < share).astype(np.int16)
    x = rng.standard_normal((nodes, 6))
    x[:, 0] += together * (by_race == by_sex)
    x[:, 1] += race * by_race
    x[:, 2] += sex * by_sex
    score = x.sum(axis=1) / math.sqrt(6) + 0.6 * rng.standard_normal(nodes)
    graph = _graph("crossed", x, by_race, score > np.quantile(score, 0.5), 4.0, 0.6, rng)
    return graph.with_attributes([Attribute("race", by_race, GROUPS), Attribute("sex", by_sex, ("f", "m"))])


def _standard(values: Array) -> Array:
    return np.asarray((values - values.mean()) / values.std())


def _graph(
    name: str,
    features: Array,
    group: Groups,
    labels: npt.NDArray[np.bool_],
    average_degree: float,
    homophily: float,
    rng: np.random.Generator,
) -> NodeGraph:
    """With random links: a share of `homophily` within the groups, whatever the columns are."""
    nodes = len(group)
    links = round(nodes * average_degree / 2)
    within = round(homophily * links)
    return NodeGraph(
        features=features.astype(np.float32),
        channels=tuple(f"x{j}" for j in range(features.shape[1])),
        adjacency=random_edges(group, within=within, across=links - within, rng=rng),
        labels=labels.astype(np.int8),
        sensitive=group,
        groups=GROUPS,
        sensitive_name="group",
        provenance=Provenance(source=f"synthetic {name}"),
    )


def main() -> None:
    """Plain models on the three graphs."""
    import fairview as fv

    graphs = {
        "population": Population().graph(seed=1),
        "neighbours": neighbour_graph(seed=1),
        "bent": bent_graph(seed=1),
    }
    print("AUC / balanced accuracy / SP / EO in percent on the test nodes of one split")
    for name, graph in graphs.items():
        graph = graph.with_splits(fv.stratified_splits(graph, repeats=1)[0])
        models = (
            fv.LogisticRegression(),
            fv.GradientBoosting(),
            fv.Vanilla(encoder="gcn"),
            fv.Vanilla(encoder="sage"),
        )
        for model in models:
            found = fv.evaluate(model.fit(graph), graph, split="test")
            metrics = ("auc", "balanced_accuracy", "statistical_parity_gap", "equal_opportunity_gap")
            numbers = " / ".join(
                f"{100 * value:.1f}" for metric in metrics if isinstance(value := found[metric], float)
            )
            print(f"{name:12} {type(model).__name__:20} {getattr(model, 'encoder', ''):5} {numbers}", flush=True)


if __name__ == "__main__":
    main()
