"""What all trained encoders share: two paths with one meaning, modules of the user's own, stopping, history."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from torch import nn

import fairview as fv

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch_geometric.nn import GCNConv
    from torch_geometric.nn.models import GraphSAGE

    from fairview.methods.fairvgnn import FairVGNNNetwork
    from fairview.training.loop import TrainingError

ENCODERS = ("gcn", "gin", "sage", "sign", "mlp")


class Table(nn.Module):
    """A user's own module that looks at no links, and draws from the global random stream."""

    def __init__(self, channels: int = 8) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(channels, 6), nn.Linear(6, 5)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        assert edge_index.shape[0] == 2
        return self.second(nn.functional.dropout(torch.relu(self.first(x)), 0.3, self.training))


def equal(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


# --- two paths, one meaning -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"mask": "hard", "weight_regulariser": "spectral", "predict_from": "view"},
        {"encoder_updates": ("classifier", "generator"), "discriminator_encoder_mode": "eval", "classifier_clamp": 0.5},
        {"adversary_sample": 40, "balanced_discriminator": True, "weight_regulariser": "none"},
    ],
    ids=["plain", "hard", "credit", "sampled"],
)
def test_general_and_collapsed_path_train_the_same_model(trained, encoder, settings):
    both = [
        trained(encoder=encoder, epochs=5, precision="float64", path=path, **settings) for path in ("general", "auto")
    ]
    general, collapsed = (model.tensors() for model in both)
    assert general.keys() == collapsed.keys()
    for name, tensor in general.items():
        torch.testing.assert_close(collapsed[name], tensor, rtol=1e-8, atol=1e-8)
    assert both[0].best_epoch_ == both[1].best_epoch_
    for one, other in zip(both[0].history_, both[1].history_, strict=True):
        assert one["loss"] == pytest.approx(other["loss"], abs=1e-8)
        assert one["val"] == pytest.approx(other["val"], abs=1e-8)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_vanilla_too(graph, encoder):
    general, collapsed = (
        fv.Vanilla(encoder=encoder, epochs=6, hidden=4, precision="float64", path=path).fit(graph).tensors()
        for path in ("general", "auto")
    )
    for name, tensor in general.items():
        torch.testing.assert_close(collapsed[name], tensor, rtol=1e-8, atol=1e-8)


def test_a_path_that_does_not_exist_is_refused(trained):
    with pytest.raises(fv.InputError, match=r"^path: no collapsed path for this encoder; use 'general' or 'auto'\.$"):
        trained(encoder="gcn", depth=2, path="collapsed")


# --- what the heads see -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoder", ENCODERS)
def test_the_classifier_on_the_representations_gives_the_probabilities(trained, graph, other_graph, encoder):
    model = trained(encoder=encoder, precision="float64")
    for some in (graph, other_graph):
        h = model.representations(some)
        assert h.shape == (some.num_nodes, 4)
        logits = h @ model.tensors()["classifier.weight"].numpy()[0] + model.tensors()["classifier.bias"].item()
        np.testing.assert_allclose(1 / (1 + np.exp(-logits)), model.predict_proba(some)[:, 1], atol=1e-10)


def test_the_fair_view_is_the_mean_of_the_masked_views(trained, graph):
    model = trained(views=5)
    view = model.fair_view(graph)
    masks = model.fitted_.evaluation_masks.numpy()
    expected = np.mean([graph.features * mask for mask in masks], axis=0)
    np.testing.assert_allclose(view.features, expected, atol=1e-6)
    assert view.channels == graph.channels
    assert view.num_edges == graph.num_edges
    assert (view.features == 0).all(axis=0).tolist() == (masks.sum(axis=0) == 0).tolist()
    reordered = graph.with_features(graph.features[:, ::-1], graph.channels[::-1])
    np.testing.assert_array_equal(model.fair_view(reordered).features, view.features)


# --- modules of the user's own ----------------------------------------------------------------------------------------


