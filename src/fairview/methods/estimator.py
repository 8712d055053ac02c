"""The manners that every method shares: parameters, prediction by threshold, saving."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from torch import Tensor

from fairview.data.graph import NodeGraph
from fairview.methods.contract import Facts, Probabilities, require_fitted
from fairview.training.state import State


class Estimator(BaseEstimator, ABC):  # type: ignore[misc]
    """Base of all methods. A fitted one has `facts_`, and can turn into tensors and back."""

    facts_: Facts

    @abstractmethod
    def fit(self, graph: NodeGraph) -> Self:
        """Learn from the train split."""

    @abstractmethod
    def predict_proba(self, graph: NodeGraph) -> Probabilities:
        """Probabilities of the negative and the positive class, (n, 2)."""

    def predict(self, graph: NodeGraph) -> npt.NDArray[np.int8]:
        """1 where the positive class has a probability above one half, else 0."""
        return (self.predict_proba(graph)[:, 1] > 0.5).astype(np.int8)

    def facts(self) -> Facts:
        """What the fitted model remembers of its graph."""
        require_fitted(self)
        return self.facts_

    @abstractmethod
    def tensors(self) -> State:
        """All that was learnt."""

    @abstractmethod
    def restore(self, tensors: State, facts: Facts) -> Self:
        """The other way round."""

    def save(self, folder: str | Path) -> None:
        """Write `model.safetensors` and `model.json` into a folder; `fairview.load_model` reads them back."""
        from fairview.methods.model_files import save_model

        require_fitted(self)
        save_model(self, folder)


def require_like(tensors: State, pattern: Mapping[str, Tensor]) -> None:
    """The names, shapes and types of a pattern, nothing less and nothing more."""
    found = {name: (tensor.shape, tensor.dtype) for name, tensor in tensors.items()}
    if found != {name: (tensor.shape, tensor.dtype) for name, tensor in pattern.items()}:
        raise ValueError("the tensors are not those of this method")
