"""What is promised, on which nodes, under which conditions, and what voids it? Or: why is nothing promised?"""

from __future__ import annotations

from collections.abc import Sequence

from fairview.report.folder import Content
from fairview.report.tuning_documents import CertificateDocument, CertifiedGroup, LimitRow, Population, TuningDocument
from fairview.report.verdict.parts import Frame
from fairview.report.verdict.tuning_verdict import VOID, gap_name, limit_words, whole
from fairview.report.words import capitalised, count, listed, number, plural, points

COLUMNS = ("gap", "limit", "measured", "upper bound", "p-value", "confidence", "nodes")
_POPULATIONS: dict[Population, str] = {
    "new": "It is about nodes drawn as the nodes of the certification were: from the same source, in the same way.",
    "graph": "It is about the nodes of this graph that took no part in fitting; it says nothing about other nodes.",
}


def frame_of(content: Content) -> Frame | None:
    """The certificate of a run, or the refusal of a tuning; None where no limit was asked for."""
    run, tuning = content.run, content.tuning
    if run is not None and run.certificate is not None:
        return certificate_frame(run.certificate, same_model=run.certified_model)
    if tuning is None or not tuning.limits:
        return None
    return refusal_frame(tuning) if tuning.chosen is None else _without_file(tuning)


def certificate_frame(certificate: CertificateDocument, *, same_model: bool | None) -> Frame:
    """The certificate in plain words; `same_model` is whether the model at hand has its hash, None if not checked."""
    limits = certificate.limits
    statement = certificate.statement or promise(limits)
    hashes = {
        "model": certificate.model_sha256,
        "graph": certificate.graph_sha256,
        "nodes of the certification": certificate.nodes_sha256,
    }
    parts = [
        ("What the confidence means", confidence_words(limits)),
        ("On which nodes", tested_on(limits)),
        ("Under which conditions", conditions(certificate.population, certificate.conditions)),
        ("What voids it", voids(certificate.threshold)),
        ("How it was tested", _rule(certificate)),
    ]
    checked = {
        True: "Yes: the model in this folder has the hash below.",
        None: "That was not checked: there is no model in this folder to compare the hash with.",
    }
    if same_model is False:
        parts = [("What was tested", ("Another model: " + statement,)), *parts[3:4]]
    else:
        parts.append(("Is it about this model?", (checked[same_model],)))
    return Frame(
        status="bad" if same_model is False else "good",
        title="Void certificate" if same_model is False else "Certificate",
        statement=f"{VOID} Nothing is promised about it." if same_model is False else statement,
        columns=COLUMNS,
        rows=limit_rows(limits),
        parts=tuple((heading, tuple(sentences)) for heading, sentences in parts if sentences),
        hashes=tuple((f"sha256 of the {name}", sha256) for name, sha256 in hashes.items() if sha256),
    )


def promise(limits: Sequence[LimitRow]) -> str:
    """What the limits say of a model that keeps them.

    Example:
        >>> promise([LimitRow(gap="statistical_parity", limit=0.05, confidence=0.95)])
        'Promised with 95% confidence: statistical parity gap of at most 5.0 points.'
    """
    sure = [limit.confidence for limit in limits if limit.confidence is not None]
    return f"Promised{f' with {whole(min(sure))} confidence' if sure else ''}: {limit_words(list(limits))}."


def confidence_words(limits: Sequence[LimitRow]) -> tuple[str, ...]:
    """The confidence as a count of failures."""
    sure = [limit.confidence for limit in limits if limit.confidence is not None]
    if not sure:
        return ()
    often = f"{100 * (1 - min(sure)):.4g}"
    return (
        f"If nodes were drawn and a model chosen in this way again and again, at most {often} in 100 of these choices "
        "would hand out a model whose true gap is above a limit. The others keep all limits, or are refusals.",
    )


def tested_on(limits: Sequence[LimitRow]) -> tuple[str, ...]:
    """How many nodes, by group, each gap was tested on."""
    sentences = []
    for limit in limits:
        if limit.nodes is None and not limit.groups:
            continue
        among = (*_AMONG.get(limit.gap, ()), *[""] * len(limit.groups))
        groups = "; ".join(map(_sample, limit.groups, among))
        nodes = "nodes" if limit.nodes is None else plural(limit.nodes, "node")
        sentences.append(
            f"The {gap_name(limit)} was tested on {nodes} that neither fitting nor choosing had used"
            f"{f': {groups}' if groups else ''}."
        )
    return tuple(sentences)


