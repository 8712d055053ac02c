"""Which links go: against autograd on a dense matrix; thresholds, permutations, graphs that were never seen."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from fairview.data.adjacency import Adjacency
from fairview.nn.pruning import NEVER, LinkPruning

NODES, CHANNELS = 14, 3
GENERATOR = np.random.default_rng(0)
FEATURES = GENERATOR.normal(size=(NODES, CHANNELS)).astype(np.float32)
DIRECTIONS = torch.from_numpy(GENERATOR.normal(size=(2, 3, CHANNELS)))


def links(*, directed: bool = False, weighted: bool = False) -> Adjacency:
    ends = np.random.default_rng(1).integers(0, NODES, size=(2, 30))
    found, _ = Adjacency.from_pairs(*ends, num_nodes=NODES, directed=directed)
    weights = 0.5 + (found.sources * found.indices % 7).astype(np.float32)
    return dataclasses.replace(found, weights=weights) if weighted else found


def learnt(threshold: float | None = 0.3, adjacency: Adjacency | None = None) -> LinkPruning:
    return LinkPruning.learn(FEATURES, adjacency or links(), DIRECTIONS, share=0.5, threshold=threshold)


def pairs(adjacency: Adjacency) -> set[tuple[int, int]]:
    return set(zip(adjacency.sources.tolist(), adjacency.indices.tolist(), strict=True))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_scores_are_the_derivatives_of_the_spread(directed, weighted):
    adjacency = links(directed=directed, weighted=weighted)
    pruning = learnt(adjacency=adjacency)
    a = torch.from_numpy(adjacency.to_scipy().toarray()).double().requires_grad_()
    gathers = a.T if directed else a
    scale = (gathers.sum(dim=1) + 1).rsqrt()
    p = 0.5 * scale[:, None] * (gathers + torch.eye(NODES)) * scale + 0.5 * torch.eye(NODES)
    y = torch.einsum("nj,ghj->hng", torch.from_numpy(FEATURES).double(), DIRECTIONS)
    values = y[0] + p @ y[1] + p @ p @ y[2]
    torch.testing.assert_close(pruning.centre, values.mean(dim=0).detach())
    (dense,) = torch.autograd.grad((values - values.mean(dim=0).detach()).square().sum() / 2, a)
    dense = dense if directed else dense + dense.T
    expected = dense.numpy()[adjacency.sources, adjacency.indices]
    np.testing.assert_allclose(pruning.scores(FEATURES, adjacency), expected, rtol=1e-10)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("threshold", [0.05, 0.3, 0.9])
def test_those_above_the_share_of_the_largest_score_go_and_no_other(threshold, directed):
    adjacency = links(directed=directed)
    pruning = learnt(threshold, adjacency)
    scores, left = pruning.scores(FEATURES, adjacency), pruning(FEATURES, adjacency)
    stay = scores <= threshold * scores.max()
    assert 0 < stay.sum() < len(stay)
    ends = zip(adjacency.sources[stay].tolist(), adjacency.indices[stay].tolist(), strict=True)
    assert pairs(left) == set(ends)
    assert left.directed is directed


def test_one_prunes_nothing_and_neither_does_none():
    for threshold in (1.0, None):
        assert pairs(learnt(threshold)(FEATURES, links())) == pairs(links())
    assert learnt(None).cutoff == NEVER


def test_no_links_no_cutoff():
    bare, _ = Adjacency.from_pairs([], [], num_nodes=NODES)
    pruning = learnt(0.3, bare)
    assert pruning.cutoff == NEVER
    assert pairs(pruning(FEATURES, links())) == pairs(links())
    assert learnt()(FEATURES, bare).num_pairs == 0


def test_a_link_that_pulls_two_extremes_together_stays_and_one_that_feeds_an_extreme_goes():
    """Nodes 0 and 1 are high, 2 and 3 low, the rest between; f is one hop of the only channel."""
    features = np.array([[4.0], [4.0], [-4.0], [-4.0], [0.0]], dtype=np.float32)
    directions = torch.tensor([[[0.0], [1.0]]], dtype=torch.float64)
    adjacency, _ = Adjacency.from_pairs([0, 2, 0], [1, 3, 2], num_nodes=5)
    pruning = LinkPruning.learn(features, adjacency, directions, share=1.0, threshold=0.5)
    assert pairs(pruning(features, adjacency)) == {(0, 2), (2, 0)}


def test_permuting_the_nodes_permutes_what_stays():
    order = np.random.default_rng(4).permutation(NODES)
    place, adjacency = np.argsort(order), links()
    moved, _ = Adjacency.from_pairs(place[adjacency.sources], place[adjacency.indices], num_nodes=NODES)
    left = learnt()(FEATURES, adjacency)
    expected, _ = Adjacency.from_pairs(place[left.sources], place[left.indices], num_nodes=NODES)
    assert pairs(learnt()(FEATURES[order], moved)) == pairs(expected)
    assert pairs(learnt(adjacency=links())(FEATURES[order], moved)) == pairs(expected)


def test_other_nodes_elsewhere_do_not_change_the_answer():
    adjacency, pruning = links(), learnt()
    far = adjacency.sources + NODES, adjacency.indices + NODES
    ends = [
        np.concatenate([near, away]) for near, away in zip((adjacency.sources, adjacency.indices), far, strict=True)
    ]
    both, _ = Adjacency.from_pairs(*ends, num_nodes=2 * NODES)
    left = pruning(np.concatenate([FEATURES, 9 * FEATURES]), both)
    assert {(i, j) for i, j in pairs(left) if i < NODES} == pairs(pruning(FEATURES, adjacency))


def test_it_prunes_inside_no_grad_and_survives_its_state():
    pruning = learnt()
    again = LinkPruning(2, 2, CHANNELS)
    again.load_state_dict(pruning.state_dict())
    with torch.no_grad():
        assert pairs(again(FEATURES, links())) == pairs(pruning(FEATURES, links())) != pairs(links())


@pytest.mark.parametrize(("groups", "hops"), [(0, 1), (1, -1)])
def test_a_critic_of_nothing_is_refused(groups, hops):
    with pytest.raises(ValueError, match="no critic for"):
        LinkPruning(groups, hops, CHANNELS)


@pytest.mark.parametrize("directed", [False, True])
def test_links_that_stay_keep_their_weights(directed):
    adjacency = links(directed=directed, weighted=True)
    rest = learnt(0.2, adjacency)(FEATURES, adjacency)
    assert 0 < rest.num_pairs < adjacency.num_pairs
    np.testing.assert_array_equal(rest.weights, 0.5 + (rest.sources * rest.indices % 7))
    if not directed:
        assert abs(rest.to_scipy() - rest.to_scipy().T).sum() == 0
