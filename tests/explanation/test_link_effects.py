"""Against dense matrices, made anew without the link."""

from __future__ import annotations

import numpy as np
import pytest

import fairview as fv
from fairview.explanation.link_effects import link_and_node_effects, link_effects
from fairview.explanation.links import LinkList
from fairview.propagation.operators import Operator


def dense(adjacency: fv.Adjacency, kind: str, loops: float) -> np.ndarray:
    """S by its definition."""
    a = adjacency.to_scipy().toarray().astype(float)
    a = (a.T if adjacency.directed else a) + loops * np.eye(len(a))
    degree = a.sum(axis=1)
    with np.errstate(divide="ignore"):
        inverse = np.where(degree > 0, 1 / degree, 0.0)
    if kind == "mean":
        return inverse[:, None] * a
    return np.sqrt(inverse)[:, None] * a * np.sqrt(inverse) if kind == "gcn" else a


@pytest.mark.parametrize("kind", ["gcn", "mean", "sum"])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loops", [0.0, 1.0, 2.5])
@pytest.mark.parametrize(("nodes", "links"), [(5, 6), (12, 40), (40, 60)])
def test_the_effect_is_the_form_less_the_form_without_the_link(
    kind: str, directed: bool, weighted: bool, loops: float, nodes: int, links: int
) -> None:
    rng = np.random.default_rng(nodes)
    ends = rng.integers(0, nodes, (2, links))
    ends = np.unique(ends if directed else np.sort(ends, axis=0), axis=1)
    weights = 4 ** rng.uniform(-3, 3, ends.shape[1]) if weighted else None
    adjacency, _ = fv.Adjacency.from_pairs(*ends, num_nodes=nodes, directed=directed, weights=weights)
    found, (t, y) = LinkList.of(adjacency), rng.standard_normal((2, nodes))
    whole = t @ dense(adjacency, kind, loops) @ y
    real = [whole - t @ dense(found.without(np.array([place])), kind, loops) @ y for place in range(len(found))]
    effects = link_effects(found, Operator(kind=kind, self_loops=loops), t, y)  # type: ignore[arg-type]
    assert effects == pytest.approx(real, abs=1e-10 * max(1, *np.abs(real)))

    _, estimates = link_and_node_effects(found, Operator(kind=kind, self_loops=loops), t, y)  # type: ignore[arg-type]
    alone = [whole - t @ dense(found.without(found.at(node)), kind, loops) @ y for node in range(nodes)]
    if kind == "gcn":  # neighbours that are linked with each other
        assert weighted or np.corrcoef(estimates, alone)[0, 1] > 0.9
    else:
        assert estimates == pytest.approx(alone, abs=1e-10 * max(1, *np.abs(alone)))


@pytest.mark.parametrize("kind", ["gcn", "mean", "sum"])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("loops", [0.0, 1.0, 2.5])
def test_each_kind_of_links_may_bring_a_value_of_its_own(kind: str, directed: bool, loops: float) -> None:
    rng, nodes = np.random.default_rng(1), 12
    ends = rng.integers(0, nodes, (2, 40))
    ends = np.unique(ends if directed else np.sort(ends, axis=0), axis=1)
    weights, kinds = 4 ** rng.uniform(-3, 3, ends.shape[1]), rng.integers(0, 3, ends.shape[1])
    adjacency, _ = fv.Adjacency.from_pairs(*ends, num_nodes=nodes, directed=directed, weights=weights, kinds=kinds)
    found, t, y = LinkList.of(adjacency), rng.standard_normal(nodes), rng.standard_normal((nodes, 4))
    brought = np.tile(y[:, -1], (nodes, 1))  # to each node from each other: by the kind of their link, or itself
    rows, columns = adjacency.sources, adjacency.indices
    assert adjacency.kinds is not None
    brought[(columns, rows) if directed else (rows, columns)] = y[rows if directed else columns, adjacency.kinds.codes]

    def form(left: fv.Adjacency) -> float:
        return float(t @ (dense(left, kind, loops) * brought).sum(axis=1))

    operator = Operator(kind=kind, self_loops=loops)  # type: ignore[arg-type]
    effects, estimates = link_and_node_effects(found, operator, t, y)
    real = [form(adjacency) - form(found.without(np.array([place]))) for place in range(len(found))]
    assert effects == pytest.approx(real, abs=1e-10 * max(1, *np.abs(real)))
    alone = [form(adjacency) - form(found.without(found.at(node))) for node in range(nodes)]
    if kind != "gcn":
        assert estimates == pytest.approx(alone, abs=1e-10 * max(1, *np.abs(alone)))


def test_by_hand_on_a_path_of_three_nodes() -> None:
    """d = (2, 3, 2): with the link 0 - 1, t · S y = y_0/2 + y_1/√6; without it, y_0."""
    links = LinkList.of(fv.Adjacency.from_pairs([0, 1], [1, 2], num_nodes=3)[0])
    t, y = np.array([1.0, 0.0, 0.0]), np.array([2.0, 6.0, 0.0])
    effects = link_effects(links, Operator(), t, y)
    before = 1 + 6 / np.sqrt(6)
    assert effects == pytest.approx([before - 2, before - (1 + 6 / 2)])
