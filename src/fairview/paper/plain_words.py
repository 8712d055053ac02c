"""What do the numbers of Table 3 say, in sentences, question by question? Each is made from the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from fairview.metrics.registry import METRICS
from fairview.paper.artefacts import ArtefactResult
from fairview.paper.cells import YARDSTICKS, CellResult, change, paired
from fairview.paper.claims import Claim, Finding, settings_of
from fairview.paper.table3 import LOWEST_LOSS, NO_TIME, TUNED
from fairview.paper.verdicts import falls_short, in_words, verdicts
from fairview.study.statistics import GAPS

NEAR_MAJORITY = 2.0
"""Points of balanced accuracy around 50 within which a model is as good as the same answer for everybody."""

RIVALS = ("nifty", "edits", "fairgnn")

PLAIN_MODELS = {LOWEST_LOSS: "lowest loss, as published", "vanilla": "same selection rule"}
"""The two plain models, and how each chooses its epoch."""


Answers = Mapping[str, Sequence[str]]
"""The sentences under each question."""


def plain_words(main: ArtefactResult, several: Sequence[ArtefactResult] = ()) -> Answers:
    """What belongs on top of the page; a question without an answer is left out.

    Args:
        main: Table 3 on the published split.
        several: Table 3 on repeated splits.
    """
    if main.scope["quick"]:
        return {"What does it say?": ["A smoke test says nothing."]}
    splits = [document for document in several if not document.scope["quick"]]
    answers: dict[str, list[str]] = {
        "Does FairVGNN reach the paper's numbers?": list(_reproduced(main)),
        "Is it fairer than the plain model?": [
            *_against_plain(main), *(sentence for document in splits for sentence in _over_splits(document))
        ],
        "Is it fairer than its rivals?": list(_against_rivals(main)),
        "What should a reader beware of?": [
            sentence for part in (_near_majority, _without_a_graph, _without_time, _lacking) for sentence in part(main)
        ],
    }  # fmt: skip
    return {question: sentences for question, sentences in answers.items() if sentences}


def _lacking(main: ArtefactResult) -> Iterator[str]:
    """What the sentences below can't speak of."""
    lacking: dict[str, dict[str, list[str]]] = {}
    for row in main.rows:
        if row.reason:
            where = row.cell.dataset if row.cell.block == YARDSTICKS else _name(row)
            lacking.setdefault(row.reason, {}).setdefault(row.cell.row, []).append(where)
    for reason, rows in lacking.items():
        yield f"No numbers ({reason}): {'; '.join(f'{name} on {_listed(places)}' for name, places in rows.items())}."


def _reproduced(main: ArtefactResult) -> Iterator[str]:
    for name, words in (("fairvgnn", "FairVGNN cells"), (TUNED, "FairVGNN cells with settings chosen on validation")):
        rows = [row for row in main.rows if row.cell.row == name and verdicts(row)]
        short = [f"{_name(row)} ({in_words(row)})" for row in rows if falls_short(row)]
        if rows:
            yield (
                f"{len(rows) - len(short)} of {len(rows)} {words} meet the paper's numbers: no metric is worse by more "
                "than two of its deviations."
            )
        if short:
            yield f"The other{'s' if len(short) > 1 else ''}: {_listed(short)}."
    rivals = [row for row in main.rows if row.cell.row in RIVALS and verdicts(row)]
    if rivals:
        yield f"{sum(not falls_short(row) for row in rivals)} of {len(rivals)} cells of the rivals meet them."


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
        counts = {metric: sum(_is_clear(*pair, metric) for pair in pairs) for metric in GAPS}
        if pairs:
            yield (
                f"Over {several.scope['splits']} splits, compared with the plain model ({words}): FairVGNN's "
                + " and its ".join(f"{METRICS[m].short} is smaller beyond the noise in {n}" for m, n in counts.items())
                + f" of {len(pairs)} settings."
            )


def _against_rivals(main: ArtefactResult) -> Iterator[str]:
    wins, total = [], 0
    for rows in settings_of(main).values():
        fair = rows.get("fairvgnn")
        others = [rows[name] for name in RIVALS if name in rows and rows[name].known]
        if fair is not None and fair.known and others:
            total += 1
            if all(_fairer(fair, other) for other in others):
                wins.append(_name(fair))
    if total:
        listed = f": {_listed(wins)}" if wins else ""
        yield f"Both gaps of FairVGNN are smaller than those of every rival in {len(wins)} of {total} settings{listed}."


def _near_majority(main: ArtefactResult) -> Iterator[str]:
    """Within two points of the majority answer, or with so few or so different runs that their interval includes it."""
    near: dict[str, list[str]] = {}
    unsure: dict[str, list[str]] = {}
    looked_at = 0
    for row in main.rows:
        if row.cell.block == YARDSTICKS or row.cell.row not in ("fairvgnn", "vanilla", *RIVALS):
            continue
        spread, mean = row.estimate("balanced_accuracy"), row.mean("balanced_accuracy")
        if mean is None:
            continue
        looked_at += row.cell.row == "fairvgnn"
        is_near = abs(mean - 50) < NEAR_MAJORITY
        if is_near or (spread.low is not None and spread.high is not None and spread.low <= 0.5 <= spread.high):
            cells = (near if is_near else unsure).setdefault(row.cell.row, [])
            cells.append(f"{_name(row)} ({mean:.1f}, {_percent(row, 'false_positive_rate', 0)})")
    told = (
        (near, f"Within {NEAR_MAJORITY:g} points of the majority answer's balanced accuracy of 50"),
        (unsure, "Not shown to beat the majority answer (the interval of the balanced accuracy includes 50)"),
    )
    for cells_of, words in told:
        if cells_of:
            listed = "; ".join(f"{method} on {_listed(cells)}" for method, cells in cells_of.items())
            yield f"{words}; balanced accuracy and false positive rate in brackets: {listed}."
    if looked_at and "fairvgnn" not in near | unsure:
        yield f"In none of its {looked_at} cells is FairVGNN's balanced accuracy near the majority answer's 50."


def _without_a_graph(main: ArtefactResult) -> Iterator[str]:
    """A yardstick that beats every FairVGNN cell of its dataset."""
    for dataset in dict.fromkeys(row.cell.dataset for row in main.rows):
        rows = [row for row in main.rows if row.cell.dataset == dataset]
        fair = [mean for row in rows if row.cell.row == "fairvgnn" and (mean := row.mean("auc")) is not None]
        if not fair:
            continue
        better = []
        for row in rows:
            mean = row.mean("auc")
            if row.cell.block == YARDSTICKS and mean is not None and mean > max(fair):
                gaps = " and ".join(_percent(row, metric) for metric in GAPS)
                better.append(f"{row.cell.row} {mean:.2f} (gaps {gaps})")
        if better:
            yield (
                f"On {dataset}, models without links have a higher AUC than FairVGNN's best ({max(fair):.2f}): "
                f"{_listed(better)}."
            )


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
