"""FairGNN: its three losses by hand, who is updated when, and what it may know."""

from __future__ import annotations

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
    from torch_geometric.nn import GCNConv

    from fairview.methods.fairgnn import (
        FairGNN,
        FairGNNNetwork,
        adversary_loss,
        covariance,
        known_nodes,
        with_more_labels,
    )
    from fairview.nn import linear_path
    from fairview.nn.encoders import ENCODERS
    from fairview.propagation.operators import Operator
    from fairview.training.loop import Progress
    from fairview.training.randomness import Streams

SMALL = {"epochs": 4, "hidden": 3, "seed": 1}


def make(**changes: Any) -> FairGNN:
    return FairGNN(**SMALL | changes)


@pytest.fixture
def path_graph() -> fv.NodeGraph:
    """a - b - c - d - e - f, one unlabelled; the sensitive value of c and d is not known."""
    return fv.NodeGraph.from_arrays(
        features=[[1, 0], [0, 1], [2, 1], [1, 1], [0, 3], [1, 2]],
        edges=[[0, 1, 2, 3, 4], [1, 2, 3, 4, 5]],
        labels=[1, 0, 1, -1, 1, 0],
        sensitive=["f", "m", None, None, "m", "f"],
        splits={"train": np.arange(6) < 3, "val": np.arange(6) > 3},
    )


@pytest.fixture
def unassigned(graph) -> fv.NodeGraph:
    """The common graph with only 20 labelled train nodes; 40 nodes are in no split."""
    train = np.zeros(graph.num_nodes, dtype=bool)
    train[np.flatnonzero(graph.splits["train"])[:20]] = True
    return graph.with_splits({**graph.splits, "train": train})


@pytest.fixture(scope="module")
def three_groups() -> fv.NodeGraph:
    made = fv.synthetic_graph(90, groups={"a": 0.5, "b": 0.3, "c": 0.2}, average_degree=5, seed=4)
    return made.with_splits(fv.stratified_splits(made, repeats=1)[0])


def cross_entropy(logits: np.ndarray, targets: np.ndarray) -> float:
    chance = 1 / (1 + np.exp(-logits))
    return float(-(targets * np.log(chance) + (1 - targets) * np.log(1 - chance)).mean())


# --- losses -----------------------------------------------------------------------------------------------------------


def test_covariance_by_hand():
    sensitive = torch.tensor([[1.0], [1.0], [0.0], [0.2]], dtype=torch.float64)
    scores = torch.tensor([0.9, 0.5, 0.1, 0.3], dtype=torch.float64)
    # means 0.55 and 0.45: (.45 * .45 + .45 * .05 + .55 * .35 + .35 * .15) / 4
    assert covariance(sensitive, scores).item() == pytest.approx(0.1175)
    assert covariance(sensitive, 1 - scores).item() == pytest.approx(0.1175), "the sign does not matter"
    assert covariance(sensitive, scores).item() == pytest.approx(abs(np.cov(sensitive[:, 0], scores, ddof=0)[0, 1]))


def test_covariance_of_a_constant_predictor_is_zero_for_any_number_of_groups():
    for sensitive in (torch.rand(9, 1), torch.rand(9, 4)):
        assert covariance(sensitive, torch.full((9,), 0.5)).item() == 0


def test_covariance_with_an_empty_third_group_is_that_of_two_groups():
    codes, scores = torch.tensor([0, 1, 1, 0, 1]), torch.tensor([0.2, 0.9, 0.4, 0.6, 0.7])
    three = nn.functional.one_hot(codes, 3).float()
    assert covariance(three, scores).item() == pytest.approx(covariance(three[:, 1:2], scores).item())


def test_adversary_loss_is_the_cross_entropy_of_probabilities():
    logits, targets = torch.tensor([0.0, 2.0, -1.0]), torch.tensor([0.3, 1.0, 0.5])
    expected = cross_entropy(logits.numpy(), targets.numpy())
    assert adversary_loss(logits[None, :, None], targets[:, None]).item() == pytest.approx(expected)
    assert adversary_loss(torch.zeros(1, 3, 1), targets[:, None]).item() == pytest.approx(math.log(2))
    # two outputs 0 and z are one output z
    both = torch.stack([torch.zeros(3), logits], dim=1)
    chances = torch.stack([1 - targets, targets], dim=1)
    wide = torch.cat([both, torch.full((3, 1), -1e9)], dim=1)
    assert adversary_loss(wide[None], torch.cat([chances, torch.zeros(3, 1)], dim=1)).item() == pytest.approx(expected)


