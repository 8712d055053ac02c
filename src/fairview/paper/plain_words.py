"""What do the numbers of Table 3 say, in sentences? Each is made from the rows; none is written by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from fairview.metrics.registry import METRICS
from fairview.paper.artefacts import Document
from fairview.paper.cells import YARDSTICKS, Row
from fairview.paper.claims import Claim, Finding, settings_of
from fairview.paper.table3 import LOWEST_LOSS, NO_TIME, TUNED
from fairview.paper.verdicts import falls_short, in_words, verdicts
from fairview.study.statistics import GAPS, difference

NEAR_CONSTANT = 2.0
"""Points of balanced accuracy around 50 within which a model is called a constant predictor in all but name."""

RIVALS = ("nifty", "edits", "fairgnn")

_PLAIN = {LOWEST_LOSS: "that keeps its lowest loss, as published", "vanilla": "with the same rule"}


def plain_words(
    main: Document, claims: Mapping[str, tuple[Claim, Finding]], several: Sequence[Document] = ()
) -> list[str]:
    """The sentences that belong on top of the page.

    Args:
        main: Table 3 on the published split.
        claims: the checklist.
        several: Table 3 on repeated splits.
    """
    if main.scope["quick"]:
        return ["A smoke test says nothing."]
    of_table = (_lacking, _reproduced, _against_plain, _against_rivals, _near_constant, _without_a_graph, _without_time)
    found = [sentence for said in of_table for sentence in said(main)]
    found += [sentence for document in several if not document.scope["quick"] for sentence in _over_splits(document)]
    return found + list(_claims(claims))


def _lacking(main: Document) -> Iterator[str]:
    """What the sentences below can't speak of."""
    found: dict[str, dict[str, list[str]]] = {}
    for row in main.rows:
        if row.reason:
            where = row.cell.dataset if row.cell.block == YARDSTICKS else _name(row)
            found.setdefault(row.reason, {}).setdefault(row.cell.row, []).append(where)
    for reason, rows in found.items():
        cells = [f"{name} on {_listed(places)}" for name, places in rows.items()]
        yield f"Without numbers, {reason}, and so left out below: {_listed(cells, sign='; ')}."


def _reproduced(main: Document) -> Iterator[str]:
    rows = [row for row in main.rows if row.cell.row == "fairvgnn" and verdicts(row)]
    if rows:
        short = [f"{_name(row)} ({in_words(row)})" for row in rows if falls_short(row)]
        others = f"; the others: {_listed(short)}" if short else ""
        yield (
            f"{len(rows) - len(short)} of {len(rows)} FairVGNN cells that are compared meet the paper's (no metric "
            f"worse by more than two of its deviations){others}."
        )
    tuned = [row for row in main.rows if row.cell.row == TUNED and verdicts(row)]
    if tuned:
        told = [f"{_name(row)} ({in_words(row)})" for row in tuned]
        met = sum(not falls_short(row) for row in tuned)
        yield f"With settings chosen on validation, {met} of {len(tuned)} tuned cells meet it: {_listed(told)}."
    rivals = [row for row in main.rows if row.cell.row in RIVALS and verdicts(row)]
    if rivals:
        met_rivals = sum(not falls_short(row) for row in rivals)
        yield f"Of the rivals' cells that are compared, {met_rivals} of {len(rivals)} meet the paper's."


def _against_plain(main: Document) -> Iterator[str]:
    """Beside the plain model of the published rule, and beside that of the rule that the fair methods use."""
    for name, words in _PLAIN.items():
        better, clear, total = [], 0, 0
        for rows in settings_of(main).values():
            fair, plain = rows.get("fairvgnn"), rows.get(name)
            if fair is None or plain is None or not fair.values or not plain.values:
                continue
            total += 1
            if _fairer(fair, plain):
                clear += _clearly_fairer(fair, plain)
                mine, theirs = fair.mean("auc"), plain.mean("auc")
                gained = "undefined" if mine is None or theirs is None else f"{mine - theirs:+.1f}"
                better.append(f"{_name(fair)} (AUC {gained}{_if_constant(fair)})")
        if total:
            listed = f": {_listed(better)}" if better else ""
            yield (
                f"FairVGNN's gaps are both smaller than those of the plain model {words} in {len(better)} of {total} "
                f"settings, in {clear} of them beyond the noise of the seeds{listed}."
            )


def _over_splits(several: Document) -> Iterator[str]:
    """The same on repeated splits, whose intervals say more than those of seeds."""
    count = several.scope["splits"]
    for name, words in _PLAIN.items():
        lower: dict[str, list[str]] = {metric: [] for metric in GAPS}
        total = 0
        for rows in settings_of(several).values():
            fair, plain = rows.get("fairvgnn"), rows.get(name)
            if fair is None or plain is None or not fair.values or not plain.values:
                continue
            total += 1
            for metric in GAPS:
                high = difference(fair.runs, plain.runs, metric).high
                if high is not None and high < 0:
                    lower[metric].append(f"{_name(fair)}{_if_constant(fair, sign=' ')}")
        if total:
            told = [
                f"the {METRICS[metric].short} in {len(cells)}{f' ({_listed(cells)})' if cells else ''}"
                for metric, cells in lower.items()
            ]
            yield (
                f"Over {count} splits FairVGNN is fairer than the plain model {words}, beyond the noise, of {total} "
                f"settings by {_listed(told, sign='; by ')}."
            )


