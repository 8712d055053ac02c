from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.special import logit

import fairview as fv
from fairview.explanation.links import LinkList


@pytest.fixture(scope="module")
def model(small: fv.NodeGraph) -> fv.Vanilla:
    return fv.Vanilla(precision="float64", epochs=30).fit(small)


@pytest.fixture(scope="module")
def found(model: fv.Vanilla, small: fv.NodeGraph) -> fv.Explanation:
    return fv.explain(model, small, top=6)


def test_the_links_on_top_are_those_of_the_largest_effects(found: fv.Explanation, small: fv.NodeGraph) -> None:
    largest = np.sort(found.every.effect)[::-1][:6]
    assert [link.effect for link in found.links] == largest.tolist()
    assert found.widening == (found.every.effect > 0).sum()
    frame = found.to_frame()
    assert frame.columns == ["source", "target", "effect"]
    assert frame["effect"].to_list() == sorted(found.every.effect.tolist(), reverse=True)
    assert frame.row(0) == (found.links[0].source, found.links[0].target, found.links[0].effect)
    first = found.links[0]
    assert first.source_group == small.groups[small.sensitive[int(first.source)]]


def test_nodes_have_the_effect_of_losing_all_their_links(
    found: fv.Explanation, model: fv.Vanilla, small: fv.NodeGraph, gap: Any, removing: Any
) -> None:
    links = LinkList.of(small.adjacency)
    assert len(found.nodes) == 6
    for node in found.nodes:
        own = links.at(int(node.node))
        assert node.links == len(own)
        left = gap(model, removing(small, own), found.groups[0])
        assert node.effect == pytest.approx(found.gap - left, abs=1e-9)


def test_removed_links_are_really_removed(
    found: fv.Explanation, model: fv.Vanilla, small: fv.NodeGraph, gap: Any, removing: Any
) -> None:
    order = np.argsort(-found.every.effect, kind="stable")
    before = fv.evaluate(model, small)
    assert {row.k for row in found.removed if row.chosen == "random"} >= {6, round(0.1 * found.num_links)}
    for row in found.removed:
        assert row.before.gap == pytest.approx(found.gap)
        assert row.before.accuracy == before["accuracy"]
        assert row.before.statistical_parity_gap == before["statistical_parity_gap"]
        if row.chosen == "effect":
            left = removing(small, order[: row.k])
            assert row.after.gap == pytest.approx(gap(model, left, found.groups[0]), abs=1e-9)
            after = fv.evaluate(model, left)
            assert row.after.accuracy == after["accuracy"]
            assert row.after.statistical_parity_gap == after["statistical_parity_gap"]


def test_the_most_widening_links_close_the_gap_and_as_many_others_do_not(found: fv.Explanation) -> None:
    rows = {row.chosen: row for row in found.removed if row.k == found.closing}
    assert abs(rows["effect"].after.gap) < 0.5 * found.gap
    for other in ("random", "within groups", "between groups"):
        assert rows[other].after.gap > 0.5 * found.gap  # type: ignore[index]
    together = np.sort(found.every.effect)[::-1].cumsum()
    assert found.closing is not None
    assert together[found.closing - 2] < found.gap <= together[found.closing - 1]


def test_links_chosen_by_group_have_these_groups(model: fv.Vanilla, small: fv.NodeGraph) -> None:
    """Only links between groups are there: none within one can be drawn."""
    links = LinkList.of(small.adjacency)
    within = small.sensitive[links.source] == small.sensitive[links.target]
    graph = small.replace(adjacency=links.without(np.flatnonzero(within)))
    found = fv.explain(model, graph, top=2)
    assert {row.chosen for row in found.removed} == {"effect", "random", "between groups"}


def test_the_gap_can_be_that_of_a_split(model: fv.Vanilla, small: fv.NodeGraph) -> None:
    found = fv.explain(model, small, split="val")
    logits, val = logit(model.predict_proba(small)[:, 1]), small.split("val")
    first, second = (logits[val & (small.sensitive == small.groups.index(name))].mean() for name in found.groups)
    assert found.gap == pytest.approx(first - second)
    assert (found.split, found.evaluated) == ("val", "val")
    assert sum(found.counts) == val.sum()
    assert found.removed[0].before.accuracy == fv.evaluate(model, small, split="val")["accuracy"]


def test_unknown_groups_are_left_out_and_named(model: fv.Vanilla, small: fv.NodeGraph) -> None:
    codes = small.sensitive.copy()
    codes[:10] = -1
    found = fv.explain(model, small.replace(sensitive=codes), top=100)
    assert sum(found.counts) == 50
    assert found.notes[1] == "In no group's mean, because their group is not known: 10 nodes."
    assert any(link.source_group is None for link in found.links)


def test_what_is_undefined_is_null_and_has_its_reason(model: fv.Vanilla, small: fv.NodeGraph) -> None:
    found = fv.explain(model, small.replace(labels=np.full(60, -1)))
    document = found.to_dict()
    assert document["removed"][0]["accuracy_after"] is None
    assert document["gap"] == pytest.approx(fv.explain(model, small).gap)
    assert set(document["undefined"]) == {"statistical_parity_gap", "accuracy"}


