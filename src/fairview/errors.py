"""What can go wrong, in a tree small enough to remember.

Everything fairview raises on purpose is a `FairviewError`; the command line prints it and exits with 1, without a
traceback. A message says what was wrong, the value, what is allowed, and what to do.

The library speaks Python (`missing='mean'`) and the command line names flags (`--missing mean`). A message names an
option with `option("missing", "mean")`; `str(error)` is then Python, and `for_command_line(error)` has the flags.
"""

from __future__ import annotations

import difflib
import re
import secrets
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import TypeVar

from fairview.offered import is_offered

_FLAGS = {
    "changes": "--set",
    "features": "--feature",
    "folder": "--out",
    "formats": "--figures",
    "missing_values": "--missing-value",
    "overwrite": "--force",
}
"""Parameters whose flag has another name."""

LONGEST_MESSAGE = 8_000
"""Characters that a message shows at most."""

MOST_PROBLEMS = 50
"""That one error lists; the others are counted."""

LONGEST_SHOWN = 80
"""Characters of a value that a message shows."""

_LONGEST_LINE = 400  # of what other libraries say
_MOST_COMPARED = 1000  # names that a mistyped one is compared with

_Place = TypeVar("_Place")

# drawn anew in each process: no data can contain it, and so none can pass for a placeholder
_SEAL = secrets.token_hex(8)
_PLACEHOLDER = re.compile(f"{_SEAL}<(.*?){_SEAL}[|](.*?){_SEAL}>", re.DOTALL)

WITHHELD = f"{_SEAL}!"
"""Marks an option that the reader does not have; `remedies` leaves it out, and no message shows the mark."""


class Message(str):
    """A finished text: as a string it speaks Python, `flags` is the same for the command line.

    The placeholders in the given text are filled in at once. A message can be compared, joined and written like any
    string, and keeps its `flags` when it is pickled. Beyond `LONGEST_MESSAGE` characters its middle is left out.

    Example:
        >>> message = Message(f"3 rows are empty. Pass {option('missing', 'mean')}.")
        >>> message
        "3 rows are empty. Pass missing='mean'."
        >>> message.flags
        '3 rows are empty. Pass --missing mean.'
    """

    flags: str

    def __new__(cls, text: str) -> Message:
        if isinstance(text, Message):
            return text
        text = text.replace(WITHHELD, "")
        message = super().__new__(cls, _cut(_PLACEHOLDER.sub(r"\1", text)))
        message.flags = _cut(_PLACEHOLDER.sub(r"\2", text))
        return message


def _cut(text: str) -> str:
    """Without its middle if it is longer than anybody reads: a name in a file may have a million letters."""
    if len(text) <= LONGEST_MESSAGE:
        return text
    half = LONGEST_MESSAGE // 2 - 30
    return f"{text[:half]} [... {len(text) - 2 * half:,} characters ...] {text[-half:]}"


def for_command_line(text: str | FairviewError) -> str:
    """The text of an error or a message with flags in place of Python's parameters."""
    text = text.message if isinstance(text, FairviewError) else text
    return text.flags if isinstance(text, Message) else text


def placeholder(*, python: str, command_line: str) -> str:
    """Marks a place in a message that reads differently in Python and on the command line."""
    return f"{_SEAL}<{python}{_SEAL}|{command_line}{_SEAL}>"


def embed(message: str) -> str:
    """A message inside the text of another one, with both its wordings."""
    message = Message(message)
    return placeholder(python=str(message), command_line=message.flags)


def option(name: str, value: object = None) -> str:
    """A placeholder for a parameter, with a value if there is one to propose.

    Example:
        >>> texts = [option("split_seed"), option("directed", True), option("features", ["age", "job title"])]
        >>> [Message(text) for text in texts]
        ['split_seed', 'directed=True', "features=['age', 'job title']"]
        >>> [Message(text).flags for text in texts]
        ['--split-seed', '--directed', "--feature age --feature 'job title'"]
    """
    python = name if value is None else f"{name}={value!r}"
    values = value if isinstance(value, list) else [value]
    text = placeholder(python=python, command_line=" ".join(_given(flag(name), each) for each in values))
    return text if is_offered(name) else WITHHELD + text


def command(name: str, **options: object) -> str:
    """A command line to run, the same for every reader.

    Example:
        >>> command("paper table3", folder="my results")
        "`fairview paper table3 --out 'my results'`"
    """
    return f"`{' '.join(['fairview', name, *(_given(flag(option), value) for option, value in options.items())])}`"


def flag(name: str) -> str:
    """The flag of a parameter."""
    return _FLAGS.get(name, f"--{name.replace('_', '-')}")


def _given(flag: str, value: object) -> str:
    if value is None or value is True:
        return flag
    text = str(value).replace("\t", "\\t")  # as the command line takes a tab
    return f"{flag} {shlex.quote(text)}"


class FairviewError(Exception):
    """Base of every error that fairview raises on purpose."""

    def __init__(self, message: str = "") -> None:
        self.message = Message(message)
        super().__init__(self.message)


