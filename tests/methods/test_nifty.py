"""NIFTY: its views, its objective, its weights. What every method must do is in test_contract."""

from __future__ import annotations

import copy
import math
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import fairview as fv

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch_geometric.nn import SAGEConv

    from fairview.methods.nifty import NIFTY, NIFTYNetwork, similarity_loss
    from fairview.methods.settings import settings_model
    from fairview.nn.encoders import ENCODERS

SMALL = {"epochs": 3, "hidden": 4, "projection": 3, "seed": 1}
QUIET = {"feature_rate": 0.0, "edge_rate": 0.0}


@pytest.fixture
def tiny() -> fv.NodeGraph:
    """Linked pairs of one group: S X is the pair's mean, the group's code beside 1. Two pairs train, two val."""
    return fv.NodeGraph.from_arrays(
        features=[[0, 2], [0, 0], [1, 1], [1, 1]] * 2,
        channels=["group", "x"],
        edges=[[0, 2, 4, 6], [1, 3, 5, 7]],
        labels=[0, 1, 0, 1] * 2,
        sensitive=["f", "f", "m", "m"] * 2,
        sensitive_channels=("group",),
        splits={"train": [True] * 4 + [False] * 4, "val": [False] * 4 + [True] * 4},
    )


def by_hand(tiny: fv.NodeGraph, **changes: Any) -> NIFTYNetwork:
    """GCN with W = 2 I, so W / σ = I; classifier (1, 0); t the identity."""
    method = NIFTY(hidden=2, precision="float64", **QUIET | changes)
    network = NIFTYNetwork(method, tiny)
    network.predictor = nn.Identity()  # type: ignore[assignment]
    with torch.no_grad():
        network.free.free[0].copy_(2 * torch.eye(2))
        network.encoder.layers[0].bias.zero_()
        network.classifier.weight.copy_(torch.tensor([[1.0, 0.0]]))
        network.classifier.bias.zero_()
    network.free.write()
    return network


# --- objective --------------------------------------------------------------------------------------------------------


def test_losses_of_a_hand_computed_graph(tiny):
    # z = S X: (0, 1) (0, 1) (1, 1) (1, 1); with the groups exchanged (1, 1) (1, 1) (0, 1) (0, 1)
    # cos = 1/sqrt(2) for every node; logits 0 0 1 1 and 1 1 0 0 for labels 0 1 0 1
    similarity = 1 - 1 / math.sqrt(2)
    labels = (math.log(2) + math.log(1 + math.e) - 0.5) / 2
    found = by_hand(tiny).epoch()
    assert found["similarity"] == pytest.approx(similarity)
    assert found["classifier"] == pytest.approx(labels)


def test_validation_loss_is_the_objective_on_the_val_nodes(tiny):
    network = by_hand(tiny, similarity_weight=0.25)
    network.validate()
    labels = (math.log(2) + math.log(1 + math.e) - 0.5) / 2
    assert network.validation_loss == pytest.approx(0.75 * labels + 0.25 * (1 - 1 / math.sqrt(2)))


def test_the_targets_of_the_similarity_get_no_gradient():
    # D(a, b) with b fixed: for unit a, the gradient in a is -(b - cos a); z = (1, 0), z~ = (0.6, 0.8), halved
    first = torch.tensor([[1.0, 0.0]], requires_grad=True)
    second = torch.tensor([[0.6, 0.8]], requires_grad=True)
    loss = similarity_loss(first, second, nn.Identity())
    assert loss.item() == pytest.approx(0.4)
    for_first, for_second = torch.autograd.grad(loss, [first, second])
    np.testing.assert_allclose(for_first.numpy(), [[0, -0.4]], atol=1e-7)
    np.testing.assert_allclose(for_second.numpy(), [[-0.32, 0.24]], atol=1e-7)
    through = nn.Linear(2, 2, bias=False)
    nn.init.zeros_(through.weight)  # nothing flows back through t, and the targets give nothing
    flat = similarity_loss(first, second, through)
    assert [g.abs().sum().item() for g in torch.autograd.grad(flat, [first, second])] == [0, 0]


