"""Which methods are there, how are they spoken of, and what does each need? Open to methods of your own.

An entry names its class as `module:Class`, so that the list can be read without importing torch.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairview.errors import InputError, quoted
from fairview.registry import Registry

_SPEC = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


@dataclass(frozen=True, kw_only=True)
class MethodEntry:
    """A method: where its class lies, how it is spoken of, and what it needs.

    Attributes:
        name: as on the command line and in files, such as `logistic-regression`.
        words: for a sentence, such as `logistic regression`.
        target: its class, or where that lies, as `module:Class`.
        label: for the head of a row; the words with a capital letter by default.
        summary: one line for lists and help.
        group_at_prediction: whether `predict_proba` needs each node's sensitive group.
        looks_at_nothing: whether it gives every node the same answer; such rows are yardsticks and are not ranked.
        has_presets: whether the package's presets are settings of this method.
    """

    name: str
    words: str
    target: str | type
    label: str = ""
    summary: str = ""
    group_at_prediction: bool = False
    looks_at_nothing: bool = False
    has_presets: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", self.label or self.words[:1].upper() + self.words[1:])
        if isinstance(self.target, type) and getattr(self.target, "group_at_prediction", False):
            object.__setattr__(self, "group_at_prediction", True)  # a class may say it itself

    @property
    def method(self) -> Any:
        """The class, imported when it is first asked for."""
        return import_object(self.target, "method") if isinstance(self.target, str) else self.target

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its parameters."""
        found = inspect.signature(self.method).parameters.values()
        return tuple(p.name for p in found if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD))

    def uses(self, parameter: str, settings: Mapping[str, Any]) -> bool:
        """Whether it has a parameter that makes a difference beside these settings."""
        idle = getattr(self.method, "idle_parameters", lambda _: ())
        return parameter in self.parameters and parameter not in idle(settings)

    @property
    def importable(self) -> bool:
        """Whether another process can find its class; it can't in `__main__`, or inside a function."""
        return isinstance(self.target, str) or is_importable(self.target)

    @property
    def search_space(self) -> dict[str, Any]:
        """What may be tuned, by parameter; empty where the method declares nothing."""
        return dict(getattr(self.method, "search_space", {}))


METHODS = Registry(
    "method",
    MethodEntry,
    "fairview.methods",
    [
        MethodEntry(
            name="fairvgnn",
            words="FairVGNN",
            target="fairview.methods.fairvgnn:FairVGNN",
            summary="Learns which channels to mask against a discriminator, and clamps the encoder where they leak.",
            has_presets=True,
        ),
        MethodEntry(
            name="vanilla",
            words="plain model",
            target="fairview.methods.vanilla:Vanilla",
            summary="A plain graph neural network, without mitigation unless a penalty has a weight.",
        ),
        MethodEntry(
            name="constant",
            words="majority answer",
            target="fairview.methods.constant:Constant",
            summary="Gives every node the answer of most training labels.",
            looks_at_nothing=True,
        ),
        MethodEntry(
            name="logistic-regression",
            words="logistic regression",
            target="fairview.methods.logistic_regression:LogisticRegression",
            summary="What the table alone knows, without a graph and without mitigation.",
        ),
        MethodEntry(
            name="gradient-boosting",
            words="gradient boosting",
            target="fairview.methods.gradient_boosting:GradientBoosting",
            summary="Boosted trees on the table alone, without mitigation.",
        ),
        MethodEntry(
            name="fairgnn",
            words="FairGNN",
            target="fairview.methods.fairgnn:FairGNN",
            summary="An adversary on estimated sensitive attributes, and a covariance constraint.",
        ),
        MethodEntry(
            name="masking",
            words="masking by correlation",
            target="fairview.methods.masking:Masking",
            summary="Blanks out the channels most correlated with the sensitive attribute, then trains a plain model.",
        ),
        MethodEntry(
            name="parity",
            words="parity",
            target="fairview.methods.parity:Parity",
            summary="A score on splines and neighbours whose loss holds the groups' distributions together.",
        ),
        MethodEntry(
            name="nifty",
            words="NIFTY",
            target="fairview.methods.nifty:NIFTY",
            summary="Keeps predictions stable when features, links or the sensitive attribute are perturbed.",
        ),
        MethodEntry(
            name="edits",
            words="EDITS",
            target="fairview.methods.edits:EDITS",
            summary="Masks the channels and prunes the links that tell the groups apart, then trains a plain model.",
        ),
        MethodEntry(
            name="group-thresholds",
            words="group thresholds",
            target="fairview.methods.group_thresholds:GroupThresholds",
            summary="Moves the scores of any model, group by group, until the groups are selected alike.",
            group_at_prediction=True,
        ),
        MethodEntry(
            name="ensemble",
            words="ensemble",
            target="fairview.methods.ensemble:Ensemble",
            summary="The mean score of several models of any method that differ in their seed.",
        ),
        MethodEntry(
            name="exponentiated-gradient",
            words="exponentiated gradient",
            target="fairview.methods.exponentiated_gradient:ExponentiatedGradient",
            summary="fairlearn's reduction: logistic regressions on reweighted labels until a gap is within its bound.",
        ),
        MethodEntry(
            name="threshold-optimizer",
            words="threshold optimizer",
            target="fairview.methods.threshold_optimizer:ThresholdOptimizer",
            summary="fairlearn's randomised group thresholds on a logistic regression.",
            group_at_prediction=True,
        ),
    ],
)
"""Every method by name."""


