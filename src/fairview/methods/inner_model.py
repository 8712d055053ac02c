"""How does a method hold another one? By name with settings, as a class, or as an unfitted instance; in files by name.

The outer method has the parameters `model`, `model_settings` and those of `PASSED_ON`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from fairview.errors import FairviewError, InputError, quoted
from fairview.methods.estimator import Estimator
from fairview.methods.registry import METHODS, name_of, settings_of
from fairview.methods.settings import check_settings, settings_model

PASSED_ON = ("encoder", "device", "threads", "seed")
"""Parameters that the inner model gets if it has them."""


def inner_class(outer: type, model: str | type | Estimator) -> Any:
    """The class of the inner model; a name must be registered, because it may come from a file."""
    if isinstance(model, str):
        if model not in METHODS:  # never `module:Class`
            known = quoted((name for name, entry in METHODS.items() if not _is_same(outer, entry.target)), limit=30)
            raise InputError(
                f"{outer.__name__}: model={model!r}: no method of that name is registered; there are {known}."
            )
        kind = METHODS[model].method
    else:
        kind = model if isinstance(model, type) else type(model)
    if issubclass(kind, outer):
        raise InputError(f"{outer.__name__}: model={model!r}: its model can't be {outer.__name__} again.")
    return kind


def inner_fields(outer: type, model: str | type | Estimator) -> Mapping[str, Any]:
    """The parameters of the inner model, by name."""
    return settings_model(inner_class(outer, model)).model_fields


def inner_unfitted(outer: Any, settings: Mapping[str, Any]) -> Any:
    """The inner model with its settings, checked; absent settings of the outer one have their default."""
    model = settings.get("model", outer.model)
    kind = inner_class(outer, model)
    given = settings.get("model_settings") or {}
    if not isinstance(model, str | type):
        if given:
            raise InputError(f"{outer.__name__}: model_settings: the model is an instance, which has its own settings.")
        check_settings(kind, model.get_params(deep=False))
        return kind(**model.get_params(deep=False))
    if known := [name for name in given if name in PASSED_ON]:
        raise InputError(f"{outer.__name__}: model_settings: {quoted(known)}: a parameter of {outer.__name__} itself.")
    fields = settings_model(kind).model_fields
    passed = {name: settings[name] for name in PASSED_ON if name in fields and settings.get(name) is not None}
    complete = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()} | passed
    check_settings(kind, complete)
    return kind(**complete)


def with_inner_by_name(outer: Estimator, *, keep: Collection[str] = ()) -> dict[str, Any]:
    """The outer parameters as files have them; of an instance inside, those passed on too, but for what is kept."""
    values = outer.get_params(deep=False)
    model = values["model"]
    if isinstance(model, type):
        return values | {"model": name_of(model)}
    if not isinstance(model, str):
        inner = settings_of(model)
        passed = {name: inner.pop(name) for name in PASSED_ON if name in inner}
        values |= {name: value for name, value in passed.items() if name not in keep}
        values |= {"model": name_of(model), "model_settings": inner}
    return values


def check_inner_saveable(outer: object, inner: object) -> None:
    """A file names methods from the registry only."""
    if name_of(inner) not in METHODS:
        raise FairviewError(
            f"{type(outer).__name__} can't be saved: its model {type(inner).__name__} is not registered; see "
            "fairview.register_method."
        )


class HoldsModel(Estimator):
    """What methods that hold another one say of their parameters."""

    model: str | type | Estimator

    @classmethod
    def idle_parameters(cls, settings: Mapping[str, Any]) -> frozenset[str]:
        known = inner_fields(cls, settings.get("model", cls.model))
        return frozenset(name for name in PASSED_ON if name not in known)

    def plain_params(self) -> dict[str, Any]:
        return with_inner_by_name(self)


def _is_same(outer: type, target: str | type) -> bool:
    return target in (outer, f"{outer.__module__}:{outer.__qualname__}")
