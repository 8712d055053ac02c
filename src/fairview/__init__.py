"""Fair node classification on graphs: see leakage, train without it, measure honestly.

Names are imported when they are first used, so that `import fairview` is quick and torch is loaded only when needed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from fairview._version import __version__

if TYPE_CHECKING:
    from fairview import metrics
    from fairview.data.adjacency import Adjacency
    from fairview.data.datasets import dataset_names, load_dataset
    from fairview.data.graph import NodeGraph, Provenance
    from fairview.data.pyg import from_pyg
    from fairview.data.read import read_graph
    from fairview.data.recipe import Recipe
    from fairview.data.similarity import NearestNeighbours, SimilarityThreshold
    from fairview.data.splits import published_split, stratified_splits
    from fairview.data.summary import summarise
    from fairview.data.synthetic import Channel, synthetic_graph
    from fairview.errors import DataNotFoundError, FairviewError, InputError, ModelFileError
    from fairview.methods.constant import Constant
    from fairview.methods.evaluate import evaluate, evaluate_scores
    from fairview.methods.fairvgnn import FairVGNN
    from fairview.methods.files import load_model
    from fairview.methods.logistic_regression import LogisticRegression
    from fairview.methods.vanilla import Vanilla
    from fairview.metrics.evaluation import Evaluation, Evaluator
    from fairview.metrics.undefined import Undefined

_HOME = {
    "Adjacency": "data.adjacency",
    "Channel": "data.synthetic",
    "Constant": "methods.constant",
    "DataNotFoundError": "errors",
    "Evaluation": "metrics.evaluation",
    "Evaluator": "metrics.evaluation",
    "FairVGNN": "methods.fairvgnn",
    "FairviewError": "errors",
    "InputError": "errors",
    "LogisticRegression": "methods.logistic_regression",
    "ModelFileError": "errors",
    "NearestNeighbours": "data.similarity",
    "NodeGraph": "data.graph",
    "Provenance": "data.graph",
    "Recipe": "data.recipe",
    "SimilarityThreshold": "data.similarity",
    "Undefined": "metrics.undefined",
    "Vanilla": "methods.vanilla",
    "dataset_names": "data.datasets",
    "evaluate": "methods.evaluate",
    "evaluate_scores": "methods.evaluate",
    "from_pyg": "data.pyg",
    "load_dataset": "data.datasets",
    "load_model": "methods.files",
    "published_split": "data.splits",
    "read_graph": "data.read",
    "stratified_splits": "data.splits",
    "summarise": "data.summary",
    "synthetic_graph": "data.synthetic",
}

__all__ = [
    "Adjacency",
    "Channel",
    "Constant",
    "DataNotFoundError",
    "Evaluation",
    "Evaluator",
    "FairVGNN",
    "FairviewError",
    "InputError",
    "LogisticRegression",
    "ModelFileError",
    "NearestNeighbours",
    "NodeGraph",
    "Provenance",
    "Recipe",
    "SimilarityThreshold",
    "Undefined",
    "Vanilla",
    "__version__",
    "dataset_names",
    "evaluate",
    "evaluate_scores",
    "from_pyg",
    "load_dataset",
    "load_model",
    "metrics",
    "published_split",
    "read_graph",
    "stratified_splits",
    "summarise",
    "synthetic_graph",
]


def __getattr__(name: str) -> Any:
    if name == "metrics":
        return importlib.import_module("fairview.metrics")
    if name in _HOME:
        value = getattr(importlib.import_module(f"fairview.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'fairview' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__
