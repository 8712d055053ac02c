"""What is known of each channel: how it is tied to a sensitive attribute over the hops, and is that a leak?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fairview.data.graph import NodeGraph
from fairview.leakage.cross_validation import NORMAL_QUANTILE
from fairview.leakage.findings import ChannelFinding
from fairview.leakage.leaks import LeakTest, Shuffling, leak_tests
from fairview.propagation.correlation import Codes, sensitive_correlation
from fairview.propagation.operators import Operator
from fairview.undefined import Undefined

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """How channels are propagated and tested; see `audit`."""

    operator: Operator
    hops: int
    permutations: int
    shuffling: Shuffling
    level: float
    innocuous: float
    seed: int


@dataclass(frozen=True)
class Channels:
    """The channels of a graph beside one sensitive attribute.

    Attributes:
        found: in the graph's order.
        test: what the shuffles say; None where there are no two groups.
        undefined: why there are no intervals.
    """

    found: tuple[ChannelFinding, ...]
    test: LeakTest | None = None
    undefined: str = ""


def channel_findings(views: Sequence[tuple[NodeGraph, Codes | None]], asked: Asked) -> list[Channels]:
    """The channels beside each attribute: one graph, seen by the groups of each, with codes where there are two."""
    known = [(view, codes) for view, codes in views if codes is not None]
    tests = iter(_tests(known, asked) if known else ())
    return [Channels(_untested(view, asked)) if codes is None else _found(view, codes, next(tests), asked)
            for view, codes in views]  # fmt: skip


def _tests(known: Sequence[tuple[NodeGraph, Codes]], asked: Asked) -> list[LeakTest]:
    graph = known[0][0]
    return leak_tests(
        graph.features, graph.adjacency, [codes for _, codes in known],
        operator=asked.operator, hops=asked.hops, permutations=asked.permutations, seed=asked.seed,
        shuffling=asked.shuffling, tested=[~_is_sensitive(view) for view, _ in known],
    )  # fmt: skip


def _is_sensitive(graph: NodeGraph) -> npt.NDArray[np.bool_]:
    return np.array([name in graph.sensitive_channels for name in graph.channels], dtype=np.bool_)


def _facts(graph: NodeGraph, hops: int) -> list[dict[str, Any]]:
    constant, own = graph.constant_channels, graph.sensitive_channels
    return [
        {"name": name, "sensitive": name in own, "constant": name in constant, "hops": hops} for name in graph.channels
    ]


def _untested(graph: NodeGraph, asked: Asked) -> tuple[ChannelFinding, ...]:
    return tuple(ChannelFinding(**each) for each in _facts(graph, asked.hops))


def _found(graph: NodeGraph, codes: Codes, test: LeakTest, asked: Asked) -> Channels:
    correlation = sensitive_correlation(graph, asked.operator, asked.hops)
    is_sensitive = _is_sensitive(graph)
    leaking = test.leaking(correlation, level=asked.level, innocuous=asked.innocuous) & ~is_sensitive
    bounds = correlation_intervals(correlation, test, codes)
    order = np.argsort(-np.abs(correlation), axis=1, kind="stable")
    rank = np.argsort(order, axis=1, kind="stable") + 1
    by_hop = {"correlation": correlation, "rank": rank, "p_value": test.p_value, "leak_p_value": test.leak_p_value}
    if not isinstance(bounds, Undefined):
        by_hop |= {"low": bounds[0], "high": bounds[1]}
    channels = []
    for j, each in enumerate(_facts(graph, asked.hops)):
        measured = {name: tuple(values[:, j].tolist()) for name, values in by_hop.items()}
        untested = {"leak_p_value": None} if is_sensitive[j] else {}
        channels.append(ChannelFinding(**each | measured | untested, leaking=bool(leaking[j])))
    return Channels(tuple(channels), test, bounds.reason if isinstance(bounds, Undefined) else "")


def correlation_intervals(correlation: Array, test: LeakTest, codes: Codes) -> tuple[Array, Array] | Undefined:
    """95 % intervals, tanh(artanh ρ ± 1.96 max(sd over the shuffles, 1 / sqrt(n - 3))), as (low, high).

    Fisher's interval takes 1 / sqrt(n - 3) for the spread, as if the n values were independent. After a hop they are
    not: neighbours share terms, and the spread over the shuffles knows that. It does not know of channels whose own
    values are alike among neighbours: for those the interval is too narrow, at hop 0 most of all.
    """
    if codes.max() > 1:
        return Undefined("the correlations have intervals with two groups only")
    n = int((codes >= 0).sum())
    if n <= 3:
        return Undefined(f"{n} nodes of known group are too few for an interval")
    reach = NORMAL_QUANTILE * np.maximum(test.spread, 1 / math.sqrt(n - 3))
    middle = np.arctanh(np.clip(correlation, -1 + 1e-12, 1 - 1e-12))
    return np.tanh(middle - reach), np.tanh(middle + reach)
