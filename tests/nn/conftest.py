import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

from fairview.data.adjacency import Adjacency


@pytest.fixture(scope="session", autouse=True)
def graphs_are_small(one_thread: None) -> None:
    """Waking a second thread would cost more than all the work."""


@pytest.fixture(scope="session")
def links() -> Callable[..., Adjacency]:
    """Random links, with weights from 1/8 to 8 if asked; the last two nodes are isolated."""

    def random(
        nodes: int = 40, pairs: int = 80, *, seed: int = 0, directed: bool = False, weighted: bool = False
    ) -> Adjacency:
        rng = np.random.default_rng(seed)
        plain, _ = Adjacency.from_pairs(
            *rng.integers(0, nodes - 2, size=(2, pairs)), num_nodes=nodes, directed=directed
        )
        if not weighted:
            return plain
        table = 2 ** rng.uniform(-3, 3, size=(nodes, nodes))
        table = table if directed else np.maximum(table, table.T)
        return dataclasses.replace(plain, weights=table[plain.sources, plain.indices].astype(np.float32))

    return random
