"""Where does the game between generator and discriminator end, and does it need groups of equal size?

Run with ``python -m studies.theorem1``. For each case it prints the m with the smallest generator loss against the best
discriminator (on a grid), the pull of a generator step at m = 0.5, and the m where training in turns ends.

The smallest world in which a mask matters: one channel x that leaks, kept with weight m from 0 to 1, beside noise e,

    h = m x + e,    x | s ~ N(c + δ s, σ²),    e ~ N(0, 1),    P(s = 1) = π.

Both groups' densities p_s(h) are Gaussians with the variance v = m² σ² + 1, and are equal only at m = 0. The best
discriminator is the posterior, linear in h on the logit scale, so that the linear head of FairVGNN can reach it:

    D*(h) = π p_1(h) / (π p_1(h) + (1 - π) p_0(h)).

Paper: section 4.1.4, Theorem 1.
Differs: the paper's D* lacks the priors. With them D* answers π, not 1/2, where the groups are alike. Its mean over all
nodes is π whatever m is, so that the loss of the generator against it is

    E (D* - 1/2)²  =  (π - 1/2)² + Var D*,

and still has its minimum where the groups are alike: the conclusion of the theorem holds. But a generator step holds
the discriminator fixed, as Algorithm 1 does, and then the loss also falls when everybody moves to where D is nearer
1/2: `step_gradient` shows which way that pulls, `play` where it ends. With group-balanced weights D* is as printed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.stats import norm
from torch import Tensor, nn

from fairview.nn.losses import balanced_weights, discriminator_loss, generator_loss
from fairview.training.adam import Adam

GRID = np.linspace(0, 1, 101)
CASES: dict[str, dict[str, Any]] = {
    "equal groups": {"prior": 0.5},
    "31 %, as published": {"prior": 0.31},
    "31 %, balanced": {"prior": 0.31, "balanced": True},
    "69 %, as published": {"prior": 0.69},
    "69 %, balanced": {"prior": 0.69, "balanced": True},
    "31 %, lower in the small group": {"prior": 0.31, "centre": 2.0, "shift": -1.0},
    "31 %, channel centred at 0": {"prior": 0.31, "centre": -0.31},
}


@dataclass(frozen=True, kw_only=True)
class Game:
    """One leaking channel, a generator with one mask, a linear discriminator.

    Args:
        prior: π, the share of the group s = 1.
        centre: c, the channel's mean in the group s = 0.
        shift: δ, how much higher it is in the group s = 1.
        spread: σ, its standard deviation within a group.
        balanced: both groups weigh the same in the discriminator's loss.
        nodes: that stand for the population.

    Example:
        German's 31 %: where the groups are alike, the discriminator answers the prior, unless it is balanced.

        >>> h = torch.zeros(1)
        >>> [round(torch.sigmoid(Game(balanced=b).optimal_logit(h, keep=0.0)).item(), 3) for b in (False, True)]
        [0.31, 0.5]
    """

    prior: float = 0.31
    centre: float = 1.0
    shift: float = 1.0
    spread: float = 0.5
    balanced: bool = False
    nodes: int = 400

    def optimal_logit(self, h: Tensor, *, keep: float) -> Tensor:
        """The logit of D* at h: the log odds of the prior, plus the log ratio of two Gaussians of one variance."""
        odds = 0.0 if self.balanced else float(np.log(self.prior / (1 - self.prior)))
        middle = keep * (self.centre + self.shift / 2)
        return odds + (h - middle) * (keep * self.shift / (keep**2 * self.spread**2 + 1))

    def loss_against_optimum(self, keep: float) -> float:
        """L_g against the best discriminator for this m: what Theorem 1 minimises."""
        _, x, noise = self.sample()
        return generator_loss(_as_logits(self.optimal_logit(keep * x + noise, keep=keep))).item()

    def step_gradient(self, keep: float) -> float:
        """dL_g / dm with the best discriminator held fixed: what a generator step follows; negative keeps more."""
        _, x, noise = self.sample()
        mask = torch.tensor(keep, dtype=torch.float64, requires_grad=True)
        loss = generator_loss(_as_logits(self.optimal_logit(mask * x + noise, keep=keep)))
        return torch.autograd.grad(loss, mask)[0].item()

    def play(self, start: float = 0.5, *, rounds: int = 400, discriminator_steps: int = 5, rate: float = 0.05) -> float:
        """Train both in turns with the losses and the optimiser of FairVGNN; the m where it ends."""
        groups, x, noise = self.sample()
        weights = balanced_weights(groups.long(), 2, torch.float64) if self.balanced else None
        score = nn.Parameter(torch.logit(torch.tensor([start], dtype=torch.float64)))
        head = nn.Parameter(torch.zeros(2, dtype=torch.float64))
        generator, discriminator = Adam([score], rate), Adam([head], rate)
        for _ in range(rounds):
            with torch.no_grad():
                seen = torch.sigmoid(score) * x + noise
            for _ in range(discriminator_steps):
                loss = discriminator_loss(_as_logits(seen * head[0] + head[1]), groups, weights)
                discriminator.step(torch.autograd.grad(loss, [head]))
            h = torch.sigmoid(score) * x + noise
            loss = generator_loss(_as_logits(h * head[0].detach() + head[1].detach()))
            generator.step(torch.autograd.grad(loss, [score]))
        return torch.sigmoid(score.detach()).item()

    def sample(self) -> tuple[Tensor, Tensor, Tensor]:
        """Groups, channel and noise of nodes that stand for the population: quantiles in place of random draws.

        The noise is paired with the channel by a fixed shuffle, so that both are uncorrelated within a group.
        """
        ones = round(self.prior * self.nodes)
        parts = [_normals(size) for size in (self.nodes - ones, ones)]
        groups = torch.repeat_interleave(torch.arange(2, dtype=torch.float64), torch.tensor([self.nodes - ones, ones]))
        x = self.centre + self.shift * groups + self.spread * torch.cat([part[0] for part in parts])
        return groups, x, torch.cat([part[1] for part in parts])


def _normals(size: int) -> tuple[Tensor, Tensor]:
    """Two uncorrelated standard normal columns of quantiles."""
    values = norm.ppf((np.arange(size) + 0.5) / size)
    values /= values.std()
    order = np.random.default_rng(size).permutation(size)
    other = values[order] - (values[order] @ values) / size * values  # what is left of a correlation by chance
    return torch.from_numpy(values), torch.from_numpy(other / other.std())


def _as_logits(values: Tensor) -> Tensor:
    """(nodes,) as one view with one output."""
    return values[None, :, None]


def main() -> None:
    print("| case | D* at m = 0 | smallest loss, at m | step at m = 0.5 | trained from 0.2, 0.5, 0.8 |")
    print("|---|---|---|---|---|")
    for name, settings in CASES.items():
        game = Game(**settings)
        answer = 0.5 if game.balanced else game.prior
        losses = [game.loss_against_optimum(keep) for keep in GRID.tolist()]
        best = int(np.argmin(losses))
        way = "keeps" if game.step_gradient(0.5) < 0 else "masks"
        ends = ", ".join(f"{game.play(start):.2f}" for start in (0.2, 0.5, 0.8))
        print(f"| {name} | {answer:.2f} | {losses[best]:.4f}, {GRID[best]:.2f} | {way} | {ends} |", flush=True)


if __name__ == "__main__":
    main()
