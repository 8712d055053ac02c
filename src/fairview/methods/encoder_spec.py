"""Which encoder is meant? A built-in name, `package.module:factory`, a factory, a module class, or a module itself.

A factory takes the number of channels and returns a `torch.nn.Module` whose `forward(x, edge_index)` gives each node a
representation, shape (n, hidden). A module class that takes the number of channels is a factory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from fairview.data.graph import NodeGraph
from fairview.errors import InputError, did_you_mean
from fairview.methods.contract import Method, channels_seen
from fairview.methods.registry import import_object, is_importable, spec_of
from fairview.methods.settings import check_settings, settings_model
from fairview.nn.encoders import ENCODERS

Encoder = str | nn.Module | Callable[[int], nn.Module]


@dataclass(frozen=True)
class EncoderEntry:
    """An encoder to be compared.

    Attributes:
        name: as in files: a built-in name, or `module:factory`; a module has a hash of its weights in it.
        label: for the head of a row.
        target: a built-in name, a factory, or a module.
        importable: whether another process finds it by its name.
    """

    name: str
    label: str
    target: Encoder
    importable: bool = True


def resolve_encoder(encoder: Encoder, channels: int, *, seed: int = 0) -> str | nn.Module:
    """What a method takes as `encoder=`: a built-in name, or a module.

    Args:
        encoder: a built-in name, `package.module:factory`, a factory, a module class, or a module.
        channels: that the model looks at; what a factory is called with.
        seed: of the weights that a factory draws. A module keeps those it has.

    Raises:
        InputError: there is no such encoder, or the factory returns no module.

    Example:
        >>> resolve_encoder("gcn", 27)
        'gcn'
        >>> resolve_encoder(lambda channels: nn.Linear(channels, 16), 27)
        Linear(in_features=27, out_features=16, bias=True)
    """
    entry = encoder_entry(encoder)
    if isinstance(entry.target, str | nn.Module):
        return entry.target
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        module = entry.target(channels)
    if not isinstance(module, nn.Module):
        raise InputError(
            f"encoder {entry.name}: returned a {type(module).__name__} for {channels} channels; expected a "
            "torch.nn.Module with forward(x, edge_index)."
        )
    return module


def unfitted(
    method: type, settings: Mapping[str, Any], *, encoder: Encoder | None, seed: int, graph: NodeGraph | None
) -> Method:
    """A method with its settings, its encoder and its seed; parameters that it does not have are left out.

    Args:
        method: its class.
        settings: further parameters; wrong ones are an error.
        encoder: for a method that has one.
        seed: of the method, and of the weights that a factory draws.
        graph: to be fitted to; an encoder of your own is built for the channels that the model sees. Without it the
            encoder is taken as it is.
    """
    known = settings_model(method).model_fields
    fixed: dict[str, Any] = {"encoder": encoder, "seed": seed}
    if encoder is not None and graph is not None and "encoder" in known:
        sensitive = known["sensitive_channels"].default if "sensitive_channels" in known else True
        channels = channels_seen(graph, bool(settings.get("sensitive_channels", sensitive)))
        fixed["encoder"] = resolve_encoder(encoder, len(channels), seed=seed)
    complete = {**settings, **{name: value for name, value in fixed.items() if name in known and value is not None}}
    check_settings(method, complete)
    model: Method = method(**complete)
    return model


def encoder_entry(encoder: Encoder) -> EncoderEntry:
    """The name and label of an encoder, checked as far as that needs no graph."""
    if isinstance(encoder, str):
        if encoder in _LOCAL:
            return _LOCAL[encoder]
        if encoder in ENCODERS:
            return EncoderEntry(encoder, encoder.upper(), encoder)
        if ":" not in encoder:
            raise InputError(f"no encoder '{encoder}'.{did_you_mean(encoder, ENCODERS)}")
        target = import_object(encoder, "encoder")
        if isinstance(target, nn.Module) or not callable(target):
            raise InputError(
                f"encoder '{encoder}': is a {type(target).__name__}; expected a function or a module class that takes "
                "the number of channels."
            )
        return EncoderEntry(encoder, encoder.rpartition(":")[2], target)
    if isinstance(encoder, nn.Module):
        name = f"{spec_of(type(encoder))}#{module_sha256(encoder)[:8]}"
        entry = EncoderEntry(name, type(encoder).__name__, encoder, False)
    elif hasattr(encoder, "__qualname__") and callable(encoder):
        label = encoder.__qualname__.rpartition(".")[2]
        entry = EncoderEntry(spec_of(encoder), label, encoder, is_importable(encoder))
    else:
        raise InputError(
            f"encoder {encoder!r}: expected one of {', '.join(ENCODERS)}, 'package.module:factory', a function or "
            "class that takes the number of channels, or a torch.nn.Module."
        )
    if not entry.importable:
        _LOCAL[entry.name] = entry
    return entry


_LOCAL: dict[str, EncoderEntry] = {}
"""Encoders that only this process knows, by name."""


def module_sha256(module: nn.Module) -> str:
    """Of a module's structure and its weights, which are part of the result."""
    digest = hashlib.sha256(repr(module).encode())
    for name, tensor in sorted(module.state_dict().items()):
        digest.update(f"{name}{tensor.dtype}{tuple(tensor.shape)}".encode() + tensor.detach().cpu().numpy().tobytes())
    return digest.hexdigest()
