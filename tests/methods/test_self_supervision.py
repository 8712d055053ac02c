"""A loss on nodes without a label: what it is, whom it sees, and that it changes nothing where it is not asked for."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

import fairview as fv
from fairview.data.sharded_graph import ShardedGraph
from fairview.methods.fairvgnn import FairVGNNNetwork
from fairview.methods.settings import check_settings
from fairview.methods.terms import Term, joined
from fairview.nn import linear_path
from fairview.training.checkpoint import load_checkpoint, save_checkpoint

ENCODERS = ("gcn", "gin", "sage", "mlp")
KINDS = ("agreement", "reconstruction")
SMALL: dict[str, Any] = {"hidden": 4, "views": 3, "discriminator_steps": 2, "classifier_steps": 2, "generator_steps": 2}
kinds = pytest.mark.parametrize("kind", KINDS)
encoders = pytest.mark.parametrize("encoder", ENCODERS)


class Own(nn.Module):
    """A user's own module."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.first, self.second = nn.Linear(8, 6), nn.Linear(6, 5)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        spread = torch.zeros_like(x).index_add(0, edge_index[1], x[edge_index[0]])
        return self.second(torch.tanh(self.first(x + 0.1 * spread)))


@pytest.fixture
def few(graph: fv.NodeGraph) -> fv.NodeGraph:
    """The same graph with ten training labels; the other training nodes are in no split."""
    return graph.with_splits(fv.stratified_splits(graph, repeats=1, train_labels=10)[0])


def network(graph: fv.NodeGraph, **settings: Any) -> FairVGNNNetwork:
    return FairVGNNNetwork(fv.FairVGNN(**SMALL | {"precision": "float64"} | settings), graph)


def same(a: fv.FairVGNN, b: fv.FairVGNN) -> bool:
    first, second = a.tensors(), b.tensors()
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def open_places(graph: fv.NodeGraph) -> np.ndarray:
    return np.flatnonzero(~(graph.splits["val"] | graph.splits["test"]))


# --- what it is -------------------------------------------------------------------------------------------------------


def expected_loss(run: FairVGNNNetwork, graph: fv.NodeGraph, masks: torch.Tensor) -> torch.Tensor:
    """The classifier's loss, from the encoder's own representations of each view."""
    h = torch.stack([run.encoder(run.inputs.x * mask, run.inputs) for mask in masks])
    train, seen = np.flatnonzero(graph.splits["train"]), open_places(graph)
    labels = torch.from_numpy(graph.labels[train]).double().expand(len(masks), -1)
    logits = run.classifier(h)[..., 0]
    loss = functional.binary_cross_entropy_with_logits(logits[:, train], labels)
    if run.method.self_supervision == "agreement":
        p = torch.sigmoid(logits[:, seen])
        return loss + run.method.self_supervision_weight * ((p - p.mean(dim=0)) ** 2).mean()
    told = [place for place, name in enumerate(graph.channels) if name not in graph.sensitive_channels]
    x = graph.features[np.ix_(seen, told)].astype(np.float64)
    target = torch.from_numpy((x - x.mean(axis=0)) / x.std(axis=0))
    error, hidden = (run.reconstruction(h[:, seen]) - target) ** 2, (1 - masks[:, None, told]).expand(-1, len(seen), -1)
    return loss + run.method.self_supervision_weight * (hidden * error).sum() / hidden.sum()


@kinds
@encoders
@pytest.mark.parametrize("path", ["auto", "general"])
def test_the_classifiers_loss_and_step_are_those_of_the_formula(few, encoder, kind, path):
    settings = {"encoder": encoder, "self_supervision": kind, "self_supervision_weight": 3.0, "dropout": 0.0}
    run, truth = (network(few, **settings, path=path) for _ in range(2))
    masks = run.draw_masks().detach()
    loss = expected_loss(truth, few, masks)
    heads = [truth.classifier, *([truth.reconstruction] if kind == "reconstruction" else [])]
    groups = {"classifier": nn.ModuleList(heads), "encoder": truth.encoder}
    trained = {name: [each for each in module.parameters() if each.requires_grad] for name, module in groups.items()}
    gradients = iter(torch.autograd.grad(loss, [each for module in trained.values() for each in module]))
    assert run.classifier_step(masks) == pytest.approx(loss.item(), rel=1e-9)
    for name, parameters in trained.items():
        truth.optimisers[name].step([next(gradients) for _ in parameters])
        torch.testing.assert_close(run.optimisers[name].mean, truth.optimisers[name].mean, rtol=1e-7, atol=1e-9)


