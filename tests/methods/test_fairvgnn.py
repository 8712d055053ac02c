"""Every parameter does what its line in the docstring says, and nothing else."""

from __future__ import annotations

import copy
import itertools

import numpy as np
import pytest
import torch

import fairview as fv
from fairview.methods.settings import check_settings
from fairview.nn.group_distance import DISTANCES, group_contrasts

ENCODERS = ("gcn", "gin", "sage", "sign", "mlp")
PHASES = ("discriminator", "classifier", "generator")
SUBSETS = [subset for size in range(4) for subset in itertools.combinations(PHASES, size)]


def same(a: fv.FairVGNN, b: fv.FairVGNN, part: str = "") -> bool:
    """Whether the tensors (below `part`) are equal, bit by bit."""
    first = {name: tensor for name, tensor in a.tensors().items() if name.startswith(part)}
    second = {name: tensor for name, tensor in b.tensors().items() if name.startswith(part)}
    assert first
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def network(graph: fv.NodeGraph, **settings: object):
    from fairview.methods.fairvgnn import FairVGNNNetwork

    small = {"hidden": 4, "views": 3, "discriminator_steps": 2, "classifier_steps": 2, "generator_steps": 2}
    return FairVGNNNetwork(fv.FairVGNN(**small | settings), graph)  # type: ignore[arg-type]


def first_weights(model: fv.FairVGNN) -> list[torch.Tensor]:
    return [weight.detach() for weight in model.fitted_.encoder.first_weights]


# --- the ablations ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoder", ENCODERS)
def test_without_feature_masks_every_channel_is_kept(trained, encoder):
    model = trained(encoder=encoder, feature_masks=False)
    assert set(model.keep_probability_.values()) == {1.0}
    columns = len(model.columns_)
    assert torch.equal(model.fitted_.evaluation_masks, torch.ones(1, columns))
    assert torch.equal(model.fitted_.clamp_mask, torch.ones(columns))
    assert [set(row["loss"]) for row in model.history_] == [set(PHASES)] * 3, "the generator phase still runs"


def test_without_feature_masks_the_generator_phase_acts_on_the_encoder_alone(graph):
    run = network(graph, feature_masks=False)
    scores, weight = run.mask.scores.clone(), run.encoder.first_weights[0].clone()
    run.generator_phase()
    assert torch.equal(run.mask.scores, scores)
    assert not torch.equal(run.encoder.first_weights[0], weight)


def test_without_feature_masks_the_adaptive_clamp_is_the_plain_one(trained):
    settings = {"feature_masks": False, "clamp_threshold": 0.05}
    assert same(trained(**settings), trained(**settings, weight_regulariser="plain"))
    assert not same(trained(clamp_threshold=0.05), trained(clamp_threshold=0.05, weight_regulariser="plain"))


@pytest.mark.parametrize("encoder", ENCODERS)
def test_adaptive_clamp_bounds_the_first_layer_by_the_saved_mean_mask(trained, encoder):
    model = trained(encoder=encoder, clamp_threshold=0.05, learning_rate_encoder=0.1)
    bound = 0.05 * model.fitted_.clamp_mask
    weights = first_weights(model)
    assert len(weights) == (2 if encoder == "sage" else 1)
    for weight in weights:
        assert (weight.abs() <= bound).all()
        assert (weight.abs() == bound).any(), "it binds"
    assert ((bound > 0) & (bound < 0.05)).all()


@pytest.mark.parametrize("encoder", ENCODERS)
def test_plain_and_spectral_regularisers_and_none(trained, encoder):
    settings = {"encoder": encoder, "clamp_threshold": 0.05, "learning_rate_encoder": 0.1}
    for weight in first_weights(trained(**settings, weight_regulariser="plain")):
        assert weight.abs().max() == torch.tensor(0.05)
    for weight in first_weights(trained(**settings, weight_regulariser="spectral")):
        assert torch.linalg.matrix_norm(weight, ord=2).item() == pytest.approx(0.05, rel=1e-5)
    free = trained(**settings, weight_regulariser="none")
    assert all(weight.abs().max() > 0.1 for weight in first_weights(free))
    assert not torch.equal(free.fitted_.clamp_mask, torch.ones(8)), "the mean mask is kept for the audit all the same"


