"""How does a method take the parameters of another one, and document all of them, without listing them again?"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

from pydantic import Field

Initialiser = Callable[..., None]

Count = Annotated[int, Field(ge=1)]
Steps = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Rate = Annotated[float, Field(gt=0, le=1e30)]  # what float32 can hold, with room to divide
Weight = Annotated[float, Field(ge=0, le=1e30)]
Threads = Annotated[int, Field(ge=1, le=1024)]
Seed = Annotated[int, Field(ge=0)]


def extending(base: type, **defaults: Any) -> Callable[[Initialiser], Initialiser]:
    """For an `__init__` with `**others`: it also takes the parameters of `base`, some with other defaults.

    scikit-learn, `check_settings` and `help` read the parameters off the signature, so that it names all of them.

    Example:
        >>> class Base:
        ...     def __init__(self, *, epochs: int = 10, seed: int = 0) -> None: ...
        >>> class Method(Base):
        ...     @extending(Base, epochs=5)
        ...     def __init__(self, *, weight: float = 1.0, **others: Any) -> None: ...
        >>> str(inspect.signature(Method))
        "(*, weight: 'float' = 1.0, epochs: 'int' = 5, seed: 'int' = 0) -> 'None'"
    """

    def decorate(initialiser: Initialiser) -> Initialiser:
        own, inherited = inspect.signature(initialiser), inspect.signature(base.__init__)  # type: ignore[misc]
        named = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
        others = [
            parameter.replace(default=defaults.get(name, parameter.default))
            for name, parameter in inherited.parameters.items()
            if name not in own.parameters
        ]

        @functools.wraps(initialiser)
        def initialise(self: Any, **given: Any) -> None:
            initialiser(self, **defaults | given)

        initialise.__signature__ = own.replace(parameters=[*named, *others])  # type: ignore[attr-defined]
        hints = [get_type_hints(function, include_extras=True) for function in (base.__init__, initialiser)]  # type: ignore[misc]
        initialise.__annotations__ = {name: hint for each in hints for name, hint in each.items() if name != "others"}
        return initialise

    return decorate


_SECTION = re.compile(r"^Args:\n((?:    .*\n|\n(?=    ))*)", re.MULTILINE)
_ENTRY = re.compile(r"^    (\w+): (.*(?:\n        .*)*)", re.MULTILINE)


def document_parameters(method: type) -> None:
    '''Complete the `Args` of a method's docstring with the words of its base classes, in the order of the signature.

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
    for kind in reversed(method.__mro__):
        section = _SECTION.search(inspect.cleandoc(vars(kind).get("__doc__") or "") + "\n")
        words |= dict(_ENTRY.findall(section[1])) if section else {}
    names = [name for name in inspect.signature(method).parameters if name in words]
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
