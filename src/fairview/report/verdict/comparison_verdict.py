"""Is any of the compared models fairer than the plain one, beyond chance, and still useful?"""

from __future__ import annotations

from fairview.metrics.registry import METRICS
from fairview.report.documents import ComparisonDocument, ComparisonRow
from fairview.report.verdict.parts import ReportVerdict
from fairview.report.words import difference_verdict, listed, metric_name, number, plural, points

_GAP = "statistical_parity_gap"


def comparison_verdict(comparison: ComparisonDocument) -> ReportVerdict:
    """Counts the models whose interval of the difference to the plain model lies below 0."""
    differences = {row.title: (row.difference or {}).get(_GAP) for row in comparison.rows}
    judged = {title: difference_verdict(_GAP, d.low, d.high) for title, d in differences.items() if d is not None}
    better = [title for title, word in judged.items() if word == "better"]
    useless = [row.title for row in comparison.rows if _ranks(row) is False]
    single = [row.title for row in comparison.rows if _ranks(row) is None]
    than = f"a smaller {metric_name(_GAP)} than the plain model, beyond chance"
    if better:
        have = "has" if len(better) == 1 or len(judged) == 1 else "have"
        headline = f"{len(better)} of {plural(len(judged), 'model')} {have} {than}."
    elif judged:
        headline = f"No model is shown to have {than}."
    else:
        headline = f"{plural(len(comparison.rows), 'model')} compared; no difference to a plain model was measured."
    trials = f"{plural(comparison.splits or 0, 'split')} and {plural(comparison.seeds or 0, 'seed')}"
    sentences = [f"Compared on {comparison.graph.source or 'unknown data'}, over {trials}."]
    if better:
        sentences.append(f"Smaller gap, beyond chance: {listed(better, 8)}.")
    useful = [row for row in comparison.rows if row.mean.get(_GAP) is not None and _ranks(row)]
    if useful:
        least = min(useful, key=lambda row: row.mean[_GAP] or 0.0)
        sentences.append(
            f"The smallest mean gap of a model that ranks better than chance is {points(least.mean[_GAP])} "
            f"({least.title}), with an AUC of {number(least.mean.get('auc'), 2)}."
        )
    if useless:
        sentences.append(f"Not shown to rank better than chance, so a small gap says little: {listed(useless, 8)}.")
    if single:
        sentences.append(f"Without an interval, because there is one run or all are equal: {listed(single, 8)}.")
    if needing := [row.title for row in comparison.rows if row.group_at_prediction]:
        sentences.append(f"Must be told each person's sensitive group to decide about them: {listed(needing, 8)}.")
    if comparison.selection:
        sentences.append(f"How each model was chosen: {comparison.selection}")
    undefined = [
        f"{row.title}: the {metric_name(metric)} is undefined: {reason}."
        for row in comparison.rows
        for metric, reason in row.undefined.items()
        if metric in METRICS
    ]
    return ReportVerdict(
        "good" if set(better) - {*useless, *single} else "unsure", headline, tuple(sentences), tuple(undefined[:6])
    )


def _ranks(row: ComparisonRow) -> bool | None:
    """Is it shown to rank better than chance? None without an interval, as after a single run, unless it is chance."""
    low, mean = row.low.get("auc"), row.mean.get("auc")
    if low is None:
        return False if mean is None or mean <= 0.5 else None
    return low > 0.5
