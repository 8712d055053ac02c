from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score, roc_curve

from fairview.leakage.score_curves import calibration, roc, roc_points, score_histogram, thinned
from fairview.undefined import Undefined


def drawn(nodes: int, seed: int = 0, decimals: int = 12) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = (rng.random(nodes) < 0.4).astype(np.int8)
    return labels, (1 / (1 + np.exp(-rng.normal(labels, 1.0)))).round(decimals)


def test_the_histogram_holds_every_score_once() -> None:
    found = score_histogram("f", np.array([0.0, 0.049, 0.05, 0.5, 1.0]))
    assert len(found.edges) == 21
    assert found.edges[:3] == (0.0, 0.05, 0.1)
    assert (found.counts[0], found.counts[1], found.counts[10], found.counts[19]) == (2, 1, 1, 1)
    assert sum(found.counts) == 5


def test_calibration_compares_mean_score_and_observed_share_bin_by_bin() -> None:
    labels, scores = drawn(500)
    found = calibration("f", labels, scores)
    assert sum(one.nodes for one in found.bins) == 500
    for one in found.bins:
        place = int(one.predicted * 10)
        those = (scores >= place / 10) & (scores < (place + 1) / 10)
        assert one.nodes == those.sum()
        assert one.predicted == pytest.approx(scores[those].mean())
        assert one.observed.value == pytest.approx(labels[those].mean())
        assert one.observed.low <= one.observed.value <= one.observed.high


def test_bins_without_nodes_are_left_out_and_a_score_of_one_has_its_place() -> None:
    found = calibration("f", np.array([1, 1, 0], dtype=np.int8), np.array([1.0, 0.95, 0.0]))
    assert [(one.predicted, one.nodes) for one in found.bins] == [(0.0, 1), (0.975, 2)]
    assert calibration("f", np.array([], dtype=np.int8), np.array([])).bins == ()


@pytest.mark.parametrize("decimals", [1, 12])
def test_the_corners_are_scikit_learns(decimals: int) -> None:
    labels, scores = drawn(300, decimals=decimals)
    false, true, _ = roc_curve(labels, scores, drop_intermediate=False)
    np.testing.assert_allclose(roc_points(labels, scores), np.column_stack([false, true]), atol=1e-12)


@pytest.mark.parametrize(("nodes", "decimals"), [(5000, 12), (5000, 2), (150, 12), (20, 12)])
def test_a_thinned_curve_keeps_its_ends_and_its_shape(nodes: int, decimals: int) -> None:
    labels, scores = drawn(nodes, decimals=decimals)
    whole = roc_points(labels, scores)
    points = np.array(thinned(whole))
    assert len(points) <= 100
    assert points[0].tolist() == [0, 0]
    assert points[-1].tolist() == [1, 1]
    assert (np.diff(points, axis=0) >= 0).all()
    assert np.trapezoid(points[:, 1], points[:, 0]) == pytest.approx(roc_auc_score(labels, scores), abs=0.005)
    # every corner of the whole curve is near a piece of the thin one: compared along the direction of growth
    along, off = whole.sum(axis=1), whole[:, 1] - whole[:, 0]
    thin = np.interp(along, points.sum(axis=1), points[:, 1] - points[:, 0])
    assert np.abs(off - thin).max() < 2 * 2 / 99


def test_the_area_is_of_the_whole_curve_and_the_interval_covers_it() -> None:
    labels, scores = drawn(400)
    found = roc("f", labels, scores, seed=1)
    assert found.auc == pytest.approx(roc_auc_score(labels, scores), abs=1e-12)
    plain = found.to_dict()
    assert plain["low"] < plain["auc"] < plain["high"]
    error = ((plain["auc"] * (1 - plain["auc"])) / min(labels.sum(), 400 - labels.sum())) ** 0.5
    assert plain["high"] - plain["low"] < 4 * error
    assert roc("f", labels, scores, seed=1) == found


def test_a_group_of_one_class_has_no_curve_but_a_reason() -> None:
    found = roc("f", np.ones(9, dtype=np.int8), np.linspace(0, 1, 9))
    assert found.auc == Undefined("there are no negative labels")
    assert found.to_dict() == {
        "group": "f",
        "auc": None,
        "low": None,
        "high": None,
        "points": [],
        "undefined": {"auc": "there are no negative labels"},
    }
    assert roc("f", np.array([], dtype=np.int8), np.array([])).auc == Undefined("there are no labelled nodes")
