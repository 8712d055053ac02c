"""Which links does the graph get? Those of the edge table, or those of similar nodes; as the recipe says, if any."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

import numpy as np
import numpy.typing as npt

from fairview.data.adjacency import Adjacency
from fairview.data.similarity.rules import SimilarityRule
from fairview.data.tables.edges import Pairs
from fairview.data.tables.recipe import Matrix, Recipe
from fairview.errors import InputError, Problems, option
from fairview.remedies import remedies


def direction(given: bool | None, recipe: Recipe | None, notes: list[str], problems: Problems) -> bool:
    """Whether the edges stay directed: as asked, or as the recipe says. Asking for anything else is a problem."""
    if recipe is None or recipe.directed is None:
        if recipe is not None and given is None:
            remedy = f"if the model was trained with directed ones, pass {option('directed', True)}"
            notes.append(
                f"the recipe (of version 0.1.0) does not say whether edges are directed: made symmetric; {remedy}"
            )
        return bool(given)
    if given is not None and bool(given) != recipe.directed:
        were = "kept directed" if recipe.directed else "made symmetric"
        problems.add(f"directed: the model's edges were {were}; leave {option('directed')} out, or train again.")
    return recipe.directed


def similar(recipe: Recipe, x: Matrix, directed: bool, name: str, notes: list[str]) -> Adjacency:
    """Links of nodes that are alike by the recipe's rule."""
    if recipe.similarity is None:
        raise InputError(
            f"{name}: the model's graph had a table of edges; pass {option('edges')} for these nodes, too."
        )
    if not recipe.similarity_channels:
        raise InputError(
            f"{name}: no channel is left to link similar nodes by: the sensitive one takes no part."
            + remedies(
                f"pass {option('edges')}",
                "keep more features",
                f"pass {option('similarity_with_sensitive', True)}",
            )
        )
    places = {channel: place for place, channel in enumerate(recipe.features.channels)}
    chosen = [places[channel] for channel in recipe.similarity_channels]
    first, second = recipe.similarity.pairs(x[:, chosen])
    notes.append(f"no edges given: linked by similarity ({words(recipe.similarity)})")
    return Adjacency.from_pairs(first, second, num_nodes=len(x), directed=directed)[0]


def linked(
    pairs: Pairs | None, keep: npt.NDArray[np.bool_], ids: Sequence[str] | None, directed: bool, notes: list[str]
) -> Adjacency:
    """Links of the edge table between the nodes that stay; `ids` are for messages about weights and kinds."""
    nothing = np.empty(0, dtype=np.int64)
    first, second, weights, kinds = pairs if pairs is not None else Pairs(nothing, nothing)
    number = np.cumsum(keep) - 1  # of a row after the dropping
    both = keep[first] & keep[second]
    if not both.all():
        notes.append(f"{int((~both).sum()):,} edges dropped with the nodes at their ends")
    names = None
    if weights is not None or kinds is not None:
        names = list(compress(ids or map(str, range(len(keep))), keep))
    adjacency, counts = Adjacency.from_pairs(
        number[first[both]],
        number[second[both]],
        num_nodes=int(keep.sum()),
        directed=directed,
        weights=None if weights is None else weights[both],
        kinds=None if kinds is None else kinds.at(both),
        names=names,
    )
    notes += counts.notes(directed=directed)
    return adjacency


def words(rule: SimilarityRule) -> str:
    """A rule, for people."""
    if rule.kind == "neighbours":
        return f"the {rule.neighbours} nearest neighbours on the scaled channels"
    return f"above {rule.threshold:g} of the largest similarity"
