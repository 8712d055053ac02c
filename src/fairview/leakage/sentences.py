"""What does an audit say, in sentences? Made from the document, so that a file reads like the object.

The object, the command line and the report ask here, so that all three lead with the same headline.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fairview.leakage.json_keys import BY_GROUP, OF_THE_GRAPH

AuditJSON = Mapping[str, Any]

LINES = 15
"""Channels that tables and charts show; audit.json has all of them."""

_NAMED = 6
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def by_attribute(document: AuditJSON) -> dict[str, AuditJSON]:
    """The audit by each sensitive attribute as if it were the only one, and last by the combinations of all.

    Of one attribute that is the document itself.
    """
    graph = document["graph"]
    together = {str(graph["sensitive"]): dict(document) | {"attributes": {}}}
    parts = (document.get("attributes") or {}).items()
    return {name: _by_one(document, name, part) for name, part in parts} | together


def _by_one(document: AuditJSON, name: str, part: AuditJSON) -> AuditJSON:
    graph = dict(document["graph"]) | {key: part[key] for key in OF_THE_GRAPH} | {"sensitive": name}
    own = {key: part[key] for key in BY_GROUP if key in part}
    return dict(document) | own | {"graph": graph, "attributes": {}}


@dataclass(frozen=True)
class Headline:
    """The most important thing that an audit found.

    Attributes:
        kind: `revealed`: all columns together tell the sensitive attribute clearly better after message passing;
            `flagged`: single columns do; `readable`: nothing is added, but all columns together tell it anyway;
            `clean`: not even that; `unprobed`: no column is flagged, and all together were not tried; `undefined`:
            nothing was measured.
        text: in a sentence.
    """

    kind: Literal["revealed", "flagged", "readable", "clean", "unprobed", "undefined"]
    text: str


def headline(document: AuditJSON) -> Headline:
    """What matters most: what message passing reveals in all columns together, then in single ones, then nothing.

    A guess is clearly better after message passing if its 95 % interval lies above that of the best guess before.
    """
    sensitive = _sensitive(document)
    columns = [channel for channel in document["channels"] if not channel["sensitive"]]
    untested = document["undefined"].get("leaking")
    if untested and not document["probe"]:
        return Headline("undefined", f"Leakage is undefined: {untested}")
    if not columns or all(column["correlation"][0] is None for column in columns):
        return Headline("undefined", f"Whether message passing reveals {sensitive} could not be measured.")
    flagged = [column["name"] for column in columns if column["leaking"]]
    hops = len(columns[0]["correlation"]) - 1
    guesses = [probe for probe in document["probe"] if probe["auc"] is not None]
    before, after = _best(guesses, {0}), _best(guesses, set(range(1, hops + 1)))
    if before and after and None not in (before["high"], after["low"]) and after["low"] > before["high"]:
        aucs = f"AUC {_auc(after['auc'])} after {_hops(after['hop'])}, {_auc(before['auc'])} before"
        return Headline(
            "revealed",
            f"Message passing reveals {sensitive}: from all columns together it can be guessed with {aucs}.",
        )
    if untested:
        return Headline("undefined", f"Leakage in single columns is undefined: {untested}")
    if flagged:
        of_all = f"{len(flagged):,} of {plural(len(columns), 'column')}"
        return Headline("flagged", f"Message passing reveals {sensitive} in {of_all}: {_names(flagged)}.")
    none = f"No single column is shown to reveal {sensitive} after {_hops(hops)} of message passing"
    best = max(guesses, key=lambda probe: probe["auc"], default=None)
    if best is None:
        return Headline("unprobed", f"{none}; what all columns reveal together was not measured.")
    if best["low"] is None or best["low"] > 0.5:
        together = f"from all columns together it can be guessed with AUC {_auc(best['auc'])} (0.5 is chance)"
        return Headline("readable", f"{none}, but {together}.")
    return Headline("clean", f"{none}, and from all columns together it could not be guessed.")


def links_sentence(document: AuditJSON) -> str:
    """Why single columns need not be at fault where all together reveal it; empty where they don't."""
    if headline(document).kind != "revealed":
        return ""
    return "Links alone can do this: averaged over neighbours of the same group, even random columns tell groups apart."


