"""What do masks per hop, kinds of links and self-supervision buy FairVGNN in Table 3? Equal budget, paired.

python -m studies.beyond_the_paper runs/beyond              trains what is not there yet, and prints the tables
python -m studies.beyond_the_paper runs/beyond --finished   prints the tables of what is there
python -m studies.beyond_the_paper runs/beyond --finished --write   and writes docs/results/beyond-the-paper.csv

Every row has the published settings of FairVGNN with GCN on its dataset, the same epochs and steps, and differs in one
thing. `sign, own settings` has those that a search on validation found for it. Stratified splits with as many training
labels as the published one; on German the mean of three seeds of a split, elsewhere one seed.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import fairview as fv
from fairview.methods.presets import preset_settings
from fairview.study.statistics import RunMetrics, difference, estimate
from fairview.undefined import plain
from studies.paired import METRICS, append, in_points, metrics_of, read_journal, tidy_numbers, write_csv

SEEDS = {"german": 3, "credit-small": 1, "bail": 1}
TRAIN_LABELS = {"german": 100, "credit-small": 6000, "bail": 100}
SPLITS = 10
ROWS: dict[str, dict[str, Any]] = {
    "gcn": {},
    "sign": {"encoder": "sign"},
    "gcn, bands of links": {"link_kinds": "bands"},
    "gcn, agreement": {"self_supervision": "agreement"},
    "gcn, reconstruction": {"self_supervision": "reconstruction"},
}
OWN = "sign, own settings"
REFERENCE = "gcn"
TABLE = Path("docs/results/beyond-the-paper.csv")


class Cell(NamedTuple):
    """One model."""

    split: int
    dataset: str
    row: str
    seed: int


def cells(splits: int, datasets: list[str]) -> Iterator[Cell]:
    """Split by split, so that a study that is stopped has whole ones."""
    for split in range(splits):
        for dataset in datasets:
            for seed in range(1, SEEDS[dataset] + 1):
                yield from (Cell(split, dataset, row, seed) for row in settings_of(dataset))


def settings_of(dataset: str) -> dict[str, dict[str, Any]]:
    """By row: the published settings with one change, and those of `sign` where the search did not end there, too."""
    published, own = preset_settings("paper", dataset, "gcn"), preset_settings("tuned", dataset, "sign")
    rows = {name: published | change for name, change in ROWS.items()}
    same = fv.FairVGNN(**own).get_params() == fv.FairVGNN(**rows["sign"]).get_params()
    return rows if same else rows | {OWN: own}


def model_of(cell: Cell) -> fv.FairVGNN:
    """Unfitted."""
    return fv.FairVGNN(**settings_of(cell.dataset)[cell.row] | {"seed": cell.seed, "threads": 1})


def train(journal: Path, splits: int, datasets: list[str]) -> None:
    """A line of JSON for each cell that the journal does not have."""
    finished = {Cell(*row["cell"]) for row in read_journal(journal)}
    graphs = {dataset: fv.load_dataset(dataset) for dataset in datasets}
    for cell in cells(splits, datasets):
        if cell in finished:
            continue
        labels = TRAIN_LABELS[cell.dataset]
        masks = fv.stratified_splits(graphs[cell.dataset], repeats=cell.split + 1, train_labels=labels)[cell.split]
        graph = graphs[cell.dataset].with_splits(masks)
        start = time.process_time()
        model = model_of(cell).fit(graph)
        seconds = time.process_time() - start
        found = fv.evaluate(model, graph, split="test")
        metrics = {name: plain(found[name]) for name in METRICS}
        append(journal, {"cell": cell, "seconds": seconds, "metrics": metrics})


def tables(rows: list[dict[str, Any]]) -> tuple[str, list[list[str]]]:
    """Means and paired differences in points, over the splits on which all rows are finished; the same for the CSV."""
    runs: dict[str, dict[int, dict[str, list[RunMetrics]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
    for each in rows:
        cell = Cell(*each["cell"])
        runs[cell.dataset][cell.split][cell.row].append(RunMetrics(cell.split, cell.seed, metrics_of(each)))
        seconds[cell.dataset, cell.row].append(each["seconds"])
    shown = ["| dataset | splits | FairVGNN | AUC | F1 | ACC | bal. ACC | SP gap | EO gap | seconds |"]
    shown.append(f"|{'---|' * 10}")
    lines = []
    for dataset, by_split in ((name, runs[name]) for name in SEEDS if name in runs):
        names = [*settings_of(dataset)]
        whole = [s for s, of in sorted(by_split.items()) if all(len(of[name]) == SEEDS[dataset] for name in names)]
        for row in names if whole else []:
            own, reference = ([run for s in whole for run in by_split[s][name]] for name in (row, REFERENCE))
            gained = {name: difference(own, reference, name) for name in METRICS}
            means = {name: estimate(own, name) for name in METRICS}
            values = [
                f"{100 * means[name].mean:.1f}" if row == REFERENCE else in_points(gained[name])  # type: ignore[operator]
                for name in METRICS
            ]
            cost = sum(seconds[dataset, row]) / len(seconds[dataset, row])
            shown.append(f"| {dataset} | {len(whole)} | {row} | {' | '.join(values)} | {cost:.1f} |")
            cells_of = [dataset, str(len(whole)), row]
            lines += [[*cells_of, name, *tidy_numbers(means[name], gained[name])] for name in METRICS]
    return "\n".join(shown), lines


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--datasets", default=",".join(SEEDS))
    parser.add_argument("--finished", action="store_true")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    journals = sorted(given.folder.glob("*.jsonl"))
    if not given.finished:
        datasets = given.datasets.split(",")
        journal = given.folder / f"{'-'.join(datasets)}.jsonl"
        train(journal, given.splits, datasets)
        journals = sorted({*journals, journal})
    text, lines = tables([row for journal in journals for row in read_journal(journal)])
    print(text)
    if given.write:
        write_csv(TABLE, ["dataset", "splits", "row", "metric", "mean", "std", "minus_gcn", "low", "high"], lines)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