def test_without_discriminator_steps_the_discriminator_stays_as_it_was(trained, graph):
    model = trained(discriminator_steps=0)
    fresh = network(graph, seed=1).discriminator
    assert torch.equal(model.tensors()["discriminator.weight"], fresh.weight)
    assert [set(row["loss"]) for row in model.history_] == [{"classifier", "generator"}] * 3


def test_without_generator_steps_the_mask_scores_stay_as_they_were(trained, graph):
    model = trained(generator_steps=0)
    assert torch.equal(model.tensors()["mask.scores"], network(graph, seed=1).mask.scores)
    assert [set(row["loss"]) for row in model.history_] == [{"discriminator", "classifier"}] * 3
    assert not same(model, trained(), "mask")


def test_without_any_step_nothing_is_learnt_but_the_clamp(trained, graph):
    idle = {"discriminator_steps": 0, "classifier_steps": 0, "generator_steps": 0}
    model = trained(**idle, weight_regulariser="none")
    fresh = network(graph, seed=1)
    assert torch.equal(model.tensors()["classifier.weight"], fresh.classifier.weight)
    assert torch.equal(first_weights(model)[0], fresh.encoder.first_weights[0])
    assert model.best_epoch_ == 1
    assert [row["loss"] for row in model.history_] == [{}] * 3


# --- which phase may update the encoder -------------------------------------------------------------------------------


@pytest.mark.parametrize("updates", SUBSETS, ids=lambda subset: "+".join(subset) or "none")
@pytest.mark.parametrize("feature_masks", [True, False])
def test_only_the_named_phases_update_the_encoder(graph, updates, feature_masks):
    run = network(graph, encoder="gin", encoder_updates=updates, feature_masks=feature_masks)
    with torch.no_grad():
        masks = run.draw_masks()
    for phase in PHASES:
        before = [parameter.detach().clone() for parameter in run.encoder.parameters()]
        (run.generator_phase if phase == "generator" else getattr(run, f"{phase}_phase"))(
            *() if phase == "generator" else (masks,)
        )
        moved = any(not torch.equal(a, b) for a, b in zip(before, run.encoder.parameters(), strict=True))
        assert moved == (phase in updates), phase


def test_a_model_whose_encoder_never_learns_trains_its_heads(trained, graph):
    model = trained(encoder_updates=(), weight_regulariser="none")
    assert torch.equal(first_weights(model)[0], network(graph, seed=1).encoder.first_weights[0])
    assert not torch.equal(model.tensors()["classifier.weight"], network(graph, seed=1).classifier.weight)


@pytest.mark.parametrize("encoder", ["gin", "sage"])
def test_in_evaluation_mode_the_discriminator_phase_leaves_batchnorm_alone(graph, encoder):
    for mode in ("train", "eval"):
        run = network(graph, encoder=encoder, discriminator_encoder_mode=mode, encoder_updates=("classifier",))
        before = {name: value.clone() for name, value in run.encoder.named_buffers()}
        with torch.no_grad():
            masks = run.draw_masks()
        run.discriminator_phase(masks)
        unchanged = all(torch.equal(before[name], value) for name, value in run.encoder.named_buffers())
        assert unchanged == (mode == "eval")
        assert run.encoder.training, "the classifier's phase trains it again"


def test_the_mode_does_not_matter_without_batchnorm_and_dropout(trained):
    assert same(trained(discriminator_encoder_mode="eval"), trained())
    assert not same(trained(encoder="gin", discriminator_encoder_mode="eval"), trained(encoder="gin"))


# --- the sensitive attribute ------------------------------------------------------------------------------------------