def flagged_sentence(document: AuditJSON) -> str:
    """The flagged columns with their correlations by hop; empty if there are none and the headline says so."""
    flagged = [f"{c['name']} ({path(c['correlation'])})" for c in document["channels"] if c["leaking"]]
    if not flagged and "leaking" in document["undefined"]:
        return ""
    if not flagged:
        return "No single column is flagged." if headline(document).kind == "revealed" else ""
    return f"Flagged, with the correlation with {_sensitive(document)} by hop: {_names(flagged)}."


def hidden_sentence(document: AuditJSON) -> str:
    """Which hidden columns the links give away, and which they do not; empty if none was asked about."""
    columns = [column for column in document.get("hidden", ()) if column["difference"] is not None]
    known = [
        f"{column['name']} ({column['measure']} {column['from_graph']['score']:z.2f} from columns and links, "
        f"{column['from_channels']['score']:z.2f} from the columns alone)"
        for column in columns
        if column["readable"]
    ]
    rest = [column["name"] for column in columns if not column["readable"]]
    said = [f"THE GRAPH KNOWS A HIDDEN COLUMN: {_names(known)}."] if known else []
    said += [f"The links add nothing to what the columns say of {_names(rest)}."] if rest else []
    return " ".join(said)


def without_nodes(document: AuditJSON) -> list[str]:
    """Of several attributes, the combinations of groups that nobody is in; of one attribute none is left out."""
    several = document["graph"].get("attributes")
    return [row["group"] for row in document["homophily_by_group"] if not row["nodes"]] if several else []


def reasons(document: AuditJSON) -> dict[str, str]:
    """What is undefined, and why; but that combinations without nodes have no links: there can be hundreds."""
    empty = without_nodes(document)
    known = {f"{what} of group '{group}'" for group in empty for what in ("homophily", "mean_degree")}
    return {what: why for what, why in document["undefined"].items() if what not in known}


def reasons_of_all(parts: Mapping[str, AuditJSON]) -> dict[str, str]:
    """What is undefined by every sensitive attribute, and for the same reason."""
    first, *others = (reasons(part) for part in parts.values())
    return {what: why for what, why in first.items() if all(each.get(what) == why for each in others)}


def rule_sentence(document: AuditJSON) -> str:
    """When a column is flagged, for everybody; `leak_rule` has the details."""
    level = "" if document["level"] is None else f", {100 * document['level']:g} % level"
    word = "quick shuffle" if document.get("shuffling") == "quick" else "shuffle"
    shuffles = "" if document["permutations"] is None else f" with {plural(document['permutations'], word)}"
    many = "columns, hops and sensitive attributes" if document["graph"].get("attributes") else "columns and hops"
    return (
        "A column is flagged if it is harmless in the table but clearly tied to the sensitive attribute after message "
        f"passing (permutation test{shuffles}{level}, corrected for testing many {many})."
    )


def label_verdict(document: AuditJSON) -> str:
    """Which channels give the label away; empty if none does."""
    if reason := document["undefined"].get("label_leaks"):
        return f"Label leaks are undefined: {reason}."
    leaks = ", ".join(f"{leak['name']} (AUC {leak['auc']:.4f})" for leak in document["label_leaks"])
    if not leaks:
        return ""
    return f"LABEL LEAK: the label can be read off {leaks} alone. Was that known when the decision was due?"


def probe_sentence(document: AuditJSON) -> str:
    """How well all columns together tell the sensitive attribute, by hop; empty without probes."""
    guesses = [probe for probe in document["probe"] if probe["probe"] == "linear" and probe["auc"] is not None]
    aucs = ", ".join(f"{probe['auc']:.3f} from {probe['on']}" for probe in guesses)
    sensitive = document["graph"]["sensitive"]
    return f"From all columns but its own, a linear model guesses {sensitive} with AUC {aucs}." if aucs else ""


def homophily_sentence(document: AuditJSON) -> str:
    """How often links join the same group."""
    if document["homophily"] is None:
        return f"Homophily is undefined: {document['undefined'].get('homophily', 'no reason given')}."
    return f"{100 * document['homophily']:.2f} % of the links join two nodes of the same group."


def summary(document: AuditJSON) -> list[str]:
    """The headline, and what else matters, a sentence each; with several attributes the headline of each."""
    sentences: tuple[Callable[[AuditJSON], str], ...] = (
        links_sentence, flagged_sentence, probe_sentence, label_verdict, hidden_sentence, homophily_sentence
    )  # fmt: skip
    parts = by_attribute(document).values()
    if len(parts) > 1:
        sentences = (label_verdict, hidden_sentence)
    headlines = dict.fromkeys(headline(part).text for part in parts)  # what can't be said of any is said once
    return [*headlines, *filter(None, (sentence(document) for sentence in sentences))]


