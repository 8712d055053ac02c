"""What does the graph give away? No model was tested, hence nothing is said about decisions."""

from __future__ import annotations

from fairview.report.documents import Audit
from fairview.report.verdict.parts import Status, Verdict
from fairview.report.words import listed, number, percent, plural, span


def graph_verdict(audit: Audit) -> Verdict:
    """How many columns leak, how people are linked, and how well the sensitive attribute can be guessed."""
    sensitive = audit.graph.sensitive or "the sensitive attribute"
    leaking = [channel.name for channel in audit.channels if channel.leaking and not channel.sensitive]
    status, headline = _headline(audit, sensitive, len(leaking))
    sentences = [_what_was_audited(audit, sensitive)]
    if leaking:
        sentences.append(f"Leaking: {listed(leaking, 6)}.")
    if audit.homophily is not None:
        sentences.append(f"{percent(audit.homophily)} of the links join nodes of the same group.")
    probes = [probe for probe in audit.probe if probe.auc is not None]
    if probes:
        best = max(probes, key=lambda probe: probe.auc or 0.0)
        sentences.append(
            f"From {best.on} alone, {sensitive} can be guessed with an AUC of {number(best.auc, 2)} "
            f"(95% interval {span(best, digits=2)}; 0.5 is chance)."
        )
    sentences.append("No model was tested, so nothing is said about decisions.")
    warnings = [f"Undefined: {name}: {reason}." for name, reason in audit.undefined.items()][:6]
    if audit.graph.group_unknown:
        warnings.append(f"{plural(audit.graph.group_unknown, 'node')} of unknown group.")
    return Verdict(status, headline, tuple(sentences), tuple(warnings), rule=audit.rule)


def _headline(audit: Audit, sensitive: str, leaking: int) -> tuple[Status, str]:
    channels = [channel for channel in audit.channels if not channel.sensitive]
    if not channels or all(channel.correlation[0] is None for channel in channels):
        return "unsure", f"Whether the graph leaks {sensitive} could not be measured."
    columns = plural(len(channels), "column")
    after = f"after {plural(len(channels[0].correlation) - 1, 'hop')} of propagation"
    if leaking:
        say = "says" if leaking == 1 else "say"
        return "bad", f"The graph leaks: {leaking} of {columns} {say} more about {sensitive} {after}."
    return "good", f"None of {columns} was found to say more about {sensitive} {after}."


def _what_was_audited(audit: Audit, sensitive: str) -> str:
    graph = audit.graph
    said = f"Audited: {graph.source or 'the graph'}"
    if graph.nodes is not None:
        said += f", {plural(graph.nodes, 'node')}"
        said += "" if graph.edges is None else f" and {plural(graph.edges, 'edge')}"
    sizes = listed([f"{name} {size:,}" for name, size in graph.groups.items()], 6)
    return f"{said}; groups by {sensitive}: {sizes}." if sizes else f"{said}."
