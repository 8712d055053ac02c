from __future__ import annotations

from benchmarks.explain import BIASED, planted_graph, recall

import fairview as fv


def test_of_planted_links_90_percent_are_in_the_top_tenth() -> None:
    graph, planted = planted_graph(800, seed=1)
    assert len(planted) == round(BIASED * graph.num_edges)
    found = fv.explain(fv.Vanilla(seed=1).fit(graph), graph, shares=(BIASED,))
    assert recall(found, planted) >= 0.9
    rows = {row.chosen: row.after.gap for row in found.removed if row.k == len(planted)}
    assert abs(rows["effect"]) < 0.3 * found.gap
    assert min(rows["random"], rows["within groups"], rows["between groups"]) > 0.8 * found.gap
