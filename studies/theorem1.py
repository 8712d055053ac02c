"""Does the adversarial game find the fair mask when the groups differ in size?

Run with ``python -m studies.theorem1``. The world of `fairview.leakage.theorem1`: one leaking channel, one mask. For
each case the m with the smallest generator loss against the best discriminator (on a grid), the pull of a generator
step at m = 0.5, and the m where training in turns ends.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairview.leakage.theorem1 import Game

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
