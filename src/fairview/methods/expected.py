"""What may a parameter be, in plain words? Said from its type hint, for messages."""

from __future__ import annotations

import collections.abc
import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin

_KINDS = {
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    str: "a text",
    types.NoneType: "None",
    dict: "a dictionary",
    tuple: "a tuple",
    list: "a list",
    type: "a class",
    collections.abc.Callable: "a function",
}
_BOUNDS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}


def expected_words(hint: Any) -> str:
    """The values that a type hint allows.

    Example:
        >>> from pydantic import Field
        >>> expected_words(Annotated[int, Field(ge=1, le=64)] | None)
        'a whole number, at least 1 and at most 64, or None'
        >>> expected_words(Literal["gcn", "mean"])
        "'gcn' or 'mean'"
    """
    origin, inside = get_origin(hint), get_args(hint)
    if origin is Annotated:
        bounds = " and ".join(_bounds(inside[1:]))
        return f"{expected_words(inside[0])}, {bounds}" if bounds else expected_words(inside[0])
    if origin is Literal:
        return _either([repr(value) for value in inside])
    if origin in (Union, types.UnionType):
        return _either(list(dict.fromkeys(expected_words(each) for each in inside)))
    if origin is tuple and inside and inside[0] is str:
        return "a tuple of texts"
    if origin is tuple:
        return f"a tuple of {expected_words(inside[0])}" if inside else "a tuple"
    kind = origin or hint
    return _KINDS.get(kind) or f"a {getattr(kind, '__name__', kind)}"


def _bounds(marks: tuple[Any, ...]) -> list[str]:
    listed = [each for mark in marks for each in (mark, *getattr(mark, "metadata", ()))]
    found = ((words, getattr(each, name, None)) for each in listed for name, words in _BOUNDS.items())
    return [f"{words} {_number(bound)}" for words, bound in found if bound is not None]


def _number(bound: float) -> str:
    if not isinstance(bound, int):
        return f"{bound:g}"
    return f"{bound:,}" if bound < 2**53 else f"2**{bound.bit_length() - 1}"


def _either(options: list[str]) -> str:
    *first, last = options
    comma = "," if any("," in option for option in first) else ""
    return f"{', '.join(first)}{comma} or {last}" if first else last
