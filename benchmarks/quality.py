"""FairVGNN with the paper's presets on the published split, five seeds, beside the paper's own numbers.

python -m benchmarks.quality take runs/paper             takes over the runs of `fairview paper table3 --out runs/paper`
python -m benchmarks.quality run german-gcn bail-gin     trains the cells; both append to docs/quality.jsonl
python -m benchmarks.quality table                       writes docs/quality.md from it
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import fairview as fv
from fairview.paper import table3
from fairview.paper.numbers import printed_row
from fairview.paper.scope import Scope
from fairview.study.trials import finished_trials

METRICS = ("auc", "f1", "accuracy", "statistical_parity_gap", "equal_opportunity_gap")
EXTRA = ("balanced_accuracy", "false_positive_rate")
RESULTS = Path("docs/quality.jsonl")
SEEDS = 5

# The authors' code, run again with current torch, seeds 1 to 5; means in percent. Its German GCN is the Table 4 recipe.
PUBLISHED_CODE = {
    "german-gcn@paper-table4": [72.9, 82.1, 70.6, 3.8, 4.1],
    "german-gin": [70.9, 81.2, 69.9, 4.4, 2.1],
    "german-sage": [74.1, 82.2, 71.2, 6.7, 1.9],
}


NOTES = """
## Reading it

- Why cells miss, and what was tried: [misses.md](misses.md). `@tuned` are the settings that validation prefers
  ([presets.md](presets.md)); `@paper-table4` is the recipe that the authors' code was run with again.
- Bail GIN has no published settings. A first guess (5/5/5 steps, encoder 0.01) was run on test before the search on
  validation replaced it: 86.78 / 81.91 / 87.94 / 7.47 / 7.58, which misses the statistical parity gap. The search saw
  the val split alone.
- German SAGE was run three times, and the last one counts: 74.90 / 82.09 / 70.48 / 3.31 / 0.74 while files of the
  engine were being edited, 73.02 / 82.25 / 70.24 / 1.74 / 1.11 with the engine as it was then, and as in the table
  since its sums are taken in another order. A run repeats itself bit by bit; another order of the same sums, 1e-8 apart
  at first, ends in another epoch. So much of this row is chance. Bail SAGE was run twice: 91.18 / 83.12 / 88.20 / 3.71
  / 1.70 before two changes of the order in which sums are taken, as in the table since.
- On German every cell's balanced accuracy is within five points of the constant predictor's 50, and its false positive
  rate near 90: a large part of the fairness is that nearly everybody gets a yes. On the small Credit graph GCN and GIN
  are the constant predictor in all but name (balanced accuracy 50 to 51); SAGE is not (64).
- Credit is the small graph, which the paper did not use: reported, not compared.
- Bail's channels include `TIME`, its label in disguise, as in the published runs.
"""


def take(folder: Path) -> None:
    """Append FairVGNN's runs of Table 3 that are not in the file yet."""
    scope = Scope(methods=("fairvgnn",))
    known = {(row["cell"], row["seed"]): row for row in _rows()}
    for cell in table3.cells(scope):
        if cell.method != "fairvgnn" or cell.dataset == table3.NO_TIME:
            continue
        trials = cell.trials(scope)
        found = finished_trials(trials, scope.graph, folder / "trials")
        name = f"{cell.dataset}-{cell.encoder}" + ("@tuned" if cell.row == table3.TUNED else "")
        for trial in trials:
            result = found.get(trial.id)
            if result is None:
                continue
            row = _row(name, trial.seed, result.best_epoch, result.timing.seconds, result.metrics["test"])
            before = known.get((name, trial.seed), {})
            if any(before.get(metric) != row[metric] for metric in METRICS):
                _append(row)


def run(cell: str, seeds: int = SEEDS) -> None:
    """Train a cell, `dataset-encoder` or `dataset-encoder@preset`, and append what it gave."""
    name, _, preset = cell.partition("@")
    dataset, kind = name.rsplit("-", 1)
    graph = fv.load_dataset(dataset)
    for seed in range(1, seeds + 1):
        start = time.perf_counter()
        model = fv.FairVGNN.from_preset(dataset, kind, preset=preset or "paper", seed=seed, threads=1).fit(graph)
        seconds = time.perf_counter() - start
        _append(_row(cell, seed, model.best_epoch_, seconds, fv.evaluate(model, graph).to_dict()))


def _row(cell: str, seed: int, epoch: int | None, seconds: float, found: dict[str, Any]) -> dict[str, Any]:
    row = {"cell": cell, "seed": seed, "best_epoch": epoch, "seconds": round(seconds, 1)}
    return row | {metric: found[metric] for metric in METRICS + EXTRA}


def _append(row: dict[str, Any]) -> None:
    print(json.dumps(row), flush=True)
    with RESULTS.open("a") as results:
        results.write(json.dumps(row) + "\n")


def _rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in RESULTS.read_text().splitlines()]


