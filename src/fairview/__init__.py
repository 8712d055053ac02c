"""Fair node classification on graphs: see leakage, train without it, measure honestly.

Names are imported when they are first used, so that `import fairview` is quick and torch is loaded only when needed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from fairview._version import __version__

if TYPE_CHECKING:
    from fairview import metrics
    from fairview.audit.findings import GraphAudit
    from fairview.audit.graph import audit
    from fairview.audit.model import ModelAudit, audit_model
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
    from fairview.experiments.compare import compare
    from fairview.methods.constant import Constant
    from fairview.methods.edits import EDITS
    from fairview.methods.evaluate import evaluate, evaluate_scores
    from fairview.methods.fairgnn import FairGNN
    from fairview.methods.fairvgnn import FairVGNN
    from fairview.methods.files import load_model
    from fairview.methods.gradient_boosting import GradientBoosting
    from fairview.methods.logistic_regression import LogisticRegression
    from fairview.methods.masking import Masking
    from fairview.methods.nifty import NIFTY
    from fairview.methods.vanilla import Vanilla
    from fairview.metrics.evaluation import Evaluation, Evaluator
    from fairview.metrics.undefined import Undefined
    from fairview.propagation.correlation import sensitive_correlation
    from fairview.propagation.masking import mask_by_correlation
    from fairview.report import write_report

_HOME = {
    "Adjacency": "data.adjacency",
    "Channel": "data.synthetic",
    "Constant": "methods.constant",
    "DataNotFoundError": "errors",
    "EDITS": "methods.edits",
    "Evaluation": "metrics.evaluation",
    "Evaluator": "metrics.evaluation",
    "FairGNN": "methods.fairgnn",
    "FairVGNN": "methods.fairvgnn",
    "FairviewError": "errors",
    "GradientBoosting": "methods.gradient_boosting",
    "GraphAudit": "audit.findings",
    "InputError": "errors",
    "LogisticRegression": "methods.logistic_regression",
    "Masking": "methods.masking",
    "ModelAudit": "audit.model",
    "ModelFileError": "errors",
    "NIFTY": "methods.nifty",
    "NearestNeighbours": "data.similarity",
    "NodeGraph": "data.graph",
    "Provenance": "data.graph",
    "Recipe": "data.recipe",
    "SimilarityThreshold": "data.similarity",
    "Undefined": "metrics.undefined",
    "Vanilla": "methods.vanilla",
    "audit_model": "audit.model",
    "compare": "experiments.compare",
    "dataset_names": "data.datasets",
    "evaluate": "methods.evaluate",
    "evaluate_scores": "methods.evaluate",
    "from_pyg": "data.pyg",
    "load_dataset": "data.datasets",
    "load_model": "methods.files",
    "mask_by_correlation": "propagation.masking",
    "published_split": "data.splits",
    "read_graph": "data.read",
    "sensitive_correlation": "propagation.correlation",
    "stratified_splits": "data.splits",
    "summarise": "data.summary",
    "synthetic_graph": "data.synthetic",
    "write_report": "report",
}

__all__ = [
    "EDITS",
    "NIFTY",
    "Adjacency",
    "Channel",
    "Constant",
    "DataNotFoundError",
    "Evaluation",
    "Evaluator",
    "FairGNN",
    "FairVGNN",
    "FairviewError",
    "GradientBoosting",
    "GraphAudit",
    "InputError",
    "LogisticRegression",
    "Masking",
    "ModelAudit",
    "ModelFileError",
    "NearestNeighbours",
    "NodeGraph",
    "Provenance",
    "Recipe",
    "SimilarityThreshold",
    "Undefined",
    "Vanilla",
    "__version__",
    "audit",
    "audit_model",
    "compare",
    "dataset_names",
    "evaluate",
    "evaluate_scores",
    "from_pyg",
    "load_dataset",
    "load_model",
    "mask_by_correlation",
    "metrics",
    "published_split",
    "read_graph",
    "sensitive_correlation",
    "stratified_splits",
    "summarise",
    "synthetic_graph",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name in ("metrics", "audit"):  # folders; that of the audit can be called
        return importlib.import_module(f"fairview.{name}")
    if name in _HOME:
        value = getattr(importlib.import_module(f"fairview.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'fairview' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__
