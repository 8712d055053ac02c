"""On which graphs and splits are the methods compared, and what may they see?"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from studies.graphs import Population, bent_graph, neighbour_graph

import fairview as fv
from fairview.data.datasets.registry import DATASETS
from fairview.data.graph import NodeGraph
from fairview.groups import UNKNOWN
from fairview.tuning.holdout import Holdout

REAL = ("german", "bail", "bail-no-time", "bail-no-time-links", "credit-small")

SYNTHETIC: dict[str, tuple[Callable[[int], NodeGraph], int | None]] = {
    "population": (lambda nodes: Population().graph(nodes, seed=1), 1000),
    "neighbours": (lambda nodes: neighbour_graph(nodes, seed=1), None),
    "bent": (lambda nodes: bent_graph(nodes, seed=1), None),
}
"""A graph with so many nodes, and how many train labels; None is all that the train split has."""

GRAPHS = (*REAL, *SYNTHETIC)
NODES = 10_000
"""Of the synthetic graphs."""


@lru_cache(maxsize=len(GRAPHS))
def graph_of(name: str, nodes: int = NODES) -> NodeGraph:
    """One of `GRAPHS`; the datasets with their published split, the synthetic ones without any."""
    return SYNTHETIC[name][0](nodes) if name in SYNTHETIC else fv.load_dataset(name)


@lru_cache(maxsize=1)
def division(name: str, split: int, nodes: int = NODES) -> Holdout:
    """The stratified split with this number (from 1), or the published one (0), divided as `blanked` says."""
    graph = graph_of(name, nodes)
    if split:
        labels = SYNTHETIC[name][1] if name in SYNTHETIC else DATASETS[name].train_labels
        graph = graph.with_splits(fv.stratified_splits(graph, repeats=split, train_labels=labels)[-1])
    return blanked(graph)


def blanked(graph: NodeGraph) -> Holdout:
    """What every method is given: labels of train and val nodes only, and the groups of all but the test nodes.

    All val nodes serve the choice of settings and thresholds; nothing is certified here.
    """
    test = graph.split("test")
    known = graph.split("train") | graph.split("val")
    design = graph.replace(
        labels=np.where(known, graph.labels, UNKNOWN), sensitive=np.where(test, UNKNOWN, graph.sensitive)
    )
    nobody = np.empty(0, dtype=np.intp)
    return Holdout(
        graph=graph,
        design=design,
        tuning=np.flatnonzero(graph.split("val") & graph.labelled),
        everybody=nobody,
        labelled=nobody,
        unseen=np.flatnonzero(test),
    )