def table() -> str:
    """The Markdown page, from the results of the latest run of each cell and seed."""
    rows: dict[str, dict[int, dict[str, Any]]] = {}
    for row in _rows():
        rows.setdefault(row["cell"], {})[row["seed"]] = row
    lines = [
        "# FairVGNN beside the paper",
        "",
        "The paper's presets on the published split, seeds 1 to 5 (mean ± standard deviation, percent), the paper's",
        "Table 3, the authors' published code run again, and the constant predictor. One thread per run. Nothing was",
        "chosen by its test result. A cell is *met* when no metric is worse than the paper's mean by more than two of",
        "the paper's standard deviations. Made by `python -m benchmarks.quality run CELL...` or `take runs/paper`, and",
        "then `table`. The latest run of each cell and seed: [quality.jsonl](quality.jsonl).",
        "",
        "| cell | | AUC | F1 | ACC | SP gap | EO gap | bal. ACC | FPR | s/run | verdict |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for cell, runs in sorted(rows.items()):
        first = [runs[seed] for seed in sorted(runs) if seed <= SEEDS]
        means = [float(np.mean([100 * found[name] for found in first])) for name in METRICS]
        paper = _paper(cell)
        verdict = _verdict(paper, means) if paper else "reported"
        lines.append(f"| {cell} | ours, seeds 1 to {len(first)} | {_cells(first)} | {verdict} |")
        if len(runs) > SEEDS:
            lines.append(f"| | ours, seeds 1 to {len(runs)} | {_cells(list(runs.values()))} | |")
        if paper:
            lines.append(f"| | paper | {' | '.join(f'{mean:.2f} ± {std:.2f}' for mean, std in paper)} | | | | |")
        if cell in PUBLISHED_CODE:
            lines.append(f"| | published code | {' | '.join(map(str, PUBLISHED_CODE[cell]))} | | | | |")
        graph = fv.load_dataset(cell.partition("@")[0].rsplit("-", 1)[0])
        constant = fv.evaluate(fv.Constant().fit(graph), graph).to_dict()
        same = [f"{100 * constant[name]:.2f}" for name in METRICS + EXTRA]
        lines.append(f"| | constant | {' | '.join(same)} | | |")
    return "\n".join(lines) + "\n" + NOTES


def _cells(runs: list[dict[str, Any]]) -> str:
    shown = []
    for name in METRICS:
        values = [100 * found[name] for found in runs]
        shown.append(f"{np.mean(values):.2f} ± {np.std(values):.2f}")
    shown += [f"{np.mean([100 * found[name] for found in runs]):.1f}" for name in EXTRA]
    return " | ".join([*shown, f"{np.mean([found['seconds'] for found in runs]):.0f}"])


def search() -> None:
    """Bail GIN has no published settings: the paper's search space around the neighbouring cells, judged on validation.

    The score is the selection rule's, AUC + F1 + accuracy - gaps on the val split, mean over seeds 1 to 3.
    """
    graph = fv.load_dataset("bail")
    print("| steps d/c/g | ε | α | lr encoder | score on val | AUC | F1 | ACC | SP gap | EO gap |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    space = (((5, 5, 5), (5, 10, 10)), (0.1, 1.0), (0.5, 1.0), (0.001, 0.01))
    for steps, threshold, density, rate in itertools.product(*space):
        names = ("discriminator_steps", "classifier_steps", "generator_steps")
        changes: dict[str, Any] = dict(zip(names, steps, strict=True))
        changes |= {"clamp_threshold": threshold, "mask_density_weight": density, "learning_rate_encoder": rate}
        best = []
        for seed in (1, 2, 3):
            model = fv.FairVGNN.from_preset("bail", "gin", seed=seed, threads=1, **changes).fit(graph)
            best.append(model.history_[model.best_epoch_ - 1])
        means = [float(np.mean([row["val"][name] for row in best])) for name in METRICS]
        cells = " | ".join(f"{100 * value:.2f}" for value in means)
        score = float(np.mean([row["score"] for row in best]))
        shown = "/".join(map(str, steps))
        print(f"| {shown} | {threshold:g} | {density:g} | {rate:g} | {score:.4f} | {cells} |", flush=True)


def _paper(cell: str) -> list[tuple[float, float]]:
    """Mean and standard deviation in percent of FairVGNN's row in Table 3, or Table 4 for its recipe; empty if none."""
    name, _, preset = cell.partition("@")
    dataset, kind = name.rsplit("-", 1)
    table, row = ("table4", "full") if preset == "paper-table4" else ("table3", "fairvgnn")
    printed = printed_row(table, dataset, kind, row) or {}
    return [(printed[metric].mean, printed[metric].std or 0.0) for metric in METRICS if metric in printed]


def _verdict(paper: list[tuple[float, float]], means: list[float]) -> str:
    short = ("AUC", "F1", "ACC", "SP", "EO")
    missed = []
    for place, ((mean, std), ours) in enumerate(zip(paper, means, strict=True)):
        worse = mean - ours if place < 3 else ours - mean
        if worse > 2 * std:
            missed.append(short[place])
    return "met" if not missed else f"misses {', '.join(missed)}"


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        more = sys.argv[2:3] == ["--seeds"]
        for name in sys.argv[4:] if more else sys.argv[2:]:
            run(name, int(sys.argv[3]) if more else SEEDS)
    elif sys.argv[1:2] == ["take"]:
        take(Path(sys.argv[2]))
    elif sys.argv[1:] == ["search"]:
        search()
    else:
        Path("docs/quality.md").write_text(table())
