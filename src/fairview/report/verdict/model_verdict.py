"""Is the model fair, and how sure can one be?

Words are conventions: a gap is called small up to `SMALL_GAP`, a group is called small by the audit's rule. What can't
be computed is called undefined; nothing undefined is called fair.
"""

from __future__ import annotations

from collections.abc import Iterator

from fairview.leakage.outcomes import FEW_NODES, FEW_OF_A_LABEL
from fairview.metrics.intervals import FEW
from fairview.metrics.registry import METRICS
from fairview.report.documents import GroupRow, MetricsRow, visible
from fairview.report.folder import Content
from fairview.report.verdict.measured import Measured, largest
from fairview.report.verdict.parts import Fact, ReportVerdict, Status
from fairview.report.words import (
    capitalised,
    encoder_name,
    listed,
    main_gaps,
    metric_name,
    model_name,
    number,
    percent,
    plural,
    points,
    span,
)

SMALL_GAP = 0.05
RULE = (
    f"A gap is called small up to {100 * SMALL_GAP:.0f} percentage points, and surely small only if its whole 95% "
    f"interval is. A group is called small below {FEW_NODES} tested nodes, or below {FEW_OF_A_LABEL} of them with a "
    "positive or with a negative label. A model is called better than the constant predictor if the whole 95% interval "
    "of its balanced accuracy is above 0.5. These words are conventions of this report, not a legal standard."
)
SEVERAL = (
    "With several sensitive attributes, the gap of a model is the largest: of each attribute, and of combinations of "
    f"their groups with at least {FEW} tested nodes behind each rate. Its interval holds for all of them at once."
)


def model_verdict(content: Content, measured: Measured) -> ReportVerdict:
    """The worst of the gaps leads, beside whether the model is of any use."""
    row, useless = measured.row, is_useless(measured.row)
    judged = {metric: _judge(row, metric) for metric in _gaps(row)}
    small = [group for group in _groups_of(content, measured) if is_small(group)]
    worst = next(word for word in _SEVERITY if word in judged.values())
    status, headline = _headline(worst, useless, bool(small))
    sentences = [
        _what_was_measured(content, measured),
        *(sentence for metric in judged for sentence in _gap_sentences(measured, metric, judged[metric])),
        _usefulness(row, useless),
        *_against_plain(content, row),
        *_need(content),
        *_elsewhere(content),
    ]
    warnings = [
        f"Small group: {group.group} has {plural(group.nodes, 'tested node')}"
        f"{'' if group.positives is None else f', {group.positives:,} of them with a positive label'}. "
        "Its rates, and every gap that uses them, can change by chance."
        for group in small[:6]
    ]
    if len(small) > 6:
        warnings.append(f"{len(small) - 6:,} more small groups: {listed([group.group for group in small[6:]], 60)}.")
    warnings += too_small(content) + _unknown(content)
    rule = f"{RULE} {SEVERAL}" if measured.attributes else RULE
    return ReportVerdict(status, headline, tuple(sentences), tuple(warnings), _facts(measured), rule)


def _groups_of(content: Content, measured: Measured) -> list[GroupRow]:
    """Those of each attribute, if there are several, before their combinations."""
    parts = list(content.test.attributes.items())[:-1] if content.test else []
    single = [g.model_copy(update={"group": f"{name}={g.group}"}) for name, part in parts for g in part.groups]
    return [*single, *measured.groups]


def too_small(content: Content) -> list[str]:
    """Which combinations of groups are too small for the gap between combinations, in sentences."""
    gaps: dict[tuple[str, ...], list[str]] = {}
    for row in content.test.attributes.values() if content.test else ():
        for metric, groups in row.left_out.items():
            if groups:
                gaps.setdefault(tuple(groups), []).append(metric_name(metric))
    return [
        f"Too few tested nodes, and left out of the {listed(names)} between combinations: {listed(groups, 60)}. "
        "Nothing is known of how they are treated."
        for groups, names in gaps.items()
    ]


def _unknown(content: Content) -> list[str]:
    """How many tested nodes have no known group; of several attributes, which."""
    tests = content.tests
    unknown = max((test.group_unknown for test in tests), default=0)
    attributes = tests[0].attributes if tests else {}
    if not attributes:
        return [f"{plural(unknown, 'tested node')} of unknown group: left out of all gaps."] if unknown else []
    return [
        f"{plural(row.group_unknown, 'tested node')} of unknown {name}: left out of the gaps by {name}."
        for name, row in attributes.items()
        if row.group_unknown
    ]


def _gaps(row: MetricsRow) -> list[str]:
    """The gaps to speak of; one of another package only where the document has it."""
    return [gap for gap in main_gaps() if gap in _ALWAYS or gap in row.metrics]


