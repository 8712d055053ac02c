"""How does a row of the paper's tables become numbers? A cell is run as trials, and its row is their mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import takewhile
from pathlib import Path
from typing import Any

from fairview.machine import cpu_capability, processor
from fairview.methods.registry import METHODS
from fairview.paper.numbers import PAPER_METRICS, Number, Printed, paper_dataset, printed_row
from fairview.paper.scope import WITHOUT, Scope
from fairview.study.statistics import Estimate, RunMetrics, difference, estimate, summary_estimate, unpaired_difference
from fairview.study.trials import Result, Trial, TrialNotice, finished_trials, run_trials
from fairview.undefined import Undefined

SHOWN = (*PAPER_METRICS, "balanced_accuracy", "false_positive_rate")
NOT_IN_PAPER = "not in the paper"
MAJORITY = METHODS["constant"].words
YARDSTICKS = "yardsticks"
"""The block of rows that every table has beside the paper's."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A row to be: a method with its settings on a dataset.

    Attributes:
        dataset: our name of it.
        encoder: None for methods without one.
        row: what the table calls it.
        method: a name of `METHODS`; a row of a method that is not there says so.
        settings: of the method.
        block: a part of the table, such as "tuned as published".
        printed: the paper's numbers.
        not_compared: why they can't be compared with ours; empty if they can.
        facts: further columns, such as the threshold of Figure 4.
        masked: a channel that is set to zero beforehand; none if empty.
    """

    dataset: str
    encoder: str | None
    row: str
    method: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    block: str = ""
    printed: Printed | None = None
    not_compared: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    masked: str = ""

    @property
    def compared(self) -> bool:
        """Whether it is set against the paper's numbers."""
        return self.printed is not None and not self.not_compared

    def trials(self, scope: Scope) -> list[Trial]:
        """One per split and seed. A method without a seed of its own needs no more than one seed."""
        if self.method not in METHODS:
            return []
        settings = scope.settings(self.method, dict(self.settings))
        dataset = f"{self.dataset}{WITHOUT}{self.masked}" if self.masked else self.dataset
        return [
            Trial(dataset, self.method, self.encoder, settings, seed=seed, split=split)
            for split, seed in scope.draws
            if seed == 1 or "seed" in METHODS[self.method].parameters
        ]


