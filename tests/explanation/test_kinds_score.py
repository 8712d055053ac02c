"""Models that weigh kinds of links: exact effects, against models that predict the graph without the links."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import logit
from studies.link_kinds import planted_graph

import fairview as fv
from fairview.explanation.links import LinkList
from fairview.explanation.score_of import links_seen

MANY = 40
SMALL: dict[str, Any] = {
    "epochs": 3, "hidden": 4, "views": 3, "discriminator_steps": 2, "classifier_steps": 2, "generator_steps": 2,
    "learning_rate_encoder": 0.05, "learning_rate_generator": 0.05, "precision": "float64",
}  # fmt: skip


def weighing(source: str, **settings: Any) -> fv.FairVGNN:
    return fv.FairVGNN(**SMALL | settings, link_kinds=source, group_at_prediction=source == "groups")  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def graph() -> fv.NodeGraph:
    """Kin and work, and a node without links."""
    made = planted_graph(1, nodes=80)
    links = LinkList.of(made.adjacency)
    return made.replace(adjacency=links.without(links.at(3)))


def changed(graph: fv.NodeGraph, *, directed: bool, weighted: bool) -> fv.NodeGraph:
    """Links turned either way, a fifth in both directions and of two kinds; of any weight."""
    links, rng = LinkList.of(graph.adjacency), np.random.default_rng(0)
    assert links.kinds is not None
    source, target, kind = links.source, links.target, links.kinds.codes
    if directed:
        turned, both = (rng.random(len(links)) < share for share in (0.5, 0.2))
        source, target = np.where(turned, target, source), np.where(turned, source, target)
        source, target = np.append(source, target[both]), np.append(target, source[both])
        kind = np.append(kind, 1 - kind[both])
    weights = 4 ** rng.uniform(-1, 1, len(source)) if weighted else None
    adjacency, _ = fv.Adjacency.from_pairs(
        source,
        target,
        num_nodes=graph.num_nodes,
        directed=directed,
        weights=weights,
        kinds=np.array(links.kinds.names)[kind],
    )
    return graph.replace(adjacency=adjacency)


def check(model: Any, graph: fv.NodeGraph, gap: Callable[..., float], removing: Callable[..., fv.NodeGraph]) -> None:
    model.fit(graph)
    found = fv.explain(model, graph, top=1)
    assert found.exact
    assert len(set(model.link_weight_.values())) > 1
    assert found.gap == pytest.approx(gap(model, graph, found.groups[0]), abs=1e-9)
    rng = np.random.default_rng(0)
    for place in rng.choice(found.num_links, min(MANY, found.num_links), replace=False):
        left = gap(model, removing(graph, np.array([place])), found.groups[0])
        assert found.every.effect[place] == pytest.approx(found.gap - left, abs=1e-9)


@pytest.mark.parametrize("source", ["given", "bands", "groups"])
@pytest.mark.parametrize("encoder", ["gcn", "gin"])
@pytest.mark.parametrize("operator", ["gcn", "mean", "sum"])
def test_the_effect_of_a_link_is_that_of_its_removal(
    source: str, encoder: Any, operator: Any, graph: fv.NodeGraph, gap: Any, removing: Any
) -> None:
    check(weighing(source, encoder=encoder, operator=operator, self_loops=2), graph, gap, removing)


@pytest.mark.parametrize("source", ["given", "bands", "groups"])
@pytest.mark.parametrize("operator", ["gcn", "mean", "sum"])
@pytest.mark.parametrize(("directed", "weighted"), [(True, False), (False, True), (True, True)])
def test_of_directed_and_weighted_links_too(
    source: str, operator: Any, directed: bool, weighted: bool, graph: fv.NodeGraph, gap: Any, removing: Any
) -> None:
    other = changed(graph, directed=directed, weighted=weighted)
    check(weighing(source, operator=operator, feature_masks=False), other, gap, removing)


@pytest.mark.parametrize("operator", ["gcn", "mean"])
def test_without_self_loops_a_node_may_be_left_with_nothing(operator: Any, gap: Any, removing: Any) -> None:
    sparse = planted_graph(2, nodes=60, average_degree=3)
    check(weighing("given", operator=operator, self_loops=0), sparse, gap, removing)


@pytest.fixture(scope="module")
def model(graph: fv.NodeGraph) -> fv.FairVGNN:
    return weighing("bands").fit(graph)


@pytest.fixture(scope="module")
def found(model: fv.FairVGNN, graph: fv.NodeGraph) -> fv.Explanation:
    return fv.explain(model, graph, top=6)


def test_of_many_links_and_of_nodes_too(
    found: fv.Explanation, model: fv.FairVGNN, graph: fv.NodeGraph, gap: Any, removing: Any
) -> None:
    order, links = np.argsort(-found.every.effect, kind="stable"), LinkList.of(graph.adjacency)
    rows = [row for row in found.removed if row.chosen == "effect"]
    assert max(row.k for row in rows) >= 60
    for row in rows:
        left = removing(graph, order[: row.k])
        assert row.after.gap == pytest.approx(gap(model, left, found.groups[0]), abs=1e-9)
        assert row.after.accuracy == fv.evaluate(model, left)["accuracy"]
    assert len(found.nodes) == 6
    for node in found.nodes:
        left = gap(model, removing(graph, links.at(int(node.node))), found.groups[0])
        assert node.effect == pytest.approx(found.gap - left, abs=1e-9)


@pytest.mark.parametrize("encoder", ["gcn", "gin"])
@pytest.mark.parametrize("source", ["given", "bands", "groups"])
def test_the_parts_of_kinds_add_up_to_the_gap_and_their_effects_are_those_of_removal(
    source: str, encoder: Any, graph: fv.NodeGraph, gap: Any, removing: Any
) -> None:
    model = weighing(source, encoder=encoder).fit(graph)
    found = fv.explain(model, graph)
    assert [kind.kind for kind in found.kinds] == list(model.link_weight_)
    assert sum(kind.links for kind in found.kinds) == found.num_links
    assert sum(kind.gap for kind in found.kinds) == pytest.approx(found.gap)  # type: ignore[misc]
    links = LinkList.of(model.seen(graph).adjacency)
    assert links.kinds is not None
    *kinds, itself = found.kinds
    for code, kind in enumerate(kinds):
        own = np.flatnonzero(links.kinds.codes == code)
        left = gap(model, removing(graph, own), found.groups[0])
        assert (kind.links, kind.effect) == (len(own), pytest.approx(found.gap - left, abs=1e-9))
    assert (itself.kind, itself.links, itself.effect) == ("itself", 0, None)


@pytest.mark.parametrize("encoder", ["gcn", "gin"])
def test_the_part_of_a_kind_is_what_the_gap_loses_if_the_model_hides_it(
    encoder: Any, graph: fv.NodeGraph, gap: Any
) -> None:
    model = weighing("given", encoder=encoder).fit(graph)
    found = fv.explain(model, graph)
    for place, kind in enumerate(found.kinds):
        tensors = model.tensors()
        tensors["evaluation_masks"].view(3, 3, -1)[:, place] = 0
        left = gap(weighing("given", encoder=encoder).restore(tensors, model.facts()), graph, found.groups[0])
        assert kind.gap == pytest.approx(found.gap - left, abs=1e-9)


def test_a_part_of_a_kind_or_channel_is_what_the_layer_sees_of_it(graph: fv.NodeGraph) -> None:
    """Against the columns of the layer: `fair_view` has S_t X under the mean mask for each kind."""
    model = weighing("given").fit(graph)
    found = fv.explain(model, graph)
    head, layer = model.fitted_.classifier.weight, model.fitted_.encoder.column_weights
    columns = model.fair_view(graph).features.astype(np.float64) * (head @ layer).detach().numpy()[0]
    first = graph.sensitive == graph.groups.index(found.groups[0])
    parts = (columns[first].mean(axis=0) - columns[~first].mean(axis=0)).reshape(3, -1)
    assert [kind.gap for kind in found.kinds] == pytest.approx(parts.sum(axis=1).tolist(), abs=1e-6)
    for channel in found.channels:
        own = parts[:, graph.channel_index(channel.channel)]
        assert (channel.gap, channel.home) == pytest.approx((own.sum(), own[-1]), abs=1e-6)
        assert channel.links == pytest.approx(own[:-1].sum(), abs=1e-6)


def test_groups_are_those_of_the_training_whichever_attribute_is_compared(gap: Any, removing: Any) -> None:
    made = planted_graph(3, nodes=80)
    ages = np.random.default_rng(0).choice(["old", "young"], 80)
    graph = fv.NodeGraph.from_arrays(
        features=made.features,
        channels=made.channels,
        edges=np.stack([made.adjacency.sources, made.adjacency.indices]),
        labels=made.labels,
        sensitive={"sex": np.array(made.groups)[made.sensitive], "age": ages},
        splits=made.splits,
    )
    model = weighing("groups").fit(graph)
    found = fv.explain(model, graph, attribute="age")
    assert found.sensitive == "age"
    assert [kind.kind for kind in found.kinds] == ["own group", "other group", "itself"]
    links, aged = LinkList.of(graph.adjacency), graph.attribute("age")
    same = graph.sensitive[links.source] == graph.sensitive[links.target]  # of sex and age together
    assert found.kinds[0].links == same.sum()
    place, codes = 7, aged.sensitive == aged.groups.index(found.groups[0])
    before, after = (logit(model.predict_proba(each)[:, 1]) for each in (graph, removing(graph, np.array([place]))))
    left, right = ((u[codes].mean() - u[~codes].mean()) for u in (before, after))
    assert found.every.effect[place] == pytest.approx(left - right, abs=1e-9)


def test_of_an_ensemble_a_kind_has_the_effect_of_its_removal_and_no_part(
    graph: fv.NodeGraph, gap: Any, removing: Any
) -> None:
    settings = SMALL | {"link_kinds": "given"}
    model = fv.Ensemble("fairvgnn", members=2, model_settings=settings).fit(graph)
    found, links = fv.explain(model, graph, top=2), LinkList.of(graph.adjacency)
    assert not found.exact
    assert links.kinds is not None
    assert [kind.gap for kind in found.kinds] == [None, None, None]
    for code, kind in enumerate(found.kinds[:2]):
        left = gap(model, removing(graph, np.flatnonzero(links.kinds.codes == code)), found.groups[0])
        assert kind.effect == pytest.approx(found.gap - left, abs=1e-9)
    assert "kind of links" not in repr(found)


# --- how it is told ---------------------------------------------------------------------------------------------------


def test_kinds_are_in_the_document_the_tables_and_the_words(found: fv.Explanation, model: fv.FairVGNN) -> None:
    document = found.to_dict()
    assert [row["kind"] for row in document["kinds"]] == list(model.link_weight_)
    assert set(document["kinds"][0]) == {"kind", "links", "gap", "effect"}
    assert {row["kind"] for row in document["links"]} <= set(model.link_weight_)
    assert found.to_frame("kinds").to_dicts() == document["kinds"]
    frame = found.to_frame()
    assert frame.columns == ["source", "target", "effect", "kind"]
    assert frame["kind"][0] == document["links"][0]["kind"]
    counts = dict(frame["kind"].value_counts().iter_rows())
    assert counts == {kind.kind: kind.links for kind in found.kinds[:-1]}
    largest = max(found.kinds, key=lambda kind: abs(kind.gap or 0))
    assert f"Largest parts by kind of links: {largest.kind} ({largest.gap:+.3f}), " in repr(found)
    page = found._repr_html_()
    assert "Parts of the gap by kind of links" in page
    links = page[page.index("Links that widen the gap most") :]
    assert links.index("groups") < links.index("kind") < links.index("effect")
    assert links.index(document["links"][0]["target"]) < links.index(document["links"][0]["kind"])


def test_a_model_that_weighs_no_kinds_says_nothing_of_them(graph: fv.NodeGraph) -> None:
    """Though the graph has some: the bytes are as without."""
    found = fv.explain(fv.Vanilla(epochs=3).fit(graph), graph, top=2)
    document = found.to_dict()
    assert "kinds" not in document
    assert "kind" not in document["links"][0]
    assert found.to_frame().columns == ["source", "target", "effect"]
    assert found.to_frame("kinds").shape == (0, 4)
    assert "kind of links" not in repr(found) + found._repr_html_()


def test_links_of_kinds_that_the_model_never_saw_are_refused(graph: fv.NodeGraph) -> None:
    model = weighing("given").fit(graph)
    plain = graph.replace(adjacency=links_seen(fv.Vanilla(epochs=1).fit(graph), graph))
    with pytest.raises(fv.InputError, match="the model was fitted on links of the kinds 'kin', 'work', and this graph"):
        fv.explain(model, plain)
