"""Which gaps may be how large? What the user asks for, checked before any work."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

from fairview.arguments import shortened
from fairview.data.graph import NodeGraph
from fairview.errors import InputError, Problems, did_you_mean, flag, option, placeholder, quoted, shown
from fairview.metrics.registry import METRICS

CONDITIONS: dict[str, tuple[int | None, ...]] = {
    "statistical_parity": (None,),
    "equal_opportunity": (1,),
    "equalized_odds": (1, 0),
}
"""The labels among which a gap compares the groups; None is everybody, labelled or not."""

Condition = tuple[str | None, int | None]
"""A sensitive attribute by its name, None for the only one, and a label as in `CONDITIONS`."""

UTILITIES = ("balanced_accuracy", "auc", "accuracy", "f1")


@dataclass(frozen=True)
class Limit:
    """A gap, and how large it may be.

    Attributes:
        gap: `statistical_parity`, `equal_opportunity` or `equalized_odds`.
        limit: a fraction; None where only the trade-off is asked for.
        attribute: between whose groups; with several attributes the name of one, or of all together
            (`race & sex`), whose groups are the combinations. None where there is only one.

    Example:
        >>> Limit("statistical_parity", 0.05).metric
        'statistical_parity_gap'
    """

    gap: str
    limit: float | None = None
    attribute: str | None = None

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """What is counted for its test."""
        return tuple((self.attribute, label) for label in CONDITIONS[self.gap])

    @property
    def metric(self) -> str:
        """The name of the gap among the metrics."""
        return f"{self.gap}_gap"

    @property
    def words(self) -> str:
        """The gap in a sentence."""
        words = METRICS[self.metric].words
        return words if self.attribute is None else f"{words} by {self.attribute}"

    def to_dict(self) -> dict[str, Any]:
        """For JSON: which limit it is."""
        by = {} if self.attribute is None else {"attribute": self.attribute}
        return {"gap": self.gap, **by, "limit": self.limit}


def read_limits(max_gap: Any, gaps: Sequence[str] | str | None, attributes: Sequence[str] = ()) -> tuple[Limit, ...]:
    """The limits that `max_gap` and `gaps` describe, all of them checked.

    Args:
        max_gap: one limit for everything, or None to look at the trade-off only; or limits by gap; or by attribute, of
            which each may again have limits by gap.
        gaps: their names; by default those of `max_gap`, or statistical parity.
        attributes: names of the sensitive attributes, of several the name of all together last: where `max_gap` names
            none, its limits are for each of them.

    Example:
        >>> read_limits(0.05, ["statistical_parity", "equal_opportunity"])[1]
        Limit(gap='equal_opportunity', limit=0.05, attribute=None)
        >>> read_limits({"equal_opportunity": 0.1}, None)
        (Limit(gap='equal_opportunity', limit=0.1, attribute=None),)
        >>> [limit.words for limit in read_limits({"race": 0.05, "sex": 0.1}, None, ["race", "sex", "race & sex"])]
        ['statistical parity gap by race', 'statistical parity gap by sex']
    """
    if not isinstance(gaps, str | list | tuple | set | None) or not all(isinstance(name, str) for name in gaps or ()):
        raise InputError(
            f"{option('gap')}: {shortened(gaps)}; expected the names of gaps, such as 'equal_opportunity'."
        )
    several = len(attributes) > 1
    named = [gaps] if isinstance(gaps, str) else gaps or ()
    if several and (wrong := [name for name in named if name in attributes and name not in CONDITIONS]):
        ways = placeholder(
            python=f"max_gap={{'{wrong[0]}': 0.05}}",
            command_line=f"{flag('max_gap')} {shlex.quote(f'{wrong[0]}=0.05')}",
        )
        raise InputError(f"{option('gap')}: '{wrong[0]}' is a sensitive attribute, and no gap; limit it with {ways}.")
    if isinstance(max_gap, Mapping) and _by_attribute(max_gap, attributes):
        problems, found = Problems(), list[Limit]()
        for attribute, limit in max_gap.items():
            with problems.collecting():
                each = _limits_by_gap(limit, gaps)
                found += [replace(one, attribute=str(attribute) if several else None) for one in each]
        problems.raise_if_any()
    else:
        every: Sequence[str | None] = attributes if several else (None,)
        found = [replace(one, attribute=name) for one in _limits_by_gap(max_gap, gaps) for name in every]
    if several and isinstance(max_gap, Mapping) and any(limit.limit is None for limit in found):
        raise InputError(f"{option('max_gap')}: {shortened(max_gap)}; give each a limit, or leave it out.")
    return tuple(found)


def _by_attribute(max_gap: Mapping[Any, Any], attributes: Sequence[str]) -> bool:
    """Whether the keys name attributes, and not gaps."""
    several = len(attributes) > 1
    of_gaps = [name for name in max_gap if name in CONDITIONS]
    others = [name for name in max_gap if name not in CONDITIONS]
    problems = Problems()
    if both := [name for name in of_gaps if several and name in attributes]:
        problems.add(f"{option('max_gap')}: {quoted(both)} names an attribute and a gap; rename the attribute.")
    if not others or not (several or all(name in attributes for name in others)):
        problems.raise_if_any()
        return False  # of a single attribute, what is unknown is said to be no gap
    known = [*attributes, *CONDITIONS]
    for name in others:
        if name not in attributes:
            hint = did_you_mean(str(name), known)
            problems.add(f"{option('max_gap')}: '{shown(name)}' is neither a sensitive attribute nor a gap.{hint}")
    if of_gaps and not problems:
        example = placeholder(
            python=f"say the gaps of each attribute: {{'{others[0]}': {{'{of_gaps[0]}': 0.05}}}}",
            command_line=f"say the limit of each attribute, and the gap apart: {flag('max_gap')} "
            f"{shlex.quote(f'{others[0]}=0.05')} {flag('gap')} {of_gaps[0]}",
        )
        problems.add(
            f"{option('max_gap')}: names attributes ({quoted(others)}) and gaps ({quoted(of_gaps)}); {example}."
        )
    problems.raise_if_any()
    return True


def _limits_by_gap(max_gap: Any, gaps: Sequence[str] | str | None) -> tuple[Limit, ...]:
    """Of one attribute."""
    problems = Problems()
    names = [gaps] if isinstance(gaps, str) else list(gaps or ())
    if isinstance(max_gap, Mapping):
        by_gap: dict[str, Any] = {str(name): value for name, value in max_gap.items()}
        if names and set(names) != set(by_gap):
            problems.add(f"max_gap: names {sorted(by_gap)}, but gaps names {sorted(names)}; give one of the two.")
        names = list(by_gap)
    else:
        names = names or ["statistical_parity"]
        by_gap = dict.fromkeys(names, max_gap)
    if not names:
        problems.add(f"{option('max_gap')}: names no gap; expected at least one, such as 'statistical_parity'.")
    for name in names:
        if name not in CONDITIONS:
            problems.add(f"{option('gap')}: no gap '{name}' has a test.{did_you_mean(name, list(CONDITIONS))}")
        value = by_gap.get(name)
        if value is not None and not _is_share(value):
            hint = " Limits are fractions: 5 points are 0.05." if _is_number(value) and 1 <= float(value) <= 100 else ""
            problems.add(f"{option('max_gap')}: {value!r}; expected a number between 0 and 1.{hint}")
    problems.raise_if_any()
    return tuple(
        Limit(name, None if (limit := by_gap[name]) is None else float(limit)) for name in dict.fromkeys(names)
    )


def limits_of(document: Mapping[str, Any]) -> tuple[Limit, ...]:
    """The limits that a `tune.json` was made with.

    Example:
        >>> limits_of({"gaps": ["equal_opportunity"], "limits": [{"gap": "equal_opportunity", "limit": 0.1}]})
        (Limit(gap='equal_opportunity', limit=0.1, attribute=None),)
    """
    if "attributes" in document and document["limits"]:
        return tuple(Limit(each["gap"], each["limit"], each["attribute"]) for each in document["limits"])
    bounds = {each["gap"]: each["limit"] for each in document["limits"]}
    names = document.get("attributes", [None])
    return tuple(Limit(gap, bounds.get(gap), name) for gap in document["gaps"] for name in names)


def limited_attributes(limits: Sequence[Limit], graph: NodeGraph) -> tuple[str, ...] | None:
    """The sensitive attributes that have a limit; None where all of them have, with their combinations."""
    asked = dict.fromkeys(limit.attribute for limit in limits if limit.attribute is not None)
    return tuple(asked) if asked and {*asked} != {*names_of_attributes(graph)} else None


def names_of_attributes(graph: NodeGraph) -> list[str]:
    """The sensitive attributes that a limit may name; of several, at last all of them together."""
    names = [attribute.name for attribute in graph.attributes]
    return [*names, graph.sensitive_name] if graph.several else names


def check_utility(utility: str) -> None:
    """A name of a utility that a model can be chosen by."""
    if utility not in UTILITIES:
        raise InputError(f"{option('utility')}: no utility '{utility}'.{did_you_mean(utility, UTILITIES)}")


def check_confidence(confidence: float) -> None:
    """Between one half and one."""
    if not _is_number(confidence) or not 0.5 <= confidence < 1:
        hint = " 95 % is 0.95." if _is_number(confidence) and 1 < confidence <= 100 else ""
        raise InputError(f"{option('confidence')}: {confidence!r}; expected a number from 0.5 to 1, below 1.{hint}")


def _is_number(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real) and math.isfinite(float(value))


def _is_share(value: object) -> bool:
    return _is_number(value) and 0 < value < 1  # type: ignore[operator]
