"""How is a graph made whose unfairness is known, because every part of it was dialled in?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from fairview.data.graph import NodeGraph, Provenance
from fairview.data.synthetic.planted_channels import Channel, planted_channels
from fairview.data.synthetic.random_edges import apportion, random_edges
from fairview.errors import Problems, repeated, some

__all__ = ["DEFAULT_CHANNELS", "Channel", "synthetic_graph"]

MAX_NODES = 100_000_000  # numbers of node pairs must be exact as float64
MAX_GROUPS = 100

TWO_HALVES: Mapping[str, float] = MappingProxyType({"a": 0.5, "b": 0.5})

DEFAULT_CHANNELS = (
    *(Channel(f"plain_{number}") for number in (1, 2, 3, 4)),
    Channel("proxy_weak", before=0.2, label_weight=0.5),
    Channel("proxy_strong", before=0.5, label_weight=0.5),
    Channel("leak_weak", before=0.0, after=0.2, label_weight=0.0),
    Channel("leak_strong", before=0.0, after=0.4, label_weight=0.0),
)
"""Innocuous channels, open proxies of the sensitive attribute, and two that betray it only after propagation."""


def synthetic_graph(
    num_nodes: int = 1000,
    *,
    groups: Mapping[str, float] = TWO_HALVES,
    average_degree: float = 20.0,
    homophily: float = 0.8,
    channels: Sequence[Channel] = DEFAULT_CHANNELS,
    positive_rate: float = 0.5,
    label_bias: float = 0.0,
    label_signal: float = 0.8,
    seed: int | np.random.Generator = 0,
) -> NodeGraph:
    """A random graph whose homophily, leakage and label bias are what was asked for.

    The numbers of edges, of edges within groups and of positive labels are met exactly, up to rounding to whole
    numbers; the correlations of the channels to float32 accuracy (with more than two groups, `after` may be off by
    chance, sqrt((groups - 1) / n), where it can't be met exactly). Groups, edges, features and labels have
    their own random streams: to turn one dial leaves what does not depend on it as it was.

    Labels: the score of a node is ``label_signal`` times the standardised, weighted sum of its channels plus
    sqrt(1 - label_signal²) times noise, within its group; the highest scores of each group are positive.

    Args:
        num_nodes: n.
        groups: share of the nodes by group name, two groups or more, adding up to 1.
        average_degree: neighbours per node; the graph has round(n * average_degree / 2) edges.
        homophily: share of the edges that join two nodes of the same group (χ in the paper).
        channels: the features; see `Channel`.
        positive_rate: share of positive labels in the whole graph.
        label_bias: positive rate of the first group minus that of the last; groups between are evenly spaced.
        label_signal: correlation of the score behind the labels with the channels, within a group; 0: labels are noise.
        seed: a whole number, or a generator to draw from.

    Raises:
        InputError: a dial is out of its range, or can't be met on a graph of this size.

    Example:
        >>> graph = synthetic_graph(2000, groups={"f": 0.3, "m": 0.7}, homophily=0.9, label_bias=0.2)
        >>> graph
        NodeGraph(2,000 nodes, 20,000 edges, 8 channels, sensitive 'group': f 600, m 1,400)
        >>> graph.homophily()
        0.9
        >>> [round(float(graph.labels[graph.sensitive == group].mean()), 2) for group in (0, 1)]
        [0.64, 0.44]
    """
    dials = dict(locals())
    _check(num_nodes, groups, average_degree, homophily, channels, positive_rate, label_bias, label_signal, seed)
    generator = np.random.default_rng(seed)
    group_stream, edge_stream, feature_stream, label_stream = generator.spawn(4)

    sizes = apportion(num_nodes, np.array(list(groups.values())), np.full(len(groups), num_nodes))
    place = np.linspace(0, 1, len(sizes))  # the groups' rates are evenly spaced, with `positive_rate` as their mean
    rates = positive_rate + label_bias * (np.average(place, weights=sizes) - place)
    _check_sizes(groups, sizes, rates)
    sensitive = np.repeat(np.arange(len(groups), dtype=np.int16), sizes)
    group_stream.shuffle(sensitive)

    num_edges = _rounded(num_nodes * average_degree / 2)
    within = _rounded(homophily * num_edges)
    adjacency = random_edges(sensitive, within=within, across=num_edges - within, rng=edge_stream)
    features = planted_channels(channels, adjacency, sensitive, rng=feature_stream)
    weights = np.array([channel.label_weight for channel in channels], dtype=np.float32)
    labels = _labels(features @ weights, sensitive, sizes, rates, label_signal, label_stream)

    for array in (features, labels, sensitive):
        array.flags.writeable = False  # so that NodeGraph need not copy them
    dials |= {"groups": dict(groups), "channels": list(channels)}
    dials["seed"] = "a generator" if isinstance(seed, np.random.Generator) else seed
    return NodeGraph(
        features=features,
        channels=tuple(channel.name for channel in channels),
        adjacency=adjacency,
        labels=labels,
        sensitive=sensitive,
        groups=tuple(groups),
        sensitive_name="group",
        provenance=Provenance(source="synthetic", notes=tuple(f"{name}: {value}" for name, value in dials.items())),
    )


def _rounded(value: float) -> int:
    return math.floor(value + 0.5)


def _labels(
    signal: npt.NDArray[np.float32],
    sensitive: npt.NDArray[np.int16],
    sizes: npt.NDArray[np.int64],
    rates: npt.NDArray[np.float64],
    label_signal: float,
    rng: np.random.Generator,
) -> npt.NDArray[np.int8]:
    noise = rng.standard_normal(len(signal), dtype=np.float32)
    labels = np.zeros(len(signal), dtype=np.int8)
    for group, (size, rate) in enumerate(zip(sizes.tolist(), rates.tolist(), strict=True)):
        members = np.flatnonzero(sensitive == group)
        spread = float(signal[members].std())
        # A signal that is constant in the group ranks nobody: the noise alone does.
        weight, noise_weight = label_signal / spread if spread > 0 else 0.0, math.sqrt(1 - label_signal**2)
        score = weight * signal[members] + noise_weight * noise[members]
        positives = _rounded(rate * size)
        if positives:
            labels[members[np.argpartition(score, size - positives)[size - positives :]]] = 1
    return labels


def _check(
    num_nodes: float,  # wider than what is allowed, so that the check makes sense
    groups: Mapping[str, float],
    average_degree: float,
    homophily: float,
    channels: Sequence[Channel],
    positive_rate: float,
    label_bias: float,
    label_signal: float,
    seed: object,
) -> None:
    problems = Problems()
    if not 2 <= len(groups) <= MAX_GROUPS:
        problems.add(f"groups: {len(groups)} given; from 2 to {MAX_GROUPS} are possible.")
    bad = [f"'{name}' {share}" for name, share in groups.items() if not 0 < share < 1]
    if bad:
        problems.add(f"groups: a share lies between 0 and 1, got {some(bad)}.")
    elif groups and abs(total := math.fsum(groups.values()) - 1) > 1e-6:
        problems.add(f"groups: the shares add up to {total + 1:g}; they must add up to 1.")
    least = len(groups) + 2  # the features need as many directions that differ within the groups
    if not isinstance(num_nodes, (int, np.integer)) or not least <= num_nodes <= MAX_NODES:
        problems.add(
            f"num_nodes: {num_nodes}; a whole number from {least} (two more than groups) to {MAX_NODES:,} is possible."
        )
    if not isinstance(seed, np.random.Generator) and not (isinstance(seed, (int, np.integer)) and seed >= 0):
        problems.add(f"seed: {seed!r}; it must be a whole number from 0 on, or a numpy Generator.")
    if not 0 <= average_degree < math.inf:
        problems.add(f"average_degree: {average_degree}; it must be a number from 0 on.")
    for name, value, low in (
        ("homophily", homophily, 0),
        ("positive_rate", positive_rate, 0),
        ("label_bias", label_bias, -1),
        ("label_signal", label_signal, 0),
    ):
        if not low <= value <= 1:
            problems.add(f"{name}: {value}; it must lie between {low} and 1.")
    if twice := repeated(channel.name for channel in channels):
        problems.add(f"channels: names must be unique; repeated: {some(sorted(twice))}.")
    for channel in channels if len(groups) > 2 else ():
        if channel.before < 0 or (channel.after is not None and channel.after < 0):
            problems.add(
                f"channel '{channel.name}': with more than two groups a correlation is a ratio between 0 and 1, "
                f"got before={channel.before} and after={channel.after}."
            )
    if label_signal > 0 and all(channel.label_weight == 0 for channel in channels):
        problems.add(
            f"label_signal: {label_signal}, but no channel has a label_weight other than 0. Give one a weight, or pass "
            "label_signal=0 for labels that are noise."
        )
    problems.raise_if_any()


def _check_sizes(groups: Mapping[str, float], sizes: npt.NDArray[np.int64], rates: npt.NDArray[np.float64]) -> None:
    problems = Problems()
    for name, size, rate in zip(groups, sizes.tolist(), rates.tolist(), strict=True):
        if size == 0:
            problems.add(f"groups: '{name}' has no node: its share is {groups[name]:g} of {sizes.sum():,} nodes.")
        elif not -1e-9 <= rate <= 1 + 1e-9:
            problems.add(
                f"label_bias: the positive rate of group '{name}' would be {rate:.3f}, outside 0 to 1. "
                "Lower label_bias, or move positive_rate towards 0.5."
            )
    problems.raise_if_any()
