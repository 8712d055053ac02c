from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

import fairview as fv

reductions = pytest.importorskip("fairlearn.reductions")

MOMENTS = {
    "statistical_parity": reductions.DemographicParity,
    "equal_opportunity": reductions.TruePositiveRateParity,
    "equalized_odds": reductions.EqualizedOdds,
}


@pytest.fixture(scope="module")
def german() -> fv.NodeGraph:
    return fv.load_dataset("german")


@pytest.mark.parametrize("constraint", MOMENTS)
def test_scores_are_the_weighted_mean_of_fairlearn_s_members(german, constraint):
    train = german.splits["train"] & german.labelled
    kept = [name not in german.sensitive_channels for name in german.channels]
    x = german.features[:, kept].astype(np.float64)
    scaler = StandardScaler().fit(x[train])
    oracle = reductions.ExponentiatedGradient(
        LogisticRegression(max_iter=1000), MOMENTS[constraint](difference_bound=0.05)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        oracle.fit(scaler.transform(x[train]), german.labels[train], sensitive_features=german.sensitive[train])
        expected = sum(
            weight * oracle.predictors_[m].predict_proba(scaler.transform(x))[:, 1]
            for m, weight in oracle.weights_.items()
        )
        randomised = oracle._pmf_predict(scaler.transform(x))[:, 1]
    model = fv.ExponentiatedGradient(constraint=constraint, difference_bound=0.05).fit(german)
    np.testing.assert_allclose(model.predict_proba(german)[:, 1], expected, atol=1e-9)
    features = german.features[:, kept].astype(np.float64)
    answers = (features @ model.weights_.T + model.biases_ > 0) @ model.shares_
    np.testing.assert_allclose(answers, randomised, atol=1e-9)


def test_the_group_is_neither_seen_nor_needed_at_prediction(german):
    model = fv.ExponentiatedGradient().fit(german)
    assert "Gender" not in model.facts().channels
    nameless = german.replace(sensitive=np.full_like(german.sensitive, -1))
    np.testing.assert_array_equal(model.predict_proba(nameless), model.predict_proba(german))


def test_nodes_of_unknown_group_are_left_out_of_training(german):
    half = german.replace(sensitive=np.where(np.arange(1000) % 2, german.sensitive, -1).astype(np.int16))
    blank = half.replace(labels=np.where(half.sensitive < 0, -1, half.labels).astype(np.int8))
    first, second = (fv.ExponentiatedGradient(max_iterations=5).fit(graph) for graph in (half, blank))
    np.testing.assert_array_equal(first.predict_proba(german), second.predict_proba(german))


def test_more_than_two_groups(german):
    three = german.replace(groups=("a", "b", "c"), sensitive=(np.arange(1000) % 3).astype(np.int16))
    assert fv.ExponentiatedGradient(max_iterations=5).fit(three).predict_proba(three).shape == (1000, 2)


def test_a_member_that_answers_all_alike_is_kept_exactly():
    """One channel without a signal and groups of different base rates: some reweighted labels are all equal."""
    labels = np.array([0, 1] * 20 + [1] * 20)
    graph = fv.NodeGraph.from_arrays(
        features=np.zeros((60, 1)), edges=[[], []], labels=labels, sensitive=["f"] * 40 + ["m"] * 20
    ).with_splits({"train": np.ones(60, dtype=bool)})
    model = fv.ExponentiatedGradient(difference_bound=0.01).fit(graph)
    found = model.predict_proba(graph)
    assert ((found >= 0) & (found <= 1)).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sensitive": [-1] * 4}, "needs labelled train nodes of two groups; 'sensitive' has none there."),
        ({"sensitive": [0] * 4}, "needs labelled train nodes of two groups; 'sensitive' has one there."),
        (
            {"labels": [0, 1, 0, 0]},
            "no label of the group 'm' in train is '1'; ExponentiatedGradient needs one in each group.",
        ),
    ],
)
def test_groups_that_can_not_be_compared(change, message):
    graph = fv.NodeGraph.from_arrays(
        features=[[0.0], [1.0], [2.0], [3.0]], edges=[[], []], labels=[0, 1, 0, 1], sensitive=list("ffmm")
    ).with_splits({"train": np.ones(4, dtype=bool)})
    types = {"sensitive": np.int16, "labels": np.int8}
    other = graph.replace(**{name: np.array(value, dtype=types[name]) for name, value in change.items()})
    with pytest.raises(fv.InputError) as caught:
        fv.ExponentiatedGradient(constraint="equal_opportunity").fit(other)
    assert str(caught.value).removeprefix("train: ").removeprefix("ExponentiatedGradient ") == message


@pytest.mark.parametrize("method", [fv.ExponentiatedGradient, fv.ThresholdOptimizer])
def test_without_fairlearn_the_extra_is_named_and_saved_models_still_predict(method, german, tmp_path, monkeypatch):
    method().fit(german).save(tmp_path)
    monkeypatch.setitem(sys.modules, "fairlearn", None)
    with pytest.raises(fv.MissingPackageError) as caught:
        method().fit(german)
    assert str(caught.value) == (
        f"{method.__name__} needs fairlearn; install it with: pip install 'fairview[fairlearn]'"
    )
    assert fv.load_model(tmp_path).predict_proba(german).shape == (1000, 2)


def test_shares_of_a_file_must_add_up(german):
    model = fv.ExponentiatedGradient(max_iterations=5).fit(german)
    tensors = model.tensors()
    tensors["shares"] *= 2
    with pytest.raises(ValueError, match="do not add up to 1"):
        fv.ExponentiatedGradient().restore(tensors, model.facts())
