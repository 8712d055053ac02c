"""Which methods are there, how are they spoken of, and what does each need? Open to methods of your own.

An entry names its class as `module:Class`, so that the list can be read without importing torch.
"""

from __future__ import annotations

import importlib
import inspect
import re
from dataclasses import dataclass
from typing import Any

from fairview.errors import InputError
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

    @property
    def method(self) -> Any:
        """The class, imported when it is first asked for."""
        return _class_of(self.target) if isinstance(self.target, str) else self.target

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its parameters."""
        return tuple(name for name in inspect.signature(self.method).parameters)

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
            summary="A plain graph neural network, without mitigation.",
        ),
        MethodEntry(
            name="constant",
            words="constant predictor",
            target="fairview.methods.constant:Constant",
            label="Constant",
            summary="Gives every node the same answer.",
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
    """The entry of a method: by its name, as `module:Class`, or of a class or an instance of your own.

    Raises:
        InputError: there is no such method, or it lacks `fit` or `predict_proba`.

    Example:
        >>> resolve_method("fairview.methods.constant:Constant").name
        'constant'
    """
    if isinstance(method, MethodEntry):
        return method
    if isinstance(method, str):
        if method in METHODS or not _SPEC.fullmatch(method):
            return METHODS[method]
        target = _class_of(method)
    else:
        target = method if isinstance(method, type) else type(method)
    for entry in METHODS.values():
        if entry.target in (target, spec_of(target)):
            return entry
    lacking = [name for name in ("fit", "predict_proba") if not callable(getattr(target, name, None))]
    if lacking:
        raise InputError(f"method {target.__name__}: it has no {' and no '.join(lacking)}; a method needs both.")
    return MethodEntry(name=spec_of(target), words=target.__name__, target=target, label=target.__name__)


def spec_of(kind: type) -> str:
    """Where a class lies, as `module:Class`.

    Example:
        >>> spec_of(MethodEntry)
        'fairview.methods.registry:MethodEntry'
    """
    return f"{kind.__module__}:{kind.__qualname__}"


def name_of(model: object) -> str:
    """The name of a model's method; `module:Class` for one that is not registered."""
    return resolve_method(model).name


def _class_of(spec: str) -> type[Any]:
    module, _, name = spec.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise InputError(f"method '{spec}': can't be imported ({error}).") from None
    if not isinstance(found, type):
        raise InputError(f"method '{spec}': is no class.")
    return found
