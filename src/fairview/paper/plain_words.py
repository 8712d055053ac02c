"""What do the numbers of Table 3 say, question by question? Sentences and small tables, each made from the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from fairview.paper.artefacts import ArtefactResult
from fairview.paper.cells import YARDSTICKS, CellResult, change, paired
from fairview.paper.claims import Claim, Finding, settings_of
from fairview.paper.pages import PageTable
from fairview.paper.table3 import LOWEST_LOSS, NO_TIME, TUNED
from fairview.paper.verdicts import falls_short, in_words, verdicts
from fairview.study.statistics import GAPS

NEAR_MAJORITY = 2.0
"""Points of balanced accuracy around 50 within which a model is as good as the same answer for everybody."""

BASELINES = ("nifty", "edits", "fairgnn")

PLAIN_MODELS = {LOWEST_LOSS: "lowest loss, as published", "vanilla": "same selection rule"}
"""The two plain models, and how each chooses its epoch."""


Answers = Mapping[str, Sequence[str | PageTable]]
"""Sentences and tables under each question."""


def plain_words(main: ArtefactResult, several: Sequence[ArtefactResult] = ()) -> Answers:
    """What belongs on top of the page; a question without an answer is left out.

    Args:
        main: Table 3 on the published split.
        several: Table 3 on repeated splits.
    """
    if main.scope["quick"]:
        return {"What does it say?": ["A smoke test says nothing."]}
    splits = [document for document in several if not document.scope["quick"]]
    answers: dict[str, list[str | PageTable]] = {
        "Does FairVGNN reach the paper's numbers?": list(_reproduced(main)),
        "Is it fairer than the plain model?": [
            *_against_plain(main), *(sentence for document in splits for sentence in _over_splits(document))
        ],
        "Is it fairer than the baselines?": list(_against_baselines(main)),
        "Caveats": [
            sentence for part in (_near_majority, _without_a_graph, _without_time, _lacking) for sentence in part(main)
        ],
    }  # fmt: skip
    return {question: sentences for question, sentences in answers.items() if sentences}


def _lacking(main: ArtefactResult) -> Iterator[PageTable]:
    """What the sentences can't speak of."""
    lacking: dict[tuple[str, str], list[str]] = {}
    for row in main.rows:
        if row.reason:
            where = row.cell.dataset if row.cell.block == YARDSTICKS else _name(row)
            lacking.setdefault((row.cell.row, row.reason), []).append(where)
    if lacking:
        rows = [[name, _listed(places), reason] for (name, reason), places in lacking.items()]
        yield PageTable("", ["without numbers", "on", "because"], rows)


def _reproduced(main: ArtefactResult) -> Iterator[str | PageTable]:
    short: list[CellResult] = []
    for name, words in (("fairvgnn", "FairVGNN cells"), (TUNED, "FairVGNN cells with settings chosen on validation")):
        rows = [row for row in main.rows if row.cell.row == name and verdicts(row)]
        missed = [row for row in rows if falls_short(row)]
        short += missed
        if rows:
            yield (
                f"{len(rows) - len(missed)} of {len(rows)} {words} meet the paper's numbers: no metric is worse by "
                "more than two of its deviations."
            )
    baselines = [row for row in main.rows if row.cell.row in BASELINES and verdicts(row)]
    if baselines:
        yield f"{sum(not falls_short(row) for row in baselines)} of {len(baselines)} cells of the baselines meet them."
    if short:
        lines = [[_name(row), row.cell.row, in_words(row), str(row.count)] for row in short]
        yield PageTable("", ["falls short", "row", "by", "runs"], lines)


def _pairs(document: ArtefactResult, plain: str) -> list[tuple[CellResult, CellResult]]:
    """FairVGNN and a plain model, setting by setting, where both were run."""
    rows = [(of_setting.get("fairvgnn"), of_setting.get(plain)) for of_setting in settings_of(document).values()]
    return [
        (fair, other) for fair, other in rows if fair is not None and other is not None and fair.known and other.known
    ]


def _against_plain(main: ArtefactResult) -> Iterator[str]:
    """Beside the plain model of the published rule, and beside that of the rule that the fair methods use."""
    for name, words in PLAIN_MODELS.items():
        pairs = _pairs(main, name)
        better = [pair for pair in pairs if _fairer(*pair)]
        clear = sum(all(_is_clear(*pair, metric) for metric in GAPS) for pair in better)
        if pairs:
            yield (
                f"FairVGNN reduces both gaps in {len(better)} of {len(pairs)} settings, compared with the plain model "
                f"({words}). In {clear} of them the difference exceeds the noise between seeds."
            )


def _over_splits(several: ArtefactResult) -> Iterator[str]:
    """The same on repeated splits, whose intervals say more than those of seeds."""
    for name, words in PLAIN_MODELS.items():
        pairs = _pairs(several, name)
        sp, eo = (sum(_is_clear(*pair, metric) for pair in pairs) for metric in GAPS)
        if pairs:
            yield (
                f"Over {several.scope['splits']} splits, compared with the plain model ({words}): its SP gap is "
                f"smaller beyond the noise in {sp}, its EO gap in {eo} of {len(pairs)} settings."
            )


