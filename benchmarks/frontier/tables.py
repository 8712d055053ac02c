"""How is the study read? A table for each graph, one of all graphs, and where Parity is ahead beyond the noise.

Differences are paired: the same split, a method minus Parity, with the 95 % t interval of the mean over splits.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.frontier.graphs import GRAPHS
from benchmarks.frontier.measure import chosen, hypervolume
from benchmarks.frontier.methods import COMPETITORS, GAPS
from benchmarks.frontier.published import PUBLISHED
from fairview.study.statistics import t_interval

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "frontier.md"
CSV = ROOT / "docs" / "results" / "frontier.csv"

LIMITS = (0.02, 0.05)
SHORT = {"statistical_parity": "SP", "equal_opportunity": "EO"}
REFERENCE = "parity"
OURS = ("parity", "parity-finer", "parity-mlp")
BORROWED = ("exponentiated-gradient-columns",)
"""Not a method of the package: another's algorithm on Parity's columns."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Measure:
    """A number of a graph, split and method, in points: a hypervolume, or the balanced accuracy under a limit.

    Attributes:
        gap: `statistical_parity` or `equal_opportunity`.
        limit: what the gap should keep on val; None is the hypervolume.
    """

    gap: str
    limit: float | None = None

    @property
    def name(self) -> str:
        """In tables."""
        return f"H {SHORT[self.gap]}" if self.limit is None else f"{SHORT[self.gap]} <= {100 * self.limit:g}"

    def value(self, row: Row) -> float:
        """What is to be large."""
        points = row["frontiers"][self.gap]
        return 100 * (hypervolume(points) if self.limit is None else chosen(points, self.limit).test_utility)

    def test_gap(self, row: Row) -> float | None:
        """Of the point that was chosen under the limit."""
        return None if self.limit is None else chosen(row["frontiers"][self.gap], self.limit).test_gap


MEASURES = [Measure(gap, limit) for gap in GAPS for limit in (None, *LIMITS)]


@dataclass(frozen=True)
class Cell:
    """A measure of a method on a graph, over the splits, and its difference to Parity on the splits of both."""

    mean: float
    splits: int
    difference: float
    low: float | None
    high: float | None
    gap: float | None
    above: float | None

    @property
    def verdict(self) -> str:
        """Whether the method is `ahead` of Parity, `behind`, or `level`: its interval has the 0 inside."""
        if self.low is None or self.high is None:
            return "level"
        return "ahead" if self.low > 0 else "behind" if self.high < 0 else "level"


class Study:
    """The journal, by graph and method.

    Args:
        rows: lines of a journal.
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows: dict[tuple[str, str], dict[int, Row]] = {}
        for row in rows:
            self.rows.setdefault((row["graph"], row["method"]), {})[row["split"]] = row
        self.graphs = [graph for graph in GRAPHS if any(graph == key[0] for key in self.rows)]

    def methods(self, graph: str) -> list[str]:
        """Those that were tried on a graph, in the order of the list."""
        return [method for method in COMPETITORS if (graph, method) in self.rows]

    def cell(self, graph: str, method: str, measure: Measure, reference: str = REFERENCE) -> Cell:
        """One number of the tables."""
        mine, other = self.rows[graph, method], self.rows.get((graph, reference), {})
        values = [measure.value(row) for row in mine.values()]
        pairs = [measure.value(mine[k]) - measure.value(other[k]) for k in sorted(mine.keys() & other.keys())]
        low, high = t_interval(pairs) or (None, None)
        gaps = [gap for row in mine.values() if (gap := measure.test_gap(row)) is not None]
        return Cell(
            mean=float(np.mean(values)),
            splits=len(values),
            difference=float(np.mean(pairs)) if pairs else float("nan"),
            low=low,
            high=high,
            gap=100 * float(np.mean(gaps)) if gaps else None,
            above=float(np.mean([gap > (measure.limit or 0) for gap in gaps])) if gaps else None,
        )

    def rivals(self, graph: str, *, group_at_prediction: bool = False) -> list[str]:
        """Methods of the package, Parity aside: those that do not need the group at prediction, or those that do."""
        return [
            method
            for method in self.methods(graph)
            if method not in (*OURS, *BORROWED) and COMPETITORS[method].group_at_prediction == group_at_prediction
        ]

    def mean(self, graph: str, method: str, what: str) -> float:
        """Of `seconds` or `models`, over splits."""
        return float(np.mean([row[what] for row in self.rows[graph, method].values()]))


# --- Markdown ---------------------------------------------------------------------------------------------------------


def markdown(study: Study, published: Sequence[Row]) -> dict[str, str]:
    """The parts of the page, by the name of their place."""
    return {
        "verdict": leads(study, study.rivals),
        "columns": leads(study, lambda graph: [each for each in BORROWED if (graph, each) in study.rows]),
        "group": leads(study, lambda graph: study.rivals(graph, group_at_prediction=True)),
        "overview": overview(study),
        "graphs": "\n\n".join(f"### {graph}\n\n{graph_table(study, graph)}" for graph in study.graphs),
        "published": published_table(published),
    }


def label(method: str) -> str:
    """With a star where the group is needed at prediction."""
    entry = COMPETITORS[method]
    return entry.label + (" *" if entry.group_at_prediction else "")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """In Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def leads(study: Study, rivals: Callable[[str], Sequence[str]]) -> str:
    """For each graph and measure: Parity minus the best of some rivals, which is named."""
    rows = []
    for graph in study.graphs:
        line = [graph]
        for measure in MEASURES:
            means = {method: study.cell(graph, method, measure).mean for method in rivals(graph)}
            best = max(means, key=lambda method: means[method], default=None)
            named = f" {label(best)}" if best is not None and len(means) > 1 else ""
            line.append("-" if best is None else _lead(study, graph, best, measure) + named)
        rows.append(line)
    return table(["graph", *(measure.name for measure in MEASURES)], rows)


