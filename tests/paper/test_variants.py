from __future__ import annotations

import pytest

from fairview.errors import InputError
from fairview.methods.fairvgnn import FairVGNN
from fairview.methods.settings import check_settings
from fairview.paper.variants import SWITCHES, as_published, one_switch, rival, without_adversary

VARIANTS = ("without-fm", "without-wc", "without-both")
CELLS = [(d, e) for d in ("german", "bail", "credit-small") for e in ("gcn", "gin", "sage")]


@pytest.mark.parametrize("variant", SWITCHES)
def test_an_untuned_variant_differs_by_its_switch_alone(variant):
    for dataset, encoder in CELLS:
        full, found = one_switch("full", dataset, encoder), one_switch(variant, dataset, encoder)
        changed = {name for name in found if found[name] != full.get(name)}
        assert changed <= set(SWITCHES[variant])
        check_settings(FairVGNN, found)


def test_tuned_recipes_are_there_where_published():
    missing = {(v, d, e) for v in VARIANTS for d, e in CELLS if as_published(v, d, e) is None}
    assert missing == {(v, "bail", "gin") for v in VARIANTS} | {("without-wc", "credit-small", "gin")}
    for variant in VARIANTS:
        for dataset, encoder in CELLS:
            if (settings := as_published(variant, dataset, encoder)) is not None:
                check_settings(FairVGNN, settings)
                assert (settings.get("feature_masks", True)) == (variant == "without-wc")
                assert (settings.get("weight_regulariser") == "none") == (variant != "without-fm")


def test_spot_checks_of_the_settings():
    found = as_published("without-wc", "bail", "gcn")
    assert (found["discriminator_steps"], found["classifier_steps"], found["generator_steps"]) == (10, 10, 10)
    assert (found["learning_rate_classifier"], found["learning_rate_encoder"]) == (0.001, 0.01)
    assert (found["mask_density_weight"], found["epochs"]) == (1.0, 200)
    found = as_published("without-fm", "credit-small", "gin")
    assert (found["clamp_threshold"], found["classifier_clamp"], found["epochs"]) == (0.01, 0.1, 200)
    assert found["encoder_updates"] == ("classifier", "generator")


def test_figure_3_takes_away_one_adversary():
    base = without_adversary("full", "german")
    assert (base["weight_regulariser"], base["self_loops"], base["discriminator_steps"]) == ("none", 2.0, 5)
    assert without_adversary("without-discriminator", "german") == base | {"discriminator_steps": 0}
    assert without_adversary("without-generator", "german") == base | {"generator_steps": 0}
    assert as_published("fig3-without-discriminator", "german", "gcn")["selection_weight"] == 0.3
    assert as_published("fig3-without-generator", "credit-small", "gcn")["epochs"] == 100
    with pytest.raises(InputError, match="no settings for 'bail'"):
        without_adversary("full", "bail")


def test_edits_prunes_by_the_published_thresholds():
    assert [rival("edits", name)["edge_threshold"] for name in ("german", "credit-small", "bail")] == [
        0.25,
        0.02,
        0.012,
    ]
    assert rival("vanilla", "german") == {}
