"""The published settings, cell by cell, and what is said where there is none."""

from __future__ import annotations

import pytest

import fairview as fv
from fairview.methods.presets import PRESETS, _cells, preset_settings
from fairview.methods.settings import check_settings

CELLS = [
    (preset, dataset, encoder) for preset in PRESETS for dataset, kinds in _cells(preset).items() for encoder in kinds
]

# cell: (eps, d/c/g steps, rates of classifier and encoder, ratio, epochs, self-loops)
PUBLISHED = {
    ("paper", "german", "gcn"): (0.1, (5, 10, 5), (0.01, 0.001), 0.0, 200, 1.0),
    ("paper-table4", "german", "gcn"): (0.1, (5, 5, 5), (0.01, 0.001), 0.5, 400, 2.0),
    ("paper", "german", "gin"): (1.0, (10, 10, 5), (0.01, 0.01), 1.0, 200, 2.0),
    ("paper", "german", "sage"): (0.1, (5, 10, 10), (0.001, 0.001), 0.5, 200, 1.0),
    ("paper", "bail", "gcn"): (1.0, (5, 10, 10), (0.01, 0.001), 1.0, 300, 1.0),
    ("paper", "bail", "sage"): (0.1, (5, 5, 5), (0.01, 0.001), 1.0, 200, 1.0),
    ("paper", "credit", "gcn"): (1.0, (5, 5, 10), (0.01, 0.01), 0.0, 200, 1.0),
    ("paper", "credit", "gin"): (0.01, (10, 5, 10), (0.01, 0.01), 1.0, 100, 2.0),
    ("paper", "credit", "sage"): (0.1, (5, 5, 5), (0.01, 0.001), 0.0, 200, 1.0),
}


@pytest.mark.parametrize(("preset", "dataset", "encoder"), CELLS)
def test_every_cell_is_a_model(preset, dataset, encoder):
    settings = preset_settings(preset, None if preset == "default" else dataset, encoder)
    check_settings(fv.FairVGNN, settings)
    assert fv.FairVGNN(**settings).encoder == encoder
    assert "seed" not in settings


TUNED = [(dataset, encoder) for preset, dataset, encoder in CELLS if preset == "tuned"]


@pytest.mark.parametrize(("dataset", "encoder"), TUNED)
def test_tuned_settings_are_of_the_papers_search_space(dataset, encoder):
    tuned = preset_settings("tuned", dataset, encoder)
    published = preset_settings("paper", dataset, "gcn" if encoder == "sign" else encoder) | {"encoder": encoder}
    changed = {name for name in tuned if tuned[name] != published.get(name, 0.001)}  # the defaults of Adam's rates
    assert changed or (dataset, encoder) == ("credit", "sign")  # where those of GCN won
    for name in changed:
        space = next(values for suffix, values in SPACE.items() if suffix in name)
        assert tuned[name] in space


SPACE = {
    "steps": (5, 10),
    "learning_rate": (0.001, 0.01),
    "clamp_threshold": (0.01, 0.1, 1.0),
    "density": (0.0, 0.5, 1.0),
    "epochs": (200, 300, 400),
}


@pytest.mark.parametrize("cell", PUBLISHED, ids=" ".join)
def test_the_published_values(cell):
    preset, dataset, encoder = cell
    model = fv.FairVGNN.from_preset(dataset, encoder, preset=preset)
    assert PUBLISHED[cell] == (
        model.clamp_threshold,
        (model.discriminator_steps, model.classifier_steps, model.generator_steps),
        (model.learning_rate_classifier, model.learning_rate_encoder),
        model.mask_density_weight,
        model.epochs,
        model.self_loops,
    )
    assert (model.hidden, model.views, model.temperature, model.selection_weight) == (16, 10, 1.0, 1.0)
    assert (model.learning_rate_generator, model.learning_rate_discriminator) == (0.001, 0.001)
    assert (model.sensitive_nodes, model.balanced_discriminator, model.mask) == ("all", False, "soft")
    credit = dataset == "credit"
    clamps = {"gcn": 1.0, "gin": 0.1, "sage": 1.0}
    assert model.classifier_clamp == (clamps[encoder] if credit else None)
    assert ("discriminator" in model.encoder_updates) == (not credit)
    assert model.discriminator_encoder_mode == ("eval" if credit else "train")


def test_every_dataset_and_encoder_of_the_paper_has_a_cell():
    for dataset in fv.dataset_names():
        for encoder in ("gcn", "gin", "sage"):
            assert preset_settings("paper", dataset, encoder)["encoder"] == encoder
    assert preset_settings("paper", "bail-no-time", "gcn") == preset_settings("paper", "bail", "gcn")


def test_own_data_has_the_default_preset():
    for encoder in ("gcn", "gin", "sage", "mlp"):
        assert preset_settings("default", None, encoder) == preset_settings("default", "german", encoder)


def test_what_is_handed_out_can_be_changed_without_harm():
    preset_settings("paper", "credit", "gcn")["epochs"] = 1
    assert preset_settings("paper", "credit", "gcn")["epochs"] == 200


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("papre", "german", "gcn"), r"^no preset 'papre'\. Did you mean 'paper'\?$"),
        (("../paper", "german", "gcn"), r"^no preset '\.\./paper'\."),
        (
            ("paper", None, "gcn"),
            r"^preset 'paper' has no cell 'own data gcn'; it has german gcn, .*credit sage\. The preset 'default'",
        ),
        (("paper", "german", "mlp"), r"^preset 'paper' has no cell 'german mlp'"),
        (("paper-table4", "bail", "gcn"), r"^preset 'paper-table4' has no cell 'bail gcn'; it has german gcn\."),
        (("default", None, "gat"), r"^preset 'default' has no cell 'own data gat'"),
    ],
)
def test_what_does_not_exist_is_said(arguments, message):
    with pytest.raises(fv.InputError, match=message):
        preset_settings(*arguments)
