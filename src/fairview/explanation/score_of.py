"""How can this model's gap be explained? In closed form, by gradients, or not at all, and then the message says why."""

from __future__ import annotations

import dataclasses

import numpy as np
import torch

from fairview.data.adjacency import Adjacency
from fairview.data.graph import NodeGraph
from fairview.data.stored_links import StoredLinks
from fairview.errors import InputError, Problems, placeholder
from fairview.explanation.kinds_score import KindsScore
from fairview.explanation.network_score import NetworkScore
from fairview.explanation.polynomial_score import PolynomialScore
from fairview.explanation.score import Score
from fairview.methods.contract import Method, features_like, links_like, require_fitted, require_model
from fairview.methods.ensemble import Ensemble
from fairview.methods.fitted import Fitted
from fairview.methods.network_method import NetworkMethod
from fairview.methods.parity import Parity
from fairview.methods.registry import name_of, needs_group
from fairview.methods.spline_features import SplineFeatures
from fairview.nn.encoders import ForeignEncoder, GCNEncoder, GINEncoder, SIGNEncoder, takes_weights
from fairview.nn.linear_path import running_statistics
from fairview.propagation.kinds import Kinds


def score_of(model: Method, graph: NodeGraph) -> Score:
    """The model's score on a graph, as a function of the links.

    Raises:
        InputError: the model looks at no links, or its score can't be followed to them; or the graph has none.
    """
    require_model(model, "explain")
    require_fitted(model)
    problems = Problems()
    with problems.collecting():
        _check_model(model)
    if isinstance(graph.adjacency, StoredLinks):
        problems.add(
            "explain: a propagated folder holds no links, only what they did to the channels; explain the model on "
            "the tables themselves."
        )
    elif graph.num_edges == 0:
        problems.add("explain: the graph has no links, so that none of them can carry a gap.")
    else:
        facts = getattr(model, "facts_", None)
        if facts is not None:
            with problems.collecting():
                links_like(graph, facts)
    problems.raise_if_any()
    if isinstance(model, Parity):
        return _of_parity(model, graph)
    members: list[NetworkMethod] = model.members_ if isinstance(model, Ensemble) else [model]  # type: ignore[list-item]
    channels = members[0].facts_.channels
    fitted = [_wide(member) for member in members]
    linear = _linear(fitted[0], channels, graph) if len(fitted) == 1 else None
    return linear or NetworkScore(fitted, channels, graph)


def links_seen(model: Method, graph: NodeGraph) -> Adjacency:
    """The links of a graph as a model sees them: with their kinds only if it weighs these.

    Without some of them the others keep their kinds: bands are not cut anew.
    """
    member = model.members_[0] if isinstance(model, Ensemble) else model
    if isinstance(member, NetworkMethod) and member.weighs_links:
        return member.seen(graph).adjacency
    return dataclasses.replace(graph.adjacency, kinds=None)


# --- what can't be explained ------------------------------------------------------------------------------------------


def _check_model(model: object) -> None:
    """Raise unless the score is a function of the links that can be followed."""
    if isinstance(model, Ensemble):
        for member in model.members_:
            if not isinstance(member, NetworkMethod):
                name = name_of(member)
                raise InputError(f"explain: an ensemble of '{name}' can't be explained; one of networks can.")
            _check_model(member)
    elif isinstance(model, Parity):
        if model.hops == 0:
            ways = placeholder(
                python="contributions() has its channels",
                command_line="in Python, contributions() of its model has its channels",
            )
            raise InputError(f"explain: this 'parity' looks at no links (hops=0); {ways}.")
        if model.head != "linear":
            raise InputError("explain: 'parity' with head='mlp' is no sum over links; fit it with head='linear'.")
        if not isinstance(model.basis, str):
            raise InputError("explain: 'parity' with a basis of your own may look at links where nobody can follow it.")
    elif isinstance(model, NetworkMethod):
        _check_encoder(model)
    elif needs_group(model) or hasattr(model, "model_"):
        raise InputError(
            f"explain: '{name_of(model)}' changes the scores of another model. Explain that one: it is `model.model_`."
        )
    else:
        raise InputError(
            f"explain: '{name_of(model)}' looks at no links, or at none that can be followed. Models with the encoders "
            "gcn, gin, sage and sign can be explained, ensembles of them, and parity with hops."
        )


