from __future__ import annotations

import json

import numpy as np
import pytest

import fairview as fv
from fairview.leakage.threshold_curve import SHOWN, THRESHOLDS, threshold_curve

GROUPS = ("a", "b", "c")


def drawn(nodes: int = 400, groups: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = (rng.random(nodes) < 0.5).astype(np.int8)
    codes = rng.integers(-1, groups, size=nodes).astype(np.int16)
    scores = (1 / (1 + np.exp(-rng.normal(labels + 0.3 * codes, 1.0)))).round(2)  # on the thresholds, too
    return labels, scores, codes


@pytest.mark.parametrize("groups", [2, 3])
def test_every_point_is_what_the_evaluator_finds_at_that_threshold(groups: int) -> None:
    labels, scores, codes = drawn(groups=groups)
    found = threshold_curve(labels, scores, codes=codes, groups=GROUPS[:groups])
    for place, threshold in enumerate(THRESHOLDS.tolist()):
        evaluator = fv.Evaluator.from_codes(labels, codes=codes, groups=GROUPS[:groups], threshold=threshold)
        expected = evaluator(scores)
        for name in SHOWN:
            assert found.values[name][place] == pytest.approx(expected[name], abs=1e-15)


def test_the_band_at_the_chosen_threshold_is_the_rows_interval() -> None:
    labels, scores, codes = drawn(2000, groups=2)
    found = threshold_curve(labels, scores, codes=codes, groups=GROUPS[:2], resamples=1500, seed=1)
    expected = fv.Evaluator.from_codes(labels, codes=codes, groups=GROUPS[:2])(scores, intervals=True, resamples=1500)
    place = found.thresholds.index(0.5)
    for name in SHOWN:
        interval = expected.intervals[name]
        assert found.low[name][place] == pytest.approx(interval.low, abs=0.01)
        assert found.high[name][place] == pytest.approx(interval.high, abs=0.01)


def test_bands_hold_their_curve_and_depend_on_the_seed_alone() -> None:
    labels, scores, codes = drawn()
    found, again, other = (threshold_curve(labels, scores, codes=codes, groups=GROUPS, seed=seed) for seed in (1, 1, 2))
    assert found.to_dict() == again.to_dict()
    assert found.to_dict() != other.to_dict()
    for name in SHOWN[1:]:
        assert all(0 <= low <= value <= high <= 1 for low, value, high in bands(found, name))
    assert all(low <= value <= high for low, value, high in bands(found, "accuracy"))


def bands(found: object, name: str) -> list[tuple[float, float, float]]:
    return list(zip(found.low[name], found.values[name], found.high[name], strict=True))


def test_blocks_do_not_matter_to_the_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    labels, scores, codes = drawn()
    monkeypatch.setattr("fairview.leakage.threshold_curve._BLOCK", 10_000)
    found = threshold_curve(labels, scores, codes=codes, groups=GROUPS, resamples=50)
    assert len(found.high["equal_opportunity_gap"]) == 101


def test_what_has_no_value_or_no_band_is_null_with_the_reason() -> None:
    labels = np.array([1, 1, 0, 0, 0, 0] * 5, dtype=np.int8)
    codes = np.array([0, 0, 0, 0, 1, 1] * 5, dtype=np.int16)
    plain = threshold_curve(labels, np.linspace(0, 1, 30), codes=codes, groups=("a", "b")).to_dict()
    assert plain["undefined"] == {"equal_opportunity_gap": "group 'b' has no positive labels"}
    assert plain["points"][50]["equal_opportunity_gap"] is None
    assert plain["points"][50]["low"]["equal_opportunity_gap"] is None
    assert plain["points"][50]["statistical_parity_gap"] is not None
    assert "NaN" not in json.dumps(plain)
    few = threshold_curve(labels[:12], np.linspace(0, 1, 12), codes=codes[:12], groups=("a", "b")).to_dict()
    assert few["no_band"] == {"statistical_parity_gap": "group 'b' has only 4 nodes, too few for an interval"}
    assert few["points"][3]["high"]["statistical_parity_gap"] is None
    assert few["points"][3]["high"]["accuracy"] is not None


def test_without_nodes_nothing_is_defined() -> None:
    nobody = np.array([], dtype=np.int8)
    found = threshold_curve(nobody, np.array([]), codes=nobody.astype(np.int16), groups=("a", "b"))
    assert set(found.undefined) == set(SHOWN)
    assert repr(found) == "ThresholdCurve(101 thresholds, chosen 0.5: nothing defined)"