def _lead(study: Study, graph: str, rival: str, measure: Measure) -> str:
    """Parity minus the rival, with its interval; bold where it is beyond the noise."""
    cell = study.cell(graph, rival, measure)
    text = f"{-cell.difference:+.1f}"
    if cell.low is not None and cell.high is not None:
        text += f" [{-cell.high:+.1f}, {-cell.low:+.1f}]"
    return text if cell.verdict == "level" else f"**{text}**"


def overview(study: Study) -> str:
    """Hypervolumes of all methods and graphs, SP / EO; those beyond the noise are marked."""
    marks = {"ahead": "▲", "behind": "▽", "level": ""}
    rows = []
    for method in COMPETITORS:
        line = [label(method)]
        for graph in study.graphs:
            if (graph, method) not in study.rows:
                line.append("-")
                continue
            cells = [study.cell(graph, method, measure) for measure in MEASURES if measure.limit is None]
            line.append(" / ".join(f"{cell.mean:.1f}{marks[cell.verdict]}" for cell in cells))
        rows.append(line)
    return table(["method", *study.graphs], rows)


def graph_table(study: Study, graph: str) -> str:
    """All measures of a graph."""
    rows = []
    for method in study.methods(graph):
        line = [label(method)]
        for measure in MEASURES:
            cell = study.cell(graph, method, measure)
            line.append(
                f"{cell.mean:.1f}" if cell.gap is None else f"{cell.mean:.1f} @ {cell.gap:.1f} ({cell.above:.0%})"
            )
            if measure.limit is None:
                line.append(_difference(cell) if method != REFERENCE else "")
        line.append(f"{study.mean(graph, method, 'models'):.0f} / {study.mean(graph, method, 'seconds'):.1f}")
        rows.append(line)
    head = ["method"]
    for measure in MEASURES:
        head += [measure.name] if measure.limit else [measure.name, "minus Parity"]
    splits = sorted({len(study.rows[graph, method]) for method in study.methods(graph)})
    words = f"{splits[0]}" if len(splits) == 1 else f"{splits[0]} to {splits[-1]}"
    return f"{words} splits.\n\n" + table([*head, "models / seconds"], rows)


def _difference(cell: Cell) -> str:
    if cell.low is None or cell.high is None:
        return f"{cell.difference:+.1f}"
    return f"{cell.difference:+.1f} [{cell.low:+.1f}, {cell.high:+.1f}]"


def published_table(rows: Sequence[Row]) -> str:
    """Each dataset's printed rows, then ours."""
    heads = ("AUC", "F1", "ACC", "SP", "EO")
    lines = []
    for row in rows:
        values = [row["note"], *[""] * 4] if row["values"] is None else [f"{value:.1f}" for value in row["values"]]
        lines.append([row["graph"], row["row"], *values])
    return table(["dataset", "row", *heads], lines)


# --- files ------------------------------------------------------------------------------------------------------------


def as_csv(study: Study) -> str:
    """A line for each graph, method and measure."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(
        ["graph", "method", "group_at_prediction", "measure", "splits", "mean", "minus_parity", "low", "high",
         "test_gap", "share_above_limit", "models", "seconds"]
    )  # fmt: skip
    for graph in study.graphs:
        for method in study.methods(graph):
            for measure in MEASURES:
                cell = study.cell(graph, method, measure)
                numbers = (cell.mean, cell.difference, cell.low, cell.high, cell.gap, cell.above)
                writer.writerow(
                    [graph, method, str(COMPETITORS[method].group_at_prediction).lower(), measure.name, cell.splits]
                    + ["" if number is None else f"{number:.3f}" for number in numbers]
                    + [f"{study.mean(graph, method, what):.2f}" for what in ("models", "seconds")]
                )
    return stream.getvalue()


def filled(page: str, parts: Mapping[str, str]) -> str:
    """The page with its places filled anew: what stands between `<!-- NAME -->` and `<!-- /NAME -->`.

    Example:
        >>> print(filled("<!-- a -->old<!-- /a -->", {"a": "new"}))
        <!-- a -->
        <BLANKLINE>
        new
        <BLANKLINE>
        <!-- /a -->
    """
    for name, text in parts.items():
        opening, closing = f"<!-- {name} -->", f"<!-- /{name} -->"
        place = re.compile(re.escape(opening) + ".*?" + re.escape(closing), flags=re.DOTALL)
        page = place.sub(lambda _: f"{opening}\n\n{text}\n\n{closing}", page)  # noqa: B023
    return page


def show(rows: Sequence[Row], out: Path, *, write: bool) -> None:
    """Print the tables; with `write`, into the page and the CSV of the docs."""
    study = Study(rows)
    path = out / PUBLISHED
    parts = markdown(study, json.loads(path.read_text(encoding="utf-8")) if path.exists() else [])
    if write:
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), parts), encoding="utf-8")
        CSV.write_text(as_csv(study), encoding="utf-8")
    else:
        for name, text in parts.items():
            print(f"## {name}\n\n{text}\n")
