"""What is the whole state of a training run? A flat dictionary of tensors: a resumed run gives identical results."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor, nn

State = dict[str, Tensor]


def module_tensors(modules: Mapping[str, nn.Module]) -> State:
    """All parameters and buffers themselves, under `module.parameter`."""
    return {f"{name}.{key}": value for name, module in modules.items() for key, value in module.state_dict().items()}


def module_state(modules: Mapping[str, nn.Module]) -> State:
    """Copies of all parameters and buffers, under `module.parameter`."""
    return copied(module_tensors(modules))


def copied(state: Mapping[str, Tensor]) -> State:
    """Copies in main memory, wherever the tensors live: what is kept and saved does not depend on the device."""
    return {name: value.detach().to("cpu", copy=True) for name, value in state.items()}


def load_modules(modules: Mapping[str, nn.Module], state: Mapping[str, Tensor]) -> None:
    """Copy a `module_state` back, in place."""
    for name, module in modules.items():
        module.load_state_dict(below(state, name), strict=True)


def prefixed(prefix: str, state: Mapping[str, Tensor]) -> State:
    """Every key under another one."""
    return {f"{prefix}.{key}": value for key, value in state.items()}


def below(state: Mapping[str, Tensor], prefix: str) -> State:
    """The other way round: what stands under a key."""
    start = f"{prefix}."
    return {key[len(start) :]: value for key, value in state.items() if key.startswith(start)}


def apart(state: Mapping[str, Tensor], prefix: str) -> tuple[State, State]:
    """What stands under a key, and all the rest."""
    return below(state, prefix), {key: value for key, value in state.items() if not key.startswith(f"{prefix}.")}
