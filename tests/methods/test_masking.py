"""Masking by correlation: which channels are blanked out, in training and ever after."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch

import fairview as fv

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from fairview.methods.masking import Masking
    from fairview.nn.encoders import ENCODERS
    from fairview.propagation.mask_by_correlation import mask_by_correlation

SMALL = {"epochs": 4, "hidden": 3, "seed": 1}


def make(**changes: Any) -> Masking:
    return Masking(**SMALL | changes)


def masked(model: Masking) -> set[str]:
    return {name for name, kept in model.keep_probability_.items() if not kept}


def equal(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_s0_is_vanilla_bit_for_bit(graph, encoder):
    plain = fv.Vanilla(**SMALL, encoder=encoder).fit(graph)
    found = make(encoder=encoder, strategy="S0").fit(graph)
    assert equal(found.tensors(), plain.tensors())
    assert found.history_ == plain.history_
    np.testing.assert_array_equal(found.predict_proba(graph), plain.predict_proba(graph))


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("strategy", ["S1", "S2"])
def test_it_is_vanilla_on_the_masked_graph(graph, encoder, strategy):
    blanked = mask_by_correlation(graph, strategy, 3)
    plain = fv.Vanilla(**SMALL, encoder=encoder, precision="float64").fit(blanked)
    found = make(encoder=encoder, strategy=strategy, top_k=3, precision="float64").fit(graph)
    np.testing.assert_allclose(found.predict_proba(graph), plain.predict_proba(blanked), atol=1e-9)


def test_the_channels_of_german():
    german = fv.load_dataset("german")
    assert "Gender" in masked(make(strategy="S1").fit(german))
    for strategy, hops in (("S1", 1), ("S2", 1), ("S2", 3)):
        blanked = mask_by_correlation(german, strategy, 4, hops=hops)
        expected = {name for name in german.channels if not blanked.features[:, german.channels.index(name)].any()}
        assert masked(make(strategy=strategy, hops=hops).fit(german)) == expected
        assert len(expected) == 4


def test_masked_channels_never_reach_a_prediction(graph, other_graph):
    model = make().fit(graph)
    hidden = np.isin(other_graph.channels, list(masked(model)))
    assert hidden.sum() == 4
    noise = np.random.default_rng(0).normal(size=other_graph.features.shape)
    noisy = other_graph.with_features(np.where(hidden, noise, other_graph.features))
    np.testing.assert_array_equal(model.predict_proba(noisy), model.predict_proba(other_graph))
    np.testing.assert_array_equal(model.representations(noisy), model.representations(other_graph))
    assert not model.fair_view(noisy).features[:, hidden].any()


def test_another_graph_is_predicted_without_the_same_channels(graph, other_graph, tmp_path):
    model = make(strategy="S1", top_k=2).fit(graph)
    model.save(tmp_path)
    assert masked(fv.load_model(tmp_path)) == masked(model)
    groups = np.random.default_rng(0).permutation(other_graph.sensitive)
    own = mask_by_correlation(other_graph.replace(sensitive=groups), "S1", 2)
    assert set(np.array(own.channels)[~own.features.any(axis=0)]) != masked(model), "it alone would mask others"
    expected = model.predict_proba(other_graph)
    np.testing.assert_array_equal(model.predict_proba(other_graph.replace(sensitive=groups)), expected)


def test_channels_that_are_left_out_are_not_ranked(graph):
    model = make(sensitive_channels=False, top_k=1, strategy="S1").fit(graph)
    assert "proxy_strong" not in model.keep_probability_
    assert len(masked(model)) == 1


def test_more_channels_than_there_are_is_refused(graph):
    with pytest.raises(fv.InputError, match=r"^top_k: 9; expected 0 to 8, the number of channels\.$"):
        make(top_k=9).fit(graph)
    assert masked(make(top_k=8).fit(graph)) == set(graph.channels)
    assert masked(make(top_k=0).fit(graph)) == set()


@pytest.mark.parametrize(
    ("field", "value"), [("strategy", "S3"), ("top_k", -1), ("top_k", 2.5), ("hops", 0)], ids=lambda value: str(value)
)
def test_values_out_of_range_are_refused_by_name(graph, field, value):
    with pytest.raises(fv.InputError, match=rf"^Masking: {field}={value!r}; "):
        make(**{field: value}).fit(graph)
