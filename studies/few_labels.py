"""Does a loss on nodes without a label help FairVGNN where labels are few? None, agreement and reconstruction, paired.

python -m studies.few_labels runs/few-labels              trains what is not there yet, and prints the tables
python -m studies.few_labels runs/few-labels --finished   prints the tables of what is there
python -m studies.few_labels runs/few-labels --finished --write   and writes docs/results/few-labels.csv

German, small Credit and Bail with 20, 100 and 500 training labels on stratified splits: of every split a quarter is
val and a quarter test, whatever the number of labels, and the rest of the training half is without a label. Each of
the three has two tries on a split, of which the one with the higher selection score on val is kept: `none` has two
seeds, the others two weights. German's features are scaled to [-1, 1], as those of the other two are.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import fairview as fv
from fairview.study.statistics import Estimate, RunMetrics, difference, estimate
from fairview.undefined import plain
from studies.paired import append, in_points, metrics_of, read_journal, tidy_numbers, write_csv

DATASETS = ("german", "credit-small", "bail")
ENCODERS = ("gcn", "gin")
PLACES = [(dataset, encoder) for dataset in DATASETS for encoder in ENCODERS]
LABELS = (20, 100, 500)
SPLITS = 10
METRICS = ("auc", "balanced_accuracy", "statistical_parity_gap", "equal_opportunity_gap")
TRIES: dict[str, list[dict[str, Any]]] = {
    "none": [{"seed": 1}, {"seed": 2}],
    "agreement": [{"seed": 1, "self_supervision_weight": weight} for weight in (1.0, 10.0)],
    "reconstruction": [{"seed": 1, "self_supervision_weight": weight} for weight in (0.1, 1.0)],
}
SETTINGS: dict[str, Any] = {
    "learning_rate_encoder": 0.01,
    "epochs": 30,
    "adversary_sample": 500,
    "self_supervision_sample": 500,
    "threads": 1,
}
TABLE = Path("docs/results/few-labels.csv")


@dataclass(frozen=True)
class Cell:
    """What is tried twice."""

    split: int
    dataset: str
    encoder: str
    labels: int
    kind: str


def cells(splits: int) -> Iterator[Cell]:
    """Split by split, so that a study that is stopped has whole ones."""
    for split in range(splits):
        for dataset in DATASETS:
            for labels in LABELS:
                for encoder in ENCODERS:
                    yield from (Cell(split, dataset, encoder, labels, kind) for kind in TRIES)


def graph_of(dataset: str) -> fv.NodeGraph:
    """The graph with features between -1 and 1."""
    graph = fv.load_dataset(dataset)
    if dataset != "german":
        return graph
    low, high = graph.features.min(axis=0), graph.features.max(axis=0)
    return graph.with_features(2 * (graph.features - low) / np.where(high > low, high - low, 1) - 1)


def with_labels(graph: fv.NodeGraph, split: int, labels: int) -> fv.NodeGraph:
    """With so many training labels; val and test of a split are the same for all numbers of labels."""
    return graph.with_splits(fv.stratified_splits(graph, repeats=split + 1, train_labels=labels)[split])


def best_of_two(cell: Cell, graph: fv.NodeGraph) -> dict[str, Any]:
    """The try with the higher score on val, and its metrics on test."""
    start = time.process_time()
    tried = [
        fv.FairVGNN(encoder=cell.encoder, self_supervision=cell.kind, **SETTINGS | settings).fit(graph)  # type: ignore[arg-type]
        for settings in TRIES[cell.kind]
    ]
    seconds = time.process_time() - start
    scores = [model.history_[model.best_epoch_ - 1]["score"] for model in tried]
    kept = int(np.argmax(scores))
    found = fv.evaluate(tried[kept], graph, split="test")
    metrics = {name: plain(found[name]) for name in METRICS}
    return asdict(cell) | {"kept": kept, "scores": scores, "seconds": seconds / len(tried), "metrics": metrics}


def train(journal: Path, splits: int) -> None:
    """A line of JSON for each cell that the journal does not have."""
    finished = {Cell(**{name: row[name] for name in Cell.__annotations__}) for row in read_journal(journal)}
    graphs = {dataset: graph_of(dataset) for dataset in DATASETS}
    for cell in cells(splits):
        if cell not in finished:
            row = best_of_two(cell, with_labels(graphs[cell.dataset], cell.split, cell.labels))
            append(journal, row)


@dataclass(frozen=True)
class Line:
    """One metric of one row: its mean, and how far it is from that of `none` on the same splits."""

    dataset: str
    encoder: str
    labels: int
    kind: str
    metric: str
    splits: int
    mean: Estimate
    minus_none: Estimate


def lines(rows: list[dict[str, Any]]) -> list[Line]:
    """Of the splits on which all three are finished."""
    found: dict[tuple[str, str, int], dict[str, dict[int, RunMetrics]]] = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        place = found[row["dataset"], row["encoder"], row["labels"]]
        place[row["kind"]][row["split"]] = RunMetrics(row["split"], 0, metrics_of(row))
    result = []
    for (dataset, encoder, labels), kinds in sorted(found.items(), key=lambda item: DATASETS.index(item[0][0])):
        whole = sorted(set.intersection(*(set(kinds[kind]) for kind in TRIES)))
        reference = [kinds["none"][split] for split in whole]
        for kind in TRIES:
            runs = [kinds[kind][split] for split in whole]
            for metric in METRICS:
                both = estimate(runs, metric), difference(runs, reference, metric)
                result.append(Line(dataset, encoder, labels, kind, metric, len(whole), *both))
    return result


def table(found: list[Line]) -> str:
    """Means of `none` and differences from it, in points."""
    shown = [
        "| dataset | encoder | labels | splits | | AUC | balanced accuracy | SP | EO |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for start in range(0, len(found), len(METRICS)):
        row = found[start : start + len(METRICS)]
        first = row[0]
        values = [_mean(line) if line.kind == "none" else in_points(line.minus_none) for line in row]
        cells = [first.dataset, first.encoder, str(first.labels), str(first.splits), first.kind, *values]
        shown.append(f"| {' | '.join(cells)} |")
    return "\n".join(shown)


def together(rows: list[dict[str, Any]]) -> str:
    """The differences from `none` over all datasets and encoders, a split's averaged first."""
    found = {Cell(**{name: row[name] for name in Cell.__annotations__}): metrics_of(row) for row in rows}
    shown = ["| | labels | splits | AUC | balanced accuracy | SP | EO |", f"|{'---|' * 7}"]
    for kind in ("agreement", "reconstruction"):
        for labels in LABELS:
            pairs = [
                [(Cell(split, *place, labels, kind), Cell(split, *place, labels, "none")) for place in PLACES]
                for split in range(SPLITS)
            ]
            whole = [split for split in pairs if all(cell in found for pair in split for cell in pair)]
            runs, reference = (
                [
                    RunMetrics(pair[k].split, place, found[pair[k]])
                    for split in whole
                    for place, pair in enumerate(split)
                ]
                for k in (0, 1)
            )
            values = [in_points(difference(runs, reference, metric)) for metric in METRICS]
            shown.append(f"| {kind} | {labels} | {len(whole)} | {' | '.join(values)} |")
    return "\n".join(shown)


def write(found: list[Line]) -> None:
    """All numbers."""
    names = ["dataset", "encoder", "labels", "self_supervision", "metric", "splits", "mean", "std"]
    lines = [
        [
            *(each.dataset, each.encoder, str(each.labels), each.kind, each.metric, str(each.splits)),
            *tidy_numbers(each.mean, each.minus_none),
        ]
        for each in found
    ]
    write_csv(TABLE, [*names, "minus_none", "low", "high"], lines)


def _mean(line: Line) -> str:
    return f"{100 * line.mean.mean:.1f}" if isinstance(line.mean.mean, float) else "undefined"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--finished", action="store_true")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    journal = given.folder / "journal.jsonl"
    if not given.finished:
        train(journal, given.splits)
    rows = read_journal(journal)
    found = lines(rows)
    print(table(found), together(rows), sep="\n\n")
    seconds = {kind: np.mean([row["seconds"] for row in rows if row["kind"] == kind]) for kind in TRIES}
    print("\nSeconds of a fit: " + ", ".join(f"{kind} {value:.2f}" for kind, value in seconds.items()))
    if given.write:
        write(found)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
