"""Which channels and which kinds of links are kept? Masks over both, drawn together."""

from __future__ import annotations

import torch
from torch import Tensor

from fairview.nn.mask import ChannelMask, across_blocks


class JointMask(ChannelMask):
    """Gumbel-softmax masks over channels and over kinds of links: m_t m_i hides channel i where kind t brings it.

    The scores are those of `ChannelMask`, first the channels', then the kinds'.

    Args:
        channels: d.
        kinds: T, that of the self-loops among them.
        mask_channels: False keeps every channel, and masks the kinds alone.
        temperature: τ.
        hard: as for `ChannelMask`.
    """

    def __init__(
        self, channels: int, kinds: int, *, mask_channels: bool = True, temperature: float = 1.0, hard: bool = False
    ) -> None:
        super().__init__((channels if mask_channels else 0) + kinds, temperature=temperature, hard=hard)
        self.channels, self.kinds = channels, kinds

    def forward(self, noise: Tensor) -> Tensor:
        """Masks over all columns, (views, T d), with gradients to the scores."""
        return self._over_columns(super().forward(noise))

    def rounded(self, noise: Tensor) -> Tensor:
        return self._over_columns(super().rounded(noise))

    @property
    def keep_probability(self) -> Tensor:
        """Of each channel, (d,); 1 where only kinds are masked."""
        return self._of_channels(super().keep_probability)

    @property
    def kind_probability(self) -> Tensor:
        """The probability that a kind of links is kept, (T,)."""
        return super().keep_probability[-self.kinds :]

    def _over_columns(self, both: Tensor) -> Tensor:
        return across_blocks(self._of_channels(both), both[..., -self.kinds :])

    def _of_channels(self, both: Tensor) -> Tensor:
        found = both[..., : -self.kinds]
        return found if found.shape[-1] else torch.ones_like(both[..., :1]).expand(*both.shape[:-1], self.channels)
