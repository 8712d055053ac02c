"""Which values may a parameter have, and how are inherited ones documented without listing them again?"""

from __future__ import annotations

import inspect
import re
from typing import Annotated

from pydantic import Field

from fairview.arguments import SEEDS

Rounds = Annotated[int, Field(ge=1, le=1_000_000)]
Steps = Annotated[int, Field(ge=0, le=10_000)]
Few = Annotated[int, Field(ge=1, le=1_000)]
Nodes = Annotated[int, Field(ge=1, le=100_000_000)]
Channels = Annotated[int, Field(ge=0, le=1_000_000)]
Hops = Annotated[int, Field(ge=0, le=100)]
Share = Annotated[float, Field(ge=0, le=1)]
Rate = Annotated[float, Field(gt=0, le=1e30)]  # what float32 can hold, with room to divide
Weight = Annotated[float, Field(ge=0, le=1e30)]
Threads = Annotated[int, Field(ge=1, le=1024)]
Seed = Annotated[int, Field(ge=0, lt=SEEDS)]
Width = Annotated[int, Field(ge=1, le=65_536)]
Depth = Annotated[int, Field(ge=1, le=64)]  # far beyond it, signals and gradients are lost


_SECTION = re.compile(r"^Args:\n((?:    .*\n|\n(?=    ))*)", re.MULTILINE)
_ENTRY = re.compile(r"^    (\w+): (.*(?:\n        .*)*)", re.MULTILINE)


def document_parameters(method: type) -> None:
    '''Complete the `Args` of a method's docstring with the words of its base classes.

    Example:
        >>> class Base:
        ...     """A base.
        ...
        ...     Args:
        ...         seed: of everything random.
        ...     """
        ...     def __init__(self, *, seed: int = 0) -> None: ...
        >>> class Method(Base):
        ...     """A method.
        ...
        ...     Args:
        ...         weight: λ.
        ...     """
        ...     def __init__(self, *, weight: float = 1.0, seed: int = 0) -> None: ...
        >>> document_parameters(Method)
        >>> print(Method.__doc__)
        A method.
        <BLANKLINE>
        Args:
            weight: λ.
            seed: of everything random.
        <BLANKLINE>
    '''
    words: dict[str, str] = {}
    for kind in method.__mro__:
        section = _SECTION.search(inspect.cleandoc(vars(kind).get("__doc__") or "") + "\n")
        for name, text in _ENTRY.findall(section[1]) if section else ():
            words.setdefault(name, text)
    taken = inspect.signature(method).parameters if "__init__" in vars(method) else words  # a dataclass takes them all
    names = [name for name in taken if name in words]
    if not names:
        return
    text = inspect.cleandoc(method.__doc__ or "") + "\n"
    entries = "Args:\n" + "".join(f"    {name}: {words[name]}\n" for name in names)
    section = _SECTION.search(text)
    if section is None:
        summary, _, rest = text.partition("\n\n")
        method.__doc__ = "\n\n".join(part for part in (summary.rstrip(), entries.rstrip(), rest) if part)
    else:
        method.__doc__ = text[: section.start()] + entries + text[section.end() :]
