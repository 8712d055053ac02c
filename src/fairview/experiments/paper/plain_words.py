"""What do the numbers of Table 3 say, in sentences? Each is made from the rows; none is written by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fairview.experiments.paper.artefacts import Document
from fairview.experiments.paper.cells import YARDSTICKS, Row
from fairview.experiments.paper.claims import Claim, Finding, settings_of
from fairview.experiments.paper.table3 import LOWEST_LOSS, NO_TIME
from fairview.experiments.paper.verdicts import falls_short, in_words, verdicts
from fairview.experiments.statistics import GAPS
from fairview.metrics.undefined import Undefined

NEAR_CONSTANT = 2.0
"""Points of balanced accuracy around 50 within which a model is called a constant predictor in all but name."""

RIVALS = ("nifty", "edits", "fairgnn")


def plain_words(main: Document, claims: Mapping[str, tuple[Claim, Finding]]) -> list[str]:
    """The sentences that belong on top of the page."""
    if main.scope["quick"]:
        return ["A smoke test says nothing."]
    of_table = (_reproduced, _against_plain, _against_rivals, _near_constant, _without_a_graph, _without_time)
    return [sentence for said in of_table for sentence in said(main)] + list(_claims(claims))


def _reproduced(main: Document) -> Iterator[str]:
    rows = [row for row in main.rows if row.cell.row == "fairvgnn" and verdicts(row)]
    if rows:
        short = [f"{_name(row)} ({in_words(row)})" for row in rows if falls_short(row)]
        others = f"; the others: {_listed(short)}" if short else ""
        yield (
            f"{len(rows) - len(short)} of {len(rows)} FairVGNN cells meet the paper's (no metric worse by more than "
            f"two of its deviations){others}."
        )
    rivals = [row for row in main.rows if row.cell.row in RIVALS and verdicts(row)]
    if rivals:
        met_rivals = sum(not falls_short(row) for row in rivals)
        yield f"Of the rivals' cells, {met_rivals} of {len(rivals)} meet the paper's."


def _against_plain(main: Document) -> Iterator[str]:
    """Beside the plain model of the published rule, and beside that of the rule that the fair methods use."""
    for name, words in ((LOWEST_LOSS, "that keeps its lowest loss, as published"), ("vanilla", "with the same rule")):
        better, total = [], 0
        for rows in settings_of(main).values():
            fair, plain = rows.get("fairvgnn"), rows.get(name)
            if fair is None or plain is None or not fair.values or not plain.values:
                continue
            total += 1
            if _fairer(fair, plain):
                gained = (fair.mean("auc") or 0.0) - (plain.mean("auc") or 0.0)
                better.append(f"{_name(fair)} (AUC {gained:+.1f})")
        if total:
            listed = f": {_listed(better)}" if better else ""
            yield (
                f"FairVGNN's gaps are both smaller than those of the plain model {words} in {len(better)} of {total} "
                f"settings{listed}."
            )


def _against_rivals(main: Document) -> Iterator[str]:
    wins, total = [], 0
    for rows in settings_of(main).values():
        fair = rows.get("fairvgnn")
        others = [rows[name] for name in RIVALS if name in rows and rows[name].values]
        if fair is not None and fair.values and others:
            total += 1
            wins += [_name(fair)] if all(_fairer(fair, other) for other in others) else []
    if total:
        listed = f": {_listed(wins)}" if wins else ""
        yield f"Both gaps are smaller than those of every rival that was run in {len(wins)} of {total}{listed}."


def _near_constant(main: Document) -> Iterator[str]:
    found: dict[str, list[str]] = {}
    for row in main.rows:
        if row.cell.block == YARDSTICKS or row.cell.row not in ("fairvgnn", "vanilla", *RIVALS):
            continue
        spread, mean = row.estimate("balanced_accuracy"), row.mean("balanced_accuracy")
        if mean is None or isinstance(spread.mean, Undefined):
            continue
        low = 100 * spread.low if spread.low is not None else mean
        if mean < 50 + NEAR_CONSTANT or low <= 50:
            rate = row.mean("false_positive_rate") or 0.0
            found.setdefault(row.cell.row, []).append(f"{_name(row)} ({mean:.1f}, {rate:.0f})")
    for method, cells in found.items():
        yield (
            f"Hardly to be told from the predictor that looks at nothing, which is perfectly fair (balanced accuracy, "
            f"false positive rate): {method} on {_listed(cells)}."
        )
    if "fairvgnn" not in found:
        yield "Nowhere is FairVGNN's balanced accuracy near the constant predictor's 50."


def _without_a_graph(main: Document) -> Iterator[str]:
    """A yardstick that beats every FairVGNN cell of its dataset."""
    for dataset in dict.fromkeys(row.cell.dataset for row in main.rows):
        rows = [row for row in main.rows if row.cell.dataset == dataset]
        fair = [mean for row in rows if row.cell.row == "fairvgnn" and (mean := row.mean("auc")) is not None]
        if not fair:
            continue
        for row in rows:
            mean = row.mean("auc")
            if row.cell.block == YARDSTICKS and mean is not None and mean > max(fair):
                gaps = " and ".join(f"{row.mean(metric) or 0.0:.1f}" for metric in GAPS)
                yield (
                    f"On {dataset} {row.cell.row}, which looks at no links, has AUC {mean:.1f} (gaps {gaps}), more "
                    f"than FairVGNN's best {max(fair):.1f}."
                )


def _without_time(main: Document) -> Iterator[str]:
    both = {}
    for dataset in ("bail", NO_TIME):
        means = [row.mean("auc") for row in main.rows if row.cell.dataset == dataset and row.cell.row == "fairvgnn"]
        both[dataset] = [mean for mean in means if mean is not None]
    if both["bail"] and both[NO_TIME]:
        yield (
            f"Bail's column TIME gives the label away: without it FairVGNN's best AUC is {max(both[NO_TIME]):.1f}, "
            f"with it {max(both['bail']):.1f}."
        )


def _claims(claims: Mapping[str, tuple[Claim, Finding]]) -> Iterator[str]:
    by_verdict: dict[str, list[str]] = {}
    for claim, finding in claims.values():
        by_verdict.setdefault(finding.verdict, []).append(claim.text)
    run = sum(len(texts) for verdict, texts in by_verdict.items() if verdict != "not run")
    yield f"{len(by_verdict.get('holds', []))} of {run} claims of the paper that we looked at hold."
    for verdict, words in (("does not", "Do not hold up"), ("mixed", "Mixed")):
        if texts := by_verdict.get(verdict):
            yield f"{words}: {_listed([text[0].lower() + text[1:] for text in texts], sign='; ')}."


def _fairer(one: Row, other: Row) -> bool:
    pairs = [(one.mean(metric), other.mean(metric)) for metric in GAPS]
    return all(mine is not None and theirs is not None and mine < theirs for mine, theirs in pairs)


def _name(row: Row) -> str:
    return f"{row.cell.dataset} {(row.cell.encoder or '').upper()}".strip()


def _listed(names: list[str], sign: str = ", ") -> str:
    return sign.join(names)