def test_similarity_nodes_are_those_of_train_or_all(graph):
    losses = {}
    for nodes in ("train", "all"):
        losses[nodes] = NIFTY(**SMALL, similarity_nodes=nodes).fit(graph).history_[0]["loss"]
    assert losses["train"]["classifier"] == losses["all"]["classifier"]
    assert losses["train"]["similarity"] != losses["all"]["similarity"]


def test_more_weight_on_similarity_makes_flipping_matter_less(graph):
    """The point of the method: what a flipped sensitive channel does to the scores."""
    changed = {}
    own = graph.features[:, graph.channel_index("proxy_strong")].copy()
    means = [own[graph.sensitive == g].mean() for g in (0, 1)]
    flipped = graph.features.copy()
    flipped[:, graph.channel_index("proxy_strong")] += np.where(graph.sensitive == 0, 1, -1) * (means[1] - means[0])
    for weight in (0.0, 0.95):
        settings = {"epochs": 100, "selection": "score", "selection_weight": 0.0, "seed": 0}
        model = NIFTY(encoder="mlp", similarity_weight=weight, **settings).fit(graph)
        difference = model.predict_proba(graph) - model.predict_proba(graph.with_features(flipped))
        changed[weight] = np.abs(difference).mean()
    assert changed[0.95] < 0.8 * changed[0.0]


# --- views ------------------------------------------------------------------------------------------------------------


def test_the_second_view_flips_and_neither_has_noise_in_the_sensitive_channel(graph):
    network = NIFTYNetwork(NIFTY(feature_rate=1.0, edge_rate=0.0), graph)
    first, second = network.views_of_graph.draw(network.streams["views"])
    own = graph.channel_index("proxy_strong")
    x = torch.from_numpy(graph.features.copy())
    assert torch.equal(first.x[:, own], x[:, own])
    means = [x[graph.sensitive == g, own].mean().item() for g in (0, 1)]
    moved = (second.x[:, own] - x[:, own]).numpy()
    expected = np.where(graph.sensitive == 0, 1, -1) * (means[1] - means[0])
    np.testing.assert_allclose(moved, expected, atol=1e-5)
    others = [j for j in range(graph.num_channels) if j != own]
    assert ((first.x != x)[:, others]).all()
    assert ((second.x != first.x)[:, others]).all(), "each view has its own noise"
    assert torch.equal(network.inputs.x, x), "the graph itself stays as it is"


@pytest.mark.parametrize("encoder", ENCODERS)
def test_every_path_gives_the_same_losses(encoder, graph):
    settings: dict[str, Any] = {"encoder": encoder, "precision": "float64", "feature_rate": 0.5, "edge_rate": 0.3}
    general, quick = (NIFTY(**SMALL, **settings, path=path).fit(graph) for path in ("general", "auto"))
    for one, other in zip(general.history_, quick.history_, strict=True):
        for name in ("classifier", "similarity"):
            assert one["loss"][name] == pytest.approx(other["loss"][name], rel=1e-8)
        assert one["score"] == pytest.approx(other["score"], rel=1e-8)
    np.testing.assert_allclose(general.predict_proba(graph), quick.predict_proba(graph), rtol=1e-8)


@pytest.mark.parametrize("gone", ["left out", "absent"])
def test_without_the_sensitive_channel_it_says_that_the_counterfactual_view_is_empty(gone, graph):
    named = graph.replace(sensitive_name="Gender")
    on = named if gone == "left out" else named.replace(sensitive_channels=())
    model = NIFTY(**SMALL, sensitive_channels=gone == "absent").fit(on)
    assert model.notes_ == (
        "NIFTY: its counterfactual view is empty: 'Gender' is not among the channels, so that nothing can be flipped.",
    )
    assert NIFTY(**SMALL).fit(graph).notes_ == ()