def test_both_losses_of_an_epoch_by_hand(path_graph):
    network = FairGNNNetwork(make(precision="float64", covariance_weight=4.0, adversary_weight=0.5), path_graph)
    s = Operator(kind="gcn").matrix(path_graph.adjacency).toarray()
    layer = network.encoder.layers[0]

    def logits_now(head: nn.Linear) -> np.ndarray:
        h = s @ path_graph.features @ layer.lin.weight.detach().numpy().T + layer.bias.detach().numpy()
        return (h @ head.weight.detach().numpy().T + head.bias.detach().numpy())[:, 0]

    label, group, guess = logits_now(network.classifier), logits_now(network.discriminator), network.sensitive[:, 0]
    scores = 1 / (1 + np.exp(-label))
    expected = (
        cross_entropy(label[[0, 1, 2]], np.array([1, 0, 1]))
        + 4.0 * abs(np.mean((guess.numpy() - guess.numpy().mean()) * (scores - scores.mean())))
        - 0.5 * cross_entropy(group, guess.numpy())
    )
    assert network.classifier_phase() == pytest.approx(expected, rel=1e-12)
    expected = cross_entropy(logits_now(network.discriminator), guess.numpy())  # the encoder has moved by now
    assert network.adversary_phase() == pytest.approx(expected, rel=1e-12)


# --- the estimator ----------------------------------------------------------------------------------------------------


def test_known_sensitive_values_keep_their_truth_and_the_others_are_estimated(path_graph):
    network = FairGNNNetwork(make(known_sensitive=None), path_graph)
    assert network.known.tolist() == [0, 1]
    assert network.sensitive[[0, 1], 0].tolist() == [0.0, 1.0]
    others = network.sensitive[2:]
    assert ((others > 0) & (others < 1)).all()
    assert network.notes == ("FairGNN: 'sensitive' was known for 2 nodes, estimated for 4.",)