def register_method(entry: MethodEntry) -> MethodEntry:
    """Add a method: from then on it can be trained, compared and reported by name.

    Args:
        entry: with a name of its own; its class needs `fit(graph)` and `predict_proba(graph)`.

    Raises:
        InputError: the name is taken.
    """
    return METHODS.register(entry)


def resolve_method(method: str | type | object) -> MethodEntry:
    """The entry of a method: by its name, as `package.module:Class`, or of a class or an instance of your own.

    Raises:
        InputError: there is no such method, or it lacks `fit` or `predict_proba`.

    Example:
        >>> resolve_method("fairview.methods.constant:Constant").name
        'constant'
    """
    if isinstance(method, MethodEntry):
        return method
    if isinstance(method, str):
        if method in _LOCAL:
            return _LOCAL[method]
        if method in METHODS or not _SPEC.fullmatch(method):
            return METHODS[method]
        target = import_object(method, "method")
        if not isinstance(target, type):
            raise InputError(f"method '{method}': is no class; expected package.module:Class.")
    else:
        target = method if isinstance(method, type) else type(method)
    if (registered := _registered(target)) is not None:
        return registered
    lacking = [name for name in ("fit", "predict_proba") if not callable(getattr(target, name, None))]
    if lacking:
        raise InputError(f"method {target.__name__}: it has no {' and no '.join(lacking)}; a method needs both.")
    entry = MethodEntry(name=spec_of(target), words=target.__name__, target=target, label=target.__name__)
    if not entry.importable:
        _LOCAL[entry.name] = entry
    return entry


def _registered(target: type) -> MethodEntry | None:
    """The entry of a class, if it has one."""
    return next((entry for entry in METHODS.values() if entry.target in (target, spec_of(target))), None)


_LOCAL: dict[str, MethodEntry] = {}
"""Methods that only this process knows, by `module:Class`."""


def settings_of(model: object) -> dict[str, Any]:
    """The parameters of an unfitted model: what `get_params` says, else its attributes named like them.

    Raises:
        InputError: neither tells them.
    """
    if callable(getattr(model, "plain_params", None)):
        return dict(model.plain_params())  # type: ignore[attr-defined]
    if callable(getattr(model, "get_params", None)):
        return dict(model.get_params(deep=False))  # type: ignore[attr-defined]
    names = resolve_method(model).parameters
    variable = any(
        p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in inspect.signature(type(model)).parameters.values()
    )
    absent = [name for name in names if not hasattr(model, name)]
    if absent or variable:
        which = f"its parameters {quoted(absent)} are no attributes" if absent else "its __init__ takes any arguments"
        raise InputError(
            f"method {type(model).__name__}: can't tell the settings of this instance ({which}). Derive it from "
            "fv.Estimator or scikit-learn's BaseEstimator, or pass the class."
        )
    return {name: getattr(model, name) for name in names}


def spec_of(thing: Any) -> str:
    """Where a class or function lies, as `module:name`.

    Example:
        >>> spec_of(MethodEntry)
        'fairview.methods.registry:MethodEntry'
    """
    return f"{thing.__module__}:{thing.__qualname__}"


def is_importable(thing: Any) -> bool:
    """Whether another process finds a class or function by its `module:name`."""
    package = thing.__module__.partition(".")[0]  # a module that is loaded already may lie where nobody looks for it
    if package in ("__main__", "__mp_main__") or all(f.find_spec(package, None) is None for f in sys.meta_path):
        return False
    try:
        return import_object(spec_of(thing), "object") is thing
    except InputError:
        return False


def name_of(model: object) -> str:
    """The name of a model's method; `module:Class` for one that is not registered."""
    return resolve_method(model).name


def needs_group(model: object) -> bool:
    """Whether a model needs each node's sensitive group to predict it."""
    entry = _registered(type(model))
    return bool((entry and entry.group_at_prediction) or getattr(model, "group_at_prediction", False))


def import_object(spec: str, kind: str) -> Any:
    """What `package.module:name` stands for.

    Raises:
        InputError: it can't be imported; `kind` says what was looked for.
    """
    module, _, name = spec.partition(":")
    try:
        target: Any = importlib.import_module(module)
        for part in name.split("."):
            target = getattr(target, part)
    except Exception as error:
        reason = str(error) if isinstance(error, ImportError | AttributeError) else f"{type(error).__name__}: {error}"
        raise InputError(
            f"{kind} '{spec}': can't be imported ({reason}). Expected package.module:name, in a package that is "
            "installed or in the current folder."
        ) from error
    return target
