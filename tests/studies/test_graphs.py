from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict
from studies.graphs import Population, bent_graph, neighbour_graph

from fairview.propagation.one_hop import one_hop
from fairview.propagation.operators import Operator


def auc(model, columns, labels):
    scores = cross_val_predict(model, columns, labels, cv=3, method="predict_proba")[:, 1]
    return roc_auc_score(labels, scores)


def rate_gap(positive, groups):
    return abs(positive[groups == 0].mean() - positive[groups == 1].mean())


MAKERS = (Population().graph, neighbour_graph, bent_graph)


@pytest.mark.parametrize("make", MAKERS)
def test_the_same_seed_gives_the_same_graph_and_another_one_other_nodes(make):
    assert make(2000, seed=3).sha256 == make(2000, seed=3).sha256
    assert make(2000, seed=3).sha256 != make(2000, seed=4).sha256


@pytest.mark.parametrize("make", MAKERS)
def test_homophily_and_degree_are_the_dials(make):
    graph = make(5000, seed=0)
    assert graph.homophily() == pytest.approx(0.8)
    assert graph.adjacency.degree.mean() == pytest.approx(10)
    assert rate_gap(graph.labels, graph.sensitive) > 0.05


def test_the_populations_base_rates_are_the_dials():
    graph = Population(base_rate_gap=0.3, label_noise=0.0).graph(50_000, seed=0)
    assert rate_gap(graph.labels, graph.sensitive) == pytest.approx(0.3, abs=0.02)
    noisy = Population(base_rate_gap=0.3, label_noise=0.5).graph(50_000, seed=0)
    assert rate_gap(noisy.labels, noisy.sensitive) == pytest.approx(0.15, abs=0.02)


def test_the_true_gap_of_a_linear_rule_is_that_of_a_large_draw():
    population, rng = Population(), np.random.default_rng(0)
    large = population.graph(200_000, seed=1)
    for _ in range(5):
        weights, bias = rng.standard_normal(8), rng.standard_normal()
        measured = rate_gap(large.features @ weights + bias > 0, large.sensitive)
        assert population.statistical_parity_gap(weights, bias) == pytest.approx(measured, abs=0.01)


def test_in_the_neighbour_graph_the_links_carry_what_the_columns_do_not():
    graph = neighbour_graph(5000, seed=0)
    own = graph.features.astype(float)
    around = one_hop(graph.adjacency, Operator(kind="mean", self_loops=0.0))(np.hstack([own, np.abs(own)]))
    alone = auc(HistGradientBoostingClassifier(max_iter=50), own, graph.labels)
    linked = auc(LogisticRegression(), np.hstack([own, around]), graph.labels)
    bent_too_late = auc(LogisticRegression(), np.hstack([own, around[:, :6]]), graph.labels)
    assert alone < 0.65
    assert linked > 0.8
    assert alone + 0.05 < bent_too_late < linked - 0.05


def test_in_the_bent_graph_trees_know_more_than_a_line():
    graph = bent_graph(5000, seed=0)
    own = graph.features.astype(float)
    assert auc(LogisticRegression(), own, graph.labels) + 0.08 < auc(
        HistGradientBoostingClassifier(max_iter=100), own, graph.labels
    )
