"""How good and how fair is a fitted model on a split of a graph?"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fairview.data.graph import NodeGraph
from fairview.data.graph_argument import require_graph
from fairview.data.splits import with_default_split
from fairview.errors import InputError
from fairview.isolation import isolated
from fairview.methods.contract import Method, require_model
from fairview.methods.folder_evaluation import evaluate_folder
from fairview.metrics.evaluation import Evaluation, Evaluator
from fairview.propagation.folder import Propagated


@isolated()
def evaluate(
    model: Method, graph: NodeGraph | Propagated, *, split: str = "test", intervals: bool = False
) -> Evaluation:
    """Utility, gaps and per-group counts of a model on the labelled nodes of a split.

    Args:
        model: anything fitted with `predict_proba(graph)` -> (n, 2).
        graph: the graph to predict, or a propagated folder, which is read some nodes at a time.
        split: `train`, `val`, `test`, `new` (see the parameter `context` of `read_graph`), or `all`, which suits new
            data. A graph without splits is divided as `fit` does it, but for `all`.
        intervals: add bootstrap intervals.

    Example:
        >>> import fairview as fv
        >>> graph = fv.load_dataset("german")
        >>> found = fv.evaluate(fv.Constant().fit(graph), graph)
        >>> found["accuracy"], found["statistical_parity_gap"]
        (0.7, 0.0)
    """
    require_model(model, "evaluate")
    if isinstance(graph, Propagated):
        return evaluate_folder(model, graph, split=split, intervals=intervals)
    require_graph(graph, "evaluate")
    probabilities = np.asarray(model.predict_proba(graph))
    if probabilities.shape != (graph.num_nodes, 2):
        raise InputError(
            f"predict_proba: shape {probabilities.shape}; expected ({graph.num_nodes}, 2): one row per node, "
            "negative and positive class."
        )
    threshold = getattr(model, "threshold_", 0.5)
    return evaluate_scores(probabilities[:, 1], graph, split=split, intervals=intervals, threshold=threshold)


@isolated()
def evaluate_scores(
    scores: npt.ArrayLike,
    graph: NodeGraph,
    *,
    split: str = "test",
    intervals: bool = False,
    without_auc: bool = False,
    threshold: float = 0.5,
) -> Evaluation:
    """The same for scores of your own, one per node of the graph; above `threshold` counts as positive.

    The interval of the AUC takes long with many nodes: `without_auc` leaves it out.
    """
    require_graph(graph, "evaluate_scores")
    if split != "all":
        graph, _ = with_default_split(graph)
    values = np.asarray(scores)
    if values.shape != (graph.num_nodes,):
        raise InputError(f"scores: shape {values.shape}; expected ({graph.num_nodes},): one per node of the graph.")
    rows = graph.split(split) & graph.labelled
    attributes = [attribute.at(rows) for attribute in graph.attributes]
    evaluator = Evaluator.of_attributes(graph.labels[rows], attributes, threshold=threshold)
    return evaluator(values[rows], intervals=intervals, without_auc=without_auc)
