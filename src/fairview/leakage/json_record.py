"""How does what an audit found become JSON? Field by field: tuples as lists, and what is undefined as null."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from fairview.undefined import Undefined


def json_record(finding: Any) -> dict[str, Any]:
    """The fields of a dataclass as plain data; a part with a `to_dict` of its own is asked for it.

    Example:
        >>> from fairview.leakage.label_leaks import LabelLeak
        >>> json_record(LabelLeak("grade", auc=0.99))
        {'name': 'grade', 'auc': 0.99}
    """
    return {field.name: _plain(getattr(finding, field.name)) for field in fields(finding)}


def _plain(value: Any) -> Any:
    if isinstance(value, Undefined):
        return None
    if is_dataclass(value):
        return value.to_dict() if hasattr(value, "to_dict") else json_record(value)
    if isinstance(value, Mapping):
        return dict(value)
    return [_plain(each) for each in value] if isinstance(value, tuple) else value
