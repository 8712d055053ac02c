"""What does a fitted model do to each group, what does its inside still know of them, and what is it compared with?"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import nn

from fairview.arguments import require_seed
from fairview.data.graph import NodeGraph
from fairview.data.graph_argument import require_graph
from fairview.data.stored_links import StoredLinks
from fairview.errors import InputError, quoted
from fairview.isolation import isolated
from fairview.leakage.cross_validation import Features
from fairview.leakage.model_findings import GroupAudit, Kept, ModelAudit, Readable
from fairview.leakage.outcomes import group_outcomes
from fairview.leakage.probe import PROBES, probe_auc, small_note, without_small
from fairview.leakage.score_curves import calibration, roc, score_histogram
from fairview.leakage.theorem2 import theorem2
from fairview.leakage.threshold_curve import threshold_curve
from fairview.methods.constant import Constant
from fairview.methods.contract import Method, require_model
from fairview.methods.evaluate import evaluate
from fairview.methods.fitted import Fitted
from fairview.methods.registry import name_of, needs_group
from fairview.metrics.evaluation import Evaluation
from fairview.nn.encoders import Encoder
from fairview.propagation.correlation import sensitive_correlation
from fairview.propagation.operators import Operator
from fairview.undefined import Undefined


@isolated()
def audit_model(
    model: Method,
    graph: NodeGraph,
    *,
    split: str = "test",
    plain: Method | None = None,
    others: Mapping[str, Method] | None = None,
    probes: bool = True,
    seed: int = 0,
) -> ModelAudit:
    """Everything that can be said about a fitted model on the labelled nodes of a split.

    Args:
        model: any fitted method; the more it tells of itself, the more is audited.
        graph: with the split.
        split: `train`, `val`, `test`, or `all`.
        plain: a fitted model without mitigation, to compare rows and representations with.
        others: more fitted models for the rows, by name.
        probes: False leaves the probes out, which take the longest.
        seed: of resamples and probes. The rows' own intervals are those of `evaluate`.

    Example:
        >>> import fairview as fv
        >>> graph = fv.load_dataset("german")
        >>> audit_model(fv.Constant().fit(graph), graph).groups[0].selection_rate
        1.000 [0.976, 1.000]
    """
    require_graph(graph, "audit_model")
    require_model(model, "audit_model")
    require_seed(seed)
    method = method_name(model)
    compared = _compared(model, graph, plain, others or {})
    rows = {name: evaluate(one, graph, split=split, intervals=True) for name, one in compared}
    evaluation = rows[method]
    chosen = graph.split(split) & graph.labelled
    scores, threshold = _probabilities(model, graph)[chosen], getattr(model, "threshold_", 0.5)
    inside, inside_notes = _inside(model, plain, graph) if probes else ({}, [])
    links = graph.adjacency
    part = []
    if isinstance(links, StoredLinks) and links.sampled:
        part = [f"The model was audited on {graph.num_nodes:,} of the folder's {links.nodes:,} nodes."]
    nobody = evaluation.group_unknown
    unknown = [f"Without a known group, and in no group's numbers: {nobody:,}."] if nobody else []
    by_name: dict[str, GroupAudit] = {}
    notes: list[str] = []
    for name, found in (evaluation.attributes or {graph.sensitive_name: evaluation}).items():
        view = graph.attribute(name)
        keep, keep_notes = _keep(model, view)
        readable, left_out = _readable(inside, view, seed)
        by_name[name] = GroupAudit(
            keep=keep,
            representations=readable,
            theorem2=theorem2(model, view),
            **_outcomes(view, found, chosen, scores, threshold, seed),
        )
        notes = [*keep_notes, *left_out]  # in the end those of all attributes together
    together = by_name.pop(graph.sensitive_name)
    return ModelAudit(
        method=method,
        encoder=encoder_name(model),
        split=split,
        threshold=threshold,
        rows=rows,
        group_at_prediction=tuple(name for name, one in compared if needs_group(one)),
        **vars(together),
        notes=(*part, *unknown, *notes, *inside_notes),
        attributes=by_name,
    )


def _outcomes(
    graph: NodeGraph,
    evaluation: Evaluation,
    chosen: npt.NDArray[np.bool_],
    scores: npt.NDArray[np.float64],
    threshold: float,
    seed: int,
) -> dict[str, Any]:
    """Counts and curves of each group among the chosen nodes."""
    labels, codes = graph.labels[chosen], graph.sensitive[chosen]
    members = [(group, codes == code) for code, group in enumerate(graph.groups)]
    return {
        "groups": group_outcomes(evaluation),
        "scores": tuple(score_histogram(group, scores[those]) for group, those in members),
        "calibration": tuple(calibration(group, labels[those], scores[those]) for group, those in members),
        "roc": tuple(roc(group, labels[those], scores[those], seed=seed) for group, those in members),
        "thresholds": threshold_curve(
            labels, scores, codes=codes, groups=graph.groups, chosen=threshold, left_out=evaluation.left_out, seed=seed
        ),
    }


# --- who is compared --------------------------------------------------------------------------------------------------


def _compared(
    model: Method, graph: NodeGraph, plain: Method | None, others: Mapping[str, Method]
) -> list[tuple[str, Method]]:
    """The model, the plain one, the majority answer, then the others; each under a name of its own."""
    models: list[tuple[str, Method]] = [(method_name(model), model)]
    if plain is not None:
        models.append(("plain", plain))
    if not isinstance(model, Constant):
        known = any((graph.splits[name] & graph.labelled).any() for name in ("train", "val") if name in graph.splits)
        models.append(("constant", Constant(answer="majority" if known else "positive").fit(graph)))
    models += others.items()
    names = [name for name, _ in models]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"others: the name {quoted(twice)} is taken by the audit itself; choose another.")
    return models


def method_name(model: Method) -> str:
    """Its name in the registry, or its class for a method of the user's own."""
    return name_of(model).rpartition(":")[2]


