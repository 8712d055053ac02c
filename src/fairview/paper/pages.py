"""How does a table read? Ours above the paper's, the verdict at the end; as Markdown, and tidy as CSV."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from fairview.metrics.registry import METRICS
from fairview.paper import numbers, table3
from fairview.paper.artefacts import ArtefactResult
from fairview.paper.cells import SHOWN, YARDSTICKS, CellResult
from fairview.paper.numbers import PAPER_METRICS
from fairview.paper.verdicts import in_words, verdicts

EARLIER = "earlier"
_RUNS_RULE = (
    "The rows have different numbers of runs: one of n runs has the first n seeds. Two rows are compared over the "
    "seeds that both have."
)
_EARLIER_RULE = (
    " *Earlier* rows are of seeds 1 to n too, from a call whose runs were not kept: of these only means and deviations "
    "are known."
)
SMOKE = "**A smoke test: two epochs per run. The numbers mean nothing.**"


@dataclass(frozen=True)
class PageTable:
    """Something to print: a title, columns, and rows of texts."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        cells = [list(self.columns), ["---"] * len(self.columns), *self.rows]
        return "\n".join("| " + " | ".join(_escaped(str(cell)) for cell in row) + " |" for row in cells)


def tables(document: ArtefactResult) -> list[PageTable]:
    """What to print of a document: a table per dataset, average ranks for Table 3, series as they are."""
    datasets = dict.fromkeys(row.cell.dataset for row in document.rows)
    listed = [rows_table(name, [row for row in document.rows if row.cell.dataset == name]) for name in datasets]
    if document.name == "table3" and (ranks := rank_table(document)):
        listed.append(ranks)
    if document.series:
        listed.append(_series_table(document))
    return listed


def rows_table(title: str, rows: Sequence[CellResult], *, paper: bool = True) -> PageTable:
    """The rows of a dataset; below each, if wished, what the paper prints for it."""
    columns = ["encoder", "row", "", *(METRICS[m].short for m in SHOWN), "runs", "verdict"]
    lines: list[list[str]] = []
    for row in rows:
        cell = row.cell
        block = f" ({cell.block})" if cell.block not in ("", YARDSTICKS) else ""
        lead = [cell.encoder or "-", cell.row + block]
        ours = [shown(row, metric, deviation=metric in PAPER_METRICS) for metric in SHOWN]
        lines.append([*lead, "ours", *ours, _runs(row), in_words(row)])
        if paper and cell.printed is not None:
            printed = [_printed(cell.printed.get(metric)) for metric in PAPER_METRICS]
            lines.append([""] * len(lead) + ["paper", *printed, "", "", "", ""])
    return PageTable(title, columns, lines)


def shown(row: CellResult, metric: str, *, deviation: bool = True) -> str:
    """Mean and standard deviation in percent."""
    mean, std = row.mean(metric), row.std(metric)
    if mean is None or std is None:
        return "-" if row.reason else "undefined"
    return f"{mean:.2f}±{std:.2f}" if deviation and row.count > 1 else f"{mean:.2f}"


def _runs(row: CellResult) -> str:
    """How many, and whether they are of an earlier call."""
    return f"{row.count}, {EARLIER}" if row.earlier else str(row.count)


def rank_table(document: ArtefactResult) -> PageTable | None:
    """Average ranks over the datasets at hand: ours, and the paper's as printed and as its own means give them."""
    ours = our_ranks(document.rows)
    if not ours:
        return None
    printed, recomputed = numbers.printed_ranks(), numbers.recomputed_ranks()
    lines = []
    for key in sorted(ours, key=lambda key: ours[key]):
        again = f"{recomputed[key]:.2f} ({recomputed[key] - printed[key]:+.2f})"
        lines.append([*key, f"{ours[key]:.2f}", f"{printed[key]:.2f}", again])
    columns = ["encoder", "method", "ours", "paper, as printed", "paper, recomputed (difference)"]
    where = ", ".join(_ranked(document.rows))
    return PageTable(f"Average rank (1 is best; {len(lines)} models on {where} here, 15 in the paper)", columns, lines)


def our_ranks(rows: Iterable[CellResult]) -> dict[tuple[str, str], float]:
    """(encoder, method) -> average rank, of the paper's methods that have a number for every metric and dataset.

    A dataset on which nothing was run takes no part.
    """
    ranked = _ranked(rows)
    keys = sorted(set.intersection(*map(set, ranked.values()))) if ranked else []
    if len(keys) < 2:
        return {}
    means = [
        [{metric: of_dataset[key].estimate(metric).mean for metric in PAPER_METRICS} for key in keys]
        for of_dataset in ranked.values()
    ]
    return dict(zip(keys, numbers.average_ranks(means), strict=True))


