"""Which weights does one of PyG's convolutions have? The same names and the same first draws, without importing PyG.

The collapsed paths need the weights alone, and importing PyG takes longer than most predictions. The general path
passes messages: then PyG's own convolution does it, with these weights in the place of its own.
"""

from __future__ import annotations

import math
import warnings
from operator import attrgetter
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional


class Weights(nn.Module):
    """A matrix, (outputs, inputs), and perhaps a bias, drawn like those of PyG's `Linear`."""

    def __init__(self, inputs: int, outputs: int, *, bias: bool, glorot: bool = False) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs))
        self.bias = nn.Parameter(torch.empty(outputs)) if bias else None
        self.glorot = glorot
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw anew."""
        outputs, inputs = self.weight.shape
        fan = inputs + outputs if self.glorot else (1 + math.sqrt(5) ** 2) * inputs
        nn.init.uniform_(self.weight, -math.sqrt(6 / fan), math.sqrt(6 / fan))
        if self.bias is not None:
            nn.init.uniform_(self.bias, -1 / math.sqrt(inputs), 1 / math.sqrt(inputs))


class Convolution(nn.Module):
    """The weights of a convolution of PyG, which is made when the first message is passed.

    Args:
        name: of the class in `torch_geometric.nn`; its parameters and buffers have the names that they have here.
        *arguments: of its constructor.
        **settings: likewise.
    """

    def __init__(self, name: str, *arguments: Any, **settings: Any) -> None:
        super().__init__()
        self._made_by = name, arguments, settings

    def forward(self, *inputs: Any) -> Tensor:
        """Call PyG's convolution with the weights that are here: (x, edge_index, edge_weight) -> (n, outputs)."""
        if "_convolution" not in self.__dict__:  # not `self._convolution`: it is no part of this module
            name, arguments, settings = self._made_by
            with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # PyG imports tqdm, which in a notebook asks for widgets
                from torch_geometric import nn as pyg

                self.__dict__["_convolution"] = getattr(pyg, name)(*arguments, **settings)
        convolution = self.__dict__["_convolution"]
        # a caller may have put other tensors in the place of parameters, as `functional_call` does
        weights = {name: attrgetter(name)(self) for name in convolution.state_dict()}
        output: Tensor = functional_call(convolution, weights, inputs)
        return output


class GCNLayer(Convolution):
    """S x W + b; S comes with its weights, so that PyG neither normalises nor adds self-loops."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__("GCNConv", inputs, outputs, normalize=False, add_self_loops=False)
        self.lin = Weights(inputs, outputs, bias=False, glorot=True)
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.lin.reset_parameters()  # PyG draws twice


class SAGELayer(Convolution):
    """W_l S x + b + W_r x, normalised to length 1. PyG's own takes no weights: with them, S x is made beforehand."""

    def __init__(self, inputs: int, outputs: int, *, aggregation: str) -> None:
        super().__init__("SAGEConv", inputs, outputs, aggr=aggregation, normalize=True)
        self.lin_l, self.lin_r = Weights(inputs, outputs, bias=True), Weights(inputs, outputs, bias=False)
        self.lin_l.reset_parameters()  # PyG draws twice
        self.lin_r.reset_parameters()

    def combined(self, gathered: Tensor, x: Tensor) -> Tensor:
        """The same from S x, (n, inputs), and x."""
        both = functional.linear(gathered, self.lin_l.weight, self.lin_l.bias)
        return functional.normalize(both + functional.linear(x, self.lin_r.weight), dim=-1)


class GINLayer(Convolution):
    """block((1 + eps) x + sum over the neighbours of x)."""

    eps: Tensor

    def __init__(self, block: nn.Sequential, *, eps: float) -> None:
        super().__init__("GINConv", nn.Identity())  # around nothing: the block is here
        self.nn = block
        self.register_buffer("eps", torch.full((1,), eps))
        for part in block:
            part.reset_parameters()  # type: ignore[operator]  # PyG draws twice

    def forward(self, *inputs: Any) -> Tensor:
        """(x, edge_index) -> (n, outputs)."""
        output: Tensor = self.nn(super().forward(*inputs))
        return output
