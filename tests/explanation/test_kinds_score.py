"""Models that weigh kinds of links: exact effects, against models that predict the graph without the links."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from studies.link_kinds import planted_graph

import fairview as fv
from fairview.explanation.links import LinkList

MANY = 40
SMALL: dict[str, Any] = {
    "epochs": 3, "hidden": 4, "views": 3, "discriminator_steps": 2, "classifier_steps": 2, "generator_steps": 2,
    "learning_rate_encoder": 0.05, "learning_rate_generator": 0.05, "precision": "float64",
}  # fmt: skip


def weighing(source: str, **settings: Any) -> fv.FairVGNN:
    return fv.FairVGNN(**SMALL | settings, link_kinds=source, group_at_prediction=source == "groups")  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def graph() -> fv.NodeGraph:
    """Kin and work, and a node without links."""
    made = planted_graph(1, nodes=80)
    links = LinkList.of(made.adjacency)
    return made.replace(adjacency=links.without(links.at(3)))


def changed(graph: fv.NodeGraph, *, directed: bool, weighted: bool) -> fv.NodeGraph:
    """Links turned either way, a fifth in both directions and of two kinds; of any weight."""
    links, rng = LinkList.of(graph.adjacency), np.random.default_rng(0)
    assert links.kinds is not None
    source, target, kind = links.source, links.target, links.kinds.codes
    if directed:
        turned, both = (rng.random(len(links)) < share for share in (0.5, 0.2))
        source, target = np.where(turned, target, source), np.where(turned, source, target)
        source, target = np.append(source, target[both]), np.append(target, source[both])
        kind = np.append(kind, 1 - kind[both])
    weights = 4 ** rng.uniform(-1, 1, len(source)) if weighted else None
    adjacency, _ = fv.Adjacency.from_pairs(
        source,
        target,
        num_nodes=graph.num_nodes,
        directed=directed,
        weights=weights,
        kinds=np.array(links.kinds.names)[kind],
    )
    return graph.replace(adjacency=adjacency)


def check(model: Any, graph: fv.NodeGraph, gap: Callable[..., float], removing: Callable[..., fv.NodeGraph]) -> None:
    model.fit(graph)
    found = fv.explain(model, graph, top=1)
    assert found.exact
    assert len(set(model.link_weight_.values())) > 1
    assert found.gap == pytest.approx(gap(model, graph, found.groups[0]), abs=1e-9)
    rng = np.random.default_rng(0)
    for place in rng.choice(found.num_links, min(MANY, found.num_links), replace=False):
        left = gap(model, removing(graph, np.array([place])), found.groups[0])
        assert found.every.effect[place] == pytest.approx(found.gap - left, abs=1e-9)


@pytest.mark.parametrize("source", ["given", "bands", "groups"])
@pytest.mark.parametrize("encoder", ["gcn", "gin"])
@pytest.mark.parametrize("operator", ["gcn", "mean", "sum"])
def test_the_effect_of_a_link_is_that_of_its_removal(
    source: str, encoder: Any, operator: Any, graph: fv.NodeGraph, gap: Any, removing: Any
) -> None:
    check(weighing(source, encoder=encoder, operator=operator, self_loops=2), graph, gap, removing)


@pytest.mark.parametrize("source", ["given", "bands", "groups"])
@pytest.mark.parametrize("operator", ["gcn", "mean", "sum"])
@pytest.mark.parametrize(("directed", "weighted"), [(True, False), (False, True), (True, True)])
def test_of_directed_and_weighted_links_too(
    source: str, operator: Any, directed: bool, weighted: bool, graph: fv.NodeGraph, gap: Any, removing: Any
) -> None:
    other = changed(graph, directed=directed, weighted=weighted)
    check(weighing(source, operator=operator, feature_masks=False), other, gap, removing)


@pytest.mark.parametrize("operator", ["gcn", "mean"])
def test_without_self_loops_a_node_may_be_left_with_nothing(operator: Any, gap: Any, removing: Any) -> None:
    sparse = planted_graph(2, nodes=60, average_degree=3)
    check(weighing("given", operator=operator, self_loops=0), sparse, gap, removing)