def test_pygs_own_convolution_trains_like_the_built_in_encoder(trained, graph):
    built_in = FairVGNNNetwork(fv.FairVGNN(hidden=4, precision="float64", seed=1), graph).encoder
    own = GCNConv(8, 4)  # normalises and adds self-loops by itself
    own.load_state_dict({name.removeprefix("layers.0."): value for name, value in built_in.state_dict().items()})
    foreign = trained(encoder=own, precision="float64", clamp_threshold=0.1)
    builtin = trained(encoder="gcn", precision="float64", clamp_threshold=0.1)
    np.testing.assert_allclose(foreign.predict_proba(graph), builtin.predict_proba(graph), atol=1e-8)
    bound = 0.1 * foreign.fitted_.clamp_mask
    assert (foreign.fitted_.encoder.first_weights[0].abs() <= bound).all(), "its first layer is clamped"


def modules() -> list[nn.Module]:
    torch.manual_seed(0)
    return [GraphSAGE(8, 6, num_layers=2, dropout=0.5), Table()]


@pytest.mark.parametrize("number", [0, 1], ids=["pyg model", "plain module"])
@pytest.mark.parametrize("method", ["FairVGNN", "Vanilla"])
def test_any_module_can_be_the_encoder(graph, other_graph, tmp_path, number, method):
    small = {"epochs": 3, "seed": 1} | ({"views": 3} if method == "FairVGNN" else {})
    kind, module = getattr(fv, method), modules()[number]
    before = {name: value.clone() for name, value in module.state_dict().items()}
    state = torch.get_rng_state()
    model = kind(encoder=module, **small).fit(graph)
    assert torch.equal(torch.get_rng_state(), state), "its dropout does not touch the global stream"
    assert equal(dict(module.state_dict()), before), "it is copied, not trained itself"
    assert model.fitted_.encoder.module is not module
    torch.rand(5)
    assert equal(kind(encoder=module, **small).fit(graph).tensors(), model.tensors())

    model.save(tmp_path)
    assert type(module).__name__ not in (tmp_path / "model.json").read_text()
    with pytest.raises(fv.ModelFileError, match=r"its encoder is a module of the user's own; pass it: encoder=module"):
        fv.load_model(tmp_path)
    fresh = modules()[number]
    loaded = fv.load_model(tmp_path, encoder=fresh)
    np.testing.assert_array_equal(loaded.predict_proba(other_graph), model.predict_proba(other_graph))
    for wrong in (nn.Linear(3, 3), Table(channels=7)):
        with pytest.raises(fv.ModelFileError, match="not a model of this version"):
            fv.load_model(tmp_path, encoder=wrong)


def test_a_frozen_encoder_is_used_as_it_is(trained):
    frozen = Table().requires_grad_(False)
    model = trained(encoder=frozen, weight_regulariser="none")
    for name, value in frozen.state_dict().items():
        assert torch.equal(model.tensors()[f"encoder.module.{name}"], value)


def test_a_module_of_the_wrong_shape_is_refused(trained):
    class Pooled(Table):
        def forward(self, x, edge_index):
            return super().forward(x, edge_index).mean(dim=0, keepdim=True)

    with pytest.raises(fv.InputError, match=r"^encoder: it returned \(1, 5\); expected \(120, hidden\)\.$"):
        trained(encoder=Pooled())


# --- stopping ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", ["discriminator", "classifier", "generator"])
def test_a_loss_that_is_not_finite_stops_with_phase_and_epoch(trained, monkeypatch, phase):
    real, calls = getattr(FairVGNNNetwork, f"{phase}_phase"), []

    def broken(self, *masks):
        calls.append(1)
        return real(self, *masks) if len(calls) < 2 else float("nan")

    monkeypatch.setattr(FairVGNNNetwork, f"{phase}_phase", broken)
    with pytest.raises(
        TrainingError, match=rf"^epoch 2, {phase} phase: the loss is nan\. Try smaller learning rates\.$"
    ):
        trained()


@pytest.mark.parametrize("head", ["classifier", "discriminator"])
@pytest.mark.parametrize("encoder", ["gcn", "gin", "mlp"])
@pytest.mark.parametrize("steps", [1, 5])
def test_absurd_learning_rates_end_in_that_error_not_in_another(graph, head, encoder, steps):
    rates = {f"learning_rate_{head}": 1e30, "learning_rate_encoder": 1e30, f"{head}_steps": steps}
    model = fv.FairVGNN(encoder=encoder, **rates, weight_regulariser="none", epochs=5)
    with pytest.raises(TrainingError, match=r"^epoch \d, (\w+ phase|validation): .* Try smaller learning rates\.$"):
        model.fit(graph)
    with pytest.raises(fv.InputError, match="not fitted yet"):
        model.predict_proba(graph)


