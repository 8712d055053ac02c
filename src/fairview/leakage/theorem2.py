"""How large may the difference between two groups' representations be, by Theorem 2, and how large is it?

For one layer H = S X Wᵀ + b with S = D⁻¹ (A + I), group means that differ by Δμ, a share χ of its own group around
every node (the node itself counted), and weights clamped at |W_ij| <= ε p_j, the means of the groups' representations
differ by (2χ - 1) W Δμ, and

    ‖(2χ - 1) W Δμ‖  <=  |2χ - 1| ε (Σ_i (Σ_j p_j |Δμ_j|)²)^½.

SIGN has a weight for each hop h, and under the same assumptions the groups differ by (2χ - 1)^h Δμ there: that takes
the place of (2χ - 1) Δμ on both sides, hop by hop.

Paper: section 4.2, Theorem 2.
Differs: the paper prints (2χ - 1) ε (Σ_i (Σ_j p_j Δμ_j)²)^½, without the absolute values. |W_ij| <= ε p_j does not give
that: terms of different sign cancel on the right, but need not on the left. `docs/theory.md` counts how often it fails.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fairview.data.adjacency import Adjacency
from fairview.data.graph import NodeGraph
from fairview.data.stored_links import StoredLinks
from fairview.leakage.json_record import json_record
from fairview.methods.contract import seen_by
from fairview.methods.fitted import Fitted
from fairview.nn.encoders import Encoder, GCNEncoder, GINEncoder, MLPEncoder, SIGNEncoder
from fairview.propagation.operators import Matrix, Operator, propagate

Vector = npt.NDArray[np.float64]

_ROUNDING = 1e-5
"""Relative: the weights were clamped in float32, the bounds are computed in float64."""


@dataclass(frozen=True)
class Bounds:
    """Both sides of the inequality."""

    left: float
    printed: float
    corrected: float

    @property
    def printed_holds(self) -> bool:
        return _at_most(self.left, self.printed)

    @property
    def corrected_holds(self) -> bool:
        return _at_most(self.left, self.corrected)


def bounds(
    weight: npt.ArrayLike, difference: npt.ArrayLike, keep: npt.ArrayLike, *, epsilon: float, chi: float
) -> Bounds:
    """Left side, right side as printed, and right side with absolute values.

    Args:
        weight: W, shape (hidden, channels).
        difference: Δμ, shape (channels,).
        keep: p, shape (channels,).
        epsilon: ε of the clamp.
        chi: χ.

    Example:
        Two channels in which the groups differ by +1 and by -1, and a weight of each sign: on the left they add up.

        >>> bounds([[0.1, -0.1]], [1.0, -1.0], [1.0, 1.0], epsilon=0.1, chi=1.0)
        Bounds(left=0.2, printed=0.0, corrected=0.2)
    """
    w, delta = np.asarray(weight, dtype=np.float64), np.asarray(difference, dtype=np.float64)
    limit = epsilon * np.asarray(keep, dtype=np.float64)
    units = np.sqrt(len(w))  # every hidden unit has the same bound
    return Bounds(
        left=float(abs(2 * chi - 1) * np.linalg.norm(w @ delta)),
        printed=float((2 * chi - 1) * units * abs(limit @ delta)),
        corrected=float(abs(2 * chi - 1) * units * (limit @ np.abs(delta))),
    )


@dataclass(frozen=True, kw_only=True)
class Theorem2:
    """What the theorem says of a fitted model; None where it says nothing.

    Attributes:
        applies: whether the encoder, the operator and the clamp are the theorem's. Numbers may be there without.
        reason: why, or why not.
        chi: share of the links that stay within a group, each node counted as its own neighbour, as the model does.
            Links count by their weight, as they do in the model.
        chi_by_group: mean share of its own group around a node, by group; the theorem has χ for all of them.
        epsilon: ε of the clamp.
        left: ‖(2χ - 1) W Δμ‖, with the features as they are.
        printed: the paper's right side.
        corrected: the right side with absolute values.
        predicted: the left side with the features as the classifier sees them, under the mean of the evaluation masks.
        measured: how far the means of the two groups lie apart in the first layer's output, under the same masks.
        assumptions: in words, with what the graph says about each.
    """

    applies: bool
    reason: str
    chi: float | None = None
    chi_by_group: dict[str, float] = field(default_factory=dict)
    epsilon: float | None = None
    left: float | None = None
    printed: float | None = None
    corrected: float | None = None
    predicted: float | None = None
    measured: float | None = None
    assumptions: tuple[str, ...] = ()

    @property
    def printed_holds(self) -> bool | None:
        return None if self.left is None or self.printed is None else _at_most(self.left, self.printed)

    @property
    def corrected_holds(self) -> bool | None:
        return None if self.left is None or self.corrected is None else _at_most(self.left, self.corrected)

    def to_dict(self) -> dict[str, Any]:
        """For JSON, with the verdicts."""
        return json_record(self) | {"printed_holds": self.printed_holds, "corrected_holds": self.corrected_holds}


def theorem2(model: object, graph: NodeGraph) -> Theorem2:
    """Theorem 2 for a fitted model, on all nodes of a graph whose group is known.

    The numbers need one linear layer on the (propagated) channels: MLP, GCN or GIN with one layer, or SIGN. They are
    given for any operator; `applies` says whether they are the theorem's.
    """
    fitted = getattr(model, "fitted_", None)
    if not isinstance(fitted, Fitted):
        return Theorem2(applies=False, reason="The method has no encoder.")
    encoder = fitted.encoder
    if not isinstance(encoder, (MLPEncoder, GCNEncoder, GINEncoder, SIGNEncoder)):
        kind = f"'{encoder.spec.kind}'" if isinstance(encoder, Encoder) else "of the user's own"
        return Theorem2(applies=False, reason=f"The encoder {kind} is not one linear layer on the channels.")
    if encoder.spec.layers != 1:
        return Theorem2(
            applies=False, reason=f"The encoder has {encoder.spec.layers} layers; the theorem is about one."
        )
    if encoder.spec.kinds is not None:
        return Theorem2(applies=False, reason="Each kind of links has its own weight; the theorem is about all alike.")
    present = [code for code, size in enumerate(graph.group_sizes.values()) if size]
    if len(present) != 2:
        return Theorem2(applies=False, reason=f"The theorem is about two groups; here are {len(present)}.")
    operator = encoder.spec.propagation
    if operator is not None and isinstance(graph.adjacency, StoredLinks):
        return Theorem2(applies=False, reason="χ is about single links, and a propagated folder holds none.")
    around = _Neighbourhoods.of(graph, operator)
    if around is None:
        return Theorem2(applies=False, reason="No link joins two nodes whose group is known: χ is undefined.")

    channels: tuple[str, ...] = model.facts_.channels  # type: ignore[attr-defined]
    narrow, links = seen_by(graph, channels)
    features = narrow.astype(np.float64)
    output = _columns(encoder, links, features)
    weight = encoder.first_weights[0].detach().double().numpy()
    view = fitted.evaluation_masks.double().mean(dim=0).numpy()
    first, second = (graph.sensitive == code for code in present)
    difference = features[first].mean(axis=0) - features[second].mean(axis=0)
    after = output[first].mean(axis=0) - output[second].mean(axis=0)
    chi = around.chi
    if isinstance(encoder, SIGNEncoder):
        difference, chi = np.concatenate([(2 * chi - 1) ** hop * difference for hop in range(encoder.blocks)]), 1.0

    epsilon, limit = _clamp(model, fitted)
    sides = bounds(weight, difference, limit, epsilon=1.0, chi=chi)
    departures = _departures(encoder, epsilon, weight, limit)
    return Theorem2(
        applies=not departures,
        reason=_reason(departures, operator),
        chi=around.chi,
        chi_by_group={
            graph.groups[code]: share for code in present if (share := around.share_in(graph, code)) is not None
        },
        epsilon=epsilon,
        left=sides.left,
        printed=None if epsilon is None else sides.printed,
        corrected=None if epsilon is None else sides.corrected,
        predicted=bounds(weight, view * difference, limit, epsilon=1.0, chi=chi).left,
        measured=float(np.linalg.norm(weight @ (view * after))),
        assumptions=_assumptions(graph, around, operator),
    )


def _columns(encoder: Encoder, links: Adjacency, features: Matrix) -> Matrix:
    """What the layer sees of each node, in float64."""
    spec = encoder.spec
    if spec.blocks is not None:
        return np.concatenate(spec.blocks.of(links, features), axis=1)
    return features if spec.propagation is None else propagate(links, features, spec.propagation)[1]


@dataclass(frozen=True, eq=False)
class _Neighbourhoods:
    """Who is around whom: χ over all links, and the share of its own group around each node (NaN: nobody known)."""

    chi: float
    shares: Vector

    @classmethod
    def of(cls, graph: NodeGraph, operator: Operator | None) -> _Neighbourhoods | None:
        """With the node itself as often as the operator counts it; without an operator it is alone."""
        known = (graph.sensitive >= 0).astype(np.float64)
        if operator is None:
            return cls(1.0, np.where(known > 0, 1.0, np.nan))
        links = Operator(kind="sum", self_loops=operator.self_loops).matrix(graph.adjacency)
        member = sparse.csr_array(graph.sensitive[:, None] == np.arange(len(graph.groups)))
        same = np.asarray((links @ member.astype(np.float64)).multiply(member).sum(axis=1)).ravel()
        everyone = np.asarray(links @ known) * known
        if not everyone.any():
            return None
        shares = np.full(graph.num_nodes, np.nan)
        np.divide(same, everyone, out=shares, where=everyone > 0)
        return cls(float(same.sum() / everyone.sum()), shares)

    def share_in(self, graph: NodeGraph, code: int) -> float | None:
        """Mean share of its own group around a node of the group; None if none has a neighbour of known group."""
        known = self.shares[(graph.sensitive == code) & ~np.isnan(self.shares)]
        return float(known.mean()) if len(known) else None


def _clamp(model: Any, fitted: Fitted) -> tuple[float | None, Vector]:
    """ε, and the bound ε p_j of each channel; None and zeros without a clamp."""
    kind = getattr(model, "weight_regulariser", "none")
    if kind not in ("adaptive", "plain"):
        return None, np.zeros(len(fitted.clamp_mask))
    keep = fitted.clamp_mask.double().numpy()
    epsilon = float(model.clamp_threshold)
    return epsilon, epsilon * (keep if kind == "adaptive" else np.ones_like(keep))


def _departures(encoder: Encoder, epsilon: float | None, weight: Vector, limit: Vector) -> list[str]:
    """Where the model is not the theorem's."""
    departures = []
    operator = encoder.spec.propagation
    if operator is not None and operator.kind != "mean":
        departures.append(f"the operator '{operator.kind}' is not row-normalised")
    if isinstance(encoder, SIGNEncoder):
        departures.append("it is about one hop (the numbers take hop h with the factor (2χ - 1)^h)")
    if isinstance(encoder, GINEncoder):
        departures.append("BatchNorm rescales what the clamped layer puts out (the numbers are from before it)")
    if epsilon is None:
        departures.append("the weights are not clamped")
    elif beyond := int((np.abs(weight) > limit * (1 + _ROUNDING)).sum()):
        departures.append(f"{beyond:,} of {weight.size:,} weights lie beyond the clamp")
    return departures


