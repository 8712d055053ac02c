"""How far does the same seed move on another machine, and what tames it?

python -m benchmarks.stability                     all graphs and methods: docs/results/stability.csv, and the tables;
                                                   what runs/stability holds is not trained again
python -m benchmarks.stability --graphs german --methods fairvgnn
python -m benchmarks.stability table               the tables of docs/stability.md, from what was measured

Other machines are imitated in processes of their own, by what their environment tells the libraries:

    own       the kernels that this machine picks
    avx2      ATEN_CPU_CAPABILITY=avx2: torch as on a processor with AVX2
    default   ATEN_CPU_CAPABILITY=default: torch without AVX
    old       default, and numpy, OpenBLAS, oneDNN and the C library without AVX2 and FMA

For each seed: the largest score change, and how far AUC and gaps range over the machines. Beside it what re-runs with
perturbed last bits predict (`fairview train --stability`), and the spread over seeds. All numbers are of the test split
and in percent, but for scores. The SP gap "at the base rate" is that of another threshold: as large a share of all
nodes gets a yes as has a positive label in training. It tells models apart that say yes to everybody.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

OUT = Path("docs/results/stability.csv")
SCORES = Path("runs/stability")
MACHINES: Mapping[str, Mapping[str, str]] = {
    "own": {},
    "avx2": {"ATEN_CPU_CAPABILITY": "avx2"},
    "default": {"ATEN_CPU_CAPABILITY": "default"},
    "old": {
        "ATEN_CPU_CAPABILITY": "default",
        "OPENBLAS_CORETYPE": "Nehalem",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3 AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F",
    },
}
METHODS = {
    "german": (
        "fairvgnn", "fairvgnn x5", "fairvgnn x10", "fairgnn", "fairgnn x5", "fairgnn x10", "nifty", "vanilla",
        "edits", "masking", "parity", "exponentiated-gradient", "logistic-regression", "gradient-boosting",
    ),
    "bail": ("fairvgnn", "vanilla", "parity", "logistic-regression", "gradient-boosting"),
}  # fmt: skip
SEEDS = {"german": 10, "bail": 3}
RERUNS = {"german": 5, "bail": 3}
ELSEWHERE = {"default": 4}
"""Ensembles take long: on other machines than this one they have so many seeds, and none where none is named."""

FIXED = ("parity", "exponentiated-gradient", "logistic-regression", "gradient-boosting")
"""Methods whose seed makes no difference."""

SHOWN = {
    "auc": "AUC",
    "balanced_accuracy": "balanced accuracy",
    "statistical_parity_gap": "SP gap",
    "equal_opportunity_gap": "EO gap",
}
AT_BASE_RATE = "statistical_parity_gap_at_base_rate"
MOVES = ("auc", "statistical_parity_gap", "equal_opportunity_gap")
FIELDS = (
    *("graph", "method", "seed", "machine", "capability", "largest_score_change", "flipped_share"),
    *SHOWN,
    AT_BASE_RATE,
)


def make(name: str, graph: Any, graph_name: str, seed: int) -> Any:
    """A method as `fairview train` makes it; `x5` is an ensemble of five."""
    import fairview as fv
    from fairview.methods.encoder_spec import unfitted
    from fairview.methods.presets import default_preset, preset_settings
    from fairview.methods.registry import METHODS as KNOWN

    method, _, members = name.partition(" x")
    settings = preset_settings(default_preset(graph_name, "gcn"), graph_name, "gcn") if method == "fairvgnn" else {}
    model: Any = unfitted(KNOWN[method].method, settings, encoder="gcn", seed=seed, graph=graph)
    return fv.Ensemble(model, members=int(members), seed=seed) if members else model


def seeds_of(name: str, seeds: int, machine: str) -> range:
    """Two re-runs are of every seed, the others of seed 1, and of ensembles of ten there are none."""
    if machine.startswith("rerun") and (" x" in name or machine not in ("rerun 1", "rerun 2")):
        return range(1, 1 if name.endswith(" x10") else 2)
    if " x" in name and machine != "own":
        return range(1, min(seeds, ELSEWHERE.get(machine, 0)) + 1)
    return range(1, 2 if name in FIXED else seeds + 1)


def train_all(graph_name: str, methods: Sequence[str], seeds: int, machine: str, folder: Path) -> None:
    """In a process with an environment of its own: the scores of every method and seed, as .npy files."""
    import torch

    import fairview as fv
    from fairview.runs.last_bits import Rerun

    graph = fv.load_dataset(graph_name)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "capability.txt").write_text(torch.backends.cpu.get_cpu_capability())
    trained: dict[str, Any] = {}  # a larger ensemble holds the members of a smaller one
    for name in methods:
        for seed in seeds_of(name, seeds, machine):
            path = folder / f"{name} {seed}.npy"
            if path.exists():
                continue
            model = make(name, graph, graph_name, seed)
            if machine.startswith("rerun"):
                model = Rerun(seed, int(machine.split()[1])).fit(model, graph)
            elif isinstance(model, fv.Ensemble):
                members = {f"{type(one).__name__} {one.seed}": one for one in model.unfitted_members()}
                trained |= {key: one.fit(graph) for key, one in members.items() if key not in trained}
                model.adopt([trained[key] for key in members])
            else:
                model.fit(graph)
            np.save(path, model.predict_proba(graph)[:, 1])


def measure(
    graph_name: str, methods: Sequence[str], seeds: int, reruns: int, folder: Path, workers: int
) -> list[dict[str, Any]]:
    """A line for each method, seed and machine; each re-run stands for a machine, too."""
    import fairview as fv

    machines = [*MACHINES, *(f"rerun {number}" for number in range(1, reruns + 1))]

    def run_on(machine: str) -> None:
        asked = json.dumps([graph_name, list(methods), seeds, machine, str(folder / graph_name / machine)])
        command = [sys.executable, "-W", "ignore", "-m", "benchmarks.stability", "process", asked]
        subprocess.run(command, env=os.environ | MACHINES.get(machine, {}), check=True)
        print(f"{graph_name}: {machine} is done", file=sys.stderr, flush=True)

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(run_on, machines))
    graph = fv.load_dataset(graph_name)
    lines = []
    for name in methods:
        for seed in seeds_of(name, seeds, "own"):
            own = np.load(folder / graph_name / "own" / f"{name} {seed}.npy")
            for machine in machines:
                place = folder / graph_name / machine
                if seed in seeds_of(name, seeds, machine):
                    line = {"graph": graph_name, "method": name, "seed": seed, "machine": machine}
                    line |= {"capability": (place / "capability.txt").read_text()}
                    lines.append(line | compared(np.load(place / f"{name} {seed}.npy"), own, graph))
    return lines


def compared(scores: Any, reference: Any, graph: Any) -> dict[str, float]:
    """Score changes against the machine's own, and the metrics."""
    import fairview as fv

    found: Any = fv.evaluate_scores(scores, graph)
    change: dict[str, Any] = {"largest_score_change": float(abs(scores - reference).max())}
    change |= {"flipped_share": float(((scores > 0.5) != (reference > 0.5)).mean())}
    share = float(graph.labels[graph.split("train") & graph.labelled].mean())
    at_base_rate: Any = fv.evaluate_scores(scores, graph, threshold=float(np.quantile(scores, 1 - share)))
    change |= {AT_BASE_RATE: float(at_base_rate["statistical_parity_gap"])}
    return change | {name: float(found[name]) for name in SHOWN}


