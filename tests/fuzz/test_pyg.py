"""PyTorch Geometric's `Data`, with attributes that are not what they must be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import strategies as st
from tests.fuzz.trial import CASES, try_many
from torch_geometric.data import Data, HeteroData

import fairview as fv
from fairview.data.pyg import to_pyg

NAN, INF = float("nan"), float("inf")


def sound() -> dict[str, Any]:
    """What `to_pyg` writes of a graph of six nodes."""
    made = fv.synthetic_graph(6, average_degree=2, seed=1)
    split = {"train": np.arange(6) < 3, "val": np.arange(6) == 3, "test": np.arange(6) > 3}
    data = to_pyg(made.replace(splits=split, node_ids=list("abcdef")))
    return {name: data[name] for name in data.keys()}  # noqa: SIM118 - Data is no mapping


SOUND = sound()
TENSORS: tuple[Any, ...] = (
    torch.tensor(1.0), torch.zeros(0), torch.zeros(6), torch.ones(6, 3), torch.full((6, 8), NAN),
    torch.full((6, 8), INF), torch.full((6, 8), 1e300, dtype=torch.float64), torch.zeros(2, 3, 4),
    torch.zeros(6, 0), torch.zeros(0, 8), torch.ones(6, dtype=torch.bool), torch.zeros(6, dtype=torch.int64),
    torch.tensor([0, 1, 2, 3, 4, 5]), torch.tensor([0, 1, -1, 7, 2**40, -(2**40)]), torch.tensor([[0, 1], [1, 2]]),
    torch.tensor([[0, 6], [1, 2]]), torch.tensor([[-1, 0], [1, 2]]), torch.tensor([[0.5, 1], [1, 2]]),
    torch.tensor([[NAN, 1], [1, 2]]), torch.zeros(3, 2, dtype=torch.int64), torch.zeros(2, 0, dtype=torch.int64),
    torch.zeros(6, dtype=torch.bfloat16), torch.zeros(6, dtype=torch.complex64), torch.ones(6, 6).to_sparse(),
    torch.zeros(6, 8, device="meta"),
    torch.zeros(6, requires_grad=True), torch.tensor([0.0, 1.0, NAN, 2.0, 1.0, 0.0]),
)  # fmt: skip
THINGS: tuple[Any, ...] = (
    None, 0, 1, -1, True, 2.5, NAN, "", "x", b"x", [], ["a"], ["a", "a"], ["a", "b"], list("abcdef"), [None] * 6,
    [[1], [1, 2]], {}, {"a": 1}, {1, 2}, (), object(), np.zeros(6), np.array(["a"] * 6), np.array([None] * 6),
    range(6), "x" * 50_000, ["x" * 50_000] * 6, 10**400, np.zeros((6, 8), dtype=object), lambda: 0,
)  # fmt: skip
NAMES = [*SOUND, "edge_weight", "edge_attr", "time", "groups", "extra"]


@st.composite
def cases_of_data(draw: st.DrawFn) -> tuple[Any, dict[str, Any]]:
    """A `Data` with one to three attributes replaced, removed or swapped, and what `from_pyg` is asked."""
    held = dict(SOUND)
    for _ in range(draw(st.integers(1, 3))):
        name = draw(st.sampled_from(NAMES))
        kind = draw(st.sampled_from(["tensor", "tensor", "thing", "remove", "swap"]))
        if kind == "remove":
            held.pop(name, None)
        elif kind == "swap":
            held[name] = SOUND[draw(st.sampled_from(list(SOUND)))]
        else:
            held[name] = draw(st.sampled_from(TENSORS if kind == "tensor" else THINGS))
    asked = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "sensitive": st.sampled_from(["sensitive", "x0", "y", "nope", *THINGS]),
                "label": st.sampled_from(["y", "sensitive", "nope", "x"]),
                "groups": st.sampled_from(THINGS),
                "channels": st.sampled_from(THINGS),
                "directed": st.sampled_from([None, True, False]),
            },
        )
    )
    return held, asked


def read(case: tuple[dict[str, Any], dict[str, Any]]) -> None:
    held, asked = case
    data = Data()
    for name, value in held.items():
        data[name] = value
    graph = fv.from_pyg(data, **asked)
    assert np.isfinite(graph.features).all()
    assert set(np.unique(graph.labels)) <= {-1, 0, 1}
    for name in SOUND:
        assert data[name] is held[name] if name in held and held[name] is not None else True


@pytest.mark.parametrize("cases", CASES)
def test_malformed_data_gives_a_graph_or_an_error(cases):
    try_many(cases, cases_of_data(), read)


@pytest.mark.parametrize("other", [None, 3, "x", {}, [], HeteroData(), torch.zeros(3), fv.NodeGraph])
def test_another_object_is_an_error(other):
    with pytest.raises(fv.InputError):
        fv.from_pyg(other)
