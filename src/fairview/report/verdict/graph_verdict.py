"""What does the graph give away? No model was tested, hence nothing is said about decisions."""

from __future__ import annotations

from fairview.leakage.sentences import flagged_sentence, headline, hidden_sentence, links_sentence, rule_sentence
from fairview.report.audit_documents import AuditDocument
from fairview.report.verdict.parts import ReportVerdict, Status
from fairview.report.words import listed, number, percent, plural, source_name, span

_STATUS: dict[str, Status] = {"revealed": "bad", "flagged": "bad", "clean": "good"}


def graph_verdict(audit: AuditDocument) -> ReportVerdict:
    """What message passing reveals, how people are linked, and how well the sensitive attribute can be guessed."""
    document = audit.model_dump()
    lead = headline(document)
    best = max((probe for probe in audit.probe if probe.auc is not None), key=lambda p: p.auc or 0.0, default=None)
    sentences = [_what_was_audited(audit), *filter(None, (links_sentence(document), flagged_sentence(document)))]
    if audit.homophily is not None:
        sentences.append(f"{percent(audit.homophily)} of the links join nodes of the same group.")
    if best is not None:
        sentences.append(
            f"The best guess of {audit.sensitive} from all other columns is possible {source_name(best.on)}: AUC "
            f"{number(best.auc)} (95% interval {span(best)}; 0.5 is chance)."
        )
    if hidden := hidden_sentence(document):
        sentences.append(hidden)
    sentences.append("No model was tested, so nothing is said about decisions.")
    warnings = [f"Undefined: {name}: {reason}." for name, reason in audit.undefined.items()][:6]
    for leak in [row for row in audit.label_leaks if row.auc is not None][:6]:
        warnings.append(f"{leak.name} alone predicts the label with an AUC of {number(leak.auc)}: is it a copy of it?")
    if audit.graph.group_unknown:
        warnings.append(f"{plural(audit.graph.group_unknown, 'node')} of unknown group.")
    status = _STATUS.get(lead.kind, "unsure")
    if status == "good" and any(column.readable for column in audit.hidden):
        status = "unsure"
    return ReportVerdict(status, lead.text, tuple(sentences), tuple(warnings), rule=rule_sentence(document))


def _what_was_audited(audit: AuditDocument) -> str:
    graph = audit.graph
    sentence = f"Audited: {graph.source or 'the graph'}"
    if graph.nodes is not None:
        sentence += f", {plural(graph.nodes, 'node')}"
        sentence += "" if graph.edges is None else f" and {plural(graph.edges, 'edge')}"
    sizes = listed([f"{name} {size:,}" for name, size in graph.groups.items()], 6)
    return f"{sentence}; groups by {audit.sensitive}: {sizes}." if sizes else f"{sentence}."
