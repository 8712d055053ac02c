from __future__ import annotations

import warnings
from typing import Any

import pytest

import fairview as fv

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PyG's import is not ours to judge
    import torch_geometric.nn  # noqa: F401

SMALL = {"epochs": 3, "hidden": 4, "views": 3, "discriminator_steps": 2, "classifier_steps": 2, "generator_steps": 2}


@pytest.fixture(scope="session")
def graph() -> fv.NodeGraph:
    """120 nodes, two groups of different size, a split; the first channel is the sensitive one's own."""
    made = fv.synthetic_graph(120, groups={"f": 0.4, "m": 0.6}, average_degree=6, homophily=0.7, seed=1)
    made = made.replace(sensitive_channels=("proxy_strong",))
    return made.with_splits(fv.stratified_splits(made, repeats=1)[0])


@pytest.fixture(scope="session")
def other_graph() -> fv.NodeGraph:
    """Unseen nodes with the same channels, and no labels."""
    made = fv.synthetic_graph(70, groups={"f": 0.5, "m": 0.5}, average_degree=4, seed=2)
    return made.replace(labels=(made.labels * 0 - 1))


@pytest.fixture
def trained(graph: fv.NodeGraph) -> Any:
    """FairVGNN with small settings, trained on `graph` or another one."""

    def train(on: fv.NodeGraph | None = None, **changes: Any) -> fv.FairVGNN:
        return fv.FairVGNN(**SMALL | {"seed": 1} | changes).fit(graph if on is None else on)

    return train
