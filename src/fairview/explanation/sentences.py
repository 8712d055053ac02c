"""What does an explanation say, in sentences? Made from the document, so that a file reads like the object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ExplanationJSON = Mapping[str, Any]

SHOWN = 5
"""Links, channels and kinds of links that a few lines name."""


def summary(document: ExplanationJSON) -> list[str]:
    """The gap, how many links widen it, and what happens without them."""
    first, second = document["groups"]
    nodes = sum(document["counts"])
    where = "" if document["split"] == "all" else f" of the split '{document['split']}'"
    sentences = [
        f"The mean logit of '{first}' is {document['gap']:.3f} above that of '{second}' ({nodes:,} nodes{where}).",
        f"{document['widening']:,} of {document['num_links']:,} links widen this gap.",
    ]
    told = [removal_sentence(document), channel_sentence(document), kind_sentence(document)]
    return sentences + list(filter(None, told))


def removal_sentence(document: ExplanationJSON) -> str:
    """As many links removed as add up to the gap, or else the largest number, in every way that they were chosen."""
    sizes = [row["k"] for row in document["removed"]]
    if not sizes:
        return "Too few links widen it for any to be removed together."
    k = document["closing"] if document["closing"] in sizes else max(sizes)
    rows = {row["chosen"]: row["gap_after"] for row in document["removed"] if row["k"] == k}
    others = {"random": "at random", "within groups": "within groups", "between groups": "between groups"}
    told = [f"{rows[name]:.3f} ({words})" for name, words in others.items() if name in rows]
    share = f"{100 * k / document['num_links']:.2g} %"
    adding = ", whose effects add up to it" if k == document["closing"] else ""
    return (
        f"Without the {k:,} links ({share}) that widen it most{adding}, it is {rows['effect']:.3f}"
        f"{'; without as many others ' + ', '.join(told) if told else ''}."
    )


def channel_sentence(document: ExplanationJSON) -> str:
    """The channels with the largest parts."""
    largest = [f"{row['channel']} ({row['gap']:+.3f})" for row in document["channels"][:3]]
    return f"Largest parts by channel: {', '.join(largest)}." if largest else ""


def kind_sentence(document: ExplanationJSON) -> str:
    """The kinds of links with the largest parts, where the model weighs kinds and its score is linear."""
    parts = [row for row in document.get("kinds", []) if row["gap"] is not None]
    largest = [f"{row['kind']} ({row['gap']:+.3f})" for row in sorted(parts, key=lambda row: -abs(row["gap"]))[:SHOWN]]
    return f"Largest parts by kind of links: {', '.join(largest)}." if largest else ""


def described(document: ExplanationJSON) -> str:
    """A few lines for a terminal."""
    encoder = f" ({document['encoder']})" if document["encoder"] else ""
    lines = [f"Explanation of {document['method']}{encoder} on {document['graph']['source']}"]
    lines += [f"  {sentence}" for sentence in summary(document)]
    for row in document["links"][:SHOWN]:
        lines.append(f"  link {row['source']} - {row['target']} ({groups_of(row)}): {row['effect']:+.3g}")
    more = len(document["links"]) - SHOWN
    return "\n".join([*lines, *([f"  and {more:,} more; to_frame() has all links."] if more > 0 else [])])


def groups_of(row: Mapping[str, Any]) -> str:
    """The groups of a link's ends.

    Example:
        >>> groups_of({"source_group": "f", "target_group": None})
        'f, unknown'
    """
    return ", ".join("unknown" if row[end] is None else str(row[end]) for end in ("source_group", "target_group"))
