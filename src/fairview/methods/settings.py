"""Are a method's parameters what they must be? Checked strictly, against its type hints."""

from __future__ import annotations

import functools
import inspect
from contextlib import suppress
from typing import Any, get_type_hints

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from fairview.arguments import shortened
from fairview.errors import Problems, did_you_mean
from fairview.methods.expected import expected_words


@functools.cache
def settings_model(method: Any) -> type[BaseModel]:
    """A pydantic model with one field per parameter of the method; one without a type hint takes any value."""
    hints: dict[str, Any] = {}
    for place in (method, method.__init__):  # the fields of a dataclass; the parameters of any other class
        with suppress(NameError, TypeError):  # hints that only a type checker can resolve
            hints |= get_type_hints(place, include_extras=True)
    parameters = {
        name: parameter
        for name, parameter in inspect.signature(method).parameters.items()
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    }
    own_first = dict.fromkeys(name for kind in method.__mro__ for name in inspect.get_annotations(kind))
    fields: dict[str, Any] = {}
    for name in [name for name in own_first | parameters if name in parameters]:
        default = parameters[name].default
        fields[name] = (hints.get(name, Any), ... if default is inspect.Parameter.empty else default)
    config = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True, frozen=True, protected_namespaces=())
    return create_model(f"{method.__name__}Settings", __config__=config, **fields)


def check_settings(method: type, values: dict[str, Any]) -> None:
    """Raise with every parameter that is unknown or out of its range.

    A method may have a class method `check_together(settings)` that raises if values that are right one by one do not
    fit each other; absent ones have their default.
    """
    model = settings_model(method)
    problems = Problems()
    for name in values:
        if name not in model.model_fields:
            problems.add(f"{method.__name__}: no parameter '{name}'.{did_you_mean(name, list(model.model_fields))}")
    known = {name: value for name, value in values.items() if name in model.model_fields}
    try:
        model(**known)
    except ValidationError as error:
        own: dict[str, list[str]] = {}  # what a check of the method's author says
        for found in error.errors(include_url=False):
            words = [found["msg"]] if found["type"] in ("value_error", "assertion_error") else []
            own[str(found["loc"][0])] = own.get(str(found["loc"][0]), []) + words
        for place, words in own.items():
            given = f"={shortened(known[place])}" if place in known else " is not given"
            wanted = "; ".join(words) or f"expected {expected_words(model.model_fields[place].rebuild_annotation())}"
            remedy = " Turn it into a Python number: value.item()." if isinstance(known.get(place), np.generic) else ""
            problems.add(f"{method.__name__}: {place}{given}; {wanted}.{remedy}")
    problems.raise_if_any()
    if callable(check := getattr(method, "check_together", None)):
        check(values)
