"""How are the encoder's first-layer weights kept small where channels leak? Clamps and spectral normalisation.

All of them change weights in place, once per epoch, after the three phases.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import torch
from torch import Tensor

Regulariser = Literal["adaptive", "plain", "spectral", "none"]


@torch.no_grad()
def clamp_columns(weights: Iterable[Tensor], bound: Tensor) -> None:
    """|W_ij| <= bound_j, each entry keeping its sign; W has shape (hidden, channels), bound (channels,).

    Paper: section 4.2; the bound is ε p_j with p the mean of the K masks (adaptive), or ε (plain).
    """
    for weight in weights:
        weight.copy_(torch.minimum(torch.maximum(weight, -bound), bound))


@torch.no_grad()
def limit_spectral_norm(weights: Iterable[Tensor], bound: float) -> None:
    """W <- W min(1, bound / σ_max(W)): the largest singular value is at most `bound`.

    Paper: section 5.3.2, Sn. Differs: an exact projection once per epoch instead of a power iteration per step.
    """
    for weight in weights:
        largest = torch.linalg.matrix_norm(weight, ord=2)
        weight.mul_(torch.clamp(bound / largest.clamp(min=1e-30), max=1.0))


@torch.no_grad()
def clamp_all(parameters: Iterable[Tensor], bound: float) -> None:
    """Every entry of every parameter between -bound and bound: the classifier clamp of the published Credit runs."""
    for parameter in parameters:
        parameter.clamp_(-bound, bound)