@dataclass(frozen=True)
class CellResult:
    """What came of a cell.

    Attributes:
        cell: what was run.
        draws: split and seed of every run.
        values: by metric, one fraction per run; None where it is undefined.
        seconds: of all runs.
        reason: why there are no numbers; empty if there are.
        planned: how many runs were asked for; there may be fewer. 0 if that is not known.
        earlier: by metric, mean and deviation (fractions) of an earlier call whose runs are not kept.
        earlier_runs: how many these were: seeds 1, 2, ...
        machine: whose processor the runs are from; empty if that is not known.
    """

    cell: Cell
    draws: tuple[tuple[int, int], ...] = ()
    values: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)
    seconds: float = 0.0
    reason: str = ""
    planned: int = 0
    earlier: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)
    earlier_runs: int = 0
    machine: str = ""

    @property
    def known(self) -> bool:
        """Whether there are numbers, of runs at hand or of earlier ones."""
        return bool(self.values or self.earlier)

    @property
    def count(self) -> int:
        """How many runs its numbers are of."""
        return len(self.draws) or self.earlier_runs

    @property
    def lacks_runs(self) -> bool:
        return bool(self.values) and len(self.draws) < self.planned

    def first(self, count: int) -> CellResult:
        """The row of its first runs alone."""
        values = {name: runs[:count] for name, runs in self.values.items()}
        return replace(self, draws=self.draws[:count], values=values)

    @property
    def runs(self) -> list[RunMetrics]:
        """For `fairview.study.statistics`."""
        absent = Undefined("undefined on the test nodes")
        metrics = {name: [absent if value is None else value for value in runs] for name, runs in self.values.items()}
        return [
            RunMetrics(split, seed, {name: of_runs[place] for name, of_runs in metrics.items()})
            for place, (split, seed) in enumerate(self.draws)
        ]

    def estimate(self, metric: str) -> Estimate:
        """Mean, deviation and interval, as fractions; the mean is undefined if one run's is, or nothing was run."""
        if self.values:
            return estimate(self.runs, metric)
        mean, std = self.earlier.get(metric, (None, None))
        if mean is None:
            return Estimate(Undefined(self.reason or "not run"))
        return summary_estimate(mean, std, self.earlier_runs)

    def mean(self, metric: str) -> float | None:
        """In percent; None if it is undefined."""
        value = self.estimate(metric).value("mean")
        return None if value is None else 100 * value

    def std(self, metric: str) -> float | None:
        """Over the runs (ddof 0, as the paper), in percent."""
        value = self.estimate(metric).std
        return None if value is None else 100 * value

    def to_dict(self) -> dict[str, Any]:
        cell = self.cell
        printed = {name: [number.mean, number.std] for name, number in (cell.printed or {}).items()}
        plain = {name: value for name, value in vars(cell).items() if name != "printed"}
        plain |= {"settings": dict(cell.settings), "facts": dict(cell.facts), "paper_percent": printed or None}
        return plain | {
            "draws": [list(draw) for draw in self.draws],
            "values": {name: list(values) for name, values in self.values.items()},
            "seconds": self.seconds,
            "reason": self.reason,
            "planned": self.planned,
            "earlier": {name: list(numbers) for name, numbers in self.earlier.items()},
            "earlier_runs": self.earlier_runs,
            "machine": self.machine,
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> CellResult:
        names = [each.name for each in fields(Cell) if each.name not in ("masked", "printed")]
        printed = record["paper_percent"]
        cell = Cell(
            **{name: record[name] for name in names},
            masked=str(record.get("masked", record["facts"].get("channel", ""))),  # older files have the fact alone
            printed=printed and {name: Number(*number) for name, number in printed.items()},
        )
        values = {name: tuple(runs) for name, runs in record["values"].items()}
        draws = tuple((int(split), int(seed)) for split, seed in record["draws"])
        earlier = {name: (mean, std) for name, (mean, std) in record.get("earlier", {}).items()}
        counts = {name: int(record.get(name, 0)) for name in ("planned", "earlier_runs")}  # older files have none
        return cls(
            cell,
            draws,
            values,
            seconds=float(record["seconds"]),
            reason=str(record["reason"]),
            earlier=earlier,
            machine=str(record.get("machine", "")),
            **counts,
        )


def paired(one: CellResult, other: CellResult) -> tuple[CellResult, CellResult]:
    """Two rows over as many runs as both have: a row of 20 seeds and one of 5 are compared over these 5."""
    fewest = min(one.count, other.count)
    return (one.first(fewest), other.first(fewest)) if fewest else (one, other)


def change(one: CellResult, other: CellResult, metric: str) -> Estimate:
    """`one` minus `other` with its interval: run by run over those that both have, or without pairs (Welch) where one
    of them has earlier runs alone, or they are from different processors.
    """
    one, other = paired(one, other)
    if one.values and other.values and one.machine == other.machine:
        return difference(one.runs, other.runs, metric)
    return unpaired_difference(one.estimate(metric), one.count, other.estimate(metric), other.count)


def printed_for(table: str, dataset: str, encoder: str, row: str, scope: Scope) -> dict[str, Any]:
    """The keywords of a cell that say what the paper prints for it, and whether that can be compared."""
    name = paper_dataset(dataset)
    if name is None:
        reason = "the paper's Credit is a larger graph" if dataset == "credit-small" else NOT_IN_PAPER
        return {"not_compared": reason}
    printed = printed_row(table, name, encoder, row)
    if printed is None:
        return {"not_compared": NOT_IN_PAPER}
    if scope.quick:
        return {"printed": printed, "not_compared": "a smoke test"}
    if scope.splits:
        return {"printed": printed, "not_compared": "the paper's numbers are of the published split"}
    return {"printed": printed}


def yardsticks(dataset: str, scope: Scope, *, all_of_them: bool = False) -> list[Cell]:
    """What every table needs beside it: the majority answer, and models that look at no links."""
    common: dict[str, Any] = {"dataset": dataset, "block": YARDSTICKS, "not_compared": NOT_IN_PAPER}
    cells = [
        Cell(encoder=None, row=MAJORITY, method="constant", settings={"answer": "majority"}, **common),
        Cell(encoder="mlp", row="MLP", method="vanilla", **common),
    ]
    if all_of_them:
        cells += [
            Cell(encoder=None, row="logistic regression", method="logistic-regression", **common),
            Cell(encoder=None, row="gradient boosting", method="gradient-boosting", **common),
        ]
    return [cell for cell in cells if cell.row == MAJORITY or scope.wants(cell.method)]


def run_cells(
    cells: Sequence[Cell],
    scope: Scope,
    folder: Path,
    *,
    workers: int | None = None,
    notice: TrialNotice | None = None,
    finished: bool = False,
) -> list[CellResult]:
    """Run the trials that the folder does not hold yet; one row per cell, in their order.

    With `finished` nothing is run: a row has the first of its runs, as far as they are there, and says how many.
    """
    trials = {trial.id: trial for cell in cells for trial in cell.trials(scope)}
    if finished:
        results = finished_trials(list(trials.values()), scope.graph, folder)
    else:
        outcomes = run_trials(list(trials.values()), scope.graph, folder, workers=workers, notice=notice)
        results = dict(zip(trials, outcomes, strict=True))
    return [_row(cell, cell.trials(scope), results) for cell in cells]


def _row(cell: Cell, trials: Sequence[Trial], by_trial: Mapping[str, Result]) -> CellResult:
    """Of the trials up to the first one that is missing."""
    there = list(takewhile(lambda trial: trial.id in by_trial, trials))
    results = [by_trial[trial.id] for trial in there]
    if not trials:
        return CellResult(cell, reason=f"not available: there is no method '{cell.method}'")
    seconds = sum(result.timing.seconds for result in results)
    if not there:
        return CellResult(cell, reason=f"not run (0 of {len(trials)} runs are there)", planned=len(trials))
    failed = [result.failed for result in results if result.failed is not None]
    if failed:
        return CellResult(cell, seconds=seconds, reason=f"{len(failed)} of {len(results)} runs failed: {failed[0]}")
    values = {name: tuple(result.metrics["test"].get(name) for result in results) for name in SHOWN}
    draws = tuple((trial.split, trial.seed) for trial in there)
    return CellResult(cell, draws, values, seconds, planned=len(trials), machine=this_machine())


def this_machine() -> str:
    """What decides the last digits of a run."""
    return ", ".join(filter(None, (processor(), cpu_capability())))


Cells = Callable[[Scope], list[Cell]]
"""The rows of a table, for a scope."""
