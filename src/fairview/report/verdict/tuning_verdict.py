"""Was a model found that keeps the limits, what did that cost, and what do the limits leave out?"""

from __future__ import annotations

from dataclasses import dataclass

from fairview.report.documents import EvaluationDocument, MetricsRow
from fairview.report.folder import Content
from fairview.report.tuning_documents import LimitRow, TuningDocument
from fairview.report.verdict.model_verdict import is_useless
from fairview.report.verdict.parts import Fact, ReportVerdict, Status
from fairview.report.words import (
    capitalised,
    count,
    listed,
    main_gaps,
    method_name,
    metric_name,
    percent,
    plural,
    points,
    span,
)

_NUMBERS = {2: "two", 3: "three"}
VOID = "The certificate is void: the model in this folder is not the one that was tested."


@dataclass(frozen=True)
class Cost:
    """The utility of the most useful model without a limit, and of the chosen one, on the same nodes."""

    nodes: str
    plain: float
    chosen: float

    @property
    def lost(self) -> float:
        """What the limit took; negative where the chosen model is the better one on these nodes."""
        return self.plain - self.chosen


def costs(tuning: TuningDocument) -> list[Cost]:
    """On the validation and the test nodes, where both models were measured there."""
    plain, candidate = tuning.yardstick("plain"), tuning.candidate
    if plain is None or tuning.chosen is None:
        return []
    pairs: list[tuple[str, MetricsRow | None, MetricsRow | None]] = [
        ("validation", plain.metrics, candidate.metrics if candidate else tuning.metrics.get("val")),
        ("test", plain.test, tuning.metrics.get("test")),
    ]
    found = []
    for nodes, without, chosen in pairs:
        values = [row.value(tuning.utility) if row else None for row in (without, chosen)]
        if values[0] is not None and values[1] is not None:
            found.append(Cost(nodes, values[0], values[1]))
    return found


def less_or_more(lost: float) -> str:
    """A loss, or a gain, in words.

    Example:
        >>> less_or_more(0.023), less_or_more(-0.018), less_or_more(0.0001)
        ('2.3 points less', '1.8 points more', 'as much')
    """
    return "as much" if abs(lost) < 0.0005 else f"{points(abs(lost))} {'less' if lost > 0 else 'more'}"


def gap_name(limit: LimitRow) -> str:
    """A limited gap in words; of several attributes with whose it is."""
    return metric_name(limit.metric) + ("" if limit.attribute is None else f" by {limit.attribute}")


def limit_words(limits: list[LimitRow]) -> str:
    """The limits in a sentence.

    Example:
        >>> limit_words([LimitRow(gap="statistical_parity", limit=0.05)])
        'statistical parity gap of at most 5.0 points'
    """
    return listed([f"{gap_name(limit)} of at most {points(limit.limit)}" for limit in limits], 6)


def tuning_verdict(content: Content, tuning: TuningDocument) -> ReportVerdict:
    """Certified, refused, or the knee of the frontier."""
    test = tuning.metrics.get("test")
    useless = is_useless(test) if test is not None else None
    void = content.run is not None and content.run.certified_model is False
    status, headline = _headline(tuning, bool(useless), void)
    sentences = [_what_was_tried(tuning)]
    if tuning.chosen is not None:
        sentences += [_limit_sentence(limit) for limit in tuning.chosen.limits]
        sentences += _cost_sentences(tuning)
        sentences += _unlimited(tuning, test)
    elif tuning.limits:
        sentences.append(f"Asked for: {limit_words(tuning.limits)}.")
    return ReportVerdict(status, headline, tuple(sentences), tuple(_warnings(tuning, test)), _facts(tuning, test))


def _headline(tuning: TuningDocument, useless: bool, void: bool) -> tuple[Status, str]:
    many = len(tuning.limits) > 1
    limits = f"all {_NUMBERS.get(len(tuning.limits), len(tuning.limits))} limits" if many else "the limit"
    keeps = f"A model keeps {limits}"
    sure = "" if tuning.confidence is None else f" with {whole(tuning.confidence)} confidence"
    if void:
        return "bad", VOID
    if tuning.chosen is None:
        return "unsure", f"Refused: no model could be shown to keep {limits}{sure}."
    if not tuning.limits:
        return "unsure", "No limit was asked for: the knee of the frontier was taken, and nothing is certified."
    if useless:
        return "empty", f"{keeps}, but it is not shown to be better than giving everyone the same answer."
    return "good", f"{keeps}, certified{sure}{'' if many else f': {limit_words(tuning.limits)}'}."


def _what_was_tried(tuning: TuningDocument) -> str:
    graph, candidate = tuning.graph, tuning.candidate
    tried = plural(len(tuning.frontier) if tuning.trials is None else tuning.trials, "model")
    sizes = listed([f"{name} {size:,}" for name, size in graph.groups.items()], 6)
    of = graph.source or "unknown data"
    of += "" if graph.nodes is None else f" ({plural(graph.nodes, 'node')})"
    by = f", groups by {graph.sensitive or 'the sensitive attribute'}: {sizes}" if sizes else ""
    if tuning.chosen is None:
        return f"{tried} were tried on {of}{by}."
    chosen = candidate.title if candidate and candidate.title else method_name(tuning.chosen.method or "a model")
    at = "" if tuning.chosen.threshold is None else f" at the threshold {tuning.chosen.threshold:.3g}"
    return f"Chosen: {chosen}{at}, among {tried} on {of}{by}."


