"""A package of somebody else's: a metric, a dataset, a method and a figure, announced or registered from outside."""

from __future__ import annotations

import numpy as np
import torch

import fairview as fv


def precision_by_group(counts):
    """P(y = 1 | ŷ = 1, group), shape (..., groups)."""
    predicted = counts[..., 1].sum(axis=-1)
    return np.divide(counts[..., 1, 1], predicted, out=np.full(predicted.shape, np.nan), where=predicted != 0)


METRIC = fv.MetricEntry(
    name="predictive_parity_gap",
    short="PP gap",
    words="predictive parity gap",
    better="lower",
    group_rates=(precision_by_group,),
    undefined="a group has no positive prediction",
    compares="precision",
)


def load_village(files) -> fv.NodeGraph:
    """120 people in two groups, with a split."""
    graph = fv.synthetic_graph(120, groups={"north": 0.4, "south": 0.6}, average_degree=6, seed=3)
    graph = graph.replace(provenance=fv.Provenance(source="village"))
    return graph.with_splits(fv.stratified_splits(graph, repeats=1)[0])


DATASET = fv.Dataset(
    name="village",
    title="A village",
    summary="120 people, linked if they meet; do they vote?",
    nodes=120,
    edges=360,
    channels=5,
    label="votes",
    classes=("no", "yes"),
    sensitive="side",
    groups=("north", "south"),
    homophily=0.5,
    train_labels=40,
    licence="made up",
    harms=("None: nobody lives there.",),
    citation="nobody",
    load=load_village,
)


class Prior(fv.Estimator):
    """Gives every node the share of positive labels, plus a little of its first channel."""

    def __init__(self, *, slope: float = 0.1) -> None:
        self.slope = slope

    def fit(self, graph):
        """Count."""
        self.share_ = float(graph.labels[graph.split("train") & graph.labelled].mean())
        self.facts_ = fv.Facts.of(graph)
        return self

    def predict_proba(self, graph):
        """The share, moved by the first channel."""
        positive = np.clip(self.share_ + self.slope * np.tanh(graph.features[:, 0]), 0, 1)
        return np.stack([1 - positive, positive], axis=1)

    def tensors(self):
        """The share."""
        return {"share": torch.tensor(self.share_, dtype=torch.float64)}

    def restore(self, tensors, facts):
        """From a file."""
        self.share_, self.facts_ = float(tensors["share"]), facts
        return self


METHOD = fv.MethodEntry(name="prior", words="prior of the village", target="outside:Prior")


def village_figure(content) -> fv.Figure:
    """A figure without a chart."""
    return fv.Figure(key="village", heading="Who lives there?", reading="North and south.", panels=(), tables=())


FIGURE = fv.FigureEntry(name="village", contents="Villagers", make=village_figure)
