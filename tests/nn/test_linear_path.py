"""What the collapsed paths of one-layer encoders rest on: closed forms of BatchNorm."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn

import fairview as fv
from fairview.data.adjacency import Adjacency
from fairview.nn.encoders import EncoderSpec
from fairview.nn.inputs import GraphInputs
from fairview.nn.linear_path import NormalisedPath, running_statistics, update_running_statistics


@pytest.mark.parametrize("momentum", [0.1, 0.7, 1.0])
@pytest.mark.parametrize("views", [1, 2, 10])
def test_running_statistics_are_those_of_one_pass_per_view(views: int, momentum: float) -> None:
    batches = torch.randn(views, 12, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1)) * 3 + 1
    oracle, norm = (nn.BatchNorm1d(4, momentum=momentum).double() for _ in range(2))
    for _ in range(3):
        for batch in batches:
            oracle(batch)
        update_running_statistics(norm, batches.mean(dim=1), batches.var(dim=1, correction=0), nodes=12)
    assert torch.allclose(norm.running_mean, oracle.running_mean, rtol=1e-13, atol=1e-14)
    assert torch.allclose(norm.running_var, oracle.running_var, rtol=1e-13, atol=1e-14)
    assert norm.num_batches_tracked == oracle.num_batches_tracked == 3 * views


def test_a_norm_without_running_statistics_is_refused() -> None:
    with pytest.raises(ValueError, match="without running statistics"):
        running_statistics(nn.BatchNorm1d(2, track_running_stats=False))


@pytest.mark.parametrize("nodes", [4, 30])  # fewer and more nodes than channels
def test_mean_and_factor_are_those_of_the_propagated_features(nodes: int, links: Callable[..., Adjacency]) -> None:
    x = np.random.default_rng(2).normal(size=(nodes, 6)) + 100
    x[:, 4] = x[:, 2] * 2  # no full rank
    x[:, 5] = 7.0  # no variance
    spec = EncoderSpec(kind="gin", operator="mean")
    inputs = GraphInputs(x, links(nodes, 2 * nodes), spec.propagation, dtype=torch.float64)
    path = NormalisedPath(spec.build(6, 0), inputs)
    centred = inputs.propagated - inputs.propagated.mean(dim=0)
    covariance = centred.T @ centred / nodes
    assert torch.allclose(path.mean, inputs.propagated.mean(dim=0), rtol=1e-14)
    assert torch.allclose(path.factor.T @ path.factor, covariance, rtol=1e-10, atol=1e-12)
    assert torch.allclose(path.columns.T @ path.factor, centred, rtol=1e-10, atol=1e-11)
    kept = len(path.columns)
    assert kept == min(nodes, 6)
    eye = torch.eye(kept, dtype=torch.float64)
    assert torch.allclose(path.columns @ path.columns.T / nodes, eye, atol=1e-12)


@pytest.mark.parametrize("encoder", ["gcn", "gin", "mlp"])
def test_large_graphs_in_parts_train_like_whole_ones(encoder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = fv.synthetic_graph(300, seed=1)
    graph = graph.with_splits(fv.stratified_splits(graph, repeats=1)[0])
    settings = {"encoder": encoder, "precision": "float64", "balanced_discriminator": True, "epochs": 3, "seed": 2}
    whole = fv.FairVGNN(**settings).fit(graph)
    monkeypatch.setattr("fairview.nn.linear_path.BLOCK", 70)
    parts = fv.FairVGNN(**settings).fit(graph)
    assert all(torch.allclose(parts.tensors()[name], tensor, atol=1e-12) for name, tensor in whole.tensors().items())