def test_scores_that_are_not_a_number_are_refused(trained, graph):
    model = trained(weight_regulariser="none")
    huge = graph.with_features(np.where(np.arange(8) % 2, 3e38, -3e38) * np.ones((120, 1)))
    with pytest.raises(fv.InputError, match=r"^predict: \d+ of 120 scores are not a number"):
        model.predict_proba(huge)


def test_ctrl_c_keeps_the_best_state_so_far(graph, trained):
    def stop(progress, network):
        if progress.epochs == 4:
            raise KeyboardInterrupt

    stopped = fv.FairVGNN(epochs=9, hidden=4, views=3, seed=1).fit(graph, watch=stop)
    whole = fv.FairVGNN(epochs=4, hidden=4, views=3, seed=1).fit(graph)
    assert stopped.interrupted_
    assert not whole.interrupted_
    assert stopped.history_ == whole.history_
    assert equal(stopped.tensors(), whole.tensors())


def test_ctrl_c_before_the_first_epoch_is_over_leaves_nothing(graph, monkeypatch):
    def stop(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(FairVGNNNetwork, "generator_phase", stop)
    model = fv.FairVGNN(epochs=2)
    with pytest.raises(KeyboardInterrupt):
        model.fit(graph)
    with pytest.raises(fv.InputError, match="not fitted yet"):
        model.predict(graph)


@pytest.mark.parametrize("patience", [1, 3])
def test_patience_stops_after_so_many_epochs_without_a_better_one(trained, patience):
    model = trained(epochs=60, patience=patience)
    assert len(model.history_) == model.best_epoch_ + patience < 60
    scores = [row["score"] for row in model.history_]
    assert model.best_epoch_ == 1 + scores.index(max(scores))


def test_the_history_has_a_row_per_epoch_with_losses_metrics_and_score(trained):
    model = trained(epochs=4)
    assert [row["epoch"] for row in model.history_] == [1, 2, 3, 4]
    for row in model.history_:
        assert list(row) == ["epoch", "loss", "val", "score"]
        assert list(row["loss"]) == ["discriminator", "classifier", "generator"]
        val = row["val"]
        gaps = val["statistical_parity_gap"] + val["equal_opportunity_gap"]
        assert row["score"] == pytest.approx(val["auc"] + val["f1"] + val["accuracy"] - gaps)


def test_the_kept_epoch_is_the_one_that_predicts(trained, graph):
    model = trained(epochs=6, learning_rate_encoder=0.05)
    kept = model.history_[model.best_epoch_ - 1]["val"]
    found = fv.evaluate(model, graph, split="val")
    assert {name: found[name] for name in kept} == pytest.approx(kept)


def test_a_gap_that_is_undefined_on_validation_is_left_out_openly(graph, trained):
    val = graph.splits["val"]
    labels = np.where(val & (graph.sensitive == 0), 0, graph.labels)
    model = trained(graph.replace(labels=labels))
    assert len(model.selection_notes_) == 1
    assert model.selection_notes_[0].startswith("equal_opportunity_gap: ")
    assert all(row["val"]["equal_opportunity_gap"] is None for row in model.history_)


def test_vanilla_keeps_the_epoch_with_the_lowest_validation_loss_or_the_best_score(graph):
    by_loss = fv.Vanilla(epochs=30, learning_rate=0.05, hidden=4).fit(graph)
    by_score = fv.Vanilla(epochs=30, learning_rate=0.05, hidden=4, selection="score").fit(graph)
    assert all(row["score"] < 0 for row in by_loss.history_), "minus the loss"
    for model in (by_loss, by_score):
        scores = [row["score"] for row in model.history_]
        assert model.best_epoch_ == 1 + scores.index(max(scores))
        assert set(model.keep_probability_.values()) == {1.0}