_ALWAYS = ("statistical_parity_gap", "equal_opportunity_gap")  # where they are not known, that is said
_SEVERITY = ("clearly large", "large", "undefined", "unknown", "small but unsure", "surely small")


def _judge(row: MetricsRow, metric: str) -> str:
    value, interval = row.value(metric), row.interval(metric)
    if value is None:
        return "undefined"
    if interval is None:
        return "large" if value > SMALL_GAP else "unknown"
    if interval[0] > SMALL_GAP:
        return "clearly large"
    if value > SMALL_GAP:
        return "large"
    return "small but unsure" if interval[1] > SMALL_GAP else "surely small"


_HEADLINES: dict[str, tuple[Status, str]] = {
    "clearly large": (
        "bad",
        "The groups are treated differently: the gap is not small, and chance does not explain it.",
    ),
    "large": ("bad", "The gap between the groups is not small in this test; its true size is uncertain."),
    "undefined": ("unsure", "A gap is undefined, so this test can't show that the groups are treated alike."),
    "unknown": ("unsure", "The measured gaps are small, but their uncertainty is unknown."),
    "small but unsure": ("unsure", "The measured gaps are small, but too few people were tested to be sure."),
}


def _headline(worst: str, useless: bool | None, small: bool) -> tuple[Status, str]:
    same_answer = "shown to be better than giving everyone the same answer"
    if useless and worst == "clearly large":
        return "bad", (
            f"The groups are treated differently, and chance does not explain it; nor is this model {same_answer}."
        )
    if useless and worst == "large":
        return "bad", f"This model is not {same_answer}, and the gap between the groups is not small in this test."
    if useless:
        return "empty", f"This model is not {same_answer}, so its gaps say little."
    if worst in _HEADLINES or small:
        return _HEADLINES.get(worst, _HEADLINES["small but unsure"])
    if useless is None:
        return "unsure", "The gaps are small, but whether the model is useful is not known."
    return "good", "The gaps between the groups are small, and enough people were tested to say so."


def is_small(group: GroupRow) -> bool:
    """As the audit says, or by the rule of the page."""
    of_a_label = None if group.positives is None else min(group.positives, group.nodes - group.positives)
    few = group.nodes < FEW_NODES or (of_a_label is not None and of_a_label < FEW_OF_A_LABEL)
    return few if group.small is None else group.small


def is_useless(row: MetricsRow) -> bool | None:
    """Is it not shown to beat a constant predictor, whose balanced accuracy is 0.5? None: can't be said."""
    value, interval = row.value("balanced_accuracy"), row.interval("balanced_accuracy")
    if value is None:
        return None
    if interval is None:
        return True if value <= 0.5 else None
    return interval[0] <= 0.5


def _what_was_measured(content: Content, measured: Measured) -> str:
    record, model = content.record, content.model
    named = (record.method if record else "") or (model.method if model else "") or "the model"
    method = model_name(named, record.parameters if record else {})
    setting = record.parameters.get("encoder") if record else None
    encoder = encoder_name((model.encoder if model else None) or (setting if isinstance(setting, str) else None))
    nodes = "an unknown number of nodes" if measured.nodes is None else plural(measured.nodes, "node")
    sizes = listed([f"{group.group} {group.nodes:,}" for group in measured.groups], 6)
    by = content.audit.graph.sensitive if content.audit else ""
    sentence = f"{method}{f' ({encoder})' if encoder else ''} was tested on {nodes} of {content.title} whose labels it "
    sentence += "had not seen"
    sentence += f", grouped{f' by {by}' if by else ''}: {sizes}." if sizes else "."
    if measured.runs > 1:
        sentence += f" The numbers are means over {plural(measured.runs, 'run')}."
        sentence += " Each interval reaches from the lowest end of the runs' intervals to the highest."
    return sentence


def _gap_sentences(measured: Measured, metric: str, judged: str) -> Iterator[str]:
    """The gap, and of several attributes the gap of each."""
    yield _gap_sentence(measured, metric, judged)
    if measured.attributes:
        each = [f"{name} {points(row.value(metric))}" for name, row in measured.attributes.items()]
        yield f"By attribute, the gap in {METRICS[metric].compares or metric_name(metric)} is: {listed(each, 20)}."


