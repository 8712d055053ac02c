"""What is the whole state of a training run? A flat dictionary of tensors, so that a run can go on bit by bit."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

State = dict[str, Tensor]


def module_state(modules: Mapping[str, nn.Module]) -> State:
    """Copies of all parameters and buffers, under `module.parameter`."""
    return {
        f"{name}.{key}": value.detach().clone()
        for name, module in modules.items()
        for key, value in module.state_dict().items()
    }


def load_modules(modules: Mapping[str, nn.Module], state: Mapping[str, Tensor]) -> None:
    for name, module in modules.items():
        module.load_state_dict(_below(state, name), strict=True)


def optimiser_state(optimisers: Mapping[str, torch.optim.Optimizer]) -> State:
    """Moments and step counts of every parameter, in the order of the optimiser's own list."""
    found = {}
    for name, optimiser in optimisers.items():
        for place, parameter in enumerate(optimiser.param_groups[0]["params"]):
            for key, value in optimiser.state.get(parameter, {}).items():
                found[f"{name}.{place}.{key}"] = torch.as_tensor(value).detach().clone()
    return found


def load_optimisers(optimisers: Mapping[str, torch.optim.Optimizer], state: Mapping[str, Tensor]) -> None:
    for name, optimiser in optimisers.items():
        for place, parameter in enumerate(optimiser.param_groups[0]["params"]):
            own = _below(state, f"{name}.{place}")
            if own:
                optimiser.state[parameter] = {key: value.clone() for key, value in own.items()}


def prefixed(prefix: str, state: Mapping[str, Tensor]) -> State:
    return {f"{prefix}.{key}": value for key, value in state.items()}


def _below(state: Mapping[str, Tensor], prefix: str) -> State:
    start = f"{prefix}."
    return {key[len(start) :]: value for key, value in state.items() if key.startswith(start)}


below = _below
