"""Settings of all tests, and the graph that runs and studies are tested on."""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch
from hypothesis import settings

import fairview as fv

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PyG's import is not ours to judge
    import torch_geometric.nn  # noqa: F401

# No deadlines: a busy machine is no bug. The same examples in every CI run; new ones on a developer's machine.
settings.register_profile("fairview", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("fairview")


@pytest.fixture(scope="session")
def graph() -> fv.NodeGraph:
    """80 nodes with awkward ids, two groups of different size, a split."""
    made = fv.synthetic_graph(80, groups={"f": 0.4, "m": 0.6}, average_degree=6, seed=1)
    made = made.replace(node_ids=["=1+1", "-5", 'say "hi", you', "007", *(f"n{i}" for i in range(76))])
    return made.with_splits(fv.stratified_splits(made, repeats=1)[0])


@pytest.fixture(scope="session")
def one_thread() -> Iterator[None]:
    """One thread inside, as before outside."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def weighing(graph: fv.NodeGraph, weight: float | None = None) -> fv.NodeGraph:
    """The same links with this weight, or with weights between 1/8 and 8, the same both ways."""
    links = graph.adjacency
    ends = np.stack([links.sources, links.indices]).astype(int)
    exponents = (ends.min(axis=0) * 7 + ends.max(axis=0) * 3) % 13 / 2 - 3
    weights = 2**exponents if weight is None else np.full(links.num_pairs, weight)
    return graph.replace(adjacency=dataclasses.replace(links, weights=weights.astype(np.float32)))


@pytest.fixture(scope="session")
def with_weights() -> Callable[..., fv.NodeGraph]:
    return weighing


@pytest.fixture(params=["plain", "weighted"])
def weighing_or_not(request: pytest.FixtureRequest) -> Callable[[fv.NodeGraph], fv.NodeGraph]:
    """A test that asks for it runs twice: on a graph as it is, and on one whose links have weights."""
    return weighing if request.param == "weighted" else lambda graph: graph