def test_the_estimator_is_a_one_layer_gcn_trained_by_adam(graph):
    method = make(precision="float64", epochs=30, learning_rate=0.05, known_sensitive=25)
    network = FairGNNNetwork(method, graph)
    streams = Streams(method.seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(streams.seed("estimator"))
        layer = GCNConv(graph.num_channels, 3).double()
        torch.manual_seed(streams.seed("estimator"))
        head = nn.Linear(3, 1).double()
    model = nn.ModuleList([layer, head])
    adam = torch.optim.Adam(model.parameters(), lr=0.05, weight_decay=1e-5)
    x, edges = torch.tensor(graph.features, dtype=torch.float64), network.inputs.edge_index
    target = torch.tensor(graph.sensitive[network.known], dtype=torch.float64)
    for _ in range(30):
        adam.zero_grad()
        logits = head(layer(x, edges))[:, 0]
        nn.functional.binary_cross_entropy_with_logits(logits[network.known], target).backward()
        adam.step()
    expected = torch.sigmoid(head(layer(x, edges))[:, 0]).detach()
    expected[network.known] = target
    torch.testing.assert_close(network.sensitive[:, 0], expected, rtol=1e-7, atol=1e-7)


def test_known_nodes_are_drawn_outside_val_and_test(graph):
    outside = ~(graph.splits["val"] | graph.splits["test"])
    drawn = known_nodes(graph, 25, Streams(1)["known"])
    assert len(set(drawn.tolist())) == 25
    assert outside[drawn].all()
    assert drawn.tolist() != known_nodes(graph, 25, Streams(2)["known"]).tolist()
    for count in (None, 1000):
        assert known_nodes(graph, count, Streams(1)["known"]).tolist() == np.flatnonzero(outside).tolist()


def test_sensitive_values_that_are_not_known_do_not_matter(graph):
    method = make(known_sensitive=25, selection="loss")
    fitted = method.fit(graph).tensors()
    other = np.array(1 - graph.sensitive)
    known = known_nodes(graph, 25, Streams(1)["known"])
    other[known] = graph.sensitive[known]
    again = make(known_sensitive=25, selection="loss").fit(graph.replace(sensitive=other)).tensors()
    assert all(torch.equal(fitted[name], again[name]) for name in fitted)


def test_known_values_of_one_group_are_refused(graph):
    sensitive = np.where(graph.splits["train"], 0, graph.sensitive)
    message = (
        r"^train: 'group' is known for 60 of the nodes outside val and test, of fewer than two groups; the others "
        r"can't be estimated from them\. Raise known_sensitive, or draw other splits\.$"
    )
    with pytest.raises(fv.InputError, match=message):
        make().fit(graph.replace(sensitive=sensitive))


# --- labels -----------------------------------------------------------------------------------------------------------


def test_further_labels_come_from_nodes_of_no_split(unassigned):
    larger = with_more_labels(unassigned, 50, Streams(1)["labels"])
    train, before = larger.splits["train"], unassigned.splits["train"]
    assert train.sum() == 50
    assert (train >= before).all()
    assert not (train & (unassigned.splits["val"] | unassigned.splits["test"])).any()
    assert with_more_labels(unassigned, 20, Streams(1)["labels"]).splits["train"].tolist() == before.tolist()


def test_further_labels_are_trained_on(unassigned):
    fitted = make(labels=60, epochs=2).fit(unassigned)
    assert fitted.notes_[-1] == "FairGNN: trained on 60 labels, more than the train split has."
    everybody = unassigned.with_splits(
        {**unassigned.splits, "train": ~(unassigned.splits["val"] | unassigned.splits["test"])}
    )
    expected = make(epochs=2).fit(everybody).tensors()
    assert all(torch.equal(tensor, expected[name]) for name, tensor in fitted.tensors().items())
    assert fitted.facts().graph_sha256 == unassigned.sha256


@pytest.mark.parametrize("count", [19, 61])
def test_labels_that_are_not_there_are_refused(unassigned, count):
    message = (
        rf"^labels: {count}; expected 20 \(the train split's own\) to 60 \(with all labelled nodes of no split\)\.$"
    )
    with pytest.raises(fv.InputError, match=message):
        make(labels=count).fit(unassigned)


def test_german_has_the_published_500_labels():
    german = fv.load_dataset("german")
    assert with_more_labels(german, 500, Streams(1)["labels"]).splits["train"].sum() == 500


# --- the training -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoder", ENCODERS)
def test_each_phase_touches_only_its_own_parameters(graph, encoder):
    network = FairGNNNetwork(make(encoder=encoder), graph)
    guess = network.sensitive.clone()

    def changed(act: Any) -> set[str]:
        modules = {name: network.modules[name] for name in ("encoder", "classifier", "discriminator")}
        before = {name: [p.detach().clone() for p in module.parameters()] for name, module in modules.items()}
        act()
        return {
            name
            for name, module in modules.items()
            if not all(torch.equal(p, q) for p, q in zip(module.parameters(), before[name], strict=True))
        }

    assert changed(network.classifier_phase) == {"encoder", "classifier"}
    assert changed(network.adversary_phase) == {"discriminator"}
    assert torch.equal(network.sensitive, guess)


def test_without_its_weights_it_is_the_plain_network(graph):
    settings = SMALL | {"precision": "float64", "selection": "loss"}
    mine = FairGNN(**settings, covariance_weight=0.0, adversary_weight=0.0).fit(graph).predict_proba(graph)
    np.testing.assert_allclose(mine, fv.Vanilla(**settings).fit(graph).predict_proba(graph), atol=1e-12)


def test_the_covariance_constraint_takes_effect(graph):
    def found(weight: float) -> float:
        method = make(epochs=100, learning_rate=0.02, covariance_weight=weight, known_sensitive=None, selection="loss")
        network = FairGNNNetwork(method, graph)
        for _ in range(method.epochs):
            network.epoch()
        logits = network.everyone.logits(network.draw_masks(), network.classifier)
        return covariance(network.sensitive, torch.sigmoid(logits[0, :, 0])).item()

    assert found(20.0) < 0.2 * found(0.0)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_general_and_collapsed_path_train_the_same_model(graph, encoder):
    general, collapsed = (
        make(encoder=encoder, precision="float64", path=path).fit(graph).tensors() for path in ("general", "auto")
    )
    for name, tensor in general.items():
        torch.testing.assert_close(collapsed[name], tensor, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("encoder", ["gcn", "gin"])
def test_large_graphs_that_come_in_parts_train_the_same_model(graph, encoder, monkeypatch):
    whole = make(encoder=encoder, precision="float64").fit(graph).tensors()
    monkeypatch.setattr(linear_path, "BLOCK", 50)
    for name, tensor in make(encoder=encoder, precision="float64").fit(graph).tensors().items():
        torch.testing.assert_close(tensor, whole[name], rtol=1e-9, atol=1e-9)


def test_three_groups(three_groups):
    network = FairGNNNetwork(make(), three_groups)
    assert network.discriminator.out_features == 3
    torch.testing.assert_close(network.sensitive.sum(dim=1), torch.ones(90))
    codes = torch.from_numpy(three_groups.sensitive[network.known].astype("int64"))
    assert torch.equal(network.sensitive[network.known], nn.functional.one_hot(codes, 3).float())
    losses = network.epoch()
    assert all(map(math.isfinite, losses.values()))
    assert make().fit(three_groups).predict_proba(three_groups).shape == (90, 2)


def test_a_module_of_the_users_own(graph):
    class Own(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(graph.num_channels, 5)

        def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
            return torch.tanh(self.layer(x)) + 0 * edge_index.sum()

    model = make(encoder=Own()).fit(graph)
    assert model.fitted_.modules["discriminator"].in_features == 5
    assert model.representations(graph).shape == (120, 5)


@pytest.mark.parametrize("encoder", ["gcn", "sage"])
def test_a_stopped_run_goes_on_bit_by_bit(graph, encoder):
    whole = make(encoder=encoder).fit(graph)
    kept: dict[int, Any] = {}

    def watch(progress: Any, network: Any) -> None:
        if progress.epochs == 2:
            kept.update(state=network.state(), history=list(progress.history), best=dict(progress.best))
            kept.update(epoch=progress.best_epoch, score=progress.best_score)

    make(encoder=encoder).fit(graph, watch=watch)
    start = Progress(kept["history"], kept["epoch"], kept["score"], kept["best"])
    again = make(encoder=encoder).fit(graph, resume=(start, kept["state"]))
    assert again.history_ == whole.history_
    assert all(torch.equal(tensor, again.tensors()[name]) for name, tensor in whole.tensors().items())
