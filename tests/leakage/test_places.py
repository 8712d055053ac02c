from __future__ import annotations

import fairview as fv
from fairview.leakage.places import group_places


def test_german_by_group_adds_up_to_its_homophily():
    graph = fv.load_dataset("german")
    places = group_places(graph)
    assert round(graph.homophily(), 4) == 0.8048
    ends = [place.nodes * place.mean_degree for place in places]
    total = sum(place.homophily * count for place, count in zip(places, ends, strict=True)) / sum(ends)
    assert round(total, 4) == 0.8048


def test_links_to_nodes_of_unknown_group_are_left_out_of_homophily_but_not_of_degree():
    graph = fv.NodeGraph.from_arrays(
        features=[[0.0]] * 4, edges=[[0, 0, 0], [1, 2, 3]], sensitive=["f", "f", "m", None]
    )
    women, men = group_places(graph)
    assert (women.nodes, women.homophily, women.mean_degree) == (2, 2 / 3, 2.0)
    assert (men.nodes, men.homophily, men.mean_degree) == (1, 0.0, 1.0)


def test_groups_without_links_or_nodes_are_undefined():
    graph = fv.NodeGraph.from_arrays(features=[[0.0]] * 2, edges=[[0], [1]], sensitive=["f", "f"])
    _, empty = group_places(graph.replace(groups=("f", "m")))
    assert empty.homophily == fv.Undefined("no link leads from group 'm' to a node of known group")
    assert empty.mean_degree == fv.Undefined("group 'm' has no nodes")
