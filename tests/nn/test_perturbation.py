"""Perturbed views: noise in features, links left out, another sensitive group."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

import fairview as fv
from fairview.nn.perturbation import (
    Counterfactual,
    Links,
    PerturbedInputs,
    PerturbedMatrix,
    SharedOperator,
    draw_noise,
)
from fairview.propagation.blocks import Hops
from fairview.propagation.operators import Operator


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


# --- counterfactual ---------------------------------------------------------------------------------------------------


def test_two_groups_exchange_the_values_of_a_single_channel():
    values, codes = np.array([[0.0], [1.0], [1.0], [0.0]]), np.array([0, 1, 1, 0])
    moved = Counterfactual(values, codes).draw(generator()).numpy()
    assert (values + moved).tolist() == [[1], [0], [0], [1]]


def test_two_groups_exchange_the_columns_of_a_one_hot_code():
    values, codes = np.eye(2)[[0, 1, 1]], np.array([0, 1, 1])
    moved = Counterfactual(values, codes).draw(generator()).numpy()
    assert (values + moved).tolist() == [[0, 1], [1, 0], [1, 0]]


def test_scaled_values_are_exchanged_too_and_a_node_of_unknown_group_stays():
    values, codes = np.array([[-1.5], [2.5], [0.25], [-1.5]], dtype=np.float32), np.array([3, 1, -1, 3])
    moved = Counterfactual(values, codes).draw(generator()).numpy()
    assert (values + moved).tolist() == [[2.5], [-1.5], [0.25], [2.5]]


def test_with_more_groups_each_node_joins_another_one_by_chance():
    codes = np.repeat(np.arange(3), 1000)
    values = np.eye(3)[codes]
    draws = Counterfactual(values, codes)
    found = (values + draws.draw(generator(1)).numpy()).argmax(axis=1)
    assert not (found == codes).any()
    shares = [(found[codes == g] == h).mean() for g in range(3) for h in range(3) if g != h]
    assert np.abs(np.array(shares) - 0.5).max() < 0.06  # four standard deviations
    assert not np.array_equal(found, (values + draws.draw(generator(2)).numpy()).argmax(axis=1))


# --- noise ------------------------------------------------------------------------------------------------------------


def test_noise_never_touches_a_channel_that_is_not_free_and_has_the_rate_elsewhere():
    free = np.array([True, False, True])
    noise = draw_noise(20_000, free, 0.1, generator())
    assert (noise[:, 1] == 0).all()
    hit = noise[:, free] != 0
    assert abs(hit.double().mean().item() - 0.1) < 0.006  # four standard deviations
    drawn = noise[:, free][hit]
    assert abs(drawn.mean().item()) < 0.07
    assert abs(drawn.std().item() - 1) < 0.05


def test_noise_of_a_channel_is_the_same_for_all_nodes():
    noise = draw_noise(50, np.ones(4, dtype=bool), 1.0, generator(), "channel")
    assert noise.shape == (1, 4)
    assert len(noise.unique()) == 4


def test_no_rate_no_noise():
    assert (draw_noise(50, np.ones(4, dtype=bool), 0.0, generator()) == 0).all()


# --- links ------------------------------------------------------------------------------------------------------------


def some_links(*, directed: bool, weighted: bool = False) -> Links:
    pairs = np.random.default_rng(0).integers(0, 12, size=(2, 40))
    adjacency = fv.Adjacency.from_pairs(*pairs, num_nodes=13, directed=directed)[0]  # node 12 has no link
    if weighted:
        weights = 1 + (adjacency.sources * adjacency.indices).astype(np.float32) ** 4  # from 1 to 3e8
        adjacency = dataclasses.replace(adjacency, weights=weights)
    return Links(adjacency)


def test_links_are_left_out_at_the_rate_and_undirected_ones_as_a_whole():
    pairs = np.random.default_rng(0).integers(0, 3000, size=(2, 40_000))
    links = Links(fv.Adjacency.from_pairs(*pairs, num_nodes=3000)[0])
    total = links.adjacency.num_edges
    left_out = links.draw(0.05, generator())
    assert abs(len(left_out) / total - 0.05) < 0.0045  # four standard deviations
    rest = links.without(left_out)
    assert rest.num_edges == total - len(left_out)
    dense = rest.to_scipy()
    assert abs(dense - dense.T).sum() == 0
    assert len(links.draw(0.0, generator())) == 0
    assert len(links.draw(1.0, generator())) == total


@pytest.mark.parametrize("kind", ["gcn", "mean", "sum"])
@pytest.mark.parametrize("self_loops", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("rate", [0.0, 0.3, 1.0])
def test_the_operator_is_that_of_the_graph_without_the_links(kind, self_loops, directed, rate):
    links, operator = some_links(directed=directed), Operator(kind=kind, self_loops=self_loops)
    shared = SharedOperator(links, operator, dtype=torch.float64, device=torch.device("cpu"))
    left_out = links.draw(rate, generator(3))
    oracle = torch.from_numpy(operator.matrix(links.without(left_out)).toarray())
    matrix = PerturbedMatrix(shared, left_out)
    dense = torch.from_numpy(np.random.default_rng(1).normal(size=(13, 3))).requires_grad_()
    upstream = torch.from_numpy(np.random.default_rng(2).normal(size=(13, 3)))
    torch.testing.assert_close(matrix @ dense, oracle @ dense)
    torch.testing.assert_close(matrix.added_to(upstream, dense), upstream + oracle @ dense)
    (gradient,) = torch.autograd.grad(matrix @ dense, dense, upstream)
    torch.testing.assert_close(gradient, oracle.T @ upstream)
    part, touched = matrix.rows(np.array([2, 7]))
    torch.testing.assert_close(part @ dense[touched], (oracle @ dense)[[2, 7]])


@pytest.mark.parametrize("directed", [False, True])
def test_links_that_stay_keep_their_weights(directed):
    links = some_links(directed=directed, weighted=True)
    rest = links.without(links.draw(0.5, generator()))
    assert 0 < rest.num_edges < links.adjacency.num_edges
    np.testing.assert_array_equal(rest.weights, 1 + (rest.sources * rest.indices).astype(np.float32) ** 4)
    if not directed:
        assert abs(rest.to_scipy() - rest.to_scipy().T).sum() == 0


@pytest.mark.parametrize("kind", ["gcn", "mean", "sum"])
@pytest.mark.parametrize("self_loops", [0.0, 1.0])
@pytest.mark.parametrize("directed", [False, True])
def test_a_heavy_link_that_is_left_out_leaves_the_light_ones_exact(kind, self_loops, directed):
    """In float32: heavy - heavy + light would be 0."""
    links, operator = some_links(directed=directed, weighted=True), Operator(kind=kind, self_loops=self_loops)
    shared = SharedOperator(links, operator, dtype=torch.float32, device=torch.device("cpu"))
    x = torch.from_numpy(np.random.default_rng(1).normal(size=(13, 3)).astype(np.float32))
    left_out = torch.nonzero(links.source * links.target > 20)[:, 0]
    assert len(left_out) > 5
    view = PerturbedInputs(x, links, left_out, shared)
    expected = operator.matrix(links.without(left_out)).toarray() @ x.double().numpy()
    np.testing.assert_allclose(view.propagated.numpy(), expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())
    np.testing.assert_allclose((view.matrix @ x).numpy(), view.propagated.numpy())
    part, touched = view.matrix.rows(np.array([2, 7]))
    np.testing.assert_allclose((part @ x[touched]).numpy(), view.propagated.numpy()[[2, 7]], rtol=1e-5, atol=1e-6)
    assert view.edge_weight.shape == (view.edge_index.shape[1],)


def test_inputs_of_a_view_agree_with_those_of_the_graph_without_the_links():
    links, operator = some_links(directed=False), Operator(kind="gcn")
    shared = SharedOperator(links, operator, dtype=torch.float32, device=torch.device("cpu"))
    x = torch.from_numpy(np.random.default_rng(1).normal(size=(13, 3)).astype(np.float32))
    view = PerturbedInputs(x, links, links.draw(0.3, generator()), shared)
    torch.testing.assert_close(view.propagated, view.rebuilt.propagated)
    assert view.edge_index.shape[1] == view.rebuilt.adjacency.num_pairs < links.adjacency.num_pairs
    bare = PerturbedInputs(x, links, links.draw(0.3, generator()), None)
    assert bare.propagated is x
    with pytest.raises(ValueError, match="no matrix"):
        _ = bare.matrix


def test_a_view_with_blocks_has_those_of_the_graph_without_the_links():
    links, operator = some_links(directed=False), Operator(kind="gcn")
    shared = SharedOperator(links, operator, dtype=torch.float64, device=torch.device("cpu"))
    x, left_out = torch.from_numpy(np.random.default_rng(1).normal(size=(13, 3))), links.draw(0.3, generator())
    view = PerturbedInputs(x, links, left_out, shared, blocks=Hops(operator=operator, hops=2))
    s = torch.from_numpy(operator.matrix(links.without(left_out)).toarray())
    torch.testing.assert_close(view.propagated, torch.cat([x, s @ x, s @ s @ x], dim=1))
