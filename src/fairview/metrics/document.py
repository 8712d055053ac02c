"""What may stand in a document of metrics? Each is a number within its range, or undefined with a reason."""

from __future__ import annotations

from typing import Any

from fairview.metrics.registry import METRICS


def checked_metrics(document: Any) -> dict[str, dict[str, Any]]:
    """The evaluations by split of a `metrics.json`, as untrusted as any file.

    Raises:
        ValueError: naming the split, the metric and the value.

    Example:
        >>> checked_metrics({"test": {"auc": 7.0}})
        Traceback (most recent call last):
        ...
        ValueError: test: auc is 7.0; expected a number from 0 to 1
    """
    if not isinstance(document, dict):
        raise ValueError("expected metrics by split")
    splits = {name: value for name, value in document.items() if name not in ("kind", "version")}
    for split, values in splits.items():
        if not isinstance(values, dict):
            raise ValueError(f"{split}: expected metrics by name")
        check_values(values, f"{split}: ")
    return splits


def check_values(values: dict[str, Any], place: str = "") -> None:
    """Every known metric among the values is within its range, or undefined with a reason; so of every attribute."""
    attributes = values.get("attributes", {})
    if not isinstance(attributes, dict) or not all(isinstance(part, dict) for part in attributes.values()):
        raise ValueError(f"{place}attributes: expected metrics by the name of each sensitive attribute")
    for attribute, part in attributes.items():
        check_values(part, f"{place}{attribute}: ")
    reasons = values.get("undefined", {})
    for name, entry in METRICS.items():
        if name not in values:
            continue
        value, (least, most) = values[name], entry.range
        if value is None:
            if not isinstance(reasons, dict) or not isinstance(reasons.get(name), str):
                raise ValueError(f"{place}{name} is undefined, without a reason")
        elif isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            shown = repr(value)[:40]
            raise ValueError(f"{place}{name} is {shown}; expected a number from {least:g} to {most:g}")
