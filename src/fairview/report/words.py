"""How are numbers said? Percent, points, intervals, and the names of metrics and methods in plain words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fairview.leakage.sentences import plural as plural
from fairview.methods.registry import METHODS
from fairview.metrics.registry import METRICS
from fairview.report.documents import Bounds, visible

_ENCODER_NAMES = {"gcn": "GCN", "gin": "GIN", "sage": "GraphSAGE", "sign": "SIGN", "mlp": "MLP"}
UNDEFINED = "undefined"


def metric_name(metric: str) -> str:
    """A metric in words; one that is not registered by its name."""
    entry = METRICS.get(metric)
    return metric if entry is None else entry.words


def main_gaps() -> tuple[str, ...]:
    """The gaps that verdicts speak of and charts draw; tables have the others too.

    Example:
        >>> main_gaps()
        ('statistical_parity_gap', 'equal_opportunity_gap')
    """
    return tuple(name for name, entry in METRICS.items() if entry.is_gap and entry.in_tables)


def difference_verdict(metric: str, low: float | None, high: float | None) -> str:
    """What an interval of a difference says.

    Example:
        >>> difference_verdict("statistical_parity_gap", -0.2, -0.1), difference_verdict("auc", -0.1, 0.1)
        ('better', "can't tell")
    """
    if low is None or high is None or low <= 0 <= high:
        return "can't tell"
    return "better" if (high < 0) == (METRICS[metric].better == "lower") else "worse"


def method_name(method: str) -> str:
    """A method in words; one that is not registered by its name. Audits call the plain model `plain`."""
    entry = METHODS.get("vanilla" if method == "plain" else method)
    return method if entry is None else entry.words


def model_name(method: str, parameters: Mapping[str, Any]) -> str:
    """A model in words: its method, and of an ensemble what it averages.

    Example:
        >>> model_name("ensemble", {"model": "nifty", "members": 5}), model_name("nifty", {})
        ('ensemble of 5 × NIFTY', 'NIFTY')
    """
    inner, members = parameters.get("model"), parameters.get("members")
    if method == "ensemble" and isinstance(inner, str) and isinstance(members, int):
        return f"ensemble of {members:,} × {visible(method_name(inner))}"
    return method_name(method)


def with_need(name: str, group_at_prediction: bool | None) -> str:
    """A model's name, and whether it needs each node's group to predict it.

    Example:
        >>> with_need("group thresholds", True), with_need("FairVGNN", False)
        ('group thresholds (needs the group)', 'FairVGNN')
    """
    return f"{name} (needs the group)" if group_at_prediction else name


def source_name(on: str) -> str:
    """Where a probe looked, in words."""
    return {"X": "in the table (X)", "S X": "after 1 hop (S X)", "S² X": "after 2 hops (S² X)"}.get(on, on)


def encoder_name(encoder: str | None) -> str:
    """An encoder as papers write it; one of somebody's own by its name."""
    return _ENCODER_NAMES.get(encoder or "", encoder or "")


def capitalised(words: str) -> str:
    """For the start of a title.

    Example:
        >>> capitalised("AUC against gap"), capitalised("equal opportunity gap")
        ('AUC against gap', 'Equal opportunity gap')
    """
    return words[:1].upper() + words[1:]


def number(value: float | None, digits: int = 3) -> str:
    """A number with a true minus sign, or that it is undefined.

    Example:
        >>> number(-0.25), number(None)
        ('−0.250', 'undefined')
    """
    return UNDEFINED if value is None else f"{value:,.{digits}f}".replace("-", "−")


def percent(value: float | None) -> str:
    """A share.

    Example:
        >>> percent(0.7004)
        '70.0%'
    """
    return UNDEFINED if value is None else f"{number(100 * value, 1)}%"


def points(value: float | None) -> str:
    """A difference of shares, in percentage points.

    Example:
        >>> points(0.0974)
        '9.7 points'
    """
    return UNDEFINED if value is None else f"{number(100 * value, 1)} points"


def span(interval: tuple[float, float] | Bounds | None, *, scale: float = 1.0, digits: int = 3) -> str:
    """An interval.

    Example:
        >>> span((0.0, 0.0974), scale=100, digits=1), span(None)
        ('0.0 to 9.7', '–')
    """
    ends = interval.interval if isinstance(interval, Bounds) else interval
    return "–" if ends is None else " to ".join(number(scale * end, digits) for end in ends)


def count(value: int | None) -> str:
    """A number of things, or that it is unknown."""
    return "unknown" if value is None else f"{value:,}"


def listed(names: Sequence[str], limit: int = 4) -> str:
    """Names in a sentence.

    Example:
        >>> listed(["a", "b", "c"]), listed(list("abcdef"), limit=2)
        ('a, b and c', 'a, b and 4 more')
    """
    if len(names) > limit:
        return f"{', '.join(names[:limit])} and {len(names) - limit:,} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else list(names))


def distinct(names: Iterable[str], limit: int = 60) -> list[str]:
    """Short labels, one per name: two names that look alike when shortened, or are alike, stay apart.

    Example:
        >>> distinct(["age", "age", "x" * 9], limit=5)
        ['age', 'age (2)', 'xxxx…']
    """
    used: set[str] = set()
    labels = []
    for name in names:
        short = name if len(name) <= limit else name[: limit - 1] + "…"
        label, place = short or "(no name)", 1
        while label in used:
            place += 1
            label = f"{short} ({place})"
        used.add(label)
        labels.append(label)
    return labels
