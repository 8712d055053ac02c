"""Do the parts of several processes make up all rows?"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import fairview as fv
from fairview.nn.encoders import EncoderSpec
from fairview.nn.inputs import GraphInputs
from fairview.nn.linear_path import LinearPath
from fairview.nn.paths import Whole
from fairview.nn.sharded_path import ShardedPath

EDGES = (0, 4, 4, 10)
X = np.random.default_rng(0).normal(size=(10, 3)).astype(np.float32)


def path_of(rows: np.ndarray) -> LinearPath:
    graph = fv.NodeGraph.from_arrays(features=X[rows], edges=[[], []], labels=None)
    encoder = EncoderSpec(kind="mlp", hidden=2).build(3, seed=1)
    return LinearPath(encoder, GraphInputs.of(graph, None))


@pytest.mark.parametrize(
    "rows", [None, np.array([1, 3, 5, 8]), np.array([9, 0, 5, 5, 3]), np.array([], dtype=np.int64)]
)
def test_all_processes_together_compute_what_one_would(rows):
    masks, head = torch.ones(2, 3), nn.Linear(2, 1)
    expected = path_of(np.arange(10)).on(rows).logits(masks, head)
    logits, shares = torch.full_like(expected, torch.nan), 0.0
    for rank in range(3):
        own = ShardedPath(path_of(np.arange(EDGES[rank], EDGES[rank + 1])), EDGES, rank).on(rows)
        assert [place.tolist() for place in own.places_by_process()][rank] == own.places.tolist()
        for part, where in own.parts():
            logits[:, where] = part.logits(masks, head)
            shares += own.share(where)
    assert torch.allclose(logits, expected)
    assert shares == pytest.approx(0 if rows is not None and len(rows) == 0 else 1)


def test_a_process_without_nodes_still_has_a_part():
    own = ShardedPath(path_of(np.arange(0)), EDGES, 1).on()
    ((part, where),) = own.parts()
    assert part.logits(torch.ones(1, 3), nn.Linear(2, 1)).shape == (1, 0, 1)
    assert own.share(where) == 0


def test_a_loss_that_compares_all_nodes_is_not_divided():
    own = ShardedPath(path_of(np.arange(4)), EDGES, 0).on()
    with pytest.raises(fv.InputError) as caught:
        Whole(own)
    assert str(caught.value) == (
        "several processes: this loss compares all nodes with each other, so that it can't be divided among "
        "processes. Train it in one process."
    )
