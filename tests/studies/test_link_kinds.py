"""The planted graphs are what the study says of them."""

from __future__ import annotations

import numpy as np
import pytest
from studies.link_kinds import models, place, planted_graph

import fairview as fv
from fairview.propagation.one_hop import links_hop
from fairview.propagation.operators import Operator


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_one_kind_shows_the_group_and_the_other_the_label(seed):
    graph = planted_graph(seed)
    shares = {each["kind"]: each["homophily"] for each in fv.summarise(graph)["link_kinds"]}
    assert shares["kin"] == 1
    assert shares["work"] == pytest.approx(0.5, abs=0.03)
    tied = {}
    for kind, links in graph.adjacency.by_kind().items():
        means = links_hop(links, Operator(kind="mean"))(graph.features.astype(np.float64))
        for what, codes in (("group", graph.sensitive), ("label", graph.labels)):
            tied[kind, what] = max(abs(np.corrcoef(means[:, j], codes)[0, 1]) for j in range(6))
    assert tied["kin", "group"] > tied["work", "group"] + 0.2
    assert tied["work", "label"] > tied["kin", "label"] + 0.1


def test_the_ablations_differ_in_masks_alone():
    for setting in ("adversary", "energy"):
        made = {name: model.get_params() for name, model in models("german", setting).items()}
        names = {name for name in made["both"] if len({repr(each[name]) for each in made.values()}) > 1}
        assert names == {"feature_masks", "link_kinds"}


def test_bands_have_one_name_over_all_splits():
    named = ["similarity below 0.1", "similarity 0.1 to 0.2", "similarity from 0.2", "itself", "kin"]
    assert list(map(place, named)) == ["least similar", "in between", "most similar", "itself", "kin"]
