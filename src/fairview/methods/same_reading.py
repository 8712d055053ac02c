"""Was a graph read as the model's own graph was? If not, its scores would be others, and nobody would notice."""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import zip_longest
from typing import Any

from fairview.data.graph import NodeGraph
from fairview.data.stored_links import StoredLinks
from fairview.data.tables.recipe import Features, Recipe
from fairview.errors import InputError, command, option, quoted
from fairview.methods.contract import Facts, Probabilities

_READING = ("id", "missing_values", "similarity", "similarity_channels", "directed", "ends", "edge_weight")
"""Parts of a recipe that change links or empty cells, and with them scores; the features are compared by channel."""


def checked_reading(predict_proba: Callable[..., Probabilities]) -> Callable[..., Probabilities]:
    """`predict_proba` that refuses a graph which was read in another way than the model's."""

    @functools.wraps(predict_proba)
    def checked(self: Any, graph: NodeGraph, *arguments: Any, **named: Any) -> Probabilities:
        facts = getattr(self, "facts_", None)
        if isinstance(facts, Facts) and isinstance(graph, NodeGraph):
            check_reading(graph, facts, needs_group=bool(getattr(self, "group_at_prediction", False)))
        return predict_proba(self, graph, *arguments, **named)

    return checked


def check_reading(graph: NodeGraph, facts: Facts, *, needs_group: bool = False) -> None:
    """The same direction of edges, the same recipe where both have one and, if the model needs it, the same attribute.

    What a model of version 0.1.0 does not say is not compared.

    Raises:
        InputError: the graph was read in another way.
    """
    if facts.directed is not None and graph.num_edges and graph.adjacency.directed != facts.directed:
        kinds = ("symmetric", "directed") if graph.adjacency.directed else ("directed", "symmetric")
        remedy = option("directed", facts.directed)
        raise InputError(
            f"predict: the model was fitted with {kinds[0]} edges, and this graph's are {kinds[1]}. Pass {remedy}."
        )
    if needs_group and graph.sensitive_unknown < graph.num_nodes and graph.sensitive_name != facts.sensitive_name:
        raise InputError(
            f"predict: the model needs each node's group by '{facts.sensitive_name}', and this graph has groups by "
            f"'{graph.sensitive_name}'. Read that attribute, or name it so (sensitive_name)."
        )
    if facts.recipe is None or graph.recipe is None or graph.recipe == facts.recipe:
        return
    others = _differences(graph.recipe, facts.recipe, facts.channels)
    if needs_group and graph.recipe.attributes != facts.recipe.attributes:
        others.append("sensitive")
    if others:
        stored = isinstance(graph.adjacency, StoredLinks)
        remedy = f"Propagate it with {command('propagate', like='RUN')}" if stored else "Read it"
        raise InputError(
            f"predict: the graph's table was not read as the model's was ({quoted(others)} differ). {remedy}"
            f"{', or in Python' if stored else ''} with recipe=model.facts().recipe."
        )


def _differences(given: Recipe, known: Recipe, channels: tuple[str, ...]) -> list[str]:
    """Names of channels and settings that are not the same; a channel that is not there is told elsewhere."""
    new, old = _treatments(given.features), _treatments(known.features)
    found = [name for name in channels if name in new and name in old and new[name] != old[name]]
    if given.features.missing != known.features.missing:
        found.append("missing")
    for name in _READING:
        mine, models = getattr(given, name), getattr(known, name)
        unknown = name in ("directed", "ends") and (mine is None or models is None)
        if mine != models and not unknown:
            found.append(name)
    return found


def _treatments(features: Features) -> dict[str, tuple[object, ...]]:
    """How each channel came about: its column's kind and categories, its fill value if it matters, and its scale."""
    columns: list[tuple[object, ...]] = [(c.kind, c.categories) for c in features.columns for _ in c.channels]
    fill = features.fill if features.missing in ("mean", "indicator") else ()
    each = zip_longest(columns, fill, features.scaling.center, features.scaling.spread)
    return dict(zip(features.channels, each, strict=True))
