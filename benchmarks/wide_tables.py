"""What does a table with very many columns cost? Seconds to read, check and start training, beside the limit of 20 s.

python -m benchmarks.wide_tables             10,000 and 100,000 columns, 50 rows
python -m benchmarks.wide_tables 1000        so many columns
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl

import fairview as fv
from fairview.data.summary import summarise
from fairview.errors import InputError
from fairview.runs.run import train_run

COLUMNS = (10_000, 100_000)
ROWS = 50
TARGET = 20.0  # seconds, for each of the cases


def write_table(path: Path, columns: int, cell: str | None = None) -> None:
    """A table of random whole numbers, or of one cell throughout."""
    values = np.random.default_rng(0).integers(0, 100, (ROWS, columns)).astype(str)
    if cell is not None:
        values[:] = cell
    head = ["id", "label", "group", *(f"column {place}" for place in range(columns))]
    rows = [[str(row), str(row % 2), "fm"[row // 2 % 2], *values[row]] for row in range(ROWS)]
    path.write_text("".join(",".join(line) + "\n" for line in [head, *rows]), encoding="utf-8")


def cases(columns: int, folder: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    """What is timed, by name."""
    good, texts, empty = folder / "good.csv", folder / "texts.csv", folder / "empty.csv"
    write_table(good, columns)
    write_table(texts, columns, "text")
    write_table(empty, columns, "")
    names = [f"column {place}" for place in range(columns)]
    read = partial(fv.read_graph, label="label", sensitive="group", split_seed=0)
    graph = read(good)
    yield "read_graph", partial(read, good)
    yield "read_graph, a polars frame", partial(read, pl.read_csv(good))
    yield "read_graph, a pandas frame", partial(read, pd.read_csv(good))
    yield "read_graph, columns dropped by name", partial(read, good, drop=names[1:])
    yield "read_graph, columns chosen by name", partial(read, good, features=names)
    yield "read_graph by the recipe", partial(fv.read_graph, good, recipe=graph.recipe)
    yield "read_graph, all columns are texts", partial(refused, read, texts)
    yield "read_graph, all columns are empty", partial(refused, read, empty)
    yield "read_graph, all names are mistyped", partial(refused, read, good, features=[f"{name}x" for name in names])
    yield "check (read_graph, summary)", lambda: summarise(read(good))
    yield "train, 1 epoch of the plain model", lambda: train_run(fv.Vanilla(epochs=1), graph, folder / "plain")
    yield "train, 1 epoch of FairVGNN", lambda: train_run(fv.FairVGNN(epochs=1), graph, folder / "fair")
    yield "load_model", lambda: fv.load_model(folder / "fair")
    turned = graph.with_features(graph.features[:, ::-1], graph.channels[::-1])
    yield "predict, channels in another order", lambda: fv.load_model(folder / "fair").predict_proba(turned)


def refused(read: Callable[..., fv.NodeGraph], path: Path, **options: list[str]) -> None:
    """Read what must not be read."""
    try:
        read(path, **options)
    except InputError:
        return
    raise SystemExit(f"{path.name} was read")


def main(sizes: tuple[int, ...] = COLUMNS) -> int:
    """Print the table of docs/limits.md; 3 if a case takes longer than the target."""
    slow = False
    print("| columns | | seconds | seconds of CPU |\n|---|---|---|---|")
    for columns in sizes:
        with tempfile.TemporaryDirectory() as folder:
            for name, run in cases(columns, Path(folder)):
                start, used = time.perf_counter(), time.process_time()
                run()
                seconds, used = time.perf_counter() - start, time.process_time() - used
                slow |= seconds > TARGET
                print(f"| {columns:,} | {name} | {seconds:.1f} | {used:.1f} |", flush=True)
    return 3 if slow else 0


if __name__ == "__main__":
    sys.exit(main(tuple(int(size) for size in sys.argv[1:]) or COLUMNS))