def group_sentences(document: AuditJSON) -> list[str]:
    """What the summary of several attributes leaves out about one of them."""
    sentences = (links_sentence, flagged_sentence, probe_sentence, homophily_sentence)
    return [*filter(None, (sentence(document) for sentence in sentences))]


def path(values: Sequence[float | None]) -> str:
    """Correlations by hop.

    Example:
        >>> path([0.0123, -0.25])
        '0.012 → -0.250'
    """
    return " → ".join("undefined" if value is None else f"{value:z.3f}" for value in values)


def described(document: AuditJSON) -> str:
    """A few lines: the verdicts, the strongest channels, the probes."""
    facts = document["graph"]
    lines = [
        f"GraphAudit of {facts['source']}: {facts['nodes']:,} nodes, {facts['edges']:,} edges, sensitive "
        f"'{facts['sensitive']}', {document['operator']}, {document['hops']} hops",
        *summary(document),
    ]
    parts = by_attribute(document)
    for name, part in parts.items():
        if len(parts) > 1:
            lines += ["", f"{name}:", *group_sentences(part)]
        lines += _numbers(part)
    return "\n".join(lines)


def _numbers(document: AuditJSON) -> list[str]:
    """The strongest channels and the probes, a line each."""
    lines = []
    if "correlation" not in document["undefined"]:
        lines.append("correlation by hop, strongest channels first:")
        lines += [f"  {label}: {path(channel['correlation'])}" for label, channel in strongest(document["channels"])]
        lines += filter(None, [left_out(document["channels"])])
    lines += [
        f"probe of {probe['on']}, {probe['probe']}: AUC {probe['auc']:.3f} [{probe['low']:.3f}, {probe['high']:.3f}]"
        for probe in document["probe"]
        if probe["auc"] is not None
    ]
    return lines


def strongest(channels: Sequence[AuditJSON]) -> list[tuple[str, AuditJSON]]:
    """The lines of a table with their labels: flagged channels first, then by the largest |correlation| at any hop."""
    ordered = sorted(
        channels, key=lambda c: (not c["leaking"], -max((abs(v or 0.0) for v in c["correlation"]), default=0))
    )
    lines = one_line_each([channel["name"] for channel in ordered])
    return [(label, ordered[place]) for place, label in lines[:LINES]]


def one_line_each(names: Sequence[str]) -> list[tuple[int, str]]:
    """The places and labels of the lines of a table; a one-hot column has one line, at the first of its categories.

    One-hot channels are called `column=category`.

    Example:
        >>> one_line_each(["job=clerk", "age", "job=none"])
        [(0, 'job=clerk (strongest of 2 categories)'), (1, 'age')]
    """
    columns = [name.partition("=")[0] if "=" in name[1:] else "" for name in names]
    categories = Counter(columns)
    lines, seen = [], set()
    for place, (name, column) in enumerate(zip(names, columns, strict=True)):
        if not column or categories[column] == 1:
            lines.append((place, name))
        elif column not in seen:
            seen.add(column)
            lines.append((place, f"{name} (strongest of {categories[column]} categories)"))
    return lines


def left_out(channels: Sequence[AuditJSON]) -> str:
    """How many lines a table of the strongest channels leaves out; empty if none."""
    more = len(one_line_each([channel["name"] for channel in channels])) - LINES
    return f"And {plural(more, 'column')} more; audit.json (or to_dict) has them all." if more > 0 else ""


# --- words ------------------------------------------------------------------------------------------------------------


def _best(guesses: Sequence[AuditJSON], hops: set[int]) -> AuditJSON | None:
    return max((probe for probe in guesses if probe["hop"] in hops), key=lambda probe: probe["auc"], default=None)


def _auc(value: float) -> str:
    """Two digits, or three where two would claim a perfect guess."""
    return f"{value:.3f}" if 0.995 <= value < 0.9995 else f"{value:.2f}"


def _sensitive(document: AuditJSON) -> str:
    return str(document["graph"]["sensitive"] or "the sensitive attribute")


def _hops(count: int) -> str:
    return f"{_NUMBERS[count] if count < len(_NUMBERS) else count} {'hop' if count == 1 else 'hops'}"


def plural(count: int, word: str) -> str:
    """A number with its noun.

    Example:
        >>> plural(1, "seed"), plural(1200, "node")
        ('1 seed', '1,200 nodes')
    """
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