_AMONG = {
    "equal_opportunity": ("with a positive label",),
    "equalized_odds": ("with a positive label", "with a negative label"),
}
"""Among which nodes a gap compares the groups, in the order of a certificate."""


def _sample(groups: Sequence[CertifiedGroup], among: str) -> str:
    counts = [
        f"{group.group} {group.nodes:,}" + ("" if group.positive is None else f" ({group.positive:,} with a yes)")
        for group in groups
    ]
    return f"{among + ', ' if among else ''}{listed(counts, 8)}"


def conditions(population: Population | None, given: Sequence[str]) -> tuple[str, ...]:
    """What must hold for the promise to hold: as the document says, else what follows from the population."""
    return tuple(given[:20]) or ((_POPULATIONS[population],) if population else ())


def voids(threshold: float | None) -> tuple[str, ...]:
    """What makes the promise empty."""
    at = "" if threshold is None else f" than {threshold:g}"
    return (
        "Refitting the model, on the same data too: the promise is about the model with the hash below.",
        f"Another threshold{at}.",
        "Another population: other places, other times, other ways to select people.",
        "A limit that was chosen after looking at the nodes of the certification.",
    )


def _rule(certificate: CertificateDocument) -> tuple[str, ...]:
    sentences = [certificate.rule] if certificate.rule else []
    if certificate.candidates is not None:
        order = "" if certificate.order is None else f"; this model was number {certificate.order:,} in the order"
        sentences.append(f"There were {plural(certificate.candidates, 'candidate')}{order}.")
    return tuple(sentences)


def refusal_frame(tuning: TuningDocument) -> Frame:
    """Why no model was handed out, and what would help."""
    refusal, nearest = tuning.refusal, tuning.refusal.nearest if tuning.refusal else None
    parts: list[tuple[str, tuple[str, ...]]] = []
    if nearest is not None and nearest.candidate is not None:
        title = tuning.frontier[nearest.candidate].title or "a model without a name"
        parts.append(("What was nearest", (f"{title}; its numbers are in the table above.",)))
    if refusal is not None:
        at_hand = f"the {count(refusal.nodes_at_hand)} nodes" if refusal.nodes_at_hand is not None else "the nodes"
        certifiable = (
            f"With {at_hand} at hand, none of the limits that were looked at could be certified."
            if refusal.certifiable is None
            else f"With {at_hand} at hand, a limit of {points(refusal.certifiable)} could be certified. To ask for it "
            "now is a choice after looking: new nodes are needed for that certificate."
        )
        needed = (
            "No number of nodes is known to be enough. Where the measured gap lies above the limit, more nodes do not "
            "help."
            if refusal.nodes_needed is None
            else f"About {plural(refusal.nodes_needed, 'node')} would be needed in the certification for the limit "
            f"asked for{f'; there are {refusal.nodes_at_hand:,}' if refusal.nodes_at_hand is not None else ''}."
        )
        parts += [("What could be certified", (certifiable,)), ("How many nodes are needed", (needed,))]
    parts.append(("What a refusal means", (
        "It does not say that every model breaks the limit: it says that none could be shown to keep it. No model was "
        "handed out.",
    )))  # fmt: skip
    return Frame(
        status="unsure",
        title="Refusal",
        statement=tuning.refused or f"No model could be shown to keep the limits: {limit_words(tuning.limits)}.",
        columns=COLUMNS,
        rows=limit_rows((nearest.limits if nearest else []) or tuning.limits),
        parts=tuple(parts),
    )


def _without_file(tuning: TuningDocument) -> Frame:
    """A model was chosen, but its certificate is not in the run folder."""
    limits = tuning.chosen.limits if tuning.chosen else []
    return Frame(
        status="unsure",
        title="No certificate",
        statement="tune.json says that a model was certified, but run/certificate.json is missing, so that nothing "
        "ties the promise to a model.",
        columns=COLUMNS,
        rows=limit_rows(limits),
        parts=(
            (("Under which conditions", under),) if (under := conditions(tuning.population, tuning.conditions)) else ()
        ),
    )


def limit_rows(limits: Sequence[LimitRow]) -> tuple[tuple[str, ...], ...]:
    """A row of texts for each limit."""
    return tuple(
        (
            capitalised(gap_name(limit)),
            points(limit.limit),
            "–" if limit.estimate is None else points(limit.estimate),
            "–" if limit.upper_bound is None else points(limit.upper_bound),
            "–" if limit.p_value is None else number(limit.p_value, 4),
            "–" if limit.confidence is None else whole(limit.confidence),
            "–" if limit.nodes is None else f"{limit.nodes:,}",
        )
        for limit in limits
    )