def _limit_sentence(limit: LimitRow) -> str:
    on = "" if limit.nodes is None else f" on {plural(limit.nodes, 'node')} that were kept for it"
    bound = "" if limit.upper_bound is None else f"; its own test would pass down to {points(limit.upper_bound)}"
    return f"{capitalised(gap_name(limit))}: limit {points(limit.limit)}; measured {points(limit.estimate)}{on}{bound}."


def _cost_sentences(tuning: TuningDocument) -> list[str]:
    found = costs(tuning)
    if not found:
        return []
    what = "the choice" if not tuning.limits else "the limits" if len(tuning.limits) > 1 else "the limit"
    parts = [
        f"{percent(cost.chosen)} against {percent(cost.plain)} on the {cost.nodes} nodes, {less_or_more(cost.lost)}"
        for cost in found
    ]
    utility = metric_name(tuning.utility)
    return [f"What {what} cost in {utility}, against the most useful model without a limit: {'; '.join(parts)}."]


def _unlimited(tuning: TuningDocument, test: EvaluationDocument | None) -> list[str]:
    """The gaps that no limit was set on: a certificate says nothing about them."""
    limited = {(limit.metric, limit.attribute) for limit in tuning.limits}
    found = []
    rows: dict[str | None, MetricsRow] = {} if test is None else {None: test}
    if test is not None and test.attributes:
        rows = dict(test.attributes.items())
    for metric in main_gaps():
        for name, row in rows.items():
            if (metric, name) in limited or (metric not in row.metrics and metric not in row.undefined):
                continue
            interval = row.interval(metric)
            sure = f" (95% interval {span(interval, scale=100, digits=1)})" if interval else ""
            gap = metric_name(metric) + ("" if name is None else f" by {name}")
            found.append(f"No limit was set on the {gap}; on the test nodes it is {points(row.value(metric))}{sure}.")
    return found


def _warnings(tuning: TuningDocument, test: EvaluationDocument | None) -> list[str]:
    warnings = []
    if tuning.chosen is not None and tuning.chosen.group_at_prediction:
        warnings.append(
            "This model needs each person's group when it predicts. In many places that is not allowed; the tuning was "
            "told that it is."
        )
    for limit in tuning.limits if tuning.chosen is not None and test is not None else []:
        row: MetricsRow | None = test.attributes.get(limit.attribute, test) if test and limit.attribute else test
        interval = row.interval(limit.metric) if row else None
        if interval is not None and interval[0] > limit.limit:
            warnings.append(
                f"On the test nodes the {gap_name(limit)} is {span(interval, scale=100, digits=1)} points (95% "
                f"interval), above the limit of {points(limit.limit)}. Find out why before you use this model."
            )
    return warnings


def _facts(tuning: TuningDocument, test: MetricsRow | None) -> tuple[Fact, ...]:
    facts = []
    refusal = tuning.refusal
    for limit in tuning.chosen.limits if tuning.chosen else []:
        detail = f"measured {points(limit.estimate)}"
        facts.append(Fact(f"{capitalised(gap_name(limit))}, at most", points(limit.limit), detail))
    if tuning.chosen is not None and test is not None:
        interval = test.interval(tuning.utility)
        detail = f"95% interval {span(interval, scale=100, digits=1)}" if interval else "test nodes"
        name = capitalised(metric_name(tuning.utility))
        facts.append(Fact(f"{name}, tested", percent(test.value(tuning.utility)), detail))
    for cost in costs(tuning)[-1:]:
        name = "Cost of the limit" if len(tuning.limits) == 1 else "Cost of the limits" if tuning.limits else "Cost"
        lost = points(cost.lost) if cost.lost > 0 else "none"
        facts.append(Fact(name, lost, f"{metric_name(tuning.utility)}, {cost.nodes} nodes"))
    if tuning.chosen is None and refusal is not None:
        asked = [points(limit.limit) for limit in tuning.limits]
        asked = list(dict.fromkeys(asked)) if tuning.limits and tuning.limits[0].attribute else asked
        facts.append(Fact("Limit asked for", listed(asked)))
        certifiable = "none" if refusal.certifiable is None else points(refusal.certifiable)
        facts.append(Fact("Could be certified", certifiable, "with the nodes at hand"))
        facts.append(Fact("Nodes at hand", count(refusal.nodes_at_hand), "for the certification"))
        if refusal.nodes_needed is not None:
            facts.append(Fact("Nodes needed", f"{refusal.nodes_needed:,}", "roughly, for the limit asked for"))
    elif (nodes := tuning.nodes.get("certification")) is not None and tuning.limits:
        facts.append(Fact("Nodes of the certification", f"{nodes:,}", "used for nothing else"))
    return tuple(facts)


def whole(share: float) -> str:
    """A confidence.

    Example:
        >>> whole(0.95), whole(0.995)
        ('95%', '99.5%')
    """
    return f"{100 * share:.10g}%"
