from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import fairview as fv
from fairview.leakage.cross_validation import macro_auc, stratified_sample
from fairview.leakage.probe import PROBES, probe_auc


@pytest.fixture
def noise():
    return np.random.default_rng(0).standard_normal((600, 4))


CODES = np.arange(600) % 2


@pytest.mark.parametrize("kind", PROBES)
def test_noise_gives_a_half_and_the_interval_holds_it(noise, kind):
    found = probe_auc(noise, CODES, kind=kind)
    assert found.low < 0.5 < found.high
    assert found.nodes == 600


def test_a_shift_between_the_groups_has_its_known_auc(noise):
    noise[:, 0] += CODES
    linear, nonlinear = (probe_auc(noise, CODES, kind=kind) for kind in PROBES)
    assert linear.low < 0.7602 < linear.high  # P(N(1, 1) > N(0, 1)) = Φ(1 / √2)
    assert nonlinear.auc > linear.auc - 0.05  # trees lose a little on 600 nodes


def test_only_the_nonlinear_probe_sees_a_product(noise):
    codes = (noise[:, 0] * noise[:, 1] > 0).astype(int)
    assert probe_auc(noise, codes, kind="linear").auc < 0.6
    assert probe_auc(noise, codes, kind="nonlinear").auc > 0.9


def test_the_same_seed_gives_the_same_number(noise):
    for kind in PROBES:
        first, again = (probe_auc(noise, CODES, kind=kind, seed=3) for _ in range(2))
        assert first == again


def test_unknown_groups_are_left_out(noise):
    noise[:, 0] = CODES
    codes = np.where(np.arange(600) < 300, CODES, -1)
    found = probe_auc(noise, codes, kind="linear")
    assert (found.nodes, found.auc) == (300, 1.0)


def test_three_groups_have_the_mean_of_one_against_the_rest():
    rng = np.random.default_rng(0)
    classes, scores = np.arange(90) % 3, rng.random((90, 3))
    scores /= scores.sum(axis=1, keepdims=True)
    auc, _ = macro_auc(scores, classes)
    assert auc == pytest.approx(roc_auc_score(classes, scores, multi_class="ovr", average="macro"))
    features = rng.standard_normal((90, 2)) + classes[:, None]
    assert 0.6 < probe_auc(features, classes, kind="linear").auc < 0.95


def test_the_errors_add_up_to_the_variance_over_repeated_draws():
    rng = np.random.default_rng(0)
    classes = np.arange(200) % 2
    draws = [macro_auc(np.stack([s := rng.standard_normal(200) + classes, s], axis=1), classes) for _ in range(400)]
    spread = np.std([auc for auc, _ in draws])
    assert np.mean([np.sqrt(errors @ errors) for _, errors in draws]) == pytest.approx(spread, rel=0.15)


def test_ties_count_half():
    scores = np.array([0.1, 0.5, 0.5, 0.5])
    assert macro_auc(np.stack([scores, scores], axis=1), np.array([0, 0, 1, 1]))[0] == 0.75


def test_of_many_nodes_a_stratified_sample_is_used(noise):
    codes = (np.arange(600) < 60).astype(int)
    found = probe_auc(noise, codes, kind="linear", sample=200)
    assert found.nodes == 200
    rows = stratified_sample(np.arange(600), codes, 200, 10, np.random.default_rng(0))
    assert codes[rows].sum() == 20
    assert len(np.unique(rows)) == 200


@pytest.mark.parametrize(
    ("codes", "reason"),
    [
        (np.zeros(600, dtype=int), "fewer than two groups or classes have nodes"),
        (np.full(600, -1), "fewer than two groups or classes have nodes"),
        ((np.arange(600) < 9).astype(int), "a group or class has 9 nodes only; 10 are needed for 5 folds"),
    ],
)
def test_too_little_data_is_undefined(noise, codes, reason):
    assert probe_auc(noise, codes, kind="linear") == fv.Undefined(reason)


def test_no_columns_are_undefined():
    assert probe_auc(np.empty((600, 0)), CODES, kind="linear") == fv.Undefined("there is no channel to read it from")


def test_an_unknown_probe_is_an_error(noise):
    with pytest.raises(fv.InputError, match=r"probe: no 'linea'\. Did you mean 'linear'"):
        probe_auc(noise, CODES, kind="linea")
