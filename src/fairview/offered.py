"""Which options does the reader of a message have? `fairview predict` has fewer than `fairview train`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_questions: ContextVar[tuple[Callable[[str], bool], ...]] = ContextVar("questions", default=())


@contextmanager
def offering(has: Callable[[str], bool]) -> Iterator[None]:
    """Inside, only those options are offered that `has` says yes to, and that are offered outside, too.

    Example:
        >>> with offering(lambda name: name != "drop"):
        ...     is_offered("drop"), is_offered("edges")
        (False, True)
        >>> is_offered("drop")
        True
    """
    token = _questions.set((*_questions.get(), has))
    try:
        yield
    finally:
        _questions.reset(token)


def is_offered(name: str) -> bool:
    """Whether the reader can set this parameter."""
    return all(has(name) for has in _questions.get())
