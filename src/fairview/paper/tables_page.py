"""All tables, ours beside the paper's, on the page behind the results: from what `fairview paper` wrote."""

from __future__ import annotations

from pathlib import Path

from fairview.metrics.registry import METRICS
from fairview.paper.artefacts import ArtefactResult
from fairview.paper.cells import MAJORITY, SHOWN, YARDSTICKS, CellResult, change
from fairview.paper.checklist import findings
from fairview.paper.claims import claims_table, settings_of
from fairview.paper.pages import SMOKE, PageTable, bullet, runs_rule, tables, wrapped
from fairview.paper.results_page import CLAIM_RULE, heading, table3_and_all
from fairview.paper.table3 import LOWEST_LOSS
from fairview.study.statistics import INTERVAL_RULE, Estimate
from fairview.undefined import Undefined

TITLES = {
    "german": "German",
    "bail": "Bail",
    "bail-no-time": "Bail without TIME",
    "credit-small": "Credit, small graph",
    "credit-large": "Credit, large graph",
}


def tables_page(folder: Path) -> str:
    """The page, from what the folder holds.

    Raises:
        InputError: Table 3 was not run.
    """
    by_stem, _ = table3_and_all(folder)
    made = "Made by `fairview paper results`; not edited by hand. Percent on the test nodes: mean ± standard deviation."
    lines = ["# The tables behind the results", "", wrapped(f"{made} {runs_rule(by_stem.values())}")]
    for document in by_stem.values():
        lines += ["", f"## {heading(document)}", ""]
        lines += [SMOKE, ""] if document.scope["quick"] else []
        lines += [] if document.scope["splits"] else _tables(document)
        lines += _against_plain(document) if document.name == "table3" else []
        lines += [*map(bullet, document.notes)]
    lines += ["", "## The paper's claims", "", wrapped(CLAIM_RULE), "", claims_table(findings(by_stem)).markdown(), ""]
    return "\n".join(lines)


def _tables(document: ArtefactResult) -> list[str]:
    lines = []
    for table in tables(document):
        lines += [f"### {TITLES.get(table.title, table.title)}", "", table.markdown(), ""]
    return lines


# --- FairVGNN and the plain model -------------------------------------------------------------------------------------


def _against_plain(document: ArtefactResult) -> list[str]:
    """FairVGNN against the plain model: means with intervals, and the paired difference."""
    where = f"{document.scope['splits']} splits" if document.scope["splits"] else "The published split"
    lines = [f"### {where}: FairVGNN and the plain model", "", wrapped(INTERVAL_RULE), ""]
    table = []
    for (dataset, encoder), rows in settings_of(document, every=True).items():
        fair = rows.get("fairvgnn")
        if fair is None or not fair.known:
            continue
        lead = [dataset, str(encoder)]
        table.append([*lead, "FairVGNN", *_means(fair)])
        for name in (LOWEST_LOSS, "vanilla"):
            plain = rows.get(name)
            if plain is not None and plain.known:
                table.append([*lead, name, *_means(plain)])
                changes = [_interval(change(fair, plain, metric), sign="+") for metric in SHOWN]
                table.append([*lead, f"FairVGNN - {name}", *changes])
    table += [
        [row.cell.dataset, "-", MAJORITY, *_means(row)]
        for row in document.rows
        if row.cell.block == YARDSTICKS and row.cell.method == "constant"
    ]
    columns = ["dataset", "encoder", "", *(METRICS[metric].short for metric in SHOWN)]
    return [*lines, PageTable("", columns, table).markdown(), ""]


def _means(row: CellResult) -> list[str]:
    return [_interval(row.estimate(metric)) for metric in SHOWN]


def _interval(estimate: Estimate, sign: str = "") -> str:
    """Mean and interval in percent."""
    if isinstance(estimate.mean, Undefined):
        return "undefined"
    mean = f"{100 * estimate.mean:{sign}.2f}"
    if estimate.low is None or estimate.high is None:
        return mean
    return f"{mean} ({100 * estimate.low:{sign}.1f} to {100 * estimate.high:{sign}.1f})"
