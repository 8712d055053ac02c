"""Who wants to know what happens on the way? The logger `fairview`: silent until somebody listens.

    logging.basicConfig(level=logging.INFO)  # in a program or a notebook; on the command line: fairview -v ...

Notes, such as what was changed in the data, are logged at INFO when they arise; what casts doubt on a result, such as
an interrupted training, at WARNING.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

LOGGER = logging.getLogger("fairview")
LOGGER.addHandler(logging.NullHandler())


def note(message: str) -> None:
    """Something worth knowing."""
    LOGGER.info("%s", message)


def warn(message: str) -> None:
    """Something that casts doubt on a result."""
    LOGGER.warning("%s", message)


@contextmanager
def shown_on_stderr() -> Iterator[None]:
    """Show the log inside, a line each."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    level = LOGGER.level
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    try:
        yield
    finally:
        LOGGER.removeHandler(handler)
        LOGGER.setLevel(level)


class _Lines(logging.Formatter):
    """`note: ...` and `warning: ...`, with control characters as codes: names from the data can't move the cursor."""

    def format(self, record: logging.LogRecord) -> str:
        word = "warning" if record.levelno >= logging.WARNING else "note"
        message = "".join(letter if letter.isprintable() else f"\\x{ord(letter):02x}" for letter in record.getMessage())
        return f"{word}: {message}"