def _reason(departures: list[str], operator: Operator | None) -> str:
    if departures:
        return f"Outside the theorem: {'; '.join(departures)}."
    return "One clamped linear layer on " + ("the features." if operator is None else "the mean over neighbours.")


def _assumptions(graph: NodeGraph, around: _Neighbourhoods, operator: Operator | None) -> tuple[str, ...]:
    assumptions = []
    if operator is not None:
        low, high = np.nanquantile(around.shares, (0.05, 0.95))
        assumptions.append(
            f"Every node has the same share χ = {around.chi:.3f} of its own group around it (self-loops: "
            f"{operator.self_loops:g}). Here nine nodes of ten have between {low:.2f} and {high:.2f}."
        )
    assumptions.append(
        "Within a group the features come from one Gaussian, whoever the neighbours are. Only the means matter for "
        "these numbers; 'measured' beside 'predicted' shows how far off both assumptions are together."
    )
    left_out = (
        f" Nodes without a known group are left out: {graph.sensitive_unknown:,}." if graph.sensitive_unknown else ""
    )
    assumptions.append(f"Δμ and χ are taken over the whole graph, whatever the split.{left_out}")
    assumptions.append(
        "'left', 'printed' and 'corrected' take the features as they are; 'predicted' and 'measured' take them under "
        "the mean of the evaluation masks, as the classifier sees them."
    )
    return tuple(assumptions)


def _at_most(left: float, right: float) -> bool:
    return left <= right + _ROUNDING * abs(right)