def test_balancing_matters_only_for_groups_of_different_size(trained, graph):
    assert not same(trained(balanced_discriminator=True), trained(balanced_discriminator=False))
    halves = np.arange(graph.num_nodes) % 2
    even = graph.replace(sensitive=halves)
    assert same(trained(even, balanced_discriminator=True), trained(even, balanced_discriminator=False))


def test_known_for_train_nodes_only_the_groups_of_the_others_do_not_matter(trained, graph):
    settings = {"sensitive_nodes": "train", "selection_weight": 0.0}
    others = ~graph.splits["train"]
    flipped = graph.replace(sensitive=np.where(others, 1 - graph.sensitive, graph.sensitive))
    hidden = graph.replace(sensitive=np.where(others, -1, graph.sensitive))
    reference = trained(**settings)
    assert same(trained(flipped, **settings), reference)
    assert same(trained(hidden, **settings), reference)
    assert same(trained(hidden, selection_weight=0.0), reference), "all known nodes are then those of train"
    assert not same(trained(flipped, selection_weight=0.0), trained(selection_weight=0.0))


def test_no_known_group_in_train_is_refused(trained, graph):
    hidden = graph.replace(sensitive=np.where(graph.splits["train"], -1, graph.sensitive))
    with pytest.raises(fv.InputError, match=r"^train: 'group' is known for no node of the train split\.$"):
        trained(hidden, sensitive_nodes="train")


def test_sensitive_channels_can_be_left_out(trained, graph):
    model = trained(sensitive_channels=False)
    assert "proxy_strong" not in model.facts_.channels
    assert list(model.keep_probability_) == [name for name in graph.channels if name != "proxy_strong"]
    noise = np.where(np.array(graph.channels) == "proxy_strong", 5.0, graph.features)
    assert same(trained(graph.with_features(noise), sensitive_channels=False), model)
    assert not same(trained(graph.with_features(noise)), trained())
    np.testing.assert_array_equal(model.predict_proba(graph.with_features(noise)), model.predict_proba(graph))
    np.testing.assert_array_equal(
        model.predict_proba(graph.without_channels(["proxy_strong"])), model.predict_proba(graph)
    )


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("balanced", [False, True])
def test_three_groups_get_a_logit_each(trained, graph, encoder, balanced):
    three = graph.replace(sensitive=np.arange(graph.num_nodes) % 3, groups=("a", "b", "c"))
    model = trained(three, encoder=encoder, balanced_discriminator=balanced, adversary_sample=50)
    assert model.tensors()["discriminator.weight"].shape == (3, 4)
    assert model.predict_proba(three).shape == (120, 2)
    assert model.facts_.groups == ("a", "b", "c")


def test_nodes_whose_group_is_not_known_teach_the_discriminator_nothing(graph):
    unknown = graph.replace(sensitive=np.where(np.arange(120) < 30, -1, graph.sensitive))
    run = network(unknown)
    assert run.known.tolist() == list(range(30, 120))
    assert len(run.groups) == 90
    with torch.no_grad():
        assert run.those_known.logits(run.draw_masks(), run.discriminator).shape == (3, 90, 1)
        assert run.everyone.logits(run.draw_masks(), run.discriminator).shape == (3, 120, 1)


# --- heads, masks, rows -----------------------------------------------------------------------------------------------


def test_classifier_clamp_bounds_weight_and_bias(trained):
    settings = {"learning_rate_classifier": 0.5}
    clamped, free = trained(**settings, classifier_clamp=0.01), trained(**settings)
    for name in ("classifier.weight", "classifier.bias"):
        assert clamped.tensors()[name].abs().max() <= 0.01
        assert free.tensors()[name].abs().max() > 0.01


@pytest.mark.parametrize("encoder", ["gcn", "sage"])
def test_a_sampled_adversary_takes_other_steps_and_a_sample_of_everyone_the_same(trained, encoder):
    assert not same(trained(encoder=encoder, adversary_sample=30), trained(encoder=encoder))
    assert same(trained(encoder=encoder, adversary_sample=30), trained(encoder=encoder, adversary_sample=30))
    assert same(trained(encoder=encoder, adversary_sample=10_000), trained(encoder=encoder))


