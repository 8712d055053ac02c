"""Is this a graph? Each check says all that is wrong, and the caller collects what the checks say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fairview.attributes import Attribute, intersection
from fairview.errors import InputError, Problems, did_you_mean, repeated, some
from fairview.files import is_utf8
from fairview.groups import UNKNOWN

if TYPE_CHECKING:
    from fairview.data.graph import NodeGraph


def check_graph(graph: NodeGraph) -> None:
    """Everything that must be so in a graph, however it was made."""
    problems = Problems()
    if graph.features.ndim != 2:
        raise InputError(f"features: shape {graph.features.shape}; expected (nodes, channels).")
    n, d = graph.features.shape
    if len(graph.channels) != d:
        problems.add(f"channels: {len(graph.channels)} names for {d} columns of features.")
    if twice := repeated(graph.channels):
        problems.add(f"channels: names must be unique; repeated: {some(sorted(twice))}.")
    if not (np.abs(graph.features) <= np.finfo(np.float32).max).all():
        problems.add("features: NaN, infinite values, or values beyond the range of float32.")
    if graph.adjacency.num_nodes != n:
        problems.add(f"edges: made for {graph.adjacency.num_nodes:,} nodes, but features has {n:,} rows.")
    numbers = graph.labels.dtype.kind in "biuf"
    if graph.labels.shape != (n,) or not numbers or not np.isin(graph.labels, (UNKNOWN, 0, 1)).all():
        problems.add(f"labels: expected {n:,} values of 0, 1 or -1 (unlabelled).")
    codes = graph.sensitive
    if (
        codes.shape != (n,)
        or codes.dtype.kind not in "iu"
        or (n > 0 and not (codes.min() >= UNKNOWN and codes.max() < len(graph.groups)))
    ):
        problems.add(f"sensitive: expected {n:,} codes from -1 (unknown) to {len(graph.groups) - 1}.")
    if len(set(graph.groups)) != len(graph.groups):
        problems.add(f"groups: names must be unique, got {some(graph.groups)}.")
    if len(set(graph.classes)) != 2 or len(graph.classes) != 2:
        problems.add(f"classes: expected two different names, negative and positive, got {some(graph.classes)}.")
    if graph.node_ids is not None and len(graph.node_ids) != n:
        problems.add(f"ids: {len(graph.node_ids):,} for {n:,} nodes.")
    if graph.node_ids is not None and (twice := repeated(graph.node_ids)):
        problems.add(f"ids: must be unique; repeated: {some(twice)}.")
    for name in graph.sensitive_channels:
        if name not in graph.channels:
            problems.add(f"sensitive_channels: no channel '{name}'.{did_you_mean(name, graph.channels)}")
    if graph.several:
        check_attributes(graph.attributes, graph.crossed, problems)
    check_splits(graph.splits, n, problems)
    named = {"channels": graph.channels, "groups": graph.groups, "classes": graph.classes, "ids": graph.node_ids or ()}
    named |= {"sensitive": (graph.sensitive_name,), "splits": tuple(graph.splits)}
    check_names(named | {"link_kind": graph.adjacency.kinds.names if graph.adjacency.kinds else ()}, problems)
    problems.raise_if_any()


def check_attributes(attributes: Sequence[Attribute], crossed: Attribute, problems: Problems) -> None:
    """Several attributes must make the groups that the graph goes by."""
    for attribute in attributes:
        if attribute.codes.shape != crossed.codes.shape:
            problems.add(
                f"attributes: '{attribute.name}' has {len(attribute.codes):,} codes for {len(crossed.codes):,} nodes."
            )
            return
    with problems.collecting():
        together = intersection(attributes)
        if together.groups != crossed.groups or (together.codes != crossed.codes).any():
            problems.add("attributes: they don't make the groups in `sensitive`; change them with `with_attributes`.")


def check_splits(splits: Mapping[str, npt.NDArray[Any]], num_nodes: int, problems: Problems) -> None:
    """Masks of the right length, pairwise disjoint: an overlap is a leak from training into the evaluation."""
    sound = []
    for name, mask in splits.items():
        if name == "all":
            problems.add("split 'all': the name stands for every node already; choose another.")
        if mask.dtype != np.bool_ or mask.shape != (num_nodes,):
            problems.add(f"split '{name}': expected {num_nodes:,} booleans, got {mask.dtype} with shape {mask.shape}.")
        else:
            sound.append(name)
    for first, second in combinations(sound, 2):
        shared = np.flatnonzero(splits[first] & splits[second])
        if len(shared):
            problems.add(
                f"splits '{first}' and '{second}' share {len(shared):,} nodes (rows {some(shared)}); "
                "they must be disjoint."
            )


def check_names(names: Mapping[str, Sequence[str]], problems: Problems) -> None:
    """Names that can be written into a file: a model that can't be saved is not worth training."""
    for what, listed in names.items():
        if not is_utf8(*listed):
            halved = [ascii(name) for name in listed if not is_utf8(name)]
            problems.add(f"{what}: {some(halved)}: not UTF-8 (half a character, a lone surrogate). Rename them.")
