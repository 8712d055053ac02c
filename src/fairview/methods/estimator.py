"""The manners that every method shares: parameters, prediction by threshold, saving."""

from __future__ import annotations

import copy
import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np
import numpy.typing as npt
from torch import Tensor

from fairview.arguments import require_number
from fairview.data.graph import NodeGraph
from fairview.data.graph_argument import require_graph
from fairview.errors import FairviewError, InputError, did_you_mean, option
from fairview.isolation import isolated
from fairview.methods.contract import Facts, Probabilities, require_fitted
from fairview.methods.parameters import document_parameters
from fairview.methods.same_reading import checked_reading
from fairview.methods.settings import check_settings
from fairview.propagation.folder import Propagated
from fairview.training.machine import memory_errors
from fairview.training.state import State

_ROW_BY_ROW = ("predict", "predict_proba", "representations")
"""Methods that give each node a row: of a propagated folder, some nodes at a time."""

Function = TypeVar("Function", bound=Callable[..., Any])


def guarded(function: Function) -> Function:
    """A method of a model that takes a graph and nothing else for one, and does not depend on the caller's settings."""
    takes_graph = "graph" in inspect.signature(function).parameters

    @functools.wraps(function)
    def run(self: Any, *arguments: Any, **named: Any) -> Any:
        if takes_graph and (arguments or "graph" in named):
            given = arguments[0] if arguments else named["graph"]
            if isinstance(given, Propagated):
                if function.__name__ in _ROW_BY_ROW:
                    return np.concatenate([run(self, rows) for rows in given.graphs()])
                given = given.sample()
                if arguments:
                    arguments = (given, *arguments[1:])
                else:
                    named["graph"] = given
            require_graph(given, function.__name__)
        with isolated(), memory_errors():
            return function(self, *arguments, **named)

    return cast("Function", run)


class Estimator(ABC):
    """Base of all methods, in scikit-learn's manner: keyword parameters, `fit`, fitted attributes that end in `_`.

    A method needs `fit` and `predict_proba`. To be saved it also needs `facts_`, set in `fit` to
    `Facts.of(graph)`, and `tensors` and `restore`, which turn what was learnt into tensors and back. Public methods of
    a subclass are `guarded`: they give the same bits whatever the caller's program has set.
    """

    facts_: Facts
    group_at_prediction: ClassVar[bool] = False
    """Whether `predict_proba` needs each node's sensitive group."""
    last_bits_matter: ClassVar[bool] = True
    """Whether training computes with the features; trees only compare them, alike on every machine."""
    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {}
    """Values worth trying, by parameter; empty where there is nothing to tune."""
    threshold_: float = 0.5
    """The score above which a node is predicted positive; `with_threshold` changes it."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        document_parameters(cls)
        if "predict_proba" in vars(cls):
            cls.predict_proba = checked_reading(cls.predict_proba)  # type: ignore[method-assign]
        for name, function in list(vars(cls).items()):
            if inspect.isfunction(function) and not name.startswith("_") and name not in inspect.get_annotations(cls):
                setattr(cls, name, guarded(function))

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - scikit-learn's signature
        """The parameters by name."""
        found = inspect.signature(type(self)).parameters.values()
        names = [p.name for p in found if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        return {name: getattr(self, name) for name in sorted(names)}

    def set_params(self, **values: Any) -> Self:
        """Change parameters."""
        for name, value in values.items():
            if name not in (known := list(self.get_params())):
                raise InputError(f"{type(self).__name__}: no parameter '{name}'.{did_you_mean(name, known)}")
            setattr(self, name, value)
        return self

    def _check_params(self) -> None:
        """Raise with every parameter that is not what it must be."""
        check_settings(type(self), self.get_params(deep=False))

    def plain_params(self) -> dict[str, Any]:
        """The parameters as files have them; a model among them is told by its name and settings."""
        return self.get_params(deep=False)

    @classmethod
    def idle_parameters(cls, settings: Mapping[str, Any]) -> frozenset[str]:  # noqa: ARG003 - a subclass looks at them
        """Parameters that make no difference beside these settings, so that a comparison needs no rows for them."""
        return frozenset()

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = {n: v for n, v in self.get_params().items() if v is not (d := defaults[n].default) and v != d}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in changed.items())})"

    @abstractmethod
    def fit(self, graph: NodeGraph) -> Self:
        """Learn from the train split."""

    @abstractmethod
    def predict_proba(self, graph: NodeGraph) -> Probabilities:
        """Probabilities of the negative and the positive class, (n, 2)."""

    @guarded
    def predict(self, graph: NodeGraph) -> npt.NDArray[np.int8]:
        """1 where the positive class has a probability above the threshold, one half unless another was set, else 0."""
        return (self.predict_proba(graph)[:, 1] > self.threshold_).astype(np.int8)

    def with_threshold(self, threshold: float) -> Self:
        """The same fitted model with another threshold; `predict`, `evaluate` and saved files use it.

        Args:
            threshold: at least 0, below 1.

        Example:
            >>> import fairview as fv
            >>> graph = fv.load_dataset("german")
            >>> model = fv.LogisticRegression().fit(graph)
            >>> int(model.predict(graph).sum()), int(model.with_threshold(0.8).predict(graph).sum())
            (527, 215)
        """
        require_fitted(self)
        name, expected = option("threshold"), "a number from 0 to 1, below 1"
        require_number(threshold, name, expected)
        if not 0 <= threshold < 1:
            raise InputError(f"{name}: {threshold!r}; expected {expected}.")
        other = copy.copy(self)
        other.threshold_ = float(threshold)
        return other

    def facts(self) -> Facts:
        """What the fitted model remembers of its graph."""
        require_fitted(self)
        if not isinstance(getattr(self, "facts_", None), Facts):
            raise FairviewError(
                f"{type(self).__name__} can't be saved: its fit must set self.facts_ = Facts.of(graph)."
            )
        return self.facts_

    def tensors(self) -> State:
        """All that was learnt, as tensors by name; needed to save the model."""
        raise FairviewError(
            f"{type(self).__name__} can't be saved: it has no tensors() that returns what was learnt as "
            "{name: torch.Tensor}, and no restore(tensors, facts) that takes it back."
        )

    def restore(self, tensors: State, facts: Facts) -> Self:  # noqa: ARG002 - a subclass needs them
        """Take back what `tensors` returned; needed to load the model."""
        raise FairviewError(f"{type(self).__name__} can't be loaded: it has no restore(tensors, facts).")

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Write `model.safetensors` and `model.json` into a folder; `fairview.load_model` reads them back.

        An earlier model there is replaced; files of these names that fairview did not write only with `overwrite`.
        """
        from fairview.methods.model_files import save_model

        require_fitted(self)
        save_model(self, folder, overwrite=overwrite)


def require_like(tensors: State, pattern: Mapping[str, Tensor]) -> None:
    """The names, shapes and types of a pattern, nothing less and nothing more."""
    given, expected = ({name: (t.shape, t.dtype) for name, t in each.items()} for each in (tensors, pattern))
    if given != expected:
        raise ValueError("the tensors are not those of this method")