def test_of_three_groups_two_are_compared(small: fv.NodeGraph, model: fv.Vanilla) -> None:
    codes = np.arange(60) % 3
    graph = small.replace(sensitive=codes, groups=("a", "b", "c"))
    found = fv.explain(model, graph)
    logits = logit(model.predict_proba(graph)[:, 1])
    means = [logits[codes == code].mean() for code in range(3)]
    assert found.gap == pytest.approx(max(means) - min(means))
    assert found.groups == (graph.groups[int(np.argmax(means))], graph.groups[int(np.argmin(means))])


def test_the_document_has_the_promised_keys_and_is_json(found: fv.Explanation) -> None:
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert (document["kind"], document["version"]) == ("explanation", 1)
    assert {"gap", "links", "nodes", "channels", "removed"} <= set(document)
    assert {"source", "target", "effect"} <= set(document["links"][0])
    assert {"k", "gap_before", "gap_after", "accuracy_before", "accuracy_after"} <= set(document["removed"][0])
    assert "every" not in document


def test_the_same_seed_draws_the_same_links(found: fv.Explanation, model: fv.Vanilla, small: fv.NodeGraph) -> None:
    assert fv.explain(model, small, top=6).to_dict() == found.to_dict()
    assert fv.explain(model, small, top=6, seed=1).removed != found.removed


def test_more_than_there_are_can_be_asked_for(model: fv.Vanilla, small: fv.NodeGraph) -> None:
    found = fv.explain(model, small, top=10_000)
    assert len(found.links) == small.num_edges
    assert len(found.nodes) == (small.adjacency.degree > 0).sum()


def test_any_graph_with_the_same_channels_can_be_asked_about(model: fv.Vanilla) -> None:
    other = fv.synthetic_graph(50, seed=9)
    assert fv.explain(model, other).num_links == other.num_edges


def test_permuted_nodes_have_the_same_effects(found: fv.Explanation, model: fv.Vanilla, small: fv.NodeGraph) -> None:
    order = np.random.default_rng(0).permutation(60)
    place = np.argsort(order)
    links = LinkList.of(small.adjacency)
    adjacency, _ = fv.Adjacency.from_pairs(place[links.source], place[links.target], num_nodes=60)
    graph = small.replace(
        features=small.features[order], labels=small.labels[order], sensitive=small.sensitive[order],
        adjacency=adjacency, splits={name: mask[order] for name, mask in small.splits.items()},
        node_ids=tuple(str(i) for i in order),
    )  # fmt: skip
    again = fv.explain(model, graph, top=6)
    ends = [({link.source, link.target}, pytest.approx(link.effect)) for link in found.links]
    assert [({link.source, link.target}, link.effect) for link in again.links] == ends


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        ("nodes", {"node": pl.String, "effect": pl.Float64, "links": pl.Int64, "group": pl.String}),
        ("channels", {"channel": pl.String, "gap": pl.Float64, "home": pl.Float64, "links": pl.Float64}),
    ],
)
def test_each_table_is_a_frame(table: Any, columns: dict[str, Any], found: fv.Explanation) -> None:
    frame = found.to_frame(table)
    assert dict(frame.schema) == columns
    assert frame.to_dicts() == found.to_dict()[table]


def test_what_was_removed_is_a_frame_and_a_wrong_name_is_refused(found: fv.Explanation) -> None:
    assert found.to_frame("removed").to_dicts() == found.to_dict()["removed"]
    with pytest.raises(fv.InputError, match=r"to_frame: no table 'link'\. Did you mean 'links'\?"):
        found.to_frame("link")  # type: ignore[arg-type]


def test_it_reads_in_a_terminal_and_in_a_notebook(found: fv.Explanation) -> None:
    lines = repr(found).splitlines()
    assert lines[0] == "Explanation of vanilla (gcn) on synthetic"
    assert f"{found.widening} of {found.num_links} links widen this gap." in lines[2]
    assert lines[-1] == "  and 1 more; to_frame() has all links."
    page = found._repr_html_()
    assert page.count("<table") == 4
    assert "Links that widen the gap most" in page


def test_names_from_the_data_are_no_markup(model: fv.Vanilla, small: fv.NodeGraph) -> None:
    graph = small.replace(node_ids=tuple(f"<b>{i}" for i in range(60)), groups=("<i>", "m"))
    assert "<b>" not in (page := fv.explain(model, graph)._repr_html_())
    assert "<i>" not in page


def test_the_chart_is_the_figure_of_the_report(found: fv.Explanation) -> None:
    assert [each.title for each in found.chart().vconcat] == ["Gap without some of the links", "Parts of the gap"]
    with pytest.raises(fv.InputError, match="this Explanation has no figure 'leak'"):
        found.chart("leak")
