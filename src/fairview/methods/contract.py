"""What must every method do? Fit a graph, and give each node of any graph with the same channels a probability."""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict

from fairview.arguments import shortened
from fairview.data.adjacency import Adjacency
from fairview.data.graph import NodeGraph
from fairview.data.tables.recipe import Recipe
from fairview.errors import InputError, option, quoted
from fairview.groups import UNKNOWN

Probabilities = npt.NDArray[np.floating[Any]]


class Method(Protocol):
    """A node classifier in scikit-learn's manner: keyword parameters, checked in `fit`; fitted values end in `_`."""

    def fit(self, graph: NodeGraph) -> Self:
        """Learn from the train split."""
        ...

    def predict_proba(self, graph: NodeGraph) -> Probabilities:
        """Probabilities of the negative and the positive class, shape (n, 2), for every node of the graph."""
        ...


class Facts(BaseModel):
    """What a fitted model remembers of its graph: enough to read new tables alike, and to audit it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    channels: tuple[str, ...]
    classes: tuple[str, str]
    groups: tuple[str, ...]
    sensitive_name: str
    sensitive_channels: tuple[str, ...]
    recipe: Recipe | None
    graph_sha256: str
    weighted: bool = False  # whether its links had weights
    directed: bool | None = None  # whether its edges were; None: not known, in a model of version 0.1.0
    link_kinds: tuple[str, ...] = ()  # that the model tells apart, without that of the self-loops
    link_cuts: tuple[float, ...] = ()  # between bands of similarity, if these are the kinds

    @classmethod
    def of(cls, graph: NodeGraph, channels: tuple[str, ...] | None = None) -> Facts:
        """The facts of a graph; `channels` are those that the model looks at, all by default."""
        return cls(
            channels=graph.channels if channels is None else channels,
            classes=graph.classes,
            groups=graph.groups,
            sensitive_name=graph.sensitive_name,
            sensitive_channels=graph.sensitive_channels,
            recipe=graph.recipe,
            graph_sha256=graph.sha256,
            weighted=graph.adjacency.weighted,
            directed=graph.adjacency.directed,
        )


def training_rows(graph: NodeGraph) -> npt.NDArray[np.intp]:
    """The labelled nodes of the train split; without both classes among them there is nothing to learn."""
    rows = np.flatnonzero(graph.split("train") & graph.labelled)
    if len(rows) == 0:
        raise InputError("train: no node of the train split has a label.")
    found = np.unique(graph.labels[rows])
    if len(found) == 1:
        raise InputError(f"train: all {len(rows):,} labels are '{graph.classes[found[0]]}'; both classes are needed.")
    return rows


def open_nodes(graph: NodeGraph) -> npt.NDArray[np.bool_]:
    """The nodes that training may know more of: those in no other split than train."""
    found = np.ones(graph.num_nodes, dtype=np.bool_)
    for name, mask in graph.splits.items():
        if name != "train":
            found &= ~mask
    return found


def grouped_nodes(graph: NodeGraph) -> npt.NDArray[np.bool_]:
    """The nodes of which a sensitive attribute is known."""
    return np.asarray(np.any([attribute.codes != UNKNOWN for attribute in graph.attributes], axis=0))


def check_trainable(graph: NodeGraph) -> None:
    """Sensitive attributes with two groups each, and labelled nodes in train and val."""
    for attribute in graph.attributes:
        if sum(size > 0 for size in attribute.sizes.values()) < 2:
            raise InputError(f"train: the sensitive attribute '{attribute.name}' has fewer than two groups.")
    for name in ("train", "val"):
        if name not in graph.splits:
            remedy = "draw one: graph.with_splits(fv.stratified_splits(graph)[0])"
            raise InputError(f"train: the graph has no split '{name}'; {remedy}.")
    if not (graph.split("val") & graph.labelled).any():
        raise InputError("train: no node of the val split has a label; it chooses the epoch that is kept.")


def channels_seen(graph: NodeGraph, sensitive_channels: bool) -> tuple[str, ...]:
    """The channels that a model looks at: all, or all but those of the sensitive attribute."""
    hidden = () if sensitive_channels else graph.sensitive_channels
    return tuple(name for name in graph.channels if name not in hidden)


def channels_to_learn_from(graph: NodeGraph, sensitive_channels: bool) -> tuple[str, ...]:
    """The channels that a model looks at, at least one."""
    seen = channels_seen(graph, sensitive_channels)
    if seen:
        return seen
    if graph.channels:
        remedy = f"pass more channels, or {option('sensitive_channels', True)}"
        raise InputError(f"fit: the graph has no channel but those of the sensitive attribute; {remedy}.")
    raise InputError("fit: the graph has 0 channels; expected at least one, because a model learns from features.")


def table_to_learn_from(
    graph: NodeGraph, sensitive_channels: bool
) -> tuple[Facts, npt.NDArray[np.float32], npt.NDArray[np.int8]]:
    """For a model of the features alone: what it remembers, and features and labels of the training nodes."""
    channels, rows = channels_to_learn_from(graph, sensitive_channels), training_rows(graph)
    return Facts.of(graph, channels), features_like(graph, channels)[rows], graph.labels[rows]


def features_like(graph: NodeGraph, channels: tuple[str, ...]) -> npt.NDArray[np.float32]:
    """The features in the order that a model was fitted with, matched by name; other channels are left out."""
    if graph.channels == channels:
        return graph.features
    places = {name: place for place, name in enumerate(graph.channels)}
    absent = [name for name in channels if name not in places]
    if absent:
        raise InputError(f"predict: the graph lacks channels that the model was fitted with: {quoted(absent)}.")
    # in the same memory order too, so that the sums of a product are rounded alike
    return np.ascontiguousarray(graph.features[:, [places[name] for name in channels]])


def seen_by(graph: NodeGraph, channels: tuple[str, ...]) -> tuple[npt.NDArray[np.float32], Adjacency]:
    """The features that a model looks at, as `features_like`, and the links with what they know of these channels."""
    features = features_like(graph, channels)
    if graph.channels == channels:
        return features, graph.adjacency
    return features, graph.adjacency.for_channels([graph.channels.index(name) for name in channels])


def links_like(graph: NodeGraph, facts: Facts) -> None:
    """Links with weights if the model was fitted with such, without if not; a graph without links has neither.

    Raises:
        InputError: the graph's links are not like those that the model was fitted with.
    """
    if graph.adjacency.weighted == facts.weighted or graph.num_edges == 0:
        return
    if facts.weighted:
        raise InputError(
            "predict: the model was fitted on links with weights, and this graph's have none; read it with "
            f"{option('edge_weight')}."
        )
    raise InputError(
        "predict: the model was fitted on links without weights, and this graph's have some; read it without "
        f"{option('edge_weight')}."
    )


def groups_like(graph: NodeGraph, facts: Facts, method: str) -> npt.NDArray[np.intp]:
    """Each node's place among the groups that a model was fitted with, matched by name; -1 where it is not known.

    Raises:
        InputError: no node has a known group, or one that the model was not fitted with.
    """
    present = [name for name, size in graph.group_sizes.items() if size]
    if not present and graph.num_nodes:
        raise InputError(
            f"predict: {method} needs each node's group ('{facts.sensitive_name}'), and none is known in this graph."
        )
    unseen = [name for name in present if name not in facts.groups]
    if unseen:
        raise InputError(
            f"predict: {method} was not fitted with the group {quoted(unseen)}; it knows {quoted(facts.groups)}. "
            "Correct these nodes' group, or leave it unknown."
        )
    place = {name: code for code, name in enumerate(facts.groups)}
    codes = np.array([place.get(name, UNKNOWN) for name in graph.groups] + [UNKNOWN], dtype=np.intp)
    return codes[graph.sensitive]  # the unknown ones, -1, find the last


def require_model(model: object, name: str) -> None:
    """Something that predicts: a fitted model, and no class of one."""
    if isinstance(model, type) or not callable(getattr(model, "predict_proba", None)):
        given = f"the class {model.__name__}" if isinstance(model, type) else shortened(model)
        raise InputError(f"{name}: {given}; expected a fitted model, such as fv.Parity().fit(graph).")


def require_fitted(model: object) -> None:
    """A fitted model has attributes that end in an underscore."""
    if not any(name.endswith("_") and not name.startswith("_") for name in vars(model)):
        raise InputError(f"{type(model).__name__}: not fitted yet; call fit(graph) first.")
