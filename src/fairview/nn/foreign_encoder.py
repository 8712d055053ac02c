"""How does a module of the user's become an encoder? Its weights, and what it asks of the links, are found out."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence

from torch import Tensor, nn

from fairview.errors import InputError
from fairview.nn.inputs import GraphInputs


class ForeignEncoder(nn.Module):
    """Any module of the user's: `module(x, edge_index)` -> (n, hidden).

    On weighted links it is called with `edge_weight=`, too, which its `forward` must take by that name.

    A clamp acts on the weights of its first layer: of the first part that has any, all parameters of two dimensions
    whose last one is the number of channels. The layers inside one of PyG's convolutions count as one part, so that
    both matrices of a SAGEConv are found.
    """

    blocks = 1

    def __init__(self, module: nn.Module, channels: int) -> None:
        super().__init__()
        try:
            inspect.signature(module.forward).bind("x", "edge_index")
        except TypeError:
            raise InputError(
                f"encoder: {type(module).__name__}; expected a module with forward(x, edge_index) -> (n, hidden)."
            ) from None
        self.module = module
        self._channels = channels

    def forward(self, x: Tensor, inputs: GraphInputs) -> Tensor:
        if not inputs.weighted:
            hidden: Tensor = self.module(x, inputs.edge_index)
        elif takes_weights(self.module):
            hidden = self.module(x, inputs.edge_index, edge_weight=inputs.edge_weight)
        else:
            raise InputError(
                f"encoder: the links have weights, but {type(self.module).__name__} takes none. Let it have "
                "forward(x, edge_index, edge_weight), or leave the weights out."
            )
        return hidden

    def columns(self, channels: Sequence[str]) -> tuple[str, ...]:
        return tuple(channels)

    @property
    def first_weights(self) -> list[Tensor]:
        return self._acting_on_channels(self.module)

    def _acting_on_channels(self, part: nn.Module) -> list[Tensor]:
        together = [part, *part.children()] if _passes_messages(part) else [part]
        parameters = [parameter for module in together for parameter in module.parameters(recurse=False)]
        weights: list[Tensor] = [p for p in parameters if p.ndim == 2 and p.shape[1] == self._channels]
        inside = (self._acting_on_channels(child) for child in part.children())
        return weights or next(filter(None, inside), [])


def takes_weights(module: nn.Module) -> bool:
    """Whether `forward` has an `edge_weight`; models of PyG that have one and ignore it say so."""
    known = {*inspect.signature(module.forward).parameters}
    known |= {*getattr(getattr(module, "signature", None), "param_dict", ())}  # of PyG's Sequential
    return "edge_weight" in known and getattr(module, "supports_edge_weight", True)


def _passes_messages(module: nn.Module) -> bool:
    """Whether it is one of PyG's convolutions: not if nobody has imported PyG yet."""
    pyg = sys.modules.get("torch_geometric.nn")
    return pyg is not None and isinstance(module, pyg.MessagePassing)