def encoder_name(model: Method) -> str | None:
    """Of a model that has one: its kind, or the class of the user's own."""
    encoder = getattr(model, "encoder", None)
    return type(encoder).__name__ if isinstance(encoder, nn.Module) else encoder


def _probabilities(model: Method, graph: NodeGraph) -> npt.NDArray[np.float64]:
    scores = np.asarray(model.predict_proba(graph), dtype=np.float64)[:, 1]
    if len(scores) and not (scores.min() >= 0 and scores.max() <= 1):
        span = f"from {scores.min():g} to {scores.max():g}"
        raise InputError(f"predict_proba: values {span}; an audit needs probabilities between 0 and 1.")
    return scores


# --- what the model says of itself ------------------------------------------------------------------------------------


def _keep(model: Method, graph: NodeGraph) -> tuple[tuple[Kept, ...] | None, list[str]]:
    """Each channel's probability of being kept beside its correlation; None if no masks were learnt.

    Of `sign`, each channel at each hop, whose correlation 'after' is that at the hop.
    """
    fitted = getattr(model, "fitted_", None)
    if not isinstance(fitted, Fitted) or fitted.mask is None:
        return None, []
    probabilities: dict[str, float] = model.keep_probability_  # type: ignore[attr-defined]
    operator = fitted.encoder.spec.propagation if isinstance(fitted.encoder, Encoder) else None
    weighs_kinds = isinstance(fitted.encoder, Encoder) and fitted.encoder.spec.kinds is not None
    blocks = 1 if weighs_kinds else fitted.encoder.blocks
    try:
        by_hop = np.abs(sensitive_correlation(graph, operator or Operator(), max(1, blocks - 1))).tolist()
    except InputError as error:  # fewer than two groups
        return tuple(Kept(name, keep, None, None) for name, keep in probabilities.items()), [str(error)]
    places = [graph.channel_index(name) for name in model.facts_.channels]  # type: ignore[attr-defined]
    hops = range(blocks) if blocks > 1 else (1,)
    rows = [
        Kept(name, keep, by_hop[0][place], by_hop[hop][place])
        for (name, keep), (hop, place) in zip(probabilities.items(), product(hops, places), strict=True)
    ]
    note = [] if operator else ["The encoder has no operator of its own: 'after' is one hop of the gcn operator."]
    return tuple(rows), note


def _inside(model: Method, plain: Method | None, graph: NodeGraph) -> tuple[dict[str, Features], list[str]]:
    """The representations of the model and of the plain one, by name."""
    found, notes = {}, []
    for name, one in ((method_name(model), model), ("plain", plain)):
        if one is not None and hasattr(one, "representations"):
            found[name] = one.representations(graph)
        elif one is not None:
            notes.append(f"'{name}' has no representations to probe.")
    return found, notes


def _readable(inside: Mapping[str, Features], graph: NodeGraph, seed: int) -> tuple[tuple[Readable, ...], list[str]]:
    """Probes on representations, over all nodes whose group is known."""
    codes, left_out = without_small(graph.sensitive, graph.groups) if graph.several else (graph.sensitive, ())
    readable = []
    for name, features in inside.items():
        for kind in PROBES:
            probe = probe_auc(features, codes, kind=kind, seed=seed)
            known = (probe,) if isinstance(probe, Undefined) else (probe.auc, probe.low, probe.high)
            readable.append(Readable(name, kind, *known))
    return tuple(readable), [f"{small_note(left_out)}."] if left_out and readable else []
