"""Which kinds do the links have, for a model that weighs them? Given ones, bands of similarity, or groups."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Literal, NoReturn

import numpy as np

from fairview.data.adjacency import Adjacency
from fairview.data.graph import NodeGraph
from fairview.data.link_kinds import LinkKinds
from fairview.data.similarity.bands import band_cuts, in_bands, similarities
from fairview.data.stored_links import StoredLinks
from fairview.errors import InputError, Problems, option, quoted
from fairview.groups import UNKNOWN
from fairview.methods.contract import Facts, features_like, groups_like
from fairview.propagation.kinds import ITSELF

KindSource = Literal["given", "bands", "groups"]

OWN, OTHER, UNSURE = GROUP_KINDS = ("own group", "other group", "unknown group")


def check_link_kinds(
    problems: Problems, encoder: object, depth: int | None, source: KindSource | None, group_at_prediction: bool
) -> None:
    """Kinds of links need an encoder that weighs them; kinds by groups need a word of permission."""
    if source is not None and (encoder not in ("gcn", "gin") or depth not in (None, 1)):
        which = f"'{encoder}'" if isinstance(encoder, str) else "a module of your own"
        of_depth = f" of depth {depth}" if encoder in ("gcn", "gin") else ""
        problems.add(
            f"link_kinds: the encoder is {which}{of_depth}; kinds of links have weights in 'gcn' and 'gin' of one "
            "layer."
        )
    if source == "groups" and not group_at_prediction:
        problems.add(
            "link_kinds: 'groups' needs each node's group at prediction, which is often not allowed. If it is, say "
            f"so: {option('group_at_prediction', True)}."
        )
    if group_at_prediction and source != "groups":
        problems.add("group_at_prediction: only link_kinds='groups' needs the groups at prediction; leave it out.")


def with_kinds(
    graph: NodeGraph, source: KindSource, channels: Sequence[str], *, bands: int = 3, known: Facts | None = None
) -> NodeGraph:
    """The same graph with the kinds that a model sees, under the names that it knows.

    Args:
        graph: any.
        source: where the kinds come from.
        channels: that the model looks at; bands are of their similarity, without those of the sensitive attribute.
        bands: how many, where there is no model yet.
        known: what a fitted model remembers: its kinds, and the cuts of its bands.

    Raises:
        InputError: the links have no kinds, or kinds that the model was not fitted with.
    """
    links = graph.adjacency
    if isinstance(links, StoredLinks):
        raise InputError(
            "link_kinds: a propagated folder holds no kinds of links. Read the tables themselves, or leave link_kinds "
            "out."
        )
    if source == "bands":
        found = _similarities(graph, channels, known)
        links = in_bands(links, found, band_cuts(found, bands) if known is None else known.link_cuts)
    elif source == "groups":
        links = _by_groups(graph, known)
    elif links.kinds is None:
        links = _without_kinds(graph, known)
    kinds = links.kinds
    if kinds is not None and ITSELF in kinds.names:
        raise InputError(f"link_kind: the kind '{ITSELF}' is that of a node's link to itself. Rename yours.")
    if kinds is not None and known is not None:
        links = dataclasses.replace(links, kinds=kinds.named(known.link_kinds))
    return graph.replace(adjacency=links)


def cuts_of(graph: NodeGraph, channels: Sequence[str], bands: int) -> tuple[float, ...]:
    """The cuts between the bands of a graph's links."""
    return band_cuts(_similarities(graph, channels, None), bands)


def _similarities(graph: NodeGraph, channels: Sequence[str], known: Facts | None) -> np.ndarray:
    hidden = graph.sensitive_channels if known is None else known.sensitive_channels
    return similarities(features_like(graph, tuple(c for c in channels if c not in hidden)), graph.adjacency)


def _by_groups(graph: NodeGraph, known: Facts | None) -> Adjacency:
    """Links within a group, between groups, and of nodes whose group is not known."""
    if known is not None:
        groups_like(graph, known, "a model with link_kinds='groups'")
    links = graph.adjacency
    one, other = graph.sensitive[links.sources], graph.sensitive[links.indices]
    unsure = (one == UNKNOWN) | (other == UNKNOWN)
    if known is not None and unsure.any() and UNSURE not in known.link_kinds:
        _refuse_unsure(graph, known)
    names = GROUP_KINDS if unsure.any() else GROUP_KINDS[:2]
    codes = np.where(unsure, 2, one != other).astype(np.int16)
    return dataclasses.replace(links, kinds=LinkKinds(names, codes))


def _refuse_unsure(graph: NodeGraph, known: Facts) -> NoReturn:
    """Every group was known in training, so that nothing was learnt of links without."""
    links = graph.adjacency
    linked = np.unique(np.concatenate([links.sources, links.indices]))
    nodes = int((graph.sensitive[linked] == UNKNOWN).sum())
    raise InputError(
        f"predict: a model with link_kinds='groups' needs the group ('{known.sensitive_name}') of every node with "
        f"links, as in its training, and that of {nodes:,} is not known. Give it; the group of known nodes that stand "
        f"around new ones ({option('context')}) is not read: put them among the nodes."
    )


def _without_kinds(graph: NodeGraph, known: Facts | None) -> Adjacency:
    """Nobody said of which kind the links are; where there are none, they are of all kinds that a model knows."""
    if known is not None and graph.num_edges == 0:
        empty = LinkKinds(known.link_kinds, np.empty(0, dtype=np.int16))
        return dataclasses.replace(graph.adjacency, kinds=empty)
    if known is not None:
        raise InputError(
            f"predict: the model was fitted on links of the kinds {quoted(known.link_kinds)}, and this graph's have "
            f"none; read it with {option('link_kind')}."
        )
    raise InputError(
        f"link_kinds: the graph's links have no kinds. Read them from a column with {option('link_kind')}, or take "
        "bands of similarity: link_kinds='bands'."
    )