def test_the_sampled_losses_are_those_of_the_sampled_nodes(graph):
    run = network(graph, adversary_sample=7, balanced_discriminator=True)
    rows, groups, weights = run.adversary_rows()
    with torch.no_grad():
        masks = run.draw_masks()
        assert rows.logits(masks, run.discriminator).shape == (3, 7, 1)
        assert run.sampled_rows().logits(masks, run.discriminator).shape == (3, 7, 1)
    assert groups.shape == weights.shape == (7,)


def test_predicting_from_the_mean_view_is_the_same_for_linear_encoders_only(trained, graph):
    for encoder, equal in (("gcn", True), ("mlp", True), ("sage", False)):
        logits, view = trained(encoder=encoder), trained(encoder=encoder, predict_from="view")
        assert view.fitted_.evaluation_masks.shape == (1, 8)
        assert torch.equal(view.fitted_.evaluation_masks[0], logits.fitted_.evaluation_masks.mean(dim=0)) or not equal
        close = np.allclose(logits.predict_proba(graph), view.predict_proba(graph), atol=1e-6)
        assert close == equal, encoder


def test_hard_masks_are_0_or_1(trained, graph):
    masks = network(graph, mask="hard").draw_masks()
    assert set(masks.detach().unique().tolist()) <= {0.0, 1.0}
    assert masks.requires_grad
    soft = network(graph).draw_masks()
    assert ((soft > 0) & (soft < 1)).all()
    model = trained(mask="hard", views=4)
    assert set((4 * model.fitted_.clamp_mask).tolist()) <= {0.0, 1.0, 2.0, 3.0, 4.0}
    assert not same(model, trained(views=4))


def test_keep_probability_is_the_softmax_of_the_saved_scores(trained, graph):
    model = trained(learning_rate_generator=0.1)
    expected = torch.softmax(model.tensors()["mask.scores"], dim=1)[:, 0]
    assert list(model.keep_probability_) == list(graph.channels)
    assert list(model.keep_probability_.values()) == expected.tolist()


def test_evaluation_masks_are_saved_and_made_of_0_and_1(trained):
    masks = trained(views=5).fitted_.evaluation_masks
    assert masks.shape == (5, 8)
    assert set(masks.unique().tolist()) == {0.0, 1.0}


@pytest.mark.parametrize(
    ("encoder", "change"),
    [
        ("gcn", {"operator": "mean"}),
        ("gcn", {"self_loops": 2.0}),
        ("gcn", {"hidden": 5}),
        ("gcn", {"depth": 2}),
        ("gcn", {"views": 4}),
        ("gcn", {"temperature": 0.5}),
        ("gcn", {"mask_density_weight": 2.0}),
        ("gcn", {"clamp_threshold": 0.02}),
        ("gcn", {"learning_rate_discriminator": 0.01}),
        ("gcn", {"learning_rate_classifier": 0.02}),
        ("gcn", {"learning_rate_generator": 0.01}),
        ("gcn", {"learning_rate_encoder": 0.01}),
        ("gcn", {"discriminator_steps": 3}),
        ("gcn", {"classifier_steps": 3}),
        ("gcn", {"generator_steps": 3}),
        ("sage", {"dropout": 0.0}),
        ("sage", {"self_loops": 0.0}),
        ("gin", {"self_loops": 2.0}),
    ],
)
def test_every_other_parameter_has_an_effect(trained, encoder, change):
    assert not same(trained(encoder=encoder, **change), trained(encoder=encoder))


def test_dropout_does_nothing_in_encoders_of_one_layer(trained):
    for encoder in ("gcn", "gin", "mlp"):
        assert same(trained(encoder=encoder, dropout=0.0), trained(encoder=encoder, dropout=0.9))