class InputError(FairviewError, ValueError):
    """The data, a file or a parameter is not what it must be. All independent problems are in `problems`.

    Only the first `MOST_PROBLEMS` of them are listed; `more` says how many there are beside those.

    Example:
        >>> print(InputError(["nodes.csv: the file is empty.", "edges.csv: no column 'source'."]))
        2 problems:
          - nodes.csv: the file is empty.
          - edges.csv: no column 'source'.
    """

    def __init__(self, problems: str | Iterable[str], *, more: int = 0) -> None:
        listed = [problems] if isinstance(problems, str) else list(problems)
        self.problems = tuple(map(Message, listed[:MOST_PROBLEMS]))
        self.more = more + len(listed) - len(self.problems)
        total = len(self.problems) + self.more
        if total == 1:
            text = embed(self.problems[0])
        else:
            lines = [*map(embed, self.problems), *([f"and {self.more:,} more"] if self.more else [])]
            text = f"{total:,} problems:" + "".join(f"\n  - {line}" for line in lines)
        super().__init__(text)


class MissingPackageError(FairviewError, ImportError):
    """An optional package is not installed; the message says which extra brings it."""


class DataNotFoundError(FairviewError, LookupError):
    """A known dataset is not at hand; the message says what to put where."""


class ModelFileError(FairviewError, ValueError):
    """A model file or checkpoint is damaged, was changed, or is not one; nothing of it was used."""


class Problems:
    """Collects independent problems, so that the user sees all of them at once; of very many, the first and a count.

    Example:
        >>> problems = Problems()
        >>> problems.add("column 'age': 3 rows are empty.")
        >>> problems.raise_if_any()
        Traceback (most recent call last):
        ...
        fairview.errors.InputError: column 'age': 3 rows are empty.
    """

    def __init__(self) -> None:
        self._messages: dict[Message, None] = {}
        self._more = 0

    def add(self, message: str) -> None:
        """Keep a problem, once."""
        if (finished := Message(message)) in self._messages:
            return
        if len(self._messages) < MOST_PROBLEMS:
            self._messages[finished] = None
        else:
            self._more += 1

    def first(self, places: Sequence[_Place]) -> Sequence[_Place]:
        """Of places that each have a problem: those that there is room to describe. The others are counted."""
        room = MOST_PROBLEMS - len(self._messages)
        self._more += max(len(places) - room, 0)
        return places[:room]

    def collecting(self) -> _Collecting:
        """Inside `with`: a step that fails leaves its problems here, and the next step goes on."""
        return _Collecting(self)

    def absorb(self, error: InputError) -> None:
        """Keep the problems of a step that failed."""
        for problem in error.problems:
            self.add(problem)
        self._more += error.more

    def __bool__(self) -> bool:
        return bool(self._messages)

    def raise_if_any(self) -> None:
        """Raise one `InputError` with all problems; without any, nothing happens."""
        if self._messages:
            raise InputError(self._messages, more=self._more)


class _Collecting:
    """A class and no generator, so that type checkers know that the error goes no further."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems

    def __enter__(self) -> None:
        """There is nothing to prepare."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, InputError):
            self.problems.absorb(error)
        return isinstance(error, InputError)


def did_you_mean(name: str, known: Collection[str]) -> str:
    """A sentence that helps with a mistyped name; of very many names, those that begin and end alike are compared.

    Example:
        >>> did_you_mean("germen", ["german", "bail"])
        " Did you mean 'german'?"
        >>> did_you_mean("x", ["german", "bail"])
        ' Known: german, bail.'
    """
    close: Sequence[str] = []
    if len(name) <= LONGEST_SHOWN:  # comparing costs the product of the lengths
        close = difflib.get_close_matches(name, _alike(name, known), n=1)
        if not close:
            folded = name.casefold()
            close = [other for other in known if len(other) <= 2 * LONGEST_SHOWN and other.casefold() == folded]
    if close:
        return f" Did you mean '{close[-1]}'?"
    return f" Known: {some(known, limit=12)}." if known else ""


def _alike(name: str, known: Collection[str]) -> Collection[str]:
    if len(known) <= _MOST_COMPARED:
        return known
    near = [other for other in known if abs(len(other) - len(name)) <= 2]
    return sorted(near, key=lambda other: (other[:2] != name[:2]) + (other[-2:] != name[-2:]))[:_MOST_COMPARED]


def shown(value: object) -> str:
    """A value as a message shows it: cut if it is long.

    Example:
        >>> shown("x" * 1_000_000) == "x" * 79 + "…"
        True
    """
    text = str(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 1]}…"


def some(values: Iterable[object], *, limit: int = 5) -> str:
    """The first few of many, each cut if it is long, for a message.

    Example:
        >>> some([17, 52, 90, 91, 92, 93, 94])
        '17, 52, 90, 91, 92 and 2 more'
    """
    listed = values if isinstance(values, (list, tuple)) else list(values)
    text = ", ".join(shown(value) for value in listed[:limit])
    return text if len(listed) <= limit else f"{text} and {len(listed) - limit:,} more"


def quoted(values: Iterable[object], *, limit: int = 5) -> str:
    """Like `some`, each value in quotes.

    Example:
        >>> quoted(["good", "bad"])
        "'good', 'bad'"
    """
    listed = values if isinstance(values, (list, tuple)) else list(values)
    text = ", ".join(f"'{shown(value)}'" for value in listed[:limit])
    return text if len(listed) <= limit else f"{text} and {len(listed) - limit:,} more"


def repeated(names: Iterable[str]) -> list[str]:
    """Those that occur more than once, in the order of their first occurrence.

    Example:
        >>> repeated(["age", "job", "age"])
        ['age']
    """
    return [name for name, count in Counter(names).items() if count > 1]


def in_one_line(error: BaseException) -> str:
    """What another library says of an error, in one line."""
    return (str(error)[:_LONGEST_LINE].splitlines() or [type(error).__name__])[0]
