from __future__ import annotations

import numpy as np
import pytest

import fairview as fv
from fairview.propagation.correlation import sensitive_correlation
from fairview.propagation.mask_by_correlation import mask_by_correlation
from fairview.propagation.operators import Operator


def masked(graph, view):
    return {name for j, name in enumerate(graph.channels) if (view.features[:, j] == 0).all()}


@pytest.fixture(scope="module")
def german():
    return fv.load_dataset("german")


def test_s0_masks_nothing(german):
    assert mask_by_correlation(german, "S0") is german


@pytest.mark.parametrize(("strategy", "hop"), [("S1", 0), ("S2", 1)])
def test_the_four_strongest_channels_are_zero_and_the_others_as_they_were(german, strategy, hop):
    view = mask_by_correlation(german, strategy)
    strength = np.abs(sensitive_correlation(german, hops=1)[hop])
    strongest = {german.channels[j] for j in np.argsort(-strength)[:4]}
    assert masked(german, view) == strongest
    kept = [j for j, name in enumerate(german.channels) if name not in strongest]
    np.testing.assert_array_equal(view.features[:, kept], german.features[:, kept])
    assert (view.channels, view.sensitive_channels) == (german.channels, german.sensitive_channels)


def test_on_german_the_strategies_differ_in_one_channel(german):
    before, after = (masked(german, mask_by_correlation(german, strategy)) for strategy in ("S1", "S2"))
    assert before - after == {"NumberOfLiableIndividuals"}
    assert after - before == {"YearsAtCurrentJob_lt_1"}


def test_ties_go_to_the_earlier_channel():
    graph = fv.NodeGraph.from_arrays(
        features=[[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]], edges=[[0], [1]], sensitive=["f", "m"]
    )
    assert mask_by_correlation(graph, "S1", top_k=2).features.tolist() == [[0, 0, 0], [0, 0, 1]]


def test_operator_and_hops_choose_what_s2_looks_at(german):
    operator = Operator(kind="sum")
    view = mask_by_correlation(german, "S2", top_k=6, operator=operator, hops=3)
    strength = np.abs(sensitive_correlation(german, operator, 3)[3])
    assert masked(german, view) == {german.channels[j] for j in np.argsort(-strength)[:6]}


def test_the_provenance_says_what_was_masked(german):
    note = mask_by_correlation(german, "S2", top_k=2).provenance.notes[-1]
    assert note == ("masked by S2, |correlation| of the propagated features (gcn, hop 1): 'Gender', 'Single' set to 0")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"strategy": "S3"}, "strategy: no 'S3'. Known: S0, S1, S2."),
        ({"strategy": "S1", "top_k": 28}, "top_k: 28; expected 0 to 27, the number of channels."),
        ({"strategy": "S1", "top_k": -1}, "top_k: -1; expected 0 to 27, the number of channels."),
        ({"strategy": "S2", "hops": 0}, "hops: 0; S2 ranks propagated channels and needs 1 or more."),
    ],
)
def test_wrong_arguments_are_named(german, arguments, said):
    with pytest.raises(fv.InputError) as caught:
        mask_by_correlation(german, **arguments)
    assert str(caught.value) == said
