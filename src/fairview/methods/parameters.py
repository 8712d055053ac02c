"""How does a method take the parameters of another one, and its own, without listing the others again?"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

Initialiser = Callable[..., None]


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
        initialise.__annotations__ = {name: hint for found in hints for name, hint in found.items() if name != "others"}
        return initialise

    return decorate