def _against_baselines(main: ArtefactResult) -> Iterator[str]:
    wins, total = [], 0
    for rows in settings_of(main).values():
        fair = rows.get("fairvgnn")
        others = [rows[name] for name in BASELINES if name in rows and rows[name].known]
        if fair is not None and fair.known and others:
            total += 1
            if all(_fairer(fair, other) for other in others):
                wins.append(_name(fair))
    if total:
        listed = f": {_listed(wins)}" if wins else ""
        yield f"Both gaps are smaller than those of every baseline in {len(wins)} of {total} settings{listed}."


def _near_majority(main: ArtefactResult) -> Iterator[str | PageTable]:
    """Within two points of the majority answer, or with so few or so different runs that their interval includes it."""
    near, unsure, fair = [], [], 0
    for row in main.rows:
        if row.cell.block == YARDSTICKS or row.cell.row not in ("fairvgnn", "vanilla", *BASELINES):
            continue
        spread, mean = row.estimate("balanced_accuracy"), row.mean("balanced_accuracy")
        if mean is None:
            continue
        line = [_name(row), row.cell.row, f"{mean:.1f}", _percent(row, "false_positive_rate", 0)]
        fair += row.cell.row == "fairvgnn"
        if abs(mean - 50) < NEAR_MAJORITY:
            near.append([*line, f"within {NEAR_MAJORITY:g} points"])
        elif spread.low is not None and spread.high is not None and spread.low <= 0.5 <= spread.high:
            unsure.append([*line, f"its interval over {row.count} runs includes 50"])
    if near or unsure:
        yield "The majority answer has gaps of 0 and a balanced accuracy of 50. Not shown to be better than that:"
        columns = ["on", "model", "balanced accuracy", "false positive rate", "because"]
        yield PageTable("", columns, [*near, *unsure])
    if fair and not any(line[1] == "fairvgnn" for line in near + unsure):
        yield f"In none of its {fair} cells is FairVGNN's balanced accuracy near the majority answer's 50."


def _without_a_graph(main: ArtefactResult) -> Iterator[str | PageTable]:
    """The yardsticks that beat every FairVGNN cell of their dataset."""
    lines = []
    for dataset in dict.fromkeys(row.cell.dataset for row in main.rows):
        rows = [row for row in main.rows if row.cell.dataset == dataset]
        fair = [mean for row in rows if row.cell.row == "fairvgnn" and (mean := row.mean("auc")) is not None]
        for row in rows if fair else ():
            mean = row.mean("auc")
            if row.cell.block == YARDSTICKS and mean is not None and mean > max(fair):
                gaps = [_percent(row, metric) for metric in GAPS]
                lines.append([dataset, row.cell.row, f"{mean:.2f}", *gaps, f"{max(fair):.2f}"])
    if lines:
        yield "Models that ignore the links have a higher AUC than FairVGNN's best:"
        yield PageTable("", ["on", "model without links", "AUC", "SP gap", "EO gap", "FairVGNN's best AUC"], lines)


def _without_time(main: ArtefactResult) -> Iterator[str]:
    """The same encoders with and without the column."""
    with_time, without = (
        {
            row.cell.encoder: mean
            for row in main.rows
            if row.cell.dataset == dataset and row.cell.row == "fairvgnn" and (mean := row.mean("auc")) is not None
        }
        for dataset in ("bail", NO_TIME)
    )
    shared = [encoder for encoder in with_time if encoder in without]
    if shared:
        yield (
            "Bail's column TIME gives the label away: FairVGNN's best AUC is "
            f"{max(with_time[encoder] for encoder in shared):.1f} with it and "
            f"{max(without[encoder] for encoder in shared):.1f} without "
            f"({_listed([str(encoder).upper() for encoder in shared])})."
        )


def verdicts_counted(claims: Mapping[str, tuple[Claim, Finding]]) -> str:
    """How many of the claims hold."""
    counts = Counter(finding.verdict for _, finding in claims.values())
    return (
        f"Of {counts.total() - counts['not run']} claims of the paper that were checked, {counts['holds']} hold, "
        f"{counts['mixed']} are mixed, {counts['does not']} do not hold and {counts['undecided']} are undecided."
    )


def _fairer(one: CellResult, other: CellResult) -> bool:
    one, other = paired(one, other)
    pairs = [(one.mean(metric), other.mean(metric)) for metric in GAPS]
    return all(mine is not None and theirs is not None and mine < theirs for mine, theirs in pairs)


def _is_clear(one: CellResult, other: CellResult, metric: str) -> bool:
    """The interval of the difference lies below zero."""
    high = change(one, other, metric).high
    return high is not None and high < 0


def _percent(row: CellResult, metric: str, digits: int = 1) -> str:
    mean = row.mean(metric)
    return "undefined" if mean is None else f"{mean:.{digits}f}"


def _name(row: CellResult) -> str:
    return f"{row.cell.dataset} {(row.cell.encoder or '').upper()}".strip()


def _listed(names: list[str]) -> str:
    return ", ".join(names)
