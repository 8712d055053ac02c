"""What does the graph give away? No model was tested, hence nothing is said about decisions."""

from __future__ import annotations

from collections.abc import Mapping

from fairview.leakage.sentences import (
    AuditJSON,
    Headline,
    by_attribute,
    flagged_sentence,
    headline,
    hidden_sentence,
    links_sentence,
    reasons,
    reasons_of_all,
    rule_sentence,
    without_nodes,
)
from fairview.report.audit_documents import AuditDocument
from fairview.report.documents import Bounds
from fairview.report.verdict.parts import ReportVerdict, Status
from fairview.report.words import listed, number, percent, plural, source_name, span

_STATUS: dict[str, Status] = {"revealed": "bad", "flagged": "bad", "clean": "good"}
_SEVERITY = ("revealed", "flagged", "readable", "undefined", "unprobed", "clean")


def graph_verdict(audit: AuditDocument) -> ReportVerdict:
    """What message passing reveals, how people are linked, and how well the sensitive attribute can be guessed.

    Of several attributes the worst leads, and each has its sentences.
    """
    document = audit.model_dump()
    parts = by_attribute(document)
    leads = {name: headline(part) for name, part in parts.items()}
    worst = worst_of(leads)
    sentences = [_what_was_audited(audit)]
    for name, part in parts.items():
        sentences += [leads[name].text] if name != worst else []
        sentences += [*filter(None, (links_sentence(part), flagged_sentence(part))), *_sentences(part)]
    if hidden := hidden_sentence(document):
        sentences.append(hidden)
    sentences.append("No model was tested, so nothing is said about decisions.")
    undefined = reasons_of_all(parts)
    undefined |= {f"{name}: {what}": why for name, part in parts.items() for what, why in reasons(part).items()
                  if what not in undefined}  # fmt: skip
    warnings = [f"Undefined: {name}: {reason}." for name, reason in undefined.items()][:6]
    for leak in [row for row in audit.label_leaks if row.auc is not None][:6]:
        warnings.append(f"{leak.name} alone predicts the label with an AUC of {number(leak.auc)}: is it a copy of it?")
    for name, part in parts.items():
        if unknown := part["graph"]["group_unknown"]:
            warnings.append(f"{plural(unknown, 'node')} of unknown {name if len(parts) > 1 else 'group'}.")
    if empty := without_nodes(document):
        warnings.append(f"{plural(len(empty), 'combination')} of groups without nodes: {listed(empty, 40)}.")
    said = tuple(sentence for sentence in dict.fromkeys(sentences) if sentence != leads[worst].text)
    status = _STATUS.get(leads[worst].kind, "unsure")
    if status == "good" and any(column.readable for column in audit.hidden):
        status = "unsure"
    return ReportVerdict(status, leads[worst].text, said, tuple(warnings), rule=rule_sentence(document))


def worst_of(leads: Mapping[str, Headline]) -> str:
    """Which sensitive attribute is worst off; the first of those that are."""
    return min(leads, key=lambda name: _SEVERITY.index(leads[name].kind))


def _sentences(document: AuditJSON) -> list[str]:
    """Homophily and the best guess, by one attribute."""
    guessed = document["graph"]["sensitive"] or "the sensitive attribute"
    of = f" of {sensitive}" if document["graph"]["attributes"] and (sensitive := document["graph"]["sensitive"]) else ""
    sentences = []
    if document["homophily"] is not None:
        sentences.append(f"{percent(document['homophily'])} of the links join nodes of the same group{of}.")
    guesses = [probe for probe in document["probe"] if probe["auc"] is not None]
    if guesses:
        best = max(guesses, key=lambda probe: probe["auc"])
        sentences.append(
            f"The best guess of {guessed} from all other columns is "
            f"possible {source_name(best['on'])}: AUC {number(best['auc'])} (95% interval "
            f"{span(Bounds(low=best['low'], high=best['high']))}; 0.5 is chance)."
        )
    return sentences


def _what_was_audited(audit: AuditDocument) -> str:
    graph = audit.graph
    sentence = f"Audited: {graph.source or 'the graph'}"
    if graph.nodes is not None:
        sentence += f", {plural(graph.nodes, 'node')}"
        sentence += "" if graph.edges is None else f" and {plural(graph.edges, 'edge')}"
    sizes = listed([f"{name} {size:,}" for name, size in graph.groups.items()], 6)
    if graph.attributes:
        sizes = "; ".join(
            f"{attribute} {listed([f'{name} {size:,}' for name, size in groups.items()], 6)}"
            for attribute, groups in graph.attributes.items()
        )
        return f"{sentence}; sensitive attributes: {sizes}, and all combinations of them."
    return f"{sentence}; groups by {audit.sensitive}: {sizes}." if sizes else f"{sentence}."