def _gap_sentence(measured: Measured, metric: str, judged: str) -> str:
    row, what = measured.row, METRICS[metric].compares or metric_name(metric)
    if judged == "undefined":
        reason = row.undefined.get(metric) or "it was not measured"
        sentence = f"The gap in {what} is undefined ({reason}): no statement can be made; it does not count as equal."
        if metric in measured.pairs and not measured.attributes:
            pair, gap = measured.pairs[metric]
            sentence += f" Among the pairs that can be measured, it is widest between {pair}: {points(gap)}."
        return sentence
    pair = f"{measured.pairs[metric][0]}, the widest pair," if metric in measured.pairs else "the groups"
    interval = row.interval(metric)
    of = largest(measured.attributes, metric)
    if of:
        pair = measured.pairs[metric][0] if metric in measured.pairs else "its groups"
        start = f"The largest gap in {what} is that of {of}, between {pair}: {points(row.value(metric))}"
    else:
        start = f"The gap in {what} between {pair} is {points(row.value(metric))}"
    if interval is None:
        return f"{start}; there is no interval, so its uncertainty is unknown."
    sure = {
        "clearly large": "surely not small",
        "large": "not small in this test, but the true gap may be small",
        "small but unsure": f"small in this test, but up to {points(interval[1])} can't be ruled out",
        "surely small": "small, and surely so",
    }[judged]
    return f"{start} (95% interval {span(interval, scale=100, digits=1)}): {sure}."


def _usefulness(row: MetricsRow, useless: bool | None) -> str:
    value, interval = row.value("balanced_accuracy"), row.interval("balanced_accuracy")
    if value is None:
        reason = row.undefined.get("balanced_accuracy") or "not measured"
        return f"Whether it is useful can't be said: the balanced accuracy is undefined ({reason})."
    sure = "" if interval is None else f", 95% interval {span(interval, scale=100, digits=1)}"
    numbers = f"balanced accuracy {percent(value)}{sure}; a constant predictor has 50%"
    sentence = {
        True: f"It is not shown to be better than the constant predictor ({numbers}), which has no gap at all by "
        "design.",
        None: f"It seems better than the constant predictor, but there is no interval ({numbers}).",
        False: f"It is better than the constant predictor ({numbers}).",
    }[useless]
    auc = row.value("auc")
    if auc is not None:
        sentence += f" It ranks a positive above a negative node with probability {percent(auc)} (AUC; 50% is chance)."
    return sentence


def _against_plain(content: Content, row: MetricsRow) -> list[str]:
    model = content.model
    if model is None or len(model.rows) < 2:
        return []
    plain = next((other for other in model.rows[1:] if other.name in ("plain", "vanilla")), None)
    metric = "statistical_parity_gap"
    if plain is None or plain.value(metric) is None or row.value(metric) is None:
        return []
    a, b = row.interval(metric), plain.interval(metric)
    overlap = a is not None and b is not None and a[0] <= b[1] and b[0] <= a[1]
    sentence = f"The plain model, tested on the same nodes, has a gap of {points(plain.value(metric))}"
    sentence += f" (95% interval {span(b, scale=100, digits=1)})" if b else ""
    sentence += f" and an AUC of {number(plain.value('auc'), 2)}, against {number(row.value('auc'), 2)} here."
    if overlap:
        sentence += " The two intervals overlap, so this test alone does not show which gap is smaller."
    return [sentence]


def _need(content: Content) -> list[str]:
    record, model = content.record, content.model
    told = (record.group_at_prediction if record else None) or (model.group_at_prediction if model else None)
    by = f" ({content.audit.graph.sensitive})" if content.audit and content.audit.graph.sensitive else ""
    sentence = f"To decide about a person, the model must be told the person's sensitive group{by}; check that it may."
    return [sentence] if told else []


def _elsewhere(content: Content) -> list[str]:
    """What re-runs with perturbed last bits say of other machines, run by run."""
    told = [(run.name, run.stability.sentence) for run in content.runs if run.stability is not None][:5]
    return [sentence if len(content.runs) == 1 else f"{visible(name)}: {sentence}" for name, sentence in told]


def _facts(measured: Measured) -> tuple[Fact, ...]:
    row = measured.row
    facts = []
    for metric in _gaps(row):
        name = f"Gap in {METRICS[metric].compares}" if METRICS[metric].compares else capitalised(metric_name(metric))
        interval = row.interval(metric)
        detail = "no interval" if interval is None else f"95% interval {span(interval, scale=100, digits=1)}"
        if of := largest(measured.attributes, metric):
            name, detail = f"Largest {name[:1].lower()}{name[1:]}", f"{of}; {detail}"
        facts.append(Fact(name, points(row.value(metric)), "" if row.value(metric) is None else detail))
    facts.append(Fact("Balanced accuracy", percent(row.value("balanced_accuracy")), "50%: a constant answer"))
    facts.append(Fact("Ranking (AUC)", number(row.value("auc"), 2), "0.50: chance"))
    smallest = min(measured.groups, key=lambda group: group.nodes, default=None)
    tested = "unknown" if measured.nodes is None else f"{measured.nodes:,}"
    facts.append(Fact("Nodes tested", tested, "" if smallest is None else f"smallest group: {smallest.nodes:,}"))
    return tuple(facts)
