"""How is an encoder kept from enlarging small changes of its input? Each matrix is divided by its spectral norm."""

from __future__ import annotations

import torch
from torch import Tensor, nn

_SMALLEST = 1e-30


def unit_spectral_norm(weight: Tensor) -> Tensor:
    """W / σ_max(W), exact, with its gradient; a matrix of zeros stays one.

    A linear map with such a matrix has the Lipschitz constant 1: it makes no difference between two inputs longer.

    Paper: Agarwal, Lakkaraju, Zitnik (UAI 2021), the layer-wise weight normalisation W / ||W||_p, with p = 2.

    Example:
        >>> unit_spectral_norm(torch.tensor([[3.0, 0.0], [0.0, 4.0]])).tolist()
        [[0.75, 0.0], [0.0, 1.0]]
    """
    largest: Tensor = torch.linalg.matrix_norm(weight, ord=2)
    return weight / largest.clamp(min=_SMALLEST)


class FreeWeights(nn.Module):
    """The matrices V that are trained where an encoder computes with W = V / σ_max(V).

    The encoder itself always holds W, so that it predicts and is saved like any other. With `normalise=False` all its
    parameters belong to the `others`, as they are.
    """

    def __init__(self, encoder: nn.Module, *, normalise: bool = True) -> None:
        super().__init__()
        trained = {name: parameter for name, parameter in encoder.named_parameters() if parameter.requires_grad}
        self._matrices = {name: parameter for name, parameter in trained.items() if normalise and parameter.ndim == 2}
        self.others = [parameter for name, parameter in trained.items() if name not in self._matrices]
        self.free = nn.ParameterList(p.detach().clone() for p in self._matrices.values())
        self.write()

    def forward(self) -> dict[str, Tensor]:
        """W by the encoder's own names, with gradients to V."""
        return {name: unit_spectral_norm(free) for name, free in zip(self._matrices, self.free, strict=True)}

    @torch.no_grad()
    def write(self) -> None:
        """Copy W into the encoder."""
        for name, weight in self().items():
            self._matrices[name].copy_(weight)
