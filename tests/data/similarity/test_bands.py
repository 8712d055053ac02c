"""Bands of similarity: quantiles of 1 / (1 + d) over the links, or cuts that are given."""

from __future__ import annotations

import numpy as np
import pytest

import fairview as fv
from fairview.data.similarity.bands import band_cuts, band_names, similarities


def test_each_link_lies_in_the_band_of_its_similarity_as_all_pairs_give_it():
    graph = fv.synthetic_graph(120, seed=2)
    banded = fv.link_bands(graph, bands=4)
    x = graph.features.astype(np.float64)
    similarity = 1 / (1 + np.sqrt(((x[:, None] - x[None]) ** 2).sum(axis=2)))
    links = banded.adjacency
    found = similarity[links.sources, links.indices]
    cuts = np.quantile(found, [0.25, 0.5, 0.75])
    assert (links.kinds.codes == (found[:, None] >= cuts).sum(axis=1)).all()
    sizes = list(banded.link_kinds.values())
    assert max(sizes) - min(sizes) <= 1
    assert links.kinds.names == band_names(cuts.tolist())


def test_the_sensitive_channel_takes_no_part():
    graph = fv.load_dataset("german")
    without = graph.without_channels(graph.sensitive_channels)
    assert (fv.link_bands(graph).adjacency.kinds.codes == fv.link_bands(without).adjacency.kinds.codes).all()


def test_the_same_cuts_give_the_same_kinds_on_another_graph():
    graph, other = fv.synthetic_graph(80, seed=1), fv.synthetic_graph(60, seed=2)
    cuts = band_cuts(similarities(graph.features, graph.adjacency), 3)
    assert fv.link_bands(graph, bands=cuts).sha256 == fv.link_bands(graph, bands=3).sha256
    assert fv.link_bands(other, bands=cuts).adjacency.kinds.names == fv.link_bands(graph).adjacency.kinds.names


def test_links_that_are_all_as_similar_are_one_band():
    graph = fv.NodeGraph.from_arrays(features=np.ones((3, 1)), edges=[[0, 1], [1, 2]])
    assert fv.link_bands(graph).link_kinds == {"any similarity": 2}
    nothing = fv.NodeGraph.from_arrays(features=np.ones((3, 1)), edges=[[], []])
    assert fv.link_bands(nothing).link_kinds == {"any similarity": 0}


@pytest.mark.parametrize("bands", [1, 0, 33, True, "three", [], [0.5, 0.5], [0.7, 0.3], [1.5], [[0.5]]])
def test_other_bands_are_refused(bands):
    graph = fv.NodeGraph.from_arrays(features=np.ones((3, 1)), edges=[[0, 1], [1, 2]])
    with pytest.raises(fv.InputError, match=r"^bands: "):
        fv.link_bands(graph, bands)
