"""A column that leaks at one hop only: SIGN's masks hide it there and keep it at hop 0; GCN's one mask can't."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from studies.hops import SETTINGS, crossed_graph

import fairview as fv
from fairview.propagation.correlation import sensitive_correlation

SEEDS = (1, 2, 3)


@pytest.fixture(scope="module")
def graph() -> fv.NodeGraph:
    return crossed_graph(1000, seed=2)


def fitted(graph: fv.NodeGraph, encoder: str) -> list[Any]:
    return [fv.FairVGNN(encoder=encoder, seed=seed, **{**SETTINGS, "epochs": 50}).fit(graph) for seed in SEEDS]


def mean_auc(models: list[Any], graph: fv.NodeGraph) -> float:
    return float(np.mean([fv.evaluate(model, graph, split="test")["auc"] for model in models]))


def test_the_column_leaks_at_one_hop_only(graph: fv.NodeGraph) -> None:
    home, once, twice = np.abs(sensitive_correlation(graph, hops=2)[:, 0])
    assert home < 0.05
    assert once > 0.9
    assert twice < 0.3
    positive = graph.features[graph.labels == 1, 0].mean() - graph.features[graph.labels == 0, 0].mean()
    assert positive > 0.5  # and is useful at hop 0


def test_sign_keeps_a_column_at_home_and_hides_it_where_it_leaks(graph: fv.NodeGraph) -> None:
    sign, gcn = fitted(graph, "sign"), fitted(graph, "gcn")
    kept = {name: np.mean([model.keep_probability_[name] for model in sign]) for name in sign[0].keep_probability_}
    assert kept["kind@0"] - kept["kind@1"] > 0.3
    assert kept["kind@2"] - kept["kind@1"] > 0.3
    assert kept["kind@0"] > 0.5 > kept["kind@1"]
    once = {name: np.mean([model.keep_probability_[name] for model in gcn]) for name in gcn[0].keep_probability_}
    assert once["kind"] == min(once.values()) < 0.5  # one mask for all hops: it goes, and what it was good for, too
    assert mean_auc(sign, graph) - mean_auc(gcn, graph) > 0.2