def test_evaluation_noise_does_not_disturb_training(trained):
    assert same(trained(predict_from="view"), trained(), "classifier")
    assert same(trained(selection_weight=0.0, epochs=1), trained(epochs=1))


def test_from_preset_takes_changes_and_refuses_unknown_ones():
    model = fv.FairVGNN.from_preset("german", "gin", seed=4, epochs=7)
    assert (model.encoder, model.seed, model.epochs, model.clamp_threshold) == ("gin", 4, 7, 1.0)
    with pytest.raises(TypeError, match="epoch_count"):
        fv.FairVGNN.from_preset("german", "gin", epoch_count=7)


def test_training_may_lay_the_nodes_out_in_another_order(graph, monkeypatch):
    """Where a layer leaves the cache neighbours are laid together: the same model, up to rounding."""
    settings = {"encoder": "sage", "dropout": 0.0, "precision": "float64", "epochs": 3, "seed": 1}
    plain = fv.FairVGNN(**settings).fit(graph)
    monkeypatch.setattr("fairview.methods.network_method._WIDE", 1)
    seen = []
    monkeypatch.setattr(
        fv.FairVGNN, "_network", lambda self, given, make=fv.FairVGNN._network: seen.append(given) or make(self, given)
    )
    other = fv.FairVGNN(**settings).fit(graph)
    assert not np.array_equal(seen[0].labels, graph.labels)
    assert sorted(seen[0].ids) == sorted(graph.ids)
    np.testing.assert_allclose(other.predict_proba(graph), plain.predict_proba(graph), atol=1e-9)
    assert other.history_[-1]["val"]["auc"] == pytest.approx(plain.history_[-1]["val"]["auc"])
    fv.FairVGNN(**settings | {"encoder": "gcn"}).fit(graph)
    assert seen[1] is graph  # collapsed: works block by block


# --- the distance in place of the discriminator -----------------------------------------------------------------------


ENERGY = {"discriminator": "energy", "statistical_parity_weight": 1.0}


@pytest.mark.parametrize("encoder", ENCODERS)
def test_the_energy_has_no_discriminator_and_no_phase_for_it(trained, graph, encoder, tmp_path):
    model = trained(encoder=encoder, **ENERGY)
    assert [set(row["loss"]) for row in model.history_] == [{"classifier", "generator"}] * 3
    assert not any(name.startswith("discriminator") for name in model.tensors())
    model.save(tmp_path)
    np.testing.assert_array_equal(fv.load_model(tmp_path).predict_proba(graph), model.predict_proba(graph))


def test_without_a_weight_the_classifier_learns_the_labels_alone(graph):
    runs = [network(graph, discriminator=kind) for kind in ("adversarial", "energy")]
    with torch.no_grad():
        masks = [run.draw_masks() for run in runs]
    losses = [run.classifier_phase(mask) for run, mask in zip(runs, masks, strict=True)]
    assert losses[0] == losses[1]
    assert network(graph, discriminator="energy").distance.shares == [1.0, 0.0, 0.0], "the generator keeps parity"


@pytest.mark.parametrize("penalty", ["energy", "threshold"])
def test_the_generator_minimises_distance_and_price_of_masking(graph, penalty):
    run = network(graph, penalty=penalty, discriminator="energy", precision="float64", mask_density_weight=2.0)
    state = run.streams.state()
    masks = run.draw_masks()
    run.streams.load_state(state)
    with torch.no_grad():
        logits = run.distance.rows.logits(masks, run.classifier)
        contrasts = group_contrasts(torch.from_numpy(graph.sensitive[run.distance.nodes]))
        expected = DISTANCES[penalty](logits, contrasts) + 2 * (masks - 1).square().mean()
    assert run.distance_step() == pytest.approx(expected.item(), rel=1e-12)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_the_energy_takes_the_same_steps_on_both_paths(graph, encoder):
    settings = {"encoder": encoder, "precision": "float64", "equal_opportunity_weight": 1.0} | ENERGY
    runs = [network(graph, **settings, path=path) for path in ("auto", "general")]
    for _ in range(2):
        losses = [run.epoch() for run in runs]
        assert losses[0] == pytest.approx(losses[1], rel=1e-8)
    for first, second in zip(*(run.snapshot().items() for run in runs), strict=True):
        torch.testing.assert_close(first[1], second[1], rtol=1e-6, atol=1e-8)


