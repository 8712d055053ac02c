"""The study of few labels compares like with like."""

from __future__ import annotations

import numpy as np
import pytest
from studies.few_labels import METRICS, PLACES, SETTINGS, TRIES, lines, table, together, with_labels

import fairview as fv
from fairview.methods.settings import check_settings


def test_val_and_test_are_the_same_whatever_the_number_of_labels_and_the_others_are_in_no_split():
    graph = fv.synthetic_graph(400, groups={"f": 0.4, "m": 0.6}, average_degree=4, seed=1)
    splits = [with_labels(graph, 2, labels).splits for labels in (20, 100)]
    for name in ("val", "test"):
        np.testing.assert_array_equal(splits[0][name], splits[1][name])
        assert splits[0][name].sum() == 100
    assert [split["train"].sum() for split in splits] == [20, 100]
    assert not np.array_equal(splits[0]["val"], with_labels(graph, 3, 20).splits["val"])


def test_all_three_have_as_many_tries():
    assert {len(tries) for tries in TRIES.values()} == {2}
    for kind, tries in TRIES.items():
        for settings in tries:
            check_settings(fv.FairVGNN, SETTINGS | settings | {"self_supervision": kind})


def test_differences_are_paired_by_split_and_splits_that_are_not_finished_are_left_out():
    place = {"dataset": "german", "encoder": "gcn", "labels": 20}
    values = {"none": (0.5, 0.7, 0.9), "agreement": (0.6, 0.8), "reconstruction": (0.49, 0.71)}
    rows = [
        place | {"kind": kind, "split": split, "metrics": dict.fromkeys(METRICS, value)}
        for kind, found in values.items()
        for split, value in enumerate(found)
    ]
    found = {(line.kind, line.metric): line for line in lines(rows)}
    assert {line.splits for line in found.values()} == {2}
    assert found["none", "auc"].mean.mean == pytest.approx(0.6)
    assert found["agreement", "auc"].minus_none.mean == pytest.approx(0.1)
    assert found["agreement", "auc"].minus_none.low is None, "both differ by as much"
    assert found["reconstruction", "auc"].minus_none.mean == pytest.approx(0)
    assert found["reconstruction", "auc"].minus_none.high == pytest.approx(0.01 * 12.7062, rel=1e-4)
    assert "| german | gcn | 20 | 2 | none | 60.0 | 60.0 | 60.0 | 60.0 |" in table(list(found.values()))


def test_all_places_together_are_averaged_by_split_first():
    """Each split's difference: 1 and 3 points; t = 12.7062 with one degree of freedom, and s/√n = 1 point."""
    rows = [
        {"dataset": dataset, "encoder": encoder, "labels": 20, "kind": kind, "split": split}
        | {"metrics": dict.fromkeys(METRICS, 0.5 if kind == "none" else 0.51 + 0.02 * split + 0.1 * (place % 2 - 0.5))}
        for split in range(2)
        for place, (dataset, encoder) in enumerate(PLACES)
        for kind in TRIES
    ]
    assert "| agreement | 20 | 2 | +2.0 (-10.7, +14.7) |" in together(rows)
    assert "| reconstruction | 20 | 1 | +1.0 " in together(rows[:-1]), "half a split is left out"
