"""How do several heads see one pass of the encoder? As one linear layer, with their outputs beside each other."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class SideBySide(nn.Module):
    """Some heads as one: the outputs of the first come first, and all see the same dropout."""

    def __init__(self, *heads: nn.Linear) -> None:
        super().__init__()
        self.heads = heads
        self.parts = nn.ModuleList(heads)  # so that their parameters are its own

    @property
    def weight(self) -> Tensor:
        return torch.cat([head.weight for head in self.heads])

    @property
    def bias(self) -> Tensor:
        return torch.cat([head.bias for head in self.heads])

    def forward(self, h: Tensor) -> Tensor:
        return functional.linear(h, self.weight, self.bias)
