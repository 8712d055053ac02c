"""Does a distance in closed form do what an adversary has to learn? Gaps, utility, seconds, spread.

python -m studies.energy_vs_adversary              prints two tables in Markdown

Plain and penalised GCN, FairVGNN against its discriminator and with the energy distance, on the test nodes of the
published splits. The machines are this one's processor as it is, and as if it had no AVX-512, or no vector units that
torch and OpenBLAS could choose: the same seed in processes of their own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np

import fairview as fv

DATASETS = ("german", "bail-no-time", "credit-small")
SEEDS = (1, 2, 3)
METRICS = ("auc", "balanced_accuracy", "statistical_parity_gap", "equal_opportunity_gap")
MACHINES = {
    "as it is": {},
    "no AVX-512": {"ATEN_CPU_CAPABILITY": "avx2", "OPENBLAS_CORETYPE": "Haswell"},
    "no AVX": {"ATEN_CPU_CAPABILITY": "default", "OPENBLAS_CORETYPE": "Nehalem"},
}
PLAIN: dict[str, Any] = {"learning_rate": 0.03, "selection": "objective"}
EPOCHS = {"german": 500, "bail-no-time": 100, "credit-small": 100}  # of the plain model
VIEWS: dict[str, Any] = {"learning_rate_encoder": 0.01, "epochs": 50}
ENERGY: dict[str, Any] = {"discriminator": "energy", "penalty_sample": 2000}


def models(seed: int, dataset: str = "german") -> dict[str, Any]:
    """What is trained, by name."""
    shared: dict[str, Any] = {"seed": seed, "threads": 1}
    plain = PLAIN | shared | {"epochs": EPOCHS[dataset]}
    return {
        "Vanilla": fv.Vanilla(**plain),
        "Vanilla, λ 3": fv.Vanilla(**plain, statistical_parity_weight=3.0),
        "Vanilla, λ 10": fv.Vanilla(**plain, statistical_parity_weight=10.0),
        "FairVGNN, adversarial": fv.FairVGNN(**VIEWS, **shared),
        "FairVGNN, energy": fv.FairVGNN(**VIEWS, **shared, **ENERGY),
        "FairVGNN, energy, λ 10": fv.FairVGNN(**VIEWS, **shared, **ENERGY, statistical_parity_weight=10.0),
    }


def measure(seeds: tuple[int, ...]) -> None:
    """A line of JSON for each dataset, seed and model."""
    for dataset in DATASETS:
        graph = fv.load_dataset(dataset)
        for seed in seeds:
            for name, model in models(seed, dataset).items():
                start = time.perf_counter()
                model.fit(graph)
                seconds = time.perf_counter() - start
                found = fv.evaluate(model, graph, split="test")
                values = [100 * float(found[metric]) for metric in METRICS]  # type: ignore[arg-type]
                row = {"dataset": dataset, "name": name, "seed": seed, "values": values, "seconds": seconds}
                print(json.dumps(row), flush=True)


def measured(variables: dict[str, str], seeds: tuple[int, ...]) -> list[dict[str, Any]]:
    """The same in a process of its own, with other environment variables."""
    command = [sys.executable, "-m", "studies.energy_vs_adversary", "--seeds", *map(str, seeds)]
    output = subprocess.run(command, env=os.environ | variables, check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in output.splitlines()]


def main() -> None:
    found = {
        machine: measured(variables, SEEDS[: 3 if not variables else 1]) for machine, variables in MACHINES.items()
    }
    print(f"| dataset | model | AUC | balanced accuracy | SP | EO | seconds |\n|{'---|' * 7}")
    for dataset in DATASETS:
        for name in models(1):
            rows = [row for row in found["as it is"] if (row["dataset"], row["name"]) == (dataset, name)]
            values = np.array([row["values"] for row in rows])
            cells = [f"{m:.1f} ± {s:.1f}" for m, s in zip(values.mean(axis=0), values.std(axis=0, ddof=1), strict=True)]
            print(f"| {dataset} | {name} | {' | '.join(cells)} | {np.mean([row['seconds'] for row in rows]):.1f} |")
    print(f"\n| model | {' | '.join(f'{dataset}: AUC, SP' for dataset in DATASETS)} |\n|{'---|' * 4}")
    for name in models(1):
        cells = []
        for dataset in DATASETS:
            key = (dataset, name, 1)
            all_rows = [row for rows in found.values() for row in rows]
            same = [row["values"] for row in all_rows if (row["dataset"], row["name"], row["seed"]) == key]
            spread = np.ptp(np.array(same), axis=0)
            cells.append(f"{spread[0]:.2f}, {spread[2]:.2f}")
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, nargs="+")
    given = parser.parse_args().seeds
    measure(tuple(given)) if given else main()