@kinds
@encoders
def test_both_paths_train_the_same_model(few, encoder, kind):
    settings = {"encoder": encoder, "self_supervision": kind, "self_supervision_weight": 2.0}
    runs = [network(few, **settings, path=path) for path in ("auto", "general")]
    for _ in range(2):
        losses = [run.epoch() for run in runs]
        assert losses[0] == pytest.approx(losses[1], rel=1e-8)
    for first, second in zip(*(run.snapshot().items() for run in runs), strict=True):
        torch.testing.assert_close(first[1], second[1], rtol=1e-6, atol=1e-7)


@kinds
@pytest.mark.parametrize("encoder", ["gcn", "gin"])
def test_nodes_that_come_in_parts_give_the_same_step(few, encoder, kind, monkeypatch):
    settings = {"encoder": encoder, "self_supervision": kind}
    whole, parted = network(few, **settings), network(few, **settings)
    masks = whole.draw_masks().detach()
    loss = whole.classifier_step(masks)
    monkeypatch.setattr(linear_path, "BLOCK", 7)  # parts with labelled nodes only, with others only, with both
    assert parted.classifier_step(masks) == pytest.approx(loss, rel=1e-10)
    for name in ("classifier", "encoder"):
        torch.testing.assert_close(whole.optimisers[name].mean, parted.optimisers[name].mean, rtol=1e-9, atol=1e-12)


def test_a_term_without_nodes_in_a_part_counts_nothing_there():
    mean = lambda outputs, places: (outputs * (places + 1)).mean()  # noqa: E731
    loss = joined([Term(np.arange(2), mean), Term(np.arange(2), mean)], lambda part: part)
    values = torch.tensor([[1.0, 2.0, 3.0, 4.0]])
    parts = [(values[:, where], where) for where in (slice(0, 1), slice(1, 2), slice(2, 4))]
    shares = (0.25, 0.25, 0.5)
    assert (
        sum(s * loss(*part).item() for s, part in zip(shares, parts, strict=True)) == loss(values, slice(None)).item()
    )
    assert loss(values, slice(None)).item() == (1 + 4) / 2 + (3 + 8) / 2
    assert loss(values[:, :0], torch.arange(0)).item() == 0


def test_reconstruction_beside_a_distance_is_the_sum_of_all_three_terms(few):
    """The distance compares all nodes, so that they come whole; the terms add up in one pass."""
    weights = {"statistical_parity_weight": 2.0, "penalty_ramp": 0.0}
    alone = network(few, **weights)
    masks = alone.draw_masks().detach()
    both = network(few, **weights, self_supervision="reconstruction", self_supervision_weight=0.5)
    plain = network(few, self_supervision="reconstruction", self_supervision_weight=0.5)
    without = network(few)
    losses = [run.classifier_step(masks) for run in (both, alone, plain, without)]
    assert losses[0] == pytest.approx(losses[1] + losses[2] - losses[3], rel=1e-9)


# --- whom it sees -----------------------------------------------------------------------------------------------------


@kinds
def test_it_learns_from_nodes_without_a_label_and_from_no_held_out_node(few, kind):
    run = network(few, self_supervision=kind)
    assert len(run.train_labels) == 10
    assert run.unlabelled_nodes().tolist() == open_places(few).tolist()
    assert len(run.unlabelled_nodes()) == 60


@kinds
def test_held_out_nodes_change_it_only_as_neighbours_do(graph, kind):
    """Without links, the features of val and test change nothing."""
    bare = graph.replace(adjacency=fv.Adjacency.from_pairs([], [], num_nodes=graph.num_nodes)[0])
    noise = np.where((graph.splits["val"] | graph.splits["test"])[:, None], graph.features + 3, graph.features)
    moved = bare.with_features(noise.astype(np.float32))
    losses = []
    for each in (bare, moved):
        run = network(each, encoder="gcn", self_supervision=kind)
        losses.append(run.classifier_step(run.draw_masks().detach()))
    assert losses[0] == losses[1]


@kinds
def test_it_sees_neither_labels_nor_groups_of_the_unlabelled(few, kind):
    hidden = ~few.splits["train"] & ~few.splits["val"]
    blank = few.replace(
        labels=np.where(hidden, -1, few.labels), sensitive=np.where(hidden, -1, few.sensitive), splits=few.splits
    )
    runs = [network(each, self_supervision=kind) for each in (few, blank)]
    masks = runs[0].draw_masks().detach()
    assert runs[0].classifier_step(masks) == runs[1].classifier_step(masks)