def tables(lines: Sequence[Mapping[str, str]]) -> str:
    """Markdown: what machines do beside what re-runs predict, and what averaging does to the spreads."""
    parts = []
    for graph in dict.fromkeys(line["graph"] for line in lines):
        rows = [line for line in lines if line["graph"] == graph]
        methods = list(dict.fromkeys(line["method"] for line in rows))
        head = ["method", "seeds", "score", "decisions", *(SHOWN[metric] for metric in MOVES)]
        parts += [f"**{graph}: machines / re-runs**", "", _row(head), _row(["---"] * len(head))]
        for method in methods:
            of_method = [line for line in rows if line["method"] == method]
            machines = [line for line in of_method if line["machine"] in MACHINES]
            reruns = [line for line in of_method if line["machine"] == "own" or line["machine"].startswith("rerun")]
            pairs = zip(_moves(machines), _moves(reruns), strict=True)
            count = len({line["seed"] for line in machines})
            parts.append(_row([method, str(count), *(f"{one} / {other}" for one, other in pairs)]))
        parts += ["", f"**{graph}: mean ± spread over seeds (range over machines)**", ""]
        columns = {**SHOWN, AT_BASE_RATE: "SP gap at the base rate"}
        parts += [_row(["method", *columns.values()]), _row(["---"] * (1 + len(columns)))]
        for method in methods:
            of_method = [line for line in rows if line["method"] == method]
            parts.append(_row([method, *(_spread(of_method, metric) for metric in columns)]))
        parts.append("")
    return "\n".join(parts)


