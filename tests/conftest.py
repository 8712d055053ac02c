"""Settings of all tests, and the graph that runs and studies are tested on."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator

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
