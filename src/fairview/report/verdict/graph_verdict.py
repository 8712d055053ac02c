"""What does the graph give away? No model was tested, hence nothing is said about decisions."""

from __future__ import annotations

from fairview.report.documents import Audit, Probe
from fairview.report.figures.probes import SOURCES
from fairview.report.verdict.parts import Status, Verdict
from fairview.report.words import listed, number, percent, plural, span


def graph_verdict(audit: Audit) -> Verdict:
    """How many columns leak, how people are linked, and how well the sensitive attribute can be guessed."""
    sensitive = audit.graph.sensitive or "the sensitive attribute"
    leaking = [channel.name for channel in audit.channels if channel.leaking and not channel.sensitive]
    best = max((probe for probe in audit.probe if probe.auc is not None), key=lambda p: p.auc or 0.0, default=None)
    status, headline = _headline(audit, sensitive, len(leaking), best)
    sentences = [_what_was_audited(audit, sensitive)]
    if leaking:
        sentences.append(f"Leaking: {listed(leaking, 6)}.")
    if audit.homophily is not None:
        sentences.append(f"{percent(audit.homophily)} of the links join nodes of the same group.")
    if best is not None:
        sentences.append(
            f"From all other columns together, {sensitive} is guessed best from {SOURCES.get(best.on, best.on)}, with "
            f"an AUC of {number(best.auc, 2)} (95% interval {span(best, digits=2)}; 0.5 is chance)."
        )
    sentences.append("No model was tested, so nothing is said about decisions.")
    warnings = [f"Undefined: {name}: {reason}." for name, reason in audit.undefined.items()][:6]
    for leak in [found for found in audit.label_leaks if found.auc is not None][:6]:
        warnings.append(f"{leak.name} alone predicts the label with an AUC of {number(leak.auc)}: is it a copy of it?")
    if audit.graph.group_unknown:
        warnings.append(f"{plural(audit.graph.group_unknown, 'node')} of unknown group.")
    return Verdict(status, headline, tuple(sentences), tuple(warnings), rule=audit.rule)


def _headline(audit: Audit, sensitive: str, leaking: int, best: Probe | None) -> tuple[Status, str]:
    channels = [channel for channel in audit.channels if not channel.sensitive]
    if not channels or all(channel.correlation[0] is None for channel in channels):
        return "unsure", f"Whether the graph leaks {sensitive} could not be measured."
    columns = plural(len(channels), "column")
    after = f"after {plural(len(channels[0].correlation) - 1, 'hop')} of propagation"
    if leaking:
        say = "says" if leaking == 1 else "say"
        return "bad", f"The graph leaks: {leaking} of {columns} {say} more about {sensitive} {after}."
    none = f"None of {columns} alone was found to say more about {sensitive} {after}"
    if best is None:
        return "unsure", f"{none}; what they say together was not measured."
    if best.low is None or best.low > 0.5:
        return "unsure", f"{none}, but together they let it be guessed, AUC {number(best.auc, 2)}."
    return "good", f"{none}, and from all of them together it could not be guessed."


def _what_was_audited(audit: Audit, sensitive: str) -> str:
    graph = audit.graph
    said = f"Audited: {graph.source or 'the graph'}"
    if graph.nodes is not None:
        said += f", {plural(graph.nodes, 'node')}"
        said += "" if graph.edges is None else f" and {plural(graph.edges, 'edge')}"
    sizes = listed([f"{name} {size:,}" for name, size in graph.groups.items()], 6)
    return f"{said}; groups by {sensitive}: {sizes}." if sizes else f"{said}."
