"""The calibrated loss is what a logistic regression on the logits reaches."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from fairview.nn.calibration import calibrated_loss


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_loss_is_that_of_a_logistic_regression(scale, weighted) -> None:
    draw = np.random.default_rng(1)
    u = draw.normal(size=300)
    y = (draw.random(300) < 1 / (1 + np.exp(-2 * u - 1))).astype(float)
    w = np.where(y > 0, 0.5 / y.mean(), 0.5 / (1 - y.mean())) if weighted else np.ones(300)
    oracle = LogisticRegression(C=1e8, tol=1e-12, fit_intercept=False).fit(u[:, None], y, sample_weight=w)
    p = oracle.predict_proba(u[:, None])[np.arange(300), y.astype(int)]
    logits, labels, weights = (torch.from_numpy(array) for array in (scale * u, y, w))
    found = calibrated_loss(logits, labels, weights if weighted else None).item()
    assert found == pytest.approx(-(w * np.log(p)).mean(), abs=1e-5)
    assert found < 0.65


def test_logits_that_are_wrong_or_all_equal_tell_nothing() -> None:
    labels = torch.tensor([1.0, 0.0, 0.0, 0.0])
    assert calibrated_loss(0.5 - labels, labels).item() == pytest.approx(np.log(2))
    assert calibrated_loss(0 * labels, labels).item() == pytest.approx(np.log(2))
    assert calibrated_loss(0 * labels + 1, labels).item() == pytest.approx(np.log(2))


def test_logits_that_separate_the_classes_have_almost_no_loss() -> None:
    u = torch.linspace(-1, 1, 200)
    assert 0 < calibrated_loss(u, (u > 0).float()).item() < 0.02
    assert calibrated_loss(u, (u > 0.5).float()).item() > 0.3, "0 is where it is"
    assert calibrated_loss(torch.ones(200), torch.ones(200)).item() < 1e-4
