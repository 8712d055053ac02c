"""What can go wrong, in a tree small enough to remember.

Everything fairview raises on purpose is a `FairviewError`; the command line prints it and exits with 1, without a
traceback. A message says what was wrong, the value, what is allowed, and what to do.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence


class FairviewError(Exception):
    """Base of every error that fairview raises on purpose."""


class InputError(FairviewError, ValueError):
    """The data, a file or a parameter is not what it must be. All independent problems are in `problems`.

    Example:
        >>> print(InputError(["nodes.csv: the file is empty.", "edges.csv: no column 'source'."]))
        2 problems:
          - nodes.csv: the file is empty.
          - edges.csv: no column 'source'.
    """

    def __init__(self, problems: str | Iterable[str]) -> None:
        self.problems: tuple[str, ...] = (problems,) if isinstance(problems, str) else tuple(problems)
        if len(self.problems) == 1:
            text = self.problems[0]
        else:
            text = f"{len(self.problems)} problems:" + "".join(f"\n  - {problem}" for problem in self.problems)
        super().__init__(text)


class DataNotFoundError(FairviewError, LookupError):
    """A known dataset is not at hand; the message says what to put where."""


class ModelFileError(FairviewError, ValueError):
    """A model file or checkpoint is damaged, was changed, or is not one; nothing of it was used."""


class Problems:
    """Collects independent problems, so that the user sees all of them at once.

    Example:
        >>> problems = Problems()
        >>> problems.add("column 'age': 3 rows are empty.")
        >>> problems.raise_if_any()
        Traceback (most recent call last):
        ...
        fairview.errors.InputError: column 'age': 3 rows are empty.
    """

    def __init__(self) -> None:
        self._messages: list[str] = []

    def add(self, message: str) -> None:
        if message not in self._messages:
            self._messages.append(message)

    def absorb(self, error: InputError) -> None:
        """Keep the problems of a step that failed and go on with the independent ones."""
        for problem in error.problems:
            self.add(problem)

    def __bool__(self) -> bool:
        return bool(self._messages)

    def raise_if_any(self) -> None:
        if self._messages:
            raise InputError(self._messages)


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """A sentence that helps with a mistyped name.

    Example:
        >>> did_you_mean("germen", ["german", "bail"])
        " Did you mean 'german'?"
        >>> did_you_mean("x", ["german", "bail"])
        ' Known: german, bail.'
    """
    close = difflib.get_close_matches(name, known, n=1)
    if not close:
        folded = {other.casefold(): other for other in known}
        close = [folded[name.casefold()]] if name.casefold() in folded else []
    if close:
        return f" Did you mean '{close[0]}'?"
    return f" Known: {some(known, limit=12)}." if known else ""


def some(values: Iterable[object], *, limit: int = 5) -> str:
    """The first few of many, for a message.

    Example:
        >>> some([17, 52, 90, 91, 92, 93, 94])
        '17, 52, 90, 91, 92 and 2 more'
    """
    listed = list(values)
    text = ", ".join(str(value) for value in listed[:limit])
    return text if len(listed) <= limit else f"{text} and {len(listed) - limit:,} more"


def quoted(values: Iterable[object], *, limit: int = 5) -> str:
    """Like `some`, each value in quotes.

    Example:
        >>> quoted(["good", "bad"])
        "'good', 'bad'"
    """
    return some([f"'{value}'" for value in values], limit=limit)