def _ranked(rows: Iterable[CellResult]) -> dict[str, dict[tuple[str, str], CellResult]]:
    """Dataset -> (encoder, method) -> the row, of those that have a number for every metric."""
    ranked: dict[str, dict[tuple[str, str], CellResult]] = {}
    for row in rows:
        cell = row.cell
        if cell.block or cell.dataset == table3.NO_TIME or cell.row not in table3.METHODS or cell.encoder is None:
            continue
        if None not in [row.mean(metric) for metric in PAPER_METRICS]:
            ranked.setdefault(cell.dataset, {})[cell.encoder, cell.row] = row
    return ranked


def runs_rule(documents: Iterable[ArtefactResult]) -> str:
    """What a reader must know of rows with different numbers of runs."""
    earlier = any(row.earlier for document in documents for row in document.rows)
    return _RUNS_RULE + _EARLIER_RULE if earlier else _RUNS_RULE


def markdown(document: ArtefactResult, *, checks: PageTable | None = None) -> str:
    """The page of a table or figure."""
    scope = document.scope
    draws = f"{scope['splits']} stratified splits, " if scope["splits"] else "the published split, "
    lines = [f"# {document.title}", ""]
    if scope["quick"]:
        lines += [SMOKE, ""]
    lines += [f"Percent on the test nodes; {draws}seeds 1 to {scope['seeds']}; mean ± standard deviation.", ""]
    if any(row.lacks_runs or row.earlier for row in document.rows):
        lines += [wrapped(runs_rule([document])), ""]
    for table in tables(document):
        lines += [f"## {table.title}", "", table.markdown(), ""]
    if checks is not None and checks.rows:
        lines += [f"## {checks.title}", "", checks.markdown(), ""]
    lines += ["## Notes", "", *map(bullet, document.notes), ""]
    return "\n".join(lines)


def wrapped(text: str, indent: str = "") -> str:
    """Prose in lines of at most 119 characters; further lines are indented."""
    return textwrap.fill(text, 119, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def bullet(text: str) -> str:
    """A point of a list."""
    return wrapped(f"- {text}", "  ")


def tidy(document: ArtefactResult) -> str:
    """CSV, one line per row and metric; a document without rows has its series in it."""
    records = [dict(record) for record in document.series] if not document.rows else list(_tidy_rows(document.rows))
    columns = list(dict.fromkeys(name for record in records for name in record))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for record in records:
        writer.writerow([_plain(record.get(name)) for name in columns])
    return out.getvalue()


def tidy_series(document: ArtefactResult) -> str | None:
    """CSV of the series of a document that has rows too."""
    if not document.rows or not document.series:
        return None
    return tidy(ArtefactResult(document.name, document.title, document.scope, series=document.series))


def _tidy_rows(rows: Iterable[CellResult]) -> Iterable[dict[str, Any]]:
    for row in rows:
        cell, judged = row.cell, verdicts(row)
        for metric in SHOWN:
            printed = (cell.printed or {}).get(metric)
            verdict = judged.get(metric)
            yield {
                "dataset": cell.dataset,
                "encoder": cell.encoder,
                "block": cell.block,
                "row": cell.row,
                "method": cell.method,
                **cell.facts,
                "metric": metric,
                "runs": row.count,
                "mean": row.mean(metric),
                "std": row.std(metric),
                "paper_mean": printed and printed.mean,
                "paper_std": printed and printed.std,
                "difference": verdict and verdict.difference,
                "verdict": verdict.word if verdict else "",
                "remark": row.reason or cell.not_compared,
                "source": EARLIER if row.earlier else "",
            }


def _series_table(document: ArtefactResult) -> PageTable:
    """Table 2 as it is; correlations with one column per hop."""
    if "hop" not in document.series[0]:
        columns = list(document.series[0])
        return PageTable("Sizes", columns, [[_text(record[name]) for name in columns] for record in document.series])
    hops = sorted({record["hop"] for record in document.series})
    lines: dict[tuple[str, ...], list[str]] = {}
    for record in document.series:
        homophily = _text(None if record["homophily"] is None else round(record["homophily"], 4))
        key = (record["dataset"], homophily, str(record["place"]), record["channel"])
        lines.setdefault(key, []).append(f"{record['correlation']:.3f}")
    columns = ["dataset", "homophily", "place", "channel", *(f"hop {hop}" for hop in hops)]
    return PageTable("Correlation with the sensitive attribute", columns, [[*key, *row] for key, row in lines.items()])


def _printed(number: numbers.Number | None) -> str:
    if number is None:
        return "-"
    return f"{number.mean:.2f}" if number.std is None else f"{number.mean:.2f}±{number.std:.2f}"


def _text(value: Any) -> str:
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def _plain(value: Any) -> Any:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else value


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
