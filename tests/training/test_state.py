"""States are copies under plain names, and go back where they came from."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from fairview.training.state import below, load_modules, module_state, prefixed


def modules() -> dict[str, nn.Module]:
    return {"encoder": nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)), "head": nn.Linear(3, 1)}


def test_a_state_holds_parameters_and_buffers_of_every_module() -> None:
    assert sorted(module_state(modules())) == [
        "encoder.0.bias",
        "encoder.0.weight",
        "encoder.1.bias",
        "encoder.1.num_batches_tracked",
        "encoder.1.running_mean",
        "encoder.1.running_var",
        "encoder.1.weight",
        "head.bias",
        "head.weight",
    ]


def test_a_state_is_a_copy_and_loads_in_place() -> None:
    made = modules()
    state = module_state(made)
    kept, address = {name: value.clone() for name, value in state.items()}, made["head"].weight.data_ptr()
    made["encoder"](torch.rand(5, 2))
    with torch.no_grad():
        made["head"].weight.fill_(7.0)
    assert all(torch.equal(state[name], kept[name]) for name in kept)
    assert not any(value.requires_grad for value in state.values())
    load_modules(made, state)
    assert made["head"].weight.data_ptr() == address
    assert all(torch.equal(value, kept[name]) for name, value in module_state(made).items())


def test_an_incomplete_state_is_refused() -> None:
    state = module_state(modules())
    del state["head.bias"]
    with pytest.raises(RuntimeError, match="bias"):
        load_modules(modules(), state)


def test_prefixes_come_off_again() -> None:
    one, two = torch.tensor(1), torch.tensor(2)
    state = prefixed("adam", {"x": one, "y.z": two}) | {"adamant.x": two}
    assert list(state) == ["adam.x", "adam.y.z", "adamant.x"]
    assert below(state, "adam") == {"x": one, "y.z": two}
    assert below(state, "nothing") == {}
