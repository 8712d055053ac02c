"""What came of it all, in plain words and tables? One Markdown page from what `fairview paper` wrote."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fairview.errors import InputError, command
from fairview.metrics.registry import METRICS
from fairview.paper.artefacts import ArtefactResult, documents
from fairview.paper.cells import MAJORITY, SHOWN, YARDSTICKS, CellResult
from fairview.paper.checklist import findings
from fairview.paper.claims import claims_table, settings_of
from fairview.paper.pages import SMOKE, PageTable, bullet, rank_table, rows_table, wrapped
from fairview.paper.plain_words import plain_words
from fairview.paper.table3 import LOWEST_LOSS
from fairview.study.statistics import INTERVAL_RULE, Estimate, difference
from fairview.undefined import Undefined

TITLES = {
    "german": "German",
    "bail": "Bail",
    "bail-no-time": "Bail without TIME",
    "credit-small": "Credit, small graph",
    "credit-large": "Credit, large graph",
}


def results_page(folder: Path) -> str:
    """The page, from what the folder holds; what was not run is said to be so.

    Raises:
        InputError: Table 3 was not run.
    """
    by_stem = documents(folder)
    main = by_stem.get("table3")
    if main is None:
        raise InputError(f"{folder}: no table3.json. Run {command('paper table3', folder=folder)} first.")
    checked = findings(by_stem)
    lines = ["# Results", "", *_made_by(main, by_stem), "", "## In plain words", ""]
    several = [document for stem, document in by_stem.items() if stem.startswith("table3-")]
    lines += [bullet(sentence) for sentence in plain_words(main, checked, several)]
    for dataset in dict.fromkeys(row.cell.dataset for row in main.rows):
        rows = [row for row in main.rows if row.cell.dataset == dataset]
        lines += ["", f"## {TITLES.get(dataset, dataset)}", "", rows_table("", rows).markdown()]
    if ranks := rank_table(main):
        lines += ["", f"## {ranks.title}", "", ranks.markdown()]
    for document in (main, *several):
        lines += ["", *_against_plain(document)]
    lines += ["", "## The paper's claims", "", wrapped(_CLAIM_RULE), "", claims_table(checked).markdown(), ""]
    lines += ["## Notes", "", *map(bullet, main.notes), ""]
    return "\n".join(lines)


_CLAIM_RULE = (
    "Each claim is checked by comparing means. It holds if nine in ten comparisons agree (more than half where the "
    "paper says *in most cases* or *generally*). It does not hold if fewer than half agree, and is mixed in between. "
    "It is undecided if no comparison exceeds the noise: the 95 % interval of the paired difference over the runs "
    "includes zero. A claim with two parts is as good as the worse one."
)


def _made_by(main: ArtefactResult, by_stem: Mapping[str, ArtefactResult]) -> list[str]:
    hours = sum(document.seconds for document in by_stem.values()) / 3600
    machine = [main.versions[name] for name in ("processor", "cpu_capability", "platform") if name in main.versions]
    versions = ", ".join(f"{name} {version}" for name, version in main.versions.items() if version not in machine)
    lines = [
        wrapped(
            "Made by `fairview paper results`; not edited by hand. Percent on the test nodes: mean ± standard "
            f"deviation over seeds 1 to {main.scope['seeds']} on the published split, one thread per run."
        ),
        "",
        wrapped(
            f"Machine: {', '.join(machine) or 'not known'}. Versions: {versions}. The runs took {hours:.1f} hours in "
            "all, each on one thread (a run that several tables share counts in each)."
        ),
    ]
    if main.scope["quick"]:
        lines += ["", SMOKE]
    return lines


# --- FairVGNN and the plain model -------------------------------------------------------------------------------------


def _against_plain(document: ArtefactResult) -> list[str]:
    """FairVGNN against the plain model: means with intervals, and the paired difference."""
    where = f"{document.scope['splits']} splits" if document.scope["splits"] else "The published split"
    lines = [f"## {where}: FairVGNN and the plain model", "", wrapped(INTERVAL_RULE), ""]
    lines += [SMOKE, ""] if document.scope["quick"] else []
    table = []
    for (dataset, encoder), rows in settings_of(document, every=True).items():
        fair = rows.get("fairvgnn")
        if fair is None or not fair.values:
            continue
        lead = [dataset, str(encoder)]
        table.append([*lead, "FairVGNN", *_means(fair)])
        for name in (LOWEST_LOSS, "vanilla"):
            plain = rows.get(name)
            if plain is not None and plain.values:
                paired = [difference(fair.runs, plain.runs, metric) for metric in SHOWN]
                table.append([*lead, name, *_means(plain)])
                table.append([*lead, f"FairVGNN - {name}", *(_interval(each, sign="+") for each in paired)])
    table += [
        [row.cell.dataset, "-", MAJORITY, *_means(row)]
        for row in document.rows
        if row.cell.block == YARDSTICKS and row.cell.method == "constant"
    ]
    columns = ["dataset", "encoder", "", *(METRICS[metric].short for metric in SHOWN)]
    return [*lines, PageTable("", columns, table).markdown()]


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
