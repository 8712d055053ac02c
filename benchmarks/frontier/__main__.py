"""Run the study, or make its tables.

python -m benchmarks.frontier --budget 2 --out runs/frontier       every graph, ten splits, every method
python -m benchmarks.frontier published --out runs/frontier        Parity on the published splits
python -m benchmarks.frontier table --out runs/frontier            the tables in Markdown
python -m benchmarks.frontier table --out runs/frontier --write    the same into docs/frontier.md, and the CSV beside it

`OUT/journal.jsonl` has a line for each graph, split and method. A run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from benchmarks.frontier.graphs import GRAPHS, NODES, division
from benchmarks.frontier.measure import measure
from benchmarks.frontier.methods import COMPETITORS

JOURNAL = "journal.jsonl"


def run(
    out: Path, *, graphs: Sequence[str], splits: int, methods: Sequence[str], budget: float, nodes: int = NODES
) -> None:
    """Measure what the journal lacks; split by split, so that a study that is cut short has all graphs."""
    out.mkdir(parents=True, exist_ok=True)
    lines = list(journal(out))
    if other := {line["budget"] for line in lines} - {budget}:
        raise SystemExit(f"{out}: its journal has a budget of {other.pop():g} s, not {budget:g}; use another --out.")
    done = {(line["graph"], line["split"], line["method"]) for line in lines}
    with (out / JOURNAL).open("a+", encoding="utf-8") as stream:
        _end_line(stream)
        for split in range(1, splits + 1):
            for graph in graphs:
                for method in methods:
                    if (graph, split, method) in done:
                        continue
                    found = measure(COMPETITORS[method], division(graph, split, nodes), seconds=budget, seed=split)
                    row = {"graph": graph, "split": split, "method": method, "budget": budget} | found
                    stream.write(json.dumps(row) + "\n")
                    stream.flush()
                    print(f"{time.strftime('%H:%M:%S')} {graph} {split} {method}: {found['models']} models, "
                          f"{found['seconds']:.1f} s", flush=True)  # fmt: skip


def _end_line(stream: TextIO) -> None:
    """Behind a line that a kill tore, a new one begins."""
    stream.seek(0)
    if stream.read()[-1:] not in ("", "\n"):
        stream.write("\n")


def journal(out: Path) -> Iterator[dict[str, Any]]:
    """The lines of a journal; a line that a kill tore is as if it were not there."""
    path = out / JOURNAL
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.frontier", description=__doc__.splitlines()[0])
    parser.add_argument("action", nargs="?", choices=("run", "published", "table"), default="run")
    parser.add_argument("--out", type=Path, default=Path("runs/frontier"))
    parser.add_argument("--budget", type=float, default=2.0, help="seconds of processor time for each method")
    parser.add_argument("--graphs", type=_names(GRAPHS), default=GRAPHS, help=", ".join(GRAPHS))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--methods", type=_names(COMPETITORS), default=tuple(COMPETITORS), help=", ".join(COMPETITORS))
    parser.add_argument("--nodes", type=int, default=NODES, help="of the synthetic graphs")
    parser.add_argument("--without", type=int, default=0, help="table: leave a split out")
    parser.add_argument("--write", action="store_true", help="table: into docs/frontier.md and docs/results")
    given = parser.parse_args(arguments)
    if given.action == "run":
        chosen = {"graphs": given.graphs, "splits": given.splits, "methods": given.methods}
        run(given.out, **chosen, budget=given.budget, nodes=given.nodes)
    elif given.action == "published":
        from benchmarks.frontier.published import run_published

        run_published(given.out)
    else:
        from benchmarks.frontier.tables import show

        rows = [row for row in journal(given.out) if row["split"] != given.without]
        show(rows, given.out, write=given.write)


def _names(known: Sequence[str] | dict[str, Any]) -> Any:
    def names(text: str) -> tuple[str, ...]:
        found = tuple(text.split(","))
        for name in found:
            if name not in known:
                raise argparse.ArgumentTypeError(f"'{name}': expected some of {', '.join(known)}")
        return found

    return names


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
