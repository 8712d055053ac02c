"""How alike are the two ends of a link? Cut into bands, similarity becomes a kind of links.

A graph of similar rows has many links between rows that are hardly alike; one band may carry a bias that another does
not.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from fairview.arguments import shortened
from fairview.data.adjacency import Adjacency
from fairview.data.graph import NodeGraph
from fairview.data.graph_argument import require_graph
from fairview.data.link_kinds import MOST_KINDS, LinkKinds
from fairview.data.similarity.distinct import BLOCK, FloatArray
from fairview.errors import InputError

Rows = npt.NDArray[np.floating]


def link_bands(graph: NodeGraph, bands: int | Sequence[float] = 3) -> NodeGraph:
    """The same graph with a kind for each link: the band that the similarity of its ends lies in.

    The similarity is 1 / (1 + d), with d the Euclidean distance of the two nodes' features, without the channels of the
    sensitive attribute.

    Args:
        graph: any; whether its links come from similarity or not.
        bands: how many, with about as many links in each; or the cuts between them, from 0 to 1, ascending.

    Example:
        >>> graph = NodeGraph.from_arrays(features=[[0.0], [0.25], [1.25], [4.25]], edges=[[0, 1, 2], [1, 2, 3]])
        >>> link_bands(graph).link_kinds
        {'similarity below 0.417': 1, 'similarity 0.417 to 0.6': 1, 'similarity from 0.6': 1}
    """
    require_graph(graph, "link_bands")
    rows = graph.features[:, [name not in graph.sensitive_channels for name in graph.channels]]
    found = similarities(rows, graph.adjacency)
    if isinstance(bands, (int, np.integer)):
        if not 2 <= bands <= MOST_KINDS:
            raise InputError(f"bands: {bands}; expected 2 to {MOST_KINDS}.")
        cuts = band_cuts(found, int(bands))
    else:
        cuts = _checked_cuts(bands)
    return graph.replace(adjacency=in_bands(graph.adjacency, found, cuts))


def similarities(rows: Rows, adjacency: Adjacency) -> FloatArray:
    """1 / (1 + d) of the ends of each pair, in float64."""
    wide, found = rows.astype(np.float64), np.empty(adjacency.num_pairs)
    sources = adjacency.sources
    step = max(BLOCK // max(rows.shape[1], 1), 1)
    for start in range(0, len(found), step):
        part = slice(start, start + step)
        difference = wide[sources[part]] - wide[adjacency.indices[part]]
        found[part] = 1 / (1 + np.sqrt(np.square(difference).sum(axis=1)))
    return found


def band_cuts(found: FloatArray, bands: int) -> tuple[float, ...]:
    """The quantiles between so many bands; fewer where many links are exactly as similar."""
    if not len(found):
        return ()
    cuts = np.unique(np.quantile(found, np.arange(1, bands) / bands))
    return tuple(cuts[cuts > found.min()].tolist())  # no link lies below the least similarity


def in_bands(adjacency: Adjacency, found: FloatArray, cuts: Sequence[float]) -> Adjacency:
    """The links with the bands of these similarities as their kinds."""
    codes = np.searchsorted(np.asarray(cuts, dtype=np.float64), found, side="right").astype(np.int16)
    return dataclasses.replace(adjacency, kinds=LinkKinds(band_names(cuts), codes))


def band_names(cuts: Sequence[float]) -> tuple[str, ...]:
    """What the bands are called, by their cuts in as few digits as tell them apart.

    Example:
        >>> band_names([0.5, 0.75])
        ('similarity below 0.5', 'similarity 0.5 to 0.75', 'similarity from 0.75')
    """
    if not cuts:
        return ("any similarity",)
    digits = next(d for d in range(3, 18) if len({f"{cut:.{d}g}" for cut in cuts}) == len(cuts))
    texts = [f"{cut:.{digits}g}" for cut in cuts]
    between = [f"similarity {low} to {high}" for low, high in pairwise(texts)]
    return (f"similarity below {texts[0]}", *between, f"similarity from {texts[-1]}")


def _checked_cuts(cuts: Sequence[float]) -> tuple[float, ...]:
    try:
        array = np.asarray(cuts, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.empty((0, 0))
    sound = array.ndim == 1 and 0 < len(array) < MOST_KINDS and ((array >= 0) & (array <= 1)).all()
    if not sound or (np.diff(array) <= 0).any():
        raise InputError(
            f"bands: {shortened(cuts)}; expected a number from 2 to {MOST_KINDS}, or the cuts between the bands, from "
            "0 to 1, ascending."
        )
    return tuple(array.tolist())
