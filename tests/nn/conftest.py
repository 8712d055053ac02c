from collections.abc import Callable

import numpy as np
import pytest

from fairview.data.adjacency import Adjacency


@pytest.fixture(scope="session", autouse=True)
def graphs_are_small(one_thread: None) -> None:
    """Waking a second thread would cost more than all the work."""


@pytest.fixture(scope="session")
def links() -> Callable[..., Adjacency]:
    """Random links; the last two nodes are isolated."""

    def random(nodes: int = 40, pairs: int = 80, *, seed: int = 0, directed: bool = False) -> Adjacency:
        ends = np.random.default_rng(seed).integers(0, nodes - 2, size=(2, pairs))
        return Adjacency.from_pairs(*ends, num_nodes=nodes, directed=directed)[0]

    return random
