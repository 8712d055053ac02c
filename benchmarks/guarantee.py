"""Does the certificate keep its promise? Counted: how often a certified model's true gap is above the limit.

python -m benchmarks.guarantee                          200 resplits of each setting, 1,000 of one; resumable
python -m benchmarks.guarantee --settings bail --resplits 20
python -m benchmarks.guarantee table                    the tables of docs/guarantee.md, from what was counted
python -m benchmarks.guarantee test                     the test alone: 10,000 random tables against enumeration

A resplit draws train, val and test anew, fits one path of Parity models on columns that are fixed for each graph, and
asks the rule of `fairview.tune` for limits and levels. The truth is the gap among all nodes that no fit and no ranking
has seen, from which the certification nodes are a random draw; for `population`, whose graph is drawn anew each time,
it is also the gap on a fresh graph of 40,000 nodes. Beside it, on the same models and val nodes:

    simple rule        the first rule: val in two halves, one sets the order, the other tests, one threshold a model
    lowest val gap     the model whose gap on val is the smallest
    best within        the most useful model whose gap on val is within the limit

Approximate p-values decide where they are more than a factor of five away from the level, exact ones otherwise.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from studies.graphs import Population

import fairview as fv
from fairview.methods.parity_fitting import Prepared
from fairview.metrics import counts as core
from fairview.metrics.gap_test import approximate_p_value
from fairview.tuning.choice import Candidates
from fairview.tuning.holdout import Holdout, hold_out
from fairview.tuning.limits import CONDITIONS, Limit
from fairview.tuning.trials import Trial, finished

LIMITS = (0.02, 0.03, 0.05, 0.1)
LEVELS = (0.05, 0.1)
WEIGHTS = (0.0, 1.0, 3.0, 10.0, 30.0, 100.0)
FRESH = 40_000
OUT = Path("runs/guarantee")


@dataclass(frozen=True)
class Setting:
    """What is resplit.

    Attributes:
        graph: a known dataset, or `population`.
        labels: training labels.
        gap: whose limit.
        basis: of Parity's columns, with its hops.
    """

    graph: str
    labels: int
    gap: str = "statistical_parity"
    basis: str = "splines"
    hops: int = 2

    @property
    def name(self) -> str:
        return f"{self.graph} {self.labels} {self.gap}"


SETTINGS = (
    Setting("bail", 100, hops=0),
    Setting("bail", 1000, hops=0),
    Setting("bail-no-time", 100),
    Setting("bail-no-time", 1000),
    Setting("bail-no-time-links", 100),
    Setting("bail-no-time-links", 1000),
    Setting("credit-small", 1000, hops=0),
    Setting("credit-small", 6000, hops=0),
    Setting("population", 200, hops=0),
    Setting("population", 1000, hops=0),
    Setting("bail-no-time", 1000, "equal_opportunity"),
    Setting("credit-small", 6000, "equal_opportunity", hops=0),
)
MANY = Setting("bail-no-time", 1000)
"""Counted 1,000 times."""

POPULATION = Population()


def graph_of(setting: Setting, resplit: int) -> fv.NodeGraph:
    if setting.graph == "population":
        return POPULATION.graph(8_000, seed=10_000 + resplit)
    return fv.load_dataset(setting.graph)


def resplit_once(
    setting: Setting, graph: fv.NodeGraph, prepared: Prepared | None, resplit: int, fresh: fv.NodeGraph | None
) -> Iterator[dict[str, Any]]:
    """One line for each rule, limit and level."""
    splits = fv.stratified_splits(graph, repeats=1, seed=resplit, train_labels=setting.labels)[0]
    holdout = hold_out(graph.with_splits(splits), seed=resplit)
    model = fv.Parity(basis=setting.basis, hops=setting.hops, l2=0.05)  # type: ignore[arg-type]
    weight = f"{setting.gap}_weight"
    model.statistical_parity_weight = 0.0
    models = model.path(holdout.design, WEIGHTS, of=weight, prepared=prepared)
    trials = [
        finished(one, "parity", {weight: w}, holdout, 0.0, prepared=prepared)
        for w, one in zip(WEIGHTS, models, strict=True)
    ]
    truth = Truth(trials, holdout, setting.gap, fresh)
    for population in ("new", "graph") if setting.gap == "statistical_parity" else ("new",):
        candidates = _candidates(trials, holdout, setting.gap, population)
        for limit in LIMITS:
            for level in LEVELS:
                choice = candidates.choose([Limit(setting.gap, limit)], 1 - level, exact=False)
                taken = None if choice.chosen is None else _taken(candidates, choice.chosen)
                best = truth.oracle(candidates, limit)
                rule = "fairview" if population == "new" else "fairview, population graph"
                yield {"rule": rule, "limit": limit, "level": level} | truth.of(taken, limit, best)
    for limit in LIMITS:
        best = truth.oracle(candidates, limit)
        for name, choose in RIVALS.items():
            for at in LEVELS if name == "simple rule" else (None,):
                taken = choose(trials, holdout, setting.gap, limit, at)
                yield {"rule": name, "limit": limit, "level": at} | truth.of(taken, limit, best)


Taken = tuple[int, float]
"""Which model, at which threshold."""


def _taken(candidates: Candidates, chosen: int) -> Taken:
    return int(candidates.trials[chosen]), float(candidates.thresholds[chosen])


def _candidates(trials: list[Trial], holdout: Holdout, gap: str, population: str) -> Candidates:
    scored = [trial.scored(holdout) for trial in trials]
    return Candidates(scored, holdout, utility="balanced_accuracy", limits=[Limit(gap)], population=population)


class Truth:
    """Gaps and usefulness among the nodes that nobody has seen."""

    def __init__(self, trials: list[Trial], holdout: Holdout, gap: str, fresh: fv.NodeGraph | None) -> None:
        self.trials, self.graph, self.rows, self.gap = trials, holdout.graph, holdout.unseen, gap
        self.fresh = fresh
        self._fresh_scores: dict[int, npt.NDArray[np.float64]] = {}
        self._gaps: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None = None

    def of(self, taken: Taken | None, limit: float, oracle: float) -> dict[str, Any]:
        if taken is None:
            return {"refused": True, "oracle": oracle}
        number, threshold = taken
        gap, utility = measured(self.trials[number].scores, threshold, self.graph, self.rows, self.gap)
        line = {"refused": False, "gap": gap, "above": bool(gap > limit), "utility": utility, "oracle": oracle}
        if self.fresh is not None:
            if number not in self._fresh_scores:
                found = self.trials[number].model.predict_proba(self.fresh)
                self._fresh_scores[number] = np.asarray(found, dtype=np.float64)[:, 1]
            scores = self._fresh_scores[number]
            fresh_gap, _ = measured(scores, threshold, self.fresh, np.arange(self.fresh.num_nodes), self.gap)
            line |= {"fresh_gap": fresh_gap, "fresh_above": bool(fresh_gap > limit)}
        return line

    def oracle(self, candidates: Candidates, limit: float) -> float:
        """The largest true usefulness of a candidate whose true gap is within the limit; NaN if there is none."""
        if self._gaps is None:
            pairs = [
                measured(self.trials[number].scores, float(threshold), self.graph, self.rows, self.gap)
                for number, threshold in zip(candidates.trials, candidates.thresholds, strict=True)
            ]
            self._gaps = np.array([gap for gap, _ in pairs]), np.array([utility for _, utility in pairs])
        gaps, utilities = self._gaps
        within = gaps <= limit
        return float(utilities[within].max()) if within.any() else float("nan")


def measured(
    scores: npt.NDArray[np.float64], threshold: float, graph: fv.NodeGraph, rows: npt.NDArray[np.intp], gap: str
) -> tuple[float, float]:
    """The gap and the balanced accuracy among some nodes, by counting."""
    positive = scores[rows] > threshold
    labels, codes = graph.labels[rows], graph.sensitive[rows]
    largest = 0.0
    for label in CONDITIONS[gap]:
        among = np.ones(len(rows), dtype=np.bool_) if label is None else labels == label
        rates = [positive[among & (codes == code)].mean() for code in range(len(graph.groups))]
        largest = max(largest, float(max(rates) - min(rates)))
    table = np.array([[((labels == y) & (positive == p)).sum() for p in (0, 1)] for y in (0, 1)])
    return largest, float(core.balanced_accuracy(table))


# --- other rules ------------------------------------------------------------------------------------------------------


def simple_rule(trials: list[Trial], holdout: Holdout, gap: str, limit: float, level: float | None) -> Taken | None:
    """Val in two halves: ascending p-value on the first is the order, the second tests until the first failure."""
    graph = holdout.graph
    val = np.flatnonzero(graph.split("val"))
    halves = np.random.default_rng(0).permutation(len(val)) % 2
    first, second = (
        [_val_p_value(trial, graph, val[halves == half], gap, limit) for trial in trials] for half in (0, 1)
    )
    passed = []
    for number in np.argsort(first, kind="stable"):
        if second[number] > (level or 0):
            break
        passed.append(int(number))
    utility = [measured(trial.scores, 0.5, graph, val[halves == 0], gap)[1] for trial in trials]
    return (max(passed, key=lambda number: utility[number]), 0.5) if passed else None


def _val_p_value(trial: Trial, graph: fv.NodeGraph, rows: npt.NDArray[np.intp], gap: str, limit: float) -> float:
    from fairview.metrics.gap_test import Sample

    largest = 0.0
    for label in CONDITIONS[gap]:
        among = rows if label is None else rows[graph.labels[rows] == label]
        members = [among[graph.sensitive[among] == code] for code in range(len(graph.groups))]
        samples = [Sample(int((trial.scores[of] > 0.5).sum()), len(of)) for of in members]
        largest = max(largest, approximate_p_value(samples, limit))
    return largest


def lowest_gap(trials: list[Trial], holdout: Holdout, gap: str, limit: float, level: float | None) -> Taken:  # noqa: ARG001
    gaps = [on_val[0] for on_val in _on_val(trials, holdout, gap)]
    return int(np.argmin(gaps)), 0.5


def best_within(trials: list[Trial], holdout: Holdout, gap: str, limit: float, level: float | None) -> Taken | None:  # noqa: ARG001
    on_val = _on_val(trials, holdout, gap)
    within = [number for number, (of_model, _) in enumerate(on_val) if of_model <= limit]
    return (max(within, key=lambda number: on_val[number][1]), 0.5) if within else None


def _on_val(trials: list[Trial], holdout: Holdout, gap: str) -> list[tuple[float, float]]:
    rows = np.flatnonzero(holdout.graph.split("val"))
    return [measured(trial.scores, 0.5, holdout.graph, rows, gap) for trial in trials]


RIVALS: dict[str, Callable[..., Taken | None]] = {
    "simple rule": simple_rule,
    "lowest val gap": lowest_gap,
    "best within": best_within,
}


# --- counting ---------------------------------------------------------------------------------------------------------


def count(setting: Setting, resplits: int, out: Path) -> None:
    """Go on where the journal of a setting ends."""
    journal = out / f"{setting.name.replace(' ', '-')}.jsonl"
    journal.parent.mkdir(parents=True, exist_ok=True)
    done = {json.loads(line)["resplit"] for line in journal.read_text().splitlines()} if journal.exists() else set()
    own = setting.graph == "population"
    graph, prepared, fresh = None, None, None
    if own:
        fresh = POPULATION.graph(FRESH, seed=1)
    start = time.perf_counter()
    for resplit in range(resplits):
        if resplit in done:
            continue
        if graph is None or own:
            graph = graph_of(setting, resplit)
            model = fv.Parity(basis=setting.basis, hops=setting.hops)  # type: ignore[arg-type]
            prepared = model.prepare(graph)
        lines = list(resplit_once(setting, graph, prepared, resplit, fresh))
        with journal.open("a") as stream:
            stream.write(json.dumps({"resplit": resplit, "lines": lines}) + "\n")
        if resplit % 20 == 0:
            print(f"{setting.name}: {resplit + 1} of {resplits}, {time.perf_counter() - start:.0f} s", flush=True)


Row = dict[str, Any]


def rows_of(out: Path) -> list[Row]:
    """A row for each setting, limit, level and rule, in percent of the resplits.

    `above`: the true gap is above the limit, among all resplits. `lost`: balanced accuracy against the oracle, which
    knows the true gaps. `useful`: mean balanced accuracy if the majority answer is given after a refusal.
    """
    rows = []
    for setting in SETTINGS:
        journal = out / f"{setting.name.replace(' ', '-')}.jsonl"
        resplits = [json.loads(line) for line in journal.read_text().splitlines()] if journal.exists() else []
        lines = [line for resplit in resplits for line in resplit["lines"]]
        for limit, level, rule in dict.fromkeys((line["limit"], line["level"], line["rule"]) for line in lines):
            those = [one for one in lines if (one["limit"], one["level"], one["rule"]) == (limit, level, rule)]
            taken = [line for line in those if not line["refused"]]
            lost = [line["oracle"] - line["utility"] for line in taken if line["oracle"] == line["oracle"]]
            fresh = [line["fresh_above"] for line in taken if "fresh_above" in line]
            rows.append(
                {"graph": setting.graph, "labels": setting.labels, "gap": setting.gap, "resplits": len(those)}
                | {"limit": limit, "level": level, "rule": rule}
                | {"refused": 100 * (1 - len(taken) / len(those))}
                | {"above": 100 * sum(line["above"] for line in taken) / len(those)}
                | {"fresh_above": 100 * sum(fresh) / len(those) if fresh else None}
                | {"lost": 100 * float(np.mean(lost)) if lost else None}
                | {"useful": 100 * float(np.mean([line.get("utility", 0.5) for line in those]))}
            )
    return rows


def table(out: Path) -> None:
    """The tables of docs/guarantee.md, and all rows as docs/results/guarantee.csv has them, into the folder."""
    rows = rows_of(out)
    with (out / "guarantee.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        shown = [{n: f"{v:.4g}" if isinstance(v, float) else v for n, v in row.items()} for row in rows]
        writer.writerows(shown)
    by_setting: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        by_setting.setdefault((row["graph"], row["labels"], row["gap"], row["resplits"]), []).append(row)
    rules = ("fairview", "fairview, population graph", "simple rule")
    print("Refused, % of the resplits, at limits of 3 / 5 / 10 points, δ = 0.05:\n")
    print("| graph, labels, gap | resplits | `fairview tune` | for this graph only | simple rule |")
    print("|---|---|---|---|---|")
    for (graph, labels, gap, resplits), those in by_setting.items():
        cells = [
            " / ".join(_cell(those, rule, limit, 0.05, "refused") for limit in (0.03, 0.05, 0.1)) for rule in rules
        ]
        print(f"| {graph}, {labels:,}, {_SHORT[gap]} | {resplits:,} | {' | '.join(cells)} |")
    print("\nAbove the limit, % of the resplits, the largest over limits of 2, 3, 5 and 10 points:\n")
    print(
        "| graph, labels, gap | `fairview tune`, δ 0.05 | δ 0.1 | this graph only, δ 0.05 | δ 0.1 | lowest val gap "
        "| best within |"
    )
    print("|---|---|---|---|---|---|---|")
    for (graph, labels, gap, _), those in by_setting.items():
        cells = [_largest(those, rule, level) for rule in rules[:2] for level in LEVELS]
        cells += [_largest(those, rule, None) for rule in ("lowest val gap", "best within")]
        print(f"| {graph}, {labels:,}, {_SHORT[gap]} | {' | '.join(cells)} |")
    print("\nBalanced accuracy in percent with the majority answer after a refusal, at 3 / 5 / 10 points, δ = 0.05:\n")
    print("| graph, labels, gap | `fairview tune` | for this graph only | simple rule | lost by `fairview tune` |")
    print("|---|---|---|---|---|")
    for (graph, labels, gap, _), those in by_setting.items():
        cells = [" / ".join(_cell(those, rule, limit, 0.05, "useful") for limit in (0.03, 0.05, 0.1)) for rule in rules]
        cells.append(" / ".join(_cell(those, "fairview", limit, 0.05, "lost") for limit in (0.03, 0.05, 0.1)))
        print(f"| {graph}, {labels:,}, {_SHORT[gap]} | {' | '.join(cells)} |")


_SHORT = {"statistical_parity": "SP", "equal_opportunity": "EO"}


def _cell(rows: list[Row], rule: str, limit: float, level: float | None, name: str) -> str:
    values = [row[name] for row in rows if (row["rule"], row["limit"], row["level"]) == (rule, limit, level)]
    return f"{values[0]:.1f}" if values and values[0] is not None else "–"


def _largest(rows: list[Row], rule: str, level: float | None) -> str:
    those = [row for row in rows if (row["rule"], row["level"]) == (rule, level)]
    if not those:
        return "–"
    fresh = [row["fresh_above"] for row in those if row["fresh_above"] is not None]
    return f"{max(row['above'] for row in those):.1f}" + (f" (fresh {max(fresh):.1f})" if fresh else "")


def main() -> None:
    """Count, print, or test the test."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", default="count", choices=("count", "table", "test"))
    parser.add_argument("--settings", default="", help="only settings whose name contains this text")
    parser.add_argument("--resplits", type=int, default=200)
    parser.add_argument("--many", type=int, default=1000, help="resplits of the one setting that is counted longest")
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    if given.what == "table":
        table(given.out)
        return
    if given.what == "test":
        from benchmarks.gap_test_tables import main as test_tables

        test_tables()
        return
    chosen = [setting for setting in SETTINGS if given.settings in setting.name]
    for setting in chosen:
        count(setting, given.resplits, given.out)
    if MANY in chosen:
        count(MANY, given.many, given.out)


if __name__ == "__main__":
    main()
