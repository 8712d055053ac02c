"""What does an audit say, in sentences? Made from the document, so that a file reads like the object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Document = dict[str, Any]

_SHOWN = 8


def verdict(document: Document) -> str:
    """The first sentence: which channels leak."""
    sensitive = document["graph"]["sensitive"]
    if reason := document["undefined"].get("leaking"):
        return f"Leakage is undefined: {reason}"
    leaking = [channel for channel in document["channels"] if channel["leaking"]]
    if not leaking:
        within = "one hop" if document["hops"] == 1 else f"{document['hops']} hops"
        return f"No single innocuous channel is shown to start leaking '{sensitive}' within {within}."
    names = ", ".join(f"{channel['name']} ({path(channel['correlation'])})" for channel in leaking)
    what = "1 innocuous channel leaks" if len(leaking) == 1 else f"{len(leaking)} innocuous channels leak"
    return f"LEAKING: {what} '{sensitive}' after propagation: {names}."


def label_verdict(document: Document) -> str:
    """Which channels give the label away; empty if none does."""
    if reason := document["undefined"].get("label_leaks"):
        return f"Label leaks are undefined: {reason}."
    leaks = ", ".join(f"{leak['name']} (AUC {leak['auc']:.4f})" for leak in document["label_leaks"])
    if not leaks:
        return ""
    return f"LABEL LEAK: the label can be read off {leaks} alone. Was that known when the decision was due?"


def probe_sentence(document: Document) -> str:
    """What all channels betray together, which single channels need not; empty without probes."""
    found = [probe for probe in document["probe"] if probe["probe"] == "linear" and probe["auc"] is not None]
    if not found:
        return ""
    aucs = ", ".join(f"{probe['auc']:.3f} from {probe['on']}" for probe in found)
    sensitive = document["graph"]["sensitive"]
    return (
        f"From all channels together, without its own, '{sensitive}' is guessed with AUC {aucs} (linear; 0.5: chance)."
    )


def homophily_sentence(document: Document) -> str:
    """How often links join the same group."""
    if document["homophily"] is None:
        return f"Homophily is undefined: {document['undefined'].get('homophily', 'no reason given')}."
    return f"{100 * document['homophily']:.2f} % of the links join two nodes of the same group."


def path(values: Sequence[float | None]) -> str:
    """Correlations by hop.

    Example:
        >>> path([0.0123, -0.25])
        '0.012 → -0.250'
    """
    return " → ".join("undefined" if value is None else f"{value:z.3f}" for value in values)


def described(document: Document) -> str:
    """A few lines: the verdicts, the strongest channels, the probes."""
    facts = document["graph"]
    lines = [
        f"GraphAudit of {facts['source']}: {facts['nodes']:,} nodes, {facts['edges']:,} edges, sensitive "
        f"'{facts['sensitive']}', {document['operator']}, {document['hops']} hops",
        verdict(document),
        *filter(None, [probe_sentence(document), label_verdict(document), homophily_sentence(document)]),
    ]
    if "correlation" not in document["undefined"]:
        ordered = by_strength(document["channels"])
        lines.append("correlation by hop, strongest channels first:")
        lines += [f"  {channel['name']}: {path(channel['correlation'])}" for channel in ordered[:_SHOWN]]
        lines += [f"  and {len(ordered) - _SHOWN} more"] if len(ordered) > _SHOWN else []
    lines += [
        f"probe of {probe['on']}, {probe['probe']}: AUC {probe['auc']:.3f} [{probe['low']:.3f}, {probe['high']:.3f}]"
        for probe in document["probe"]
        if probe["auc"] is not None
    ]
    return "\n".join(lines)


def by_strength(channels: Sequence[Document]) -> list[Document]:
    """Leaking channels first, then by the largest |correlation| at any hop; the graph's order breaks ties."""
    return sorted(
        channels, key=lambda c: (not c["leaking"], -max((abs(v or 0.0) for v in c["correlation"]), default=0))
    )
