"""Ensembles: whose mean it is, which seeds the members have, and what can't be averaged."""

from __future__ import annotations

import json

import numpy as np
import pytest

import fairview as fv
from fairview.methods.model_files import canonical, checked

SMALL = {"epochs": 3, "hidden": 4}


def small(members: int = 3, **changes) -> fv.Ensemble:
    return fv.Ensemble("vanilla", **{"members": members, "model_settings": SMALL, "encoder": "mlp"} | changes)


def test_the_score_is_the_mean_of_the_members_probabilities(graph, other_graph):
    found = small(seed=2).fit(graph).predict_proba(other_graph)
    singles = [fv.Vanilla(**SMALL, encoder="mlp", seed=seed).fit(graph) for seed in (2000, 2001, 2002)]
    mean = np.mean([single.predict_proba(other_graph)[:, 1] for single in singles], axis=0)
    np.testing.assert_allclose(found[:, 1], mean, rtol=1e-12)


def test_ensembles_of_different_seeds_share_no_member():
    seeds = [member.seed for seed in (1, 2, 3) for member in small(1000, seed=seed).unfitted_members()]
    assert len(set(seeds)) == 3000


def test_a_larger_ensemble_holds_the_members_of_a_smaller_one():
    few, many = ([member.seed for member in small(size).unfitted_members()] for size in (3, 10))
    assert many[:3] == few


def test_a_name_a_class_and_an_instance_are_the_same_ensemble(graph):
    named = small().fit(graph)
    for model, settings in ((fv.Vanilla, SMALL), (fv.Vanilla(**SMALL, encoder="mlp", seed=77), None)):
        encoder = None if settings is None else "mlp"
        other = fv.Ensemble(model, members=3, model_settings=settings, encoder=encoder).fit(graph)
        np.testing.assert_array_equal(other.predict_proba(graph), named.predict_proba(graph))
        assert other.plain_params()["model"] == "vanilla"
        assert other.plain_params()["seed"] == 1


@pytest.mark.parametrize("model", [fv.Vanilla, fv.Vanilla(**SMALL, encoder="mlp")], ids=["class", "instance"])
def test_saved_it_is_told_by_name_and_settings(model, graph, tmp_path):
    fitted = fv.Ensemble(model, members=2, model_settings=SMALL if isinstance(model, type) else None).fit(graph)
    fitted.save(tmp_path)
    parameters = json.loads((tmp_path / "model.json").read_text())["parameters"]
    assert (parameters["model"], parameters["members"]) == ("vanilla", 2)
    np.testing.assert_array_equal(fv.load_model(tmp_path).predict_proba(graph), fitted.predict_proba(graph))


def test_keep_probabilities_are_the_mean_over_the_members(trained, graph):
    model = fv.Ensemble(fv.FairVGNN(epochs=3, hidden=4, views=2), members=2).fit(graph)
    one, other = (member.keep_probability_ for member in model.members_)
    assert model.keep_probability_ == {name: pytest.approx((one[name] + other[name]) / 2) for name in one}
    boosted = fv.Ensemble("parity", members=2, model_settings={"max_iterations": 3}).fit(graph)
    assert not hasattr(boosted, "keep_probability_")


def test_a_model_that_needs_the_group_is_refused(graph):
    with pytest.raises(fv.InputError) as caught:
        fv.Ensemble("group-thresholds", model_settings={"model": "vanilla"}).fit(graph)
    assert str(caught.value) == (
        "Ensemble: model='group-thresholds': it needs each node's group to predict. Align the mean score instead: "
        "GroupThresholds with model='ensemble'."
    )


def test_group_thresholds_can_be_set_on_an_ensemble(graph):
    settings = {"model": "vanilla", "members": 2, "model_settings": SMALL}
    model = fv.GroupThresholds(model="ensemble", model_settings=settings).fit(graph)
    assert [member.seed for member in model.model_.members_] == [1000, 1001]


