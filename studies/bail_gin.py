"""Which settings for Bail GIN, whose published ones are not known? The paper's search space around the cells beside it.

python -m studies.bail_gin     trains 16 settings with three seeds each, and prints a table

The score is the selection rule's, AUC + F1 + accuracy - gaps on the val split, mean over seeds 1 to 3.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import fairview as fv
from fairview.paper.numbers import PAPER_METRICS

SPACE = (((5, 5, 5), (5, 10, 10)), (0.1, 1.0), (0.5, 1.0), (0.001, 0.01))
STEPS = ("discriminator_steps", "classifier_steps", "generator_steps")


def main() -> None:
    graph = fv.load_dataset("bail")
    print("| steps d/c/g | ε | α | lr encoder | score on val | AUC | F1 | ACC | SP gap | EO gap |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for steps, threshold, density, rate in itertools.product(*SPACE):
        changes: dict[str, Any] = dict(zip(STEPS, steps, strict=True))
        changes |= {"clamp_threshold": threshold, "mask_density_weight": density, "learning_rate_encoder": rate}
        best = []
        for seed in (1, 2, 3):
            model = fv.FairVGNN.from_preset("bail", "gin", seed=seed, threads=1, **changes).fit(graph)
            best.append(model.history_[model.best_epoch_ - 1])
        means = [f"{100 * float(np.mean([epoch['val'][name] for epoch in best])):.2f}" for name in PAPER_METRICS]
        score = float(np.mean([epoch["score"] for epoch in best]))
        settings = f"{'/'.join(map(str, steps))} | {threshold:g} | {density:g} | {rate:g}"
        print(f"| {settings} | {score:.4f} | {' | '.join(means)} |", flush=True)


if __name__ == "__main__":
    main()
