from __future__ import annotations

import pytest
from sklearn.base import clone

import fairview as fv

PENALTY = {
    "penalty",
    "statistical_parity_weight",
    "equal_opportunity_weight",
    "equalized_odds_weight",
    "penalty_ramp",
    "penalty_sample",
    "penalise",
}


@pytest.mark.parametrize("method", [fv.NIFTY, fv.EDITS, fv.FairGNN, fv.Masking])
def test_a_rival_takes_all_parameters_of_the_plain_model(method):
    own_loss = method in (fv.NIFTY, fv.FairGNN)  # the others train the plain model's, penalty and all
    assert set(fv.Vanilla().get_params()) - (PENALTY if own_loss else set()) < set(method().get_params())
    assert PENALTY.isdisjoint(method().get_params()) == own_loss
    given = clone(method(hidden=7, seed=3)).get_params()
    assert (given["hidden"], given["seed"]) == (7, 3)


def test_defaults_of_its_own_come_before_those_of_the_plain_model():
    assert (fv.FairGNN().hidden, fv.FairGNN().selection, fv.NIFTY().learning_rate) == (32, "score", 0.01)
    assert fv.FairGNN(hidden=16).hidden == 16


def test_an_unknown_parameter_is_refused():
    with pytest.raises(TypeError, match="hiden"):
        fv.EDITS(hiden=3)


@pytest.mark.parametrize("method", [fv.Vanilla, fv.EDITS, fv.Masking, fv.NIFTY, fv.FairGNN])
def test_defaults_are_those_of_the_published_runs(method):
    """A base class with parameters of its own must not bring back the defaults of their common base."""
    assert (method().epochs, fv.FairVGNN().epochs) == (1000, 200)