def test_more_than_two_groups_and_unknown_ones_train():
    made = fv.synthetic_graph(90, groups={"a": 0.3, "b": 0.3, "c": 0.4}, average_degree=4, seed=1)
    codes = made.sensitive.copy()
    codes[:5] = -1
    made = made.replace(sensitive=codes, sensitive_channels=("plain_1",))
    graph = made.with_splits(fv.stratified_splits(made, repeats=1)[0])
    assert np.isfinite(NIFTY(**SMALL).fit(graph).predict_proba(graph)).all()


# --- weights ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoder", ENCODERS)
def test_every_matrix_of_the_encoder_has_spectral_norm_one(encoder, graph):
    model = NIFTY(**SMALL, encoder=encoder, depth=2).fit(graph)
    found = [weight for weight in model.fitted_.encoder.parameters() if weight.ndim == 2]
    assert len(found) == {"sage": 4, "sign": 1}.get(encoder, 2)  # of `sign`, depth is the hops of one layer
    for weight in found:
        np.testing.assert_allclose(np.linalg.norm(weight.detach().numpy(), 2), 1, rtol=1e-5)


def test_an_encoder_without_links_moves_no_further_than_its_input(graph, other_graph):
    model = NIFTY(**SMALL, encoder="mlp", depth=2).fit(graph)
    noise = np.random.default_rng(0).normal(size=other_graph.features.shape).astype(np.float32)
    moved = model.representations(other_graph.with_features(other_graph.features + noise))
    moved = moved - model.representations(other_graph)
    assert (np.linalg.norm(moved, axis=1) <= np.linalg.norm(noise, axis=1) * (1 + 1e-5)).all()


def test_weights_may_stay_as_they_are(graph):
    model = NIFTY(**SMALL, normalise_weights=False).fit(graph)
    weight = model.fitted_.encoder.first_weights[0].detach().numpy()
    assert abs(np.linalg.norm(weight, 2) - 1) > 1e-3


def test_an_encoder_of_the_users_own_is_trained_and_normalised(graph, other_graph, tmp_path):
    class Own(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = SAGEConv(graph.num_channels, 5)

        def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
            found: torch.Tensor = self.conv(x, edge_index)
            return found

    module = Own()
    model = NIFTY(epochs=2, encoder=module, edge_rate=0.2).fit(graph)
    for weight in model.fitted_.encoder.parameters():
        if weight.ndim == 2:
            np.testing.assert_allclose(np.linalg.norm(weight.detach().numpy(), 2), 1, rtol=1e-5)
    model.save(tmp_path)
    loaded = fv.load_model(tmp_path, encoder=Own())
    np.testing.assert_array_equal(loaded.predict_proba(other_graph), model.predict_proba(other_graph))


# --- going on ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoder", ENCODERS)
def test_a_resumed_run_is_the_same_run(encoder, graph):
    kept: list[Any] = []

    def watch(progress: Any, network: Any) -> None:
        if progress.epochs == 2:
            kept.append((copy.deepcopy(progress), network.state()))

    settings = {**SMALL, "epochs": 5, "encoder": encoder, "edge_rate": 0.1}
    whole = NIFTY(**settings).fit(graph, watch=watch)
    resumed = NIFTY(**settings).fit(graph, resume=kept[0])
    assert resumed.history_ == whole.history_
    assert all(torch.equal(tensor, resumed.tensors()[name]) for name, tensor in whole.tensors().items())


def test_a_saved_model_holds_nothing_that_only_training_needs(graph):
    names = {name.split(".")[0] for name in NIFTY(**SMALL).fit(graph).tensors()}
    assert names == {"encoder", "classifier", "mask", "evaluation_masks", "clamp_mask"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("projection", 0),
        ("similarity_weight", 1.5),
        ("similarity_nodes", "val"),
        ("feature_rate", -0.1),
        ("feature_noise", "both"),
        ("edge_rate", 2.0),
        ("normalise_weights", "yes"),
        ("selection", "best"),
    ],
)
def test_values_out_of_range_are_refused(field, value, graph):
    assert field in settings_model(NIFTY).model_fields
    with pytest.raises(fv.InputError, match=rf"^NIFTY: {field}={value!r}; "):
        NIFTY(**{field: value}).fit(graph)