def test_the_energy_brings_the_groups_together(graph):
    def apart(**settings: object) -> float:
        run = network(graph, classifier_steps=0, learning_rate_generator=0.05, learning_rate_encoder=0.02, **settings)
        start = run.distance_of(run.evaluation_logits(run.distance.rows), run.distance.contrasts)
        for _ in range(30):
            run.epoch()
        return (run.distance_of(run.evaluation_logits(run.distance.rows), run.distance.contrasts) / start).item()

    assert apart(discriminator="energy") < 0.3
    assert apart(discriminator="energy", encoder_updates=()) < 0.9, "the masks alone"
    assert apart(discriminator="energy", feature_masks=False) < 0.3, "the encoder alone"
    assert apart(discriminator="energy", generator_steps=0, weight_regulariser="none") == pytest.approx(1)


@pytest.mark.parametrize(
    "ablation",
    [
        {"feature_masks": False},
        {"weight_regulariser": "none"},
        {"weight_regulariser": "spectral"},
        {"generator_steps": 0},
        {"classifier_steps": 0},
        {"discriminator_steps": 0},
        {"encoder_updates": ()},
        {"mask": "hard"},
        {"predict_from": "view"},
        {"classifier_clamp": 0.01},
        {"penalty_sample": 20},
        {"views": 2},
    ],
    ids=str,
)
def test_every_ablation_works_with_the_energy(trained, graph, ablation):
    model = trained(**ENERGY | ablation)
    assert np.isfinite(model.predict_proba(graph)).all()
    assert same(model, trained(**ENERGY)) == (ablation == {"discriminator_steps": 0}), "which has no steps to leave out"


def test_groups_of_held_out_nodes_never_enter_a_distance(trained, graph):
    settings = ENERGY | {"selection_weight": 0.0}
    held_out = graph.splits["val"] | graph.splits["test"]
    flipped = graph.replace(sensitive=np.where(held_out, 1 - graph.sensitive, graph.sensitive))
    assert same(trained(flipped, **settings), trained(**settings))


def test_a_weight_also_works_beside_the_discriminator(trained):
    assert not same(trained(statistical_parity_weight=1.0), trained())
    assert same(trained(penalty="threshold", penalty_sample=5, penalty_ramp=0.0), trained())


def test_three_groups_and_unknown_ones_have_a_distance(trained, graph):
    three = graph.replace(sensitive=np.arange(graph.num_nodes) % 4 - 1, groups=("a", "b", "c"))
    run = network(three, discriminator="energy", equalized_odds_weight=1.0)
    assert run.distance.contrasts.shape[0] == 6
    assert (three.sensitive[run.distance.nodes] >= 0).all()
    assert trained(three, **ENERGY).predict_proba(three).shape == (120, 2)


def test_the_energy_resumes(graph):
    settings = ENERGY | {"epochs": 6, "hidden": 4, "views": 3, "penalty_sample": 30}
    kept = []

    def keep(progress, run):
        if progress.epochs == 3:
            kept.append((copy.deepcopy(progress), run.state()))

    whole = fv.FairVGNN(**settings).fit(graph, watch=keep)
    resumed = fv.FairVGNN(**settings).fit(graph, resume=kept[0])
    assert resumed.history_ == whole.history_
    assert same(resumed, whole)


def test_the_search_space_of_the_energy_is_the_papers_without_the_discriminators_steps():
    space = fv.FairVGNN.energy_search_space
    assert set(fv.FairVGNN.search_space) - set(space) == {"discriminator_steps", "learning_rate_discriminator"}
    for name, values in space.items():
        for value in values:
            check_settings(fv.FairVGNN, {name: value})