def _by_seed(lines: Iterable[Mapping[str, str]], metric: str) -> list[list[float]]:
    """The values of each seed, in percent; seeds with a single one are left out."""
    values: dict[str, list[float]] = {}
    for line in lines:
        values.setdefault(line["seed"], []).append(100 * float(line[metric]))
    return [each for each in values.values() if len(each) > 1]


def _moves(lines: Sequence[Mapping[str, str]]) -> list[str]:
    """The largest score change and share of flipped decisions; of each metric the mean range of a seed, and the widest.

    Means are over three machines, or over the run and two re-runs, so that they can be compared.
    """
    if len({line["machine"] for line in lines}) < 2:
        return ["–"] * (2 + len(MOVES))
    cells = [f"{max(float(line['largest_score_change']) for line in lines):.1g}"]
    cells += [f"{100 * max(float(line['flipped_share']) for line in lines):.1f}"]
    three = [line for line in lines if line["machine"] in ("own", "default", "old", "rerun 1", "rerun 2")]
    for metric in MOVES:
        mean = np.mean([max(values) - min(values) for values in _by_seed(three, metric)])
        widest = max(max(values) - min(values) for values in _by_seed(lines, metric))
        cells.append(f"{mean:.1f} ({widest:.1f})")
    return cells


def _spread(lines: Sequence[Mapping[str, str]], metric: str) -> str:
    """Mean and standard deviation over seeds on this machine; the mean range between this machine and `default`."""
    own = [100 * float(line[metric]) for line in lines if line["machine"] == "own"]
    pairs = _by_seed((line for line in lines if line["machine"] in ("own", "default")), metric)
    over_machines = float(np.mean([max(values) - min(values) for values in pairs]))
    over_seeds = f" ± {np.std(own, ddof=1):.1f}" if len(own) > 1 else ""
    return f"{np.mean(own):.1f}{over_seeds} ({over_machines:.1f})"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Measure and print, or print again what was measured."""
    if sys.argv[1:2] == ["process"]:
        graph_name, methods, seeds, machine, folder = json.loads(sys.argv[2])
        train_all(graph_name, methods, seeds, machine, Path(folder))
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["table"])
    parser.add_argument("--graphs", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--methods", nargs="+")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--reruns", type=int)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--scores", type=Path, default=SCORES)
    parser.add_argument("--out", type=Path, default=OUT)
    asked = parser.parse_args()
    if asked.what != "table":
        lines: list[dict[str, Any]] = []
        for graph in asked.graphs:
            methods = asked.methods or METHODS[graph]
            counts = asked.seeds or SEEDS[graph], asked.reruns or RERUNS[graph]
            lines += measure(graph, methods, *counts, asked.scores, asked.workers)
            asked.out.parent.mkdir(parents=True, exist_ok=True)
            with asked.out.open("w", newline="", encoding="utf-8") as stream:
                writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
                writer.writeheader()
                writer.writerows(lines)
    with asked.out.open(encoding="utf-8") as stream:
        print(tables(list(csv.DictReader(stream))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
