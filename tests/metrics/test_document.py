"""Documents of metrics are as untrusted as any file."""

from __future__ import annotations

import math

import pytest

import fairview as fv
from fairview.metrics.document import checked_metrics


def test_what_evaluate_says_is_accepted():
    graph = fv.synthetic_graph(60, seed=1)
    graph = graph.with_splits(fv.stratified_splits(graph)[0])
    evaluation = fv.evaluate(fv.LogisticRegression().fit(graph), graph).to_dict()
    assert checked_metrics({"kind": "metrics", "version": 2, "test": evaluation}) == {"test": evaluation}


@pytest.mark.parametrize(
    "value", [7, -0.1, math.nan, math.inf, "0.5", True, [0.5], {"mean": 0.5}], ids=lambda value: repr(value)
)
def test_a_number_out_of_its_range_is_named(value):
    with pytest.raises(ValueError, match=r"test: auc is .*; expected a number from 0 to 1"):
        checked_metrics({"test": {"auc": value}})


def test_undefined_needs_a_reason():
    assert checked_metrics({"test": {"auc": None, "undefined": {"auc": "one class"}}})
    for undefined in ({}, {"auc": 1}, [], None):
        with pytest.raises(ValueError, match="test: auc is undefined, without a reason"):
            checked_metrics({"test": {"auc": None, "undefined": undefined}})


@pytest.mark.parametrize("document", [[], None, 7, "x"])
def test_no_table_of_metrics_is_said(document):
    with pytest.raises(ValueError, match="expected metrics by split"):
        checked_metrics(document)
    with pytest.raises(ValueError, match="test: expected metrics by name"):
        checked_metrics({"test": document})