def _check_encoder(model: NetworkMethod) -> None:
    encoder = model.fitted_.encoder
    if isinstance(encoder, ForeignEncoder):
        if not takes_weights(encoder.module):
            raise InputError(
                f"explain: encoder: {type(encoder.module).__name__} takes no weights of links, so that nothing says "
                "what a link adds. Let it have forward(x, edge_index, edge_weight)."
            )
    elif encoder.spec.propagation is None:
        raise InputError("explain: the encoder 'mlp' looks at no links; gcn, gin, sage and sign do.")


# --- in closed form, where there is one -------------------------------------------------------------------------------


def _wide(model: NetworkMethod) -> Fitted:
    """A copy of the fitted network in main memory and, but for a module of the user's, in float64."""
    copy = Fitted.from_tensors(model, model.tensors(), len(model.facts_.channels))
    foreign = isinstance(copy.encoder, ForeignEncoder)
    copy.to(copy.classifier.weight.dtype if foreign else torch.float64)
    for module in copy.modules.values():
        module.requires_grad_(False)
    return copy


def _linear(fitted: Fitted, channels: tuple[str, ...], graph: NodeGraph) -> PolynomialScore | KindsScore | None:
    """The logit as const + S X θ, const + Σ_h Sʰ X θ_h or const + Σ_t S_t X θ_t; None where it is not of this form.

    With W and b of the layer, v and c of the head and m̄ the mean mask, θ = m̄ ∘ Wᵀ v and const = v·b + c. BatchNorm in
    prediction is a scale of W, and a shift of b, for each hidden unit. SIGN has a θ_h for each hop beside each other,
    and with kinds of links W is [a_1 W | a_2 W | ...], one for each kind.
    """
    encoder = fitted.encoder
    if (
        not isinstance(encoder, GCNEncoder | GINEncoder | SIGNEncoder)
        or encoder.spec.layers > 1
        or fitted.links is not None
    ):
        return None
    weight, head = encoder.column_weights, fitted.classifier
    if isinstance(encoder, GINEncoder):
        mean, variance = running_statistics(encoder.norm)
        scale = encoder.norm.weight * torch.rsqrt(variance + encoder.norm.eps)
        weight, bias = weight * scale[:, None], (encoder.linear.bias - mean) * scale + encoder.norm.bias
    else:
        bias = encoder.layer(0).bias
    theta = fitted.evaluation_masks.mean(dim=0) * (head.weight[0] @ weight)
    by_block, operator, blocks = theta.numpy().reshape(-1, len(channels)), encoder.spec.propagation, encoder.spec.blocks
    if operator is None:
        return None
    features, constant = features_like(graph, channels).astype(np.float64), float(head.weight[0] @ bias + head.bias[0])
    if isinstance(blocks, Kinds):
        return KindsScore(blocks, features, by_block, constant, channels)
    return PolynomialScore(
        operator=operator,
        columns=features,
        weights=np.concatenate([np.zeros_like(by_block), by_block]) if blocks is None else by_block,
        constant=constant,
        names=channels,
        channel_of=np.arange(len(channels)),
    )


def _of_parity(model: Parity, graph: NodeGraph) -> PolynomialScore:
    """Z w + b with Z = [B, S B, ...], each column centred and scaled."""
    features, weights = model.features_, model.weights_[0]
    if not isinstance(features.basis, SplineFeatures):
        raise TypeError("a basis of the user's own was refused before")
    scaled = weights[:-1] / features.scale
    return PolynomialScore(
        operator=features.operator,
        columns=features.up_to(0).unscaled(graph),
        weights=scaled.reshape(model.hops + 1, -1),
        constant=float(weights[-1] - features.centre @ scaled),
        names=features.channels,
        channel_of=features.basis.channel_of,
    )
