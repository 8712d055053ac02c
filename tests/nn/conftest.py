import warnings
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch

from fairview.data.adjacency import Adjacency

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PyG's import is not ours to judge
    import torch_geometric.nn  # noqa: F401


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    """The graphs here are small: waking a second thread would cost more than all the work."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def links() -> Callable[..., Adjacency]:
    """Random links; the last two nodes are isolated."""

    def random(nodes: int = 40, pairs: int = 80, *, seed: int = 0, directed: bool = False) -> Adjacency:
        ends = np.random.default_rng(seed).integers(0, nodes - 2, size=(2, pairs))
        return Adjacency.from_pairs(*ends, num_nodes=nodes, directed=directed)[0]

    return random
