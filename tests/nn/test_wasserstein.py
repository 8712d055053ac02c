"""The distance of EDITS, against dense matrices, a graph done by hand, and SciPy's exact Wasserstein distance."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from scipy.stats import wasserstein_distance

from fairview.data.adjacency import Adjacency
from fairview.nn.wasserstein import Hop, critic_values, group_contrasts, mean_differences
from fairview.propagation.operators import Operator


def random_links(nodes: int, pairs: int, *, directed: bool = False, weighted: bool = False, seed: int = 0) -> Adjacency:
    ends = np.random.default_rng(seed).integers(0, nodes, size=(2, pairs))
    found, _ = Adjacency.from_pairs(*ends, num_nodes=nodes, directed=directed)
    weights = 0.5 + (found.sources * found.indices % 7).astype(np.float32)
    return dataclasses.replace(found, weights=weights) if weighted else found


def dense(adjacency: Adjacency, share: float) -> torch.Tensor:
    s = Operator(kind="gcn").matrix(adjacency).toarray()
    return torch.from_numpy(share * s + (1 - share) * np.eye(adjacency.num_nodes))


def numbers(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_a_hop_is_the_operators_matrix(directed, share, weighted):
    adjacency = random_links(12, 25, directed=directed, weighted=weighted)
    hop, p, x = Hop(adjacency, share=share), dense(adjacency, share), numbers(12, 3)
    torch.testing.assert_close(hop(x), p @ x)
    torch.testing.assert_close(hop(x, transposed=True), p.T @ x)


def test_the_gradient_per_link_is_that_of_the_dense_matrix():
    adjacency, x, y = random_links(10, 18), numbers(10, 2), numbers(10, 2, seed=2)
    rows, columns = adjacency.sources.copy(), adjacency.indices.copy()
    start = torch.rand(adjacency.num_pairs, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) + 0.1

    weights = start.clone().requires_grad_()
    hop = Hop(adjacency, share=0.4, weights=weights)
    (found,) = torch.autograd.grad((y * hop(hop(x))).sum(), weights)

    a = torch.zeros(10, 10, dtype=torch.float64)
    a[rows, columns] = start
    a.requires_grad_()
    scale = (a.sum(dim=1) + 1).rsqrt()
    p = 0.4 * scale[:, None] * (a + torch.eye(10)) * scale + 0.6 * torch.eye(10)
    (expected,) = torch.autograd.grad((y * (p @ (p @ x))).sum(), a)
    torch.testing.assert_close(found, expected[rows, columns])


def test_a_graph_done_by_hand():
    """Two linked women with 4 and 0, a man alone with 1: P is [[3/4, 1/4, 0], [1/4, 3/4, 0], [0, 0, 1]]."""
    adjacency, _ = Adjacency.from_pairs([0], [1], num_nodes=3)
    features = torch.tensor([[4.0], [0.0], [1.0]], dtype=torch.float64)
    contrasts = group_contrasts(np.array([0, 0, 1]))
    found = mean_differences(features, contrasts, Hop(adjacency, share=0.5), hops=1)
    assert found.ravel().tolist() == pytest.approx([1.0, 1.0])  # means 2 and 1; the hop gives 3, 1, 1
    alone = mean_differences(features, group_contrasts(np.array([0, 1, -1])), Hop(adjacency, share=0.5), hops=2)
    assert alone.ravel().tolist() == pytest.approx([4.0, 2.0, 1.0])  # 4 - 0, then 3 - 1, then 2.5 - 1.5


@pytest.mark.parametrize("directed", [False, True])
def test_mean_differences_are_those_of_the_propagated_features(directed):
    adjacency, x = random_links(15, 40, directed=directed), numbers(15, 4)
    codes = np.random.default_rng(3).integers(-1, 3, size=15)
    contrasts = group_contrasts(codes)
    found = mean_differences(x, contrasts, Hop(adjacency, share=0.5), hops=2)
    assert found.shape == (3, 3, 4)
    propagated, p = x.numpy(), dense(adjacency, 0.5).numpy()
    for hop in range(3):
        for group in range(3):
            others = (codes >= 0) & (codes != group)
            expected = propagated[codes == group].mean(axis=0) - propagated[others].mean(axis=0)
            np.testing.assert_allclose(found[group, hop].numpy(), expected)
        propagated = p @ propagated


def test_of_two_groups_one_contrast_says_it_all_even_if_a_third_is_empty():
    assert group_contrasts(np.array([0, 2, 2, -1])).T.tolist() == [[1.0, -0.5, -0.5, 0.0]]
    assert group_contrasts(np.array([0, 1, 2])).shape == (3, 3)


def test_the_critic_reaches_the_distance_and_no_other_clipped_critic_exceeds_it():
    adjacency, x = random_links(20, 50), numbers(20, 5)
    hop, contrasts = Hop(adjacency, share=0.5), group_contrasts(np.arange(20) % 2)
    differences = mean_differences(x, contrasts, hop, hops=2)
    distance = float(differences.abs().sum())
    assert float((contrasts * critic_values(x, differences.sign(), hop)).sum()) == pytest.approx(distance)
    other = torch.rand(differences.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1)) * 2 - 1
    assert float((contrasts * critic_values(x, other, hop)).sum()) < distance


def test_it_is_at_most_wasserstein_and_equal_for_zeros_and_ones():
    generator = np.random.default_rng(5)
    codes = generator.integers(0, 2, size=60)
    x = np.stack([generator.normal(scale=1 + codes), generator.integers(0, 2, size=60)], axis=1)
    bare, _ = Adjacency.from_pairs([], [], num_nodes=60)
    found = mean_differences(torch.from_numpy(x), group_contrasts(codes), Hop(bare, share=0.5), hops=0).abs()[0, 0]
    exact = [wasserstein_distance(x[codes == 0, j], x[codes == 1, j]) for j in range(2)]
    assert found[0] < exact[0]
    assert found[1] == pytest.approx(exact[1])
