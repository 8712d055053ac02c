from __future__ import annotations

import warnings

import pytest

import fairview as fv

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PyG's import is not ours to judge
    import torch_geometric.nn  # noqa: F401


@pytest.fixture(scope="session")
def graph() -> fv.NodeGraph:
    made = fv.synthetic_graph(80, groups={"f": 0.4, "m": 0.6}, average_degree=6, seed=1)
    made = made.replace(node_ids=["=1+1", "-5", 'say "hi", you', "007", *(f"n{i}" for i in range(76))])
    return made.with_splits(fv.stratified_splits(made, repeats=1)[0])
