"""How is the rounding of another machine imitated? By moving numbers by one unit in the last place, at random.

Other processors sum in another order, so that the last bits of their numbers differ, and training may amplify that into
another model. A re-run multiplies every channel by 1 ± 2⁻²³, and after each epoch every weight of a network.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from fairview.data.graph import NodeGraph
from fairview.methods.ensemble import Ensemble
from fairview.methods.network_method import NetworkMethod
from fairview.training.randomness import Streams

LAST_BIT = 2.0**-23
"""One unit in the last place of a float32, relative."""


@dataclass(frozen=True)
class Rerun:
    """One re-run: where its random signs come from.

    Attributes:
        seed: of the run.
        number: of the re-run, from 1.
        size: of the perturbation, relative; 0 changes nothing.
    """

    seed: int
    number: int
    size: float = LAST_BIT

    def fit(self, model: Any, graph: NodeGraph) -> Any:
        """A copy of an unfitted model, fitted with perturbed last bits."""
        model = type(model)(**model.get_params(deep=False))
        if isinstance(model, Ensemble):
            return model.adopt([self.fit(member, graph) for member in model.unfitted_members()])
        if not getattr(model, "last_bits_matter", True):
            return model.fit(graph)
        perturbed = self._features(graph)
        if not isinstance(model, NetworkMethod):
            return model.fit(perturbed)
        fitted = model.fit(perturbed, watch=self._nudge())
        if fitted.interrupted_:
            raise KeyboardInterrupt
        return fitted

    def _features(self, graph: NodeGraph) -> NodeGraph:
        """One sign for each channel: values that were equal or in order stay so, as on any machine."""
        rng = np.random.default_rng([self.seed, self.number])
        factors = 1 + self.size * rng.choice([-1.0, 1.0], size=graph.num_channels)
        return graph.with_features((graph.features * factors).astype(graph.features.dtype), graph.channels)

    def _nudge(self) -> Callable[[Any, Any], None]:
        """After each epoch, every weight is a last bit larger or smaller."""
        generator = torch.Generator().manual_seed(Streams(self.seed).seed(f"last bits {self.number}"))

        @torch.no_grad()
        def nudge(_: Any, network: Any) -> None:
            for module in {**network.modules, **network.training_modules}.values():
                for weight in module.parameters():
                    signs = torch.randint(2, weight.shape, generator=generator).to(weight) * 2 - 1
                    weight.mul_(1 + self.size * signs)

        return nudge
