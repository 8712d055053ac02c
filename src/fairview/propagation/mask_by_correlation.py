"""What if the channels that are tied to the sensitive attribute are simply blanked out? Strategies S0, S1 and S2."""

from __future__ import annotations

from typing import Literal

import numpy as np

from fairview.data.graph import NodeGraph
from fairview.data.graph_argument import require_graph
from fairview.errors import InputError, did_you_mean, quoted
from fairview.propagation.correlation import sensitive_correlation
from fairview.propagation.operators import Operator

Strategy = Literal["S0", "S1", "S2"]
STRATEGIES: dict[str, str] = {"S0": "no masking", "S1": "original features", "S2": "propagated features"}

_GCN = Operator()


def mask_by_correlation(
    graph: NodeGraph, strategy: Strategy, top_k: int = 4, operator: Operator = _GCN, hops: int = 1
) -> NodeGraph:
    """The graph with the `top_k` channels of largest |ρ| set to zero; ties go to the earlier channel.

    S0 masks nothing, S1 ranks by the correlation of X with the sensitive attribute, S2 by that of S^hops X. A masked
    channel stays, as zeros, so that shapes and names don't change. The sensitive channels are ranked like any other:
    they come first. The provenance says what was masked.

    Paper: section 3, table 1.

    Raises:
        InputError: the strategy is unknown, `top_k` is not from 0 to the number of channels, S2 is asked for without
            a hop, or there are fewer than two groups.

    Example:
        >>> graph = NodeGraph.from_arrays(
        ...     features=[[0.0, 1.0], [1.0, 1.0], [1.0, 3.0]], edges=[[0], [1]], sensitive=["f", "m", "m"]
        ... )
        >>> mask_by_correlation(graph, "S1", top_k=1).features.tolist()
        [[0.0, 1.0], [0.0, 1.0], [0.0, 3.0]]
    """
    require_graph(graph, "mask_by_correlation")
    if strategy not in STRATEGIES:
        raise InputError(f"strategy: no '{strategy}'.{did_you_mean(strategy, list(STRATEGIES))}")
    if not 0 <= top_k <= graph.num_channels:
        raise InputError(f"top_k: {top_k}; expected 0 to {graph.num_channels}, the number of channels.")
    if strategy == "S0":
        return graph
    if strategy == "S2" and hops < 1:
        raise InputError(f"hops: {hops}; S2 ranks propagated channels and needs 1 or more.")
    after = hops if strategy == "S2" else 0
    correlation = sensitive_correlation(graph, operator, after)[after]
    masked = np.argsort(-np.abs(correlation), kind="stable")[:top_k]
    features = graph.features.copy()
    features[:, masked] = 0
    names = quoted([graph.channels[j] for j in masked], limit=top_k)
    where = STRATEGIES[strategy] if strategy == "S1" else f"{STRATEGIES[strategy]} ({operator.kind}, hop {hops})"
    return graph.with_features(features).noting(f"masked by {strategy}, |correlation| of the {where}: {names} set to 0")