def _against_rivals(main: Document) -> Iterator[str]:
    wins, total = [], 0
    for rows in settings_of(main).values():
        fair = rows.get("fairvgnn")
        others = [rows[name] for name in RIVALS if name in rows and rows[name].values]
        if fair is not None and fair.values and others:
            total += 1
            if all(_fairer(fair, other) for other in others):
                wins.append(_name(fair) + _if_constant(fair, sign=" "))
    if total:
        listed = f": {_listed(wins)}" if wins else ""
        yield (
            f"FairVGNN's gaps are both smaller than those of every rival that was run in {len(wins)} of {total} "
            f"settings{listed}."
        )


def _near_constant(main: Document) -> Iterator[str]:
    """Within two points of the constant predictor, or so few or so different runs that their interval includes it."""
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
        is_near = abs(mean - 50) < NEAR_CONSTANT
        if is_near or (spread.low is not None and spread.high is not None and spread.low <= 0.5 <= spread.high):
            cells = (near if is_near else unsure).setdefault(row.cell.row, [])
            cells.append(f"{_name(row)} ({mean:.1f}, {_percent(row, 'false_positive_rate', 0)})")
    told = (
        (near, "Hardly to be told from the predictor that looks at nothing, which is perfectly fair"),
        (unsure, "The interval of the balanced accuracy over the runs includes 50, that of the predictor that looks at "
                 "nothing"),
    )  # fmt: skip
    for found, words in told:
        if found:
            listed = _listed([f"{method} on {_listed(cells)}" for method, cells in found.items()], sign="; ")
            yield f"{words} (balanced accuracy, false positive rate): {listed}."
    if looked_at and "fairvgnn" not in near | unsure:
        yield f"In none of its {looked_at} cells is FairVGNN's balanced accuracy near the constant predictor's 50."


def _without_a_graph(main: Document) -> Iterator[str]:
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
                f"On {dataset} models that look at no links have a higher AUC than FairVGNN's best {max(fair):.2f}: "
                f"{_listed(better)}."
            )


def _without_time(main: Document) -> Iterator[str]:
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
            f"Bail's column TIME gives the label away: without it FairVGNN's best AUC is "
            f"{max(without[encoder] for encoder in shared):.1f}, with it "
            f"{max(with_time[encoder] for encoder in shared):.1f} "
            f"({_listed([str(encoder).upper() for encoder in shared])})."
        )


def _claims(claims: Mapping[str, tuple[Claim, Finding]]) -> Iterator[str]:
    by_verdict: dict[str, list[str]] = {}
    for claim, finding in claims.values():
        by_verdict.setdefault(finding.verdict, []).append(claim.text)
    run = sum(len(texts) for verdict, texts in by_verdict.items() if verdict != "not run")
    yield f"{len(by_verdict.get('holds', []))} of {run} claims of the paper that we looked at hold."
    for verdict, words in (("does not", "Do not hold up"), ("mixed", "Mixed"), ("undecided", "Undecided")):
        if texts := by_verdict.get(verdict):
            yield f"{words}: {_listed([_within_a_sentence(text) for text in texts], sign='; ')}."


def _fairer(one: Row, other: Row) -> bool:
    pairs = [(one.mean(metric), other.mean(metric)) for metric in GAPS]
    return all(mine is not None and theirs is not None and mine < theirs for mine, theirs in pairs)


def _clearly_fairer(one: Row, other: Row) -> bool:
    """The intervals of both paired differences lie below zero."""
    ends = [difference(one.runs, other.runs, metric).high for metric in GAPS]
    return all(high is not None and high < 0 for high in ends)


def _if_constant(row: Row, sign: str = "; ") -> str:
    """A remark where a small gap says little."""
    mean = row.mean("balanced_accuracy")
    near = mean is not None and abs(mean - 50) < NEAR_CONSTANT
    return f"{sign}{'(near the constant)' if sign == ' ' else 'near the constant'}" if near else ""


def _percent(row: Row, metric: str, digits: int = 1) -> str:
    mean = row.mean(metric)
    return "undefined" if mean is None else f"{mean:.{digits}f}"


def _within_a_sentence(text: str) -> str:
    """Without the capital of a sentence's first word; names such as FairVGNN and S2 keep theirs."""
    word = text.split()[0]
    return text[0].lower() + text[1:] if word[1:] == word[1:].lower() and not any(map(str.isdigit, word)) else text


def _name(row: Row) -> str:
    return f"{row.cell.dataset} {(row.cell.encoder or '').upper()}".strip()


def _listed(names: list[str], sign: str = ", ") -> str:
    return sign.join(names)
