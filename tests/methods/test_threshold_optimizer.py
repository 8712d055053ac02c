from __future__ import annotations

import logging
import warnings

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fairview as fv

postprocessing = pytest.importorskip("fairlearn.postprocessing")

CONSTRAINTS = {
    "statistical_parity": "demographic_parity",
    "equal_opportunity": "true_positive_rate_parity",
    "equalized_odds": "equalized_odds",
}


@pytest.fixture(scope="module")
def german() -> fv.NodeGraph:
    return fv.load_dataset("german")


@pytest.mark.parametrize("objective", ["balanced_accuracy", "accuracy"])
@pytest.mark.parametrize(
    ("constraint", "tolerance"),
    [
        (name, tolerance)
        for name in CONSTRAINTS
        for tolerance in (0.0, 0.05)
        if (name, tolerance) != ("equalized_odds", 0.05)
    ],
)
def test_scores_are_fairlearn_s_probabilities_of_a_positive_prediction(german, constraint, tolerance, objective):
    train = german.splits["train"] & german.labelled
    x = german.features.astype(np.float64)
    oracle = postprocessing.ThresholdOptimizer(
        estimator=make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        constraints=CONSTRAINTS[constraint],
        objective=f"{objective}_score",
        predict_method="predict_proba",
        tol=tolerance or None,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        oracle.fit(x[train], german.labels[train], sensitive_features=german.sensitive[train])
        expected = oracle._pmf_predict(x, sensitive_features=german.sensitive)
    model = fv.ThresholdOptimizer(constraint=constraint, tolerance=tolerance, objective=objective).fit(german)
    np.testing.assert_allclose(model.predict_proba(german), expected, atol=1e-12)


def test_a_node_of_unknown_group_gets_the_mean_of_the_groups_scores(german, caplog):
    model = fv.ThresholdOptimizer().fit(german)
    by_group = [
        model.predict_proba(german.replace(sensitive=np.full(1000, code, dtype=np.int16)))[:, 1] for code in (0, 1)
    ]
    sensitive = german.sensitive.copy()
    sensitive[:7] = -1
    with caplog.at_level(logging.INFO, logger="fairview"):
        found = model.predict_proba(german.replace(sensitive=sensitive))[:7, 1]
    sizes = np.bincount(german.sensitive[german.splits["train"]])
    np.testing.assert_allclose(found, np.average(by_group, axis=0, weights=sizes)[:7])
    assert "7 of 1,000 nodes have no known group: they get the mean of the groups' scores." in caplog.messages


def test_a_group_without_training_nodes_is_refused_at_prediction(german):
    sensitive = german.sensitive.copy()
    sensitive[np.flatnonzero(german.splits["test"])[:5]] = 2
    graph = german.replace(groups=(*german.groups, "other"), sensitive=sensitive)
    with pytest.raises(fv.InputError, match=r"^predict: ThresholdOptimizer was not fitted with the group 'other'; it"):
        fv.ThresholdOptimizer().fit(graph).predict_proba(graph)


def test_groups_are_matched_by_name(german):
    model = fv.ThresholdOptimizer().fit(german)
    turned = german.replace(groups=german.groups[::-1], sensitive=(1 - german.sensitive).astype(np.int16))
    np.testing.assert_array_equal(model.predict_proba(turned), model.predict_proba(german))


def test_equalized_odds_has_no_tolerance(german):
    with pytest.raises(fv.InputError) as caught:
        fv.ThresholdOptimizer(constraint="equalized_odds", tolerance=0.1).fit(german)
    assert str(caught.value) == (
        "ThresholdOptimizer: tolerance=0.1: fairlearn has none for constraint='equalized_odds'; use 0."
    )


def test_rules_of_a_file_must_be_probabilities(german):
    model = fv.ThresholdOptimizer().fit(german)
    for name, value in (("rules", 2.0), ("nodes", 0)):
        tensors = model.tensors() | {name: torch.full_like(model.tensors()[name], value)}
        with pytest.raises(ValueError, match="not probabilities"):
            fv.ThresholdOptimizer().restore(tensors, model.facts())
