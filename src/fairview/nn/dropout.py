"""Dropout whose randomness is an argument, so that evaluation and other runs never disturb it."""

from __future__ import annotations

import torch
from torch import Tensor


class DropoutSource:
    """Draws which entries survive; a layer multiplies by what it gives.

    The draws come in 64-bit words, one byte per entry: eight times fewer calls of the generator than uniform floats,
    exact for rates that are multiples of 1/256 and otherwise rounded to the nearest one below 1. All views of a layer
    are drawn together, so that a path that takes the views one by one sees the same draws as one that takes them at
    once. They are drawn in main memory, so that they are the same on every device.
    """

    def __init__(self, rate: float, generator: torch.Generator | None = None) -> None:
        self.rate = min(round(rate * 256), 255) / 256
        self.generator = generator
        self._drawn: list[Tensor] = []
        self._views, self._view, self._layer = 0, 0, 0  # no views: they don't come one by one

    def all_views(self, nodes: int, views: int, hidden: int, like: Tensor) -> Tensor:
        """0 with probability `rate`, else 1 / (1 - rate), of shape (nodes, views, hidden)."""
        entries = nodes * views * hidden
        words = torch.empty((entries + 7) // 8, dtype=torch.int64, device="cpu")
        words.random_(-(2**63), None, generator=self.generator)
        survives = words.view(torch.uint8)[:entries] >= round(self.rate * 256)
        return survives.to(like).mul_(1 / (1 - self.rate)).view(nodes, views, hidden)

    def begin(self, views: int) -> None:
        """The views come one by one from here on, `views` of them."""
        self._drawn, self._views, self._view, self._layer = [], views, -1, 0

    def next_view(self) -> None:
        self._view, self._layer = self._view + 1, 0

    def end(self) -> None:
        """All views have come."""
        self._drawn, self._views = [], 0

    def draw(self, h: Tensor) -> Tensor:
        """For the next layer of the current view, of shape (nodes, hidden)."""
        if self._views == 0:
            return self.all_views(len(h), 1, h.shape[1], h)[:, 0]
        if self._layer == len(self._drawn):
            self._drawn.append(self.all_views(len(h), self._views, h.shape[1], h))
        self._layer += 1
        return self._drawn[self._layer - 1][:, self._view]