def test_a_view_is_never_asked_for_a_channel_of_the_sensitive_attribute(few):
    run = network(few, self_supervision="reconstruction")
    assert [few.channels[place] for place in run.hideable] == [name for name in few.channels if name != "proxy_strong"]
    assert run.reconstruction.weight.shape == (7, 4)
    assert network(few, self_supervision="reconstruction", sensitive_channels=False).hideable == list(range(7))
    only = few.replace(sensitive_channels=few.channels)
    with pytest.raises(fv.InputError, match=r"^train: self_supervision='reconstruction' has nothing to tell: "):
        network(only, self_supervision="reconstruction")


def test_a_constant_channel_is_told_by_its_mean(few):
    flat = few.features.copy()
    flat[:, 2] = 5.0
    run = network(few.with_features(flat), self_supervision="reconstruction")
    assert (run.targets[:, 2] == 0).all()
    assert np.isfinite(run.classifier_step(run.draw_masks().detach()))


@kinds
def test_a_sample_is_of_open_nodes_and_one_of_everyone_is_everyone(few, trained, kind):
    run = network(few, self_supervision=kind, self_supervision_sample=9)
    drawn = [run.unlabelled_nodes() for _ in range(2)]
    assert [len(nodes) for nodes in drawn] == [9, 9]
    assert not np.array_equal(*drawn)
    assert set(np.concatenate(drawn)) <= set(open_places(few))
    settings = {"self_supervision": kind}
    assert same(trained(few, **settings, self_supervision_sample=60), trained(few, **settings))
    assert not same(trained(few, **settings, self_supervision_sample=9), trained(few, **settings))


# --- where it is not asked for ----------------------------------------------------------------------------------------


@encoders
def test_without_it_its_other_parameters_change_nothing(trained, encoder):
    assert same(
        trained(encoder=encoder, self_supervision_weight=7.0, self_supervision_sample=5), trained(encoder=encoder)
    )


@kinds
def test_a_weight_of_zero_trains_the_plain_model(trained, kind):
    assert same(trained(self_supervision=kind, self_supervision_weight=0.0), trained())
    assert not same(trained(self_supervision=kind), trained())


# --- files ------------------------------------------------------------------------------------------------------------


@kinds
@encoders
def test_the_model_keeps_no_further_head_and_a_checkpoint_does(few, other_graph, encoder, kind, tmp_path):
    settings = SMALL | {"encoder": encoder, "self_supervision": kind, "self_supervision_sample": 30, "epochs": 6}
    kept: list[Any] = []

    def keep(progress: Any, run: FairVGNNNetwork) -> None:
        if progress.epochs == 3:
            save_checkpoint(tmp_path / "checkpoint", copy.deepcopy(progress), run.state(), identity="this run")
            kept.extend(name for name in run.state() if "reconstruction" in name)

    whole = fv.FairVGNN(**settings).fit(few, watch=keep)
    assert bool(kept) == (kind == "reconstruction")
    assert not any("reconstruction" in name for name in whole.tensors())
    resumed = fv.FairVGNN(**settings).fit(few, resume=load_checkpoint(tmp_path / "checkpoint", identity="this run"))
    assert resumed.history_ == whole.history_
    assert same(resumed, whole)
    whole.save(tmp_path / "model")
    loaded = fv.load_model(tmp_path / "model")
    assert loaded.self_supervision == kind
    np.testing.assert_array_equal(loaded.predict_proba(other_graph), whole.predict_proba(other_graph))


def test_a_checkpoint_without_the_further_head_is_not_of_this_run(few):
    kept: list[Any] = []
    settings = SMALL | {"epochs": 2}
    fv.FairVGNN(**settings).fit(few, watch=lambda p, run: kept.append((copy.deepcopy(p), run.state())))
    with pytest.raises(fv.ModelFileError, match="the checkpoint is not of this method"):
        fv.FairVGNN(**settings, self_supervision="reconstruction").fit(few, resume=kept[0])


# --- with everything else ---------------------------------------------------------------------------------------------