def test_a_model_without_a_seed_is_refused(graph):
    with pytest.raises(fv.InputError) as caught:
        fv.Ensemble("logistic-regression").fit(graph)
    assert str(caught.value) == (
        "Ensemble: model='logistic-regression': it has no seed, so that all members would be the same."
    )


@pytest.mark.parametrize("outer", [fv.Ensemble, fv.GroupThresholds])
def test_a_method_is_not_put_into_itself(outer, graph):
    name = {fv.Ensemble: "ensemble", fv.GroupThresholds: "group-thresholds"}[outer]
    with pytest.raises(fv.InputError) as caught:
        outer(model=name).fit(graph)
    assert str(caught.value) == (f"{outer.__name__}: model={name!r}: its model can't be {outer.__name__} again.")


def test_settings_of_the_ensemble_are_not_hidden_among_those_of_the_model(graph):
    with pytest.raises(fv.InputError) as caught:
        fv.Ensemble("vanilla", model_settings={"seed": 3}).fit(graph)
    assert str(caught.value) == "Ensemble: model_settings: 'seed': a parameter of Ensemble itself."


class Unregistered(fv.Vanilla):
    """A class of the user's own."""


def test_members_that_are_not_registered_can_be_fitted_but_not_saved(graph, tmp_path):
    model = fv.Ensemble(Unregistered(**SMALL), members=2).fit(graph)
    with pytest.raises(fv.FairviewError) as caught:
        model.save(tmp_path)
    assert str(caught.value) == (
        "Ensemble can't be saved: its model Unregistered is not registered; see fairview.register_method."
    )


@pytest.mark.parametrize("change", [{"members": 2}, {"members": 4}, {"model": "os:system"}, {"model": "fairvgnn"}])
def test_a_file_whose_members_do_not_fit_is_refused(change, graph, tmp_path):
    small().fit(graph).save(tmp_path)
    path = tmp_path / "model.json"
    document = checked(path.read_bytes(), path)
    document["parameters"] |= change
    path.write_bytes(canonical(document))
    with pytest.raises(fv.ModelFileError, match="not a model of this version"):
        fv.load_model(tmp_path)


def test_an_interrupted_member_ends_the_training(graph, monkeypatch):
    def interrupted(self, graph, *, watch=None, resume=None):
        self.interrupted_ = True
        return self

    monkeypatch.setattr(fv.Vanilla, "fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        small().fit(graph)


def test_the_bar_counts_members_and_their_epochs(graph, monkeypatch):
    from contextlib import contextmanager

    from fairview.methods import ensemble

    seen = []

    @contextmanager
    def recorder(_):
        yield lambda *told: seen.append(told)

    monkeypatch.setattr(ensemble, "track_live", recorder)
    small(2).fit(graph)
    assert [told[:2] for told in seen] == [(number, 6) for number in range(1, 7)]
    assert {told[2] for told in seen} == {"member 1 of 2", "member 2 of 2"}


def test_averaging_tames_the_spread_over_seeds(graph):
    """Of the scores, by about the root of the number of members: here of four."""
    settings = {"epochs": 10, "hidden": 4, "encoder": "mlp"}
    singles = [fv.Vanilla(**settings, seed=seed).fit(graph).predict_proba(graph)[:, 1] for seed in range(1, 9)]
    many = [fv.Ensemble(fv.Vanilla(**settings), members=4, seed=seed).fit(graph) for seed in range(1, 9)]
    averaged = [model.predict_proba(graph)[:, 1] for model in many]
    assert 1.4 < np.std(singles, axis=0).mean() / np.std(averaged, axis=0).mean() < 2.8


def test_an_ensemble_is_compared_by_its_settings(graph, tmp_path):
    inside = fv.Ensemble(fv.Vanilla(**SMALL, encoder="mlp"), members=2)
    found = fv.compare(graph, methods=[inside], plain=False, seeds=2, folder=tmp_path, workers=1)
    row = found.summary["rows"][1]
    assert (row["label"], row["failed"], row["runs"]) == ("Ensemble · MLP", 0, 2)
    assert (row["settings"]["model"], row["settings"]["members"]) == ("vanilla", 2)
