"""Which settings of the paper's search space does the validation split prefer? Successive halving over random settings.

python -m studies.search german-gcn                        64 settings, then the best 16, then the best 4
python -m studies.search bail-sage --rungs 12x1,3x2        fewer, where a run takes minutes
python -m studies.search german-sign                       around the published settings of GCN, as SIGN has none

The graph that is searched on has no test split, and the seeds (101, 102, ...) are not those of any table. The score is
the selection rule's own, AUC + F1 + accuracy - gaps on val. Writes docs/results/search-CELL.csv and prints the last
rung; stopped, the same command goes on where it was.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np

import fairview as fv
from fairview.methods.presets import has_preset, preset_settings
from fairview.paper.numbers import PAPER_METRICS
from fairview.study.trials import Result, Trial, run_trials

SIGNS = (1, 1, 1, -1, -1)
FIRST_SEED = 101
SPACE = fv.FairVGNN.search_space
"""The paper's, section 5.1.2: 1,152 settings. What is not in it stays as in the preset `paper`, epochs too."""

Settings = dict[str, Any]


def search(cell: str, rungs: list[tuple[int, int]], epochs: int | None) -> list[dict[str, Any]]:
    """One record per rung and settings, best first within a rung."""
    dataset, encoder = cell.rsplit("-", 1)
    graph = fv.load_dataset(dataset)
    graph = graph.with_splits({name: graph.split(name) for name in ("train", "val")})
    published = _published(dataset, encoder) | ({} if epochs is None else {"epochs": epochs})
    chosen = candidates(published, rungs[0][0])
    records = []
    for rung, (count, runs) in enumerate(rungs, start=1):
        seeds = range(FIRST_SEED, FIRST_SEED + runs)
        tried = [[Trial(dataset, "fairvgnn", encoder, one, seed=seed) for seed in seeds] for one in chosen[:count]]
        results = run_trials(
            list(itertools.chain(*tried)), {dataset: graph}, Path("runs/search") / cell, notice=_notice
        )
        by_trial = {result.trial: result for result in results}
        scored = []
        for settings, trials in zip(chosen, tried, strict=False):
            means = _means([by_trial[trial.id] for trial in trials])
            score = sum(sign * value for sign, value in zip(SIGNS, means, strict=True))
            record: Settings = {"rung": rung, "runs": runs, "published": settings == published}
            record |= {name: settings[name] for name in SPACE} | {"score": round(score, 4)}
            record |= {name: round(100 * value, 2) for name, value in zip(PAPER_METRICS, means, strict=True)}
            scored.append((score, record, settings))
        scored.sort(key=lambda one: -one[0])
        chosen = [settings for _, _, settings in scored]
        records += [record for _, record, _ in scored]
    return records


def candidates(published: Settings, count: int) -> list[Settings]:
    """The published settings, and others drawn from the space without repeats."""
    grid = [published | dict(zip(SPACE, values, strict=True)) for values in itertools.product(*SPACE.values())]
    order = np.random.default_rng(0).permutation(len(grid))
    return [published, *(grid[place] for place in order if grid[place] != published)][:count]


def _published(dataset: str, encoder: str) -> Settings:
    """Of the preset `paper`, those of the search space that it leaves at their defaults included; for SIGN GCN's."""
    encoder = encoder if has_preset("paper", dataset, encoder) else "gcn"
    rates = {name: 0.001 for name in SPACE if name.startswith("learning_rate")}
    return rates | {
        name: value for name, value in preset_settings("paper", dataset, encoder).items() if name != "encoder"
    }


def markdown(records: list[dict[str, Any]]) -> str:
    """The last rung."""
    last = [record for record in records if record["rung"] == records[-1]["rung"]]
    lines = [
        "| steps d/c/g | lr d/c/g/encoder | ε | α | runs | score on val | AUC | F1 | ACC | SP gap | EO gap |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for record in last:
        steps = "/".join(str(record[name]) for name in SPACE if name.endswith("_steps"))
        rates = "/".join(f"{record[name]:g}" for name in SPACE if name.startswith("learning_rate"))
        metrics = " | ".join(f"{record[name]:.2f}" for name in PAPER_METRICS)
        mark = " (published)" if record["published"] else ""
        lines.append(
            f"| {steps}{mark} | {rates} | {record['clamp_threshold']:g} | {record['mask_density_weight']:g} "
            f"| {record['runs']} | {record['score']:.4f} | {metrics} |"
        )
    return "\n".join(lines)


def _means(results: list[Result]) -> list[float]:
    """Over the runs; a metric that is undefined in one of them counts as the worst."""
    worst = dict(zip(PAPER_METRICS, (0, 0, 0, 1, 1), strict=True))
    rows = [result.metrics.get("val", {}) for result in results]
    return [float(np.mean([worst[n] if row.get(n) is None else row[n] for row in rows])) for n in PAPER_METRICS]


def _notice(_: Result | None, done: int, total: int) -> None:
    print(f"\r{done} of {total} runs", end="" if done < total else "\n", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cell", help="dataset-encoder, for example german-gcn")
    parser.add_argument("--rungs", default="64x1,16x3,4x10", help="settings x seeds of each rung")
    parser.add_argument("--epochs", type=int, help="instead of the preset's")
    given = parser.parse_args()
    rungs = [(int(count), int(seeds)) for count, _, seeds in (rung.partition("x") for rung in given.rungs.split(","))]
    records = search(given.cell, rungs, given.epochs)
    path = Path("docs/results") / f"search-{given.cell}.csv"
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, records[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
    print(markdown(records))


if __name__ == "__main__":
    main()