@kinds
@pytest.mark.parametrize(
    "ablation",
    [
        {"weight_regulariser": "none"},
        {"generator_steps": 0},
        {"classifier_steps": 0},
        {"mask": "hard"},
        {"predict_from": "view"},
        {"classifier_clamp": 0.01},
        {"discriminator": "energy", "equal_opportunity_weight": 1.0, "penalty_sample": 20},
        {"adversary_sample": 20, "self_supervision_sample": 20},
        {"encoder": "gcn", "depth": 2},
        {"encoder": "sign"},
        {"link_kinds": "groups", "group_at_prediction": True},
        {"encoder": Own()},
        {"sensitive_channels": False},
    ],
    ids=lambda ablation: ",".join(ablation),
)
def test_it_trains_with_every_ablation(few, trained, kind, ablation):
    model = trained(few, self_supervision=kind, **ablation)
    assert np.isfinite(model.predict_proba(few)).all()
    assert same(model, trained(few, **ablation)) == (ablation == {"classifier_steps": 0})


def test_views_agree_more_where_agreement_has_a_weight(few):
    def variance(weight: float) -> float:
        settings = {"self_supervision_weight": weight, "learning_rate_classifier": 0.05, "generator_steps": 0}
        run = network(few, self_supervision="agreement", discriminator_steps=0, **settings)
        for _ in range(40):
            run.epoch()
        with torch.no_grad():
            masks = torch.cat([run.draw_masks() for _ in range(10)])
            return torch.sigmoid(run.path.on().logits(masks, run.classifier)).var(dim=0).mean().item()

    assert variance(100.0) < 0.3 * variance(0.0)


def test_hidden_channels_that_others_know_are_told(few):
    """Two channels are copies of each other: each view that hides one of them and keeps the other can tell it."""
    x = few.features.copy()
    x[:, 1] = x[:, 2]
    bare = few.with_features(x).replace(adjacency=fv.Adjacency.from_pairs([], [], num_nodes=few.num_nodes)[0])
    rates = {"learning_rate_classifier": 0.05, "learning_rate_encoder": 0.05, "weight_regulariser": "none"}
    run = network(
        bare, encoder="mlp", hidden=8, self_supervision="reconstruction", mask="hard", generator_steps=0, **rates
    )
    for _ in range(150):
        run.epoch()
    masks = torch.ones(1, 8, dtype=torch.float64)
    masks[0, 1] = 0
    with torch.no_grad():
        told = run.path.on().logits(masks, run.reconstruction)[0, :, 1]
    assert np.corrcoef(told[open_places(few)], run.targets[open_places(few), 1])[0, 1] > 0.9


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"self_supervision": "agreement", "views": 1},
            "FairVGNN: self_supervision='agreement' compares views, and there is 1. Set views to 2 or more, or use "
            "'reconstruction'.",
        ),
        (
            {"self_supervision": "agreement", "feature_masks": False},
            "FairVGNN: self_supervision='agreement' needs masks, and feature_masks is False. Leave one of them out.",
        ),
        (
            {"self_supervision": "reconstruction", "encoder_updates": ("generator",)},
            "FairVGNN: self_supervision='reconstruction' teaches the encoder in the classifier's phase. Add "
            "'classifier' to encoder_updates.",
        ),
    ],
    ids=["one view", "no masks", "resting encoder"],
)
def test_what_could_do_nothing_is_refused(few, settings, message):
    with pytest.raises(fv.InputError) as caught:
        fv.FairVGNN(**settings).fit(few)
    assert str(caught.value) == message


def test_reconstruction_is_not_divided_among_processes_and_agreement_is(few):
    assert fv.FairVGNN(self_supervision="agreement").divisible()
    assert not fv.FairVGNN(self_supervision="reconstruction").divisible()
    assert fv.FairVGNN(self_supervision="reconstruction", self_supervision_weight=0.0).divisible()
    fields = {name: getattr(few, name) for name in few.__dataclass_fields__ if not name.startswith("_")}
    third = ShardedGraph(**fields, rank=0, edges=(0, few.num_nodes), pieces=list)
    with pytest.raises(fv.InputError, match=r"^several processes: self_supervision='reconstruction' standardises"):
        network(third, self_supervision="reconstruction")


def test_its_search_space_is_the_papers_and_its_own_parameters():
    space = fv.FairVGNN.self_supervised_search_space
    assert set(space) - set(fv.FairVGNN.search_space) == {"self_supervision", "self_supervision_weight"}
    for name, values in space.items():
        for value in values:
            check_settings(fv.FairVGNN, {name: value})
