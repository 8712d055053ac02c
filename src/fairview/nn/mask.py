"""Which channels are kept? The fair view generator: K random masks from two learnable scores per channel."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def across_blocks(channels: Tensor, blocks: Tensor) -> Tensor:
    """One mask over channels, (..., d), and one over blocks, (..., B), as one over all columns, (..., B d).

    Example:
        >>> across_blocks(torch.tensor([1.0, 0.0]), torch.tensor([0.5, 1.0, 0.0])).tolist()
        [0.5, 0.0, 1.0, 0.0, 0.0, 0.0]
    """
    return (blocks[..., :, None] * channels[..., None, :]).flatten(start_dim=-2)


class ChannelMask(nn.Module):
    """Gumbel-softmax masks over channels.

    With scores π of shape (d, 2), column 0 for keeping and column 1 for masking, Gumbel noise g and temperature τ,

        m_i = exp((π_i1 + g_i1) / τ) / Σ_j exp((π_ij + g_ij) / τ)  =  σ((π_i1 - π_i2 + g_i1 - g_i2) / τ).

    Paper: section 4.1.1.
    Differs: the scores enter as logits, as in the published runs; the text takes their logarithm, which needs
    positive scores.

    Args:
        channels: d, or the number of columns where an encoder has several for a channel.
        temperature: τ.
        hard: round to 0 or 1, with the gradient of the soft mask (straight through).
    """

    def __init__(self, channels: int, *, temperature: float = 1.0, hard: bool = False) -> None:
        super().__init__()
        self.temperature = temperature
        self.hard = hard
        self.scores = nn.Parameter(torch.empty(channels, 2))
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        nn.init.xavier_uniform_(self.scores, generator=generator)

    def noise(self, views: int, generator: torch.Generator | None = None) -> Tensor:
        """g_i1 - g_i2, shape (views, d): the difference of two Gumbel variables is logistic.

        Drawn in float64 and in main memory, so that models of every precision and device see the same draws.
        """
        uniform = torch.rand((views, len(self.scores)), dtype=torch.float64, device="cpu", generator=generator)
        return torch.logit(uniform, eps=1e-12).to(self.scores)

    def forward(self, noise: Tensor) -> Tensor:
        """Masks of shape (views, d) for given noise, with gradients to the scores."""
        logits = self.scores[:, 0] - self.scores[:, 1] + noise
        soft = torch.sigmoid(logits / self.temperature)
        if not self.hard:
            return soft
        return (logits > 0).to(soft) + (soft - soft.detach())

    def rounded(self, noise: Tensor) -> Tensor:
        """Masks of 0 and 1 for given noise, without gradients: what evaluation uses."""
        with torch.no_grad():
            return (self.scores[:, 0] - self.scores[:, 1] + noise > 0).to(self.scores)

    @property
    def keep_probability(self) -> Tensor:
        """Softmax of the scores: the probability that a channel is kept, shape (d,)."""
        return torch.softmax(self.scores.detach(), dim=1)[:, 0]
