"""FairVGNN with `link_kinds`: a weight and a mask for each kind of links, matched by name, and groups only by word."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from studies.link_kinds import planted_graph

import fairview as fv
from fairview.data.link_kinds import LinkKinds
from fairview.methods.link_kinds import with_kinds
from fairview.methods.registry import needs_group
from fairview.runs.run import train_run

SMALL = {"epochs": 3, "hidden": 4, "views": 3, "discriminator_steps": 2, "classifier_steps": 2, "generator_steps": 1}


@pytest.fixture(scope="module")
def graph() -> fv.NodeGraph:
    return planted_graph(1, nodes=200)


def small(**changes) -> fv.FairVGNN:
    return fv.FairVGNN(**SMALL | {"link_kinds": "given"} | changes)


def refused(call, *arguments) -> str:
    with pytest.raises(fv.InputError) as caught:
        call(*arguments)
    return str(caught.value)


# --- what is learnt ---------------------------------------------------------------------------------------------------


def test_a_planted_kind_that_carries_bias_is_kept_less_and_weighs_less_than_a_neutral_one():
    model = fv.FairVGNN(
        link_kinds="given", discriminator="energy", mask_density_weight=0.1, epochs=30,
        learning_rate_generator=0.01, learning_rate_encoder=0.01, threads=1,
    )  # fmt: skip
    model.fit(planted_graph(0, nodes=800))
    kept, weight = model.link_keep_probability_, model.link_weight_
    assert kept["kin"] < kept["work"] - 0.2
    assert weight["kin"] < 0.8 * weight["work"]


@pytest.mark.parametrize("encoder", ["gcn", "gin"])
@pytest.mark.parametrize("source", ["given", "bands", "groups"])
def test_every_source_and_encoder_trains_the_same_on_both_paths(graph, encoder, source):
    settings = {"encoder": encoder, "link_kinds": source, "group_at_prediction": source == "groups"}
    models = [small(**settings, path=path, precision="float64").fit(graph) for path in ("collapsed", "general")]
    one, other = (model.predict_proba(graph) for model in models)
    np.testing.assert_allclose(one, other, atol=1e-9)
    for name, weight in models[0].link_weight_.items():
        assert models[1].link_weight_[name] == pytest.approx(weight, abs=1e-9)
    assert list(models[0].link_weight_)[-1] == "itself"
    assert models[0].keep_probability_.keys() == {*graph.channels}
    assert models[0].link_keep_probability_.keys() == models[0].link_weight_.keys()


def test_all_kinds_with_weight_1_and_without_masks_are_gcn_itself():
    """With all weights 1 the sum over kinds is S: predictions of the same weights are those of plain GCN."""
    graph = planted_graph(2, nodes=120)
    model = small().fit(graph)
    tensors = model.tensors()
    plain = fv.FairVGNN(**SMALL).fit(graph)
    own = plain.tensors()
    for name in ("encoder.layers.0.lin.weight", "encoder.layers.0.bias", "classifier.weight", "classifier.bias"):
        own[name] = tensors[name]
    own["evaluation_masks"] = torch.ones_like(own["evaluation_masks"])
    tensors["evaluation_masks"] = torch.ones_like(tensors["evaluation_masks"])
    tensors["encoder.kinds.scale"] = torch.zeros_like(tensors["encoder.kinds.scale"])
    of_weight_one = small().restore(tensors, model.facts())
    expected = fv.FairVGNN(**SMALL).restore(own, plain.facts()).predict_proba(graph)
    np.testing.assert_allclose(of_weight_one.predict_proba(graph), expected, atol=1e-6)


def test_without_feature_masks_only_kinds_are_masked(graph):
    model = small(feature_masks=False).fit(graph)
    assert set(model.keep_probability_.values()) == {1.0}
    masks = model.tensors()["evaluation_masks"].view(3, 3, graph.num_channels)
    assert torch.equal(masks, masks[:, :, :1].expand_as(masks))
    assert all(0 < kept < 1 for kept in model.link_keep_probability_.values())


def test_the_clamp_bounds_what_all_kinds_share(graph):
    model = small(clamp_threshold=0.05).fit(graph)
    tensors = model.tensors()
    share = tensors["clamp_mask"].view(3, -1).mean(dim=0)
    assert (tensors["encoder.layers.0.lin.weight"].abs() <= 0.05 * share + 1e-7).all()


def test_without_link_kinds_a_graph_with_kinds_gives_the_bits_of_one_without(graph):
    plain = graph.replace(adjacency=dataclasses.replace(graph.adjacency, kinds=None))
    one, other = (fv.FairVGNN(**SMALL).fit(each).tensors() for each in (graph, plain))
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert fv.FairVGNN(**SMALL).fit(graph).link_weight_ == {}


# --- prediction and files ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["given", "bands", "groups"])
def test_a_saved_model_is_the_same_and_predicts_new_graphs(graph, source, tmp_path):
    model = small(link_kinds=source, group_at_prediction=source == "groups").fit(graph)
    model.save(tmp_path)
    other = fv.load_model(tmp_path)
    new = planted_graph(5, nodes=90)
    assert (other.predict_proba(new) == model.predict_proba(new)).all()
    assert other.link_weight_ == model.link_weight_
    assert other.link_keep_probability_ == model.link_keep_probability_
    assert other.representations(new).shape == (90, 4)
    assert fv.audit_model(other, graph, probes=False).theorem2.applies is False


def test_kinds_are_matched_by_name(graph):
    model, kinds = small().fit(graph), graph.adjacency.kinds
    swapped = LinkKinds(kinds.names[::-1], 1 - kinds.codes)
    other = graph.replace(adjacency=dataclasses.replace(graph.adjacency, kinds=swapped))
    assert (model.predict_proba(other) == model.predict_proba(graph)).all()
    renamed = graph.replace(
        adjacency=dataclasses.replace(graph.adjacency, kinds=LinkKinds(("kin", "club"), kinds.codes))
    )
    assert "kinds that the model was not fitted with: 'club'" in refused(model.predict_proba, renamed)


def test_bands_of_a_new_graph_have_the_cuts_of_the_first(graph):
    model = small(link_kinds="bands").fit(graph)
    new = planted_graph(7, nodes=150)
    cuts = model.facts().link_cuts
    given = with_kinds(new, "bands", graph.channels, known=model.facts())
    assert given.adjacency.kinds.equals(fv.link_bands(new, cuts).adjacency.kinds)


def test_a_graph_without_kinds_is_refused_and_one_without_links_is_not(graph):
    plain = graph.replace(adjacency=dataclasses.replace(graph.adjacency, kinds=None))
    assert refused(small().fit, plain) == (
        "link_kinds: the graph's links have no kinds. Read them from a column with link_kind, or take bands of "
        "similarity: link_kinds='bands'."
    )
    model = small().fit(graph)
    assert "fitted on links of the kinds 'kin', 'work', and this graph's have none" in refused(
        model.predict_proba, plain
    )
    alone = graph.replace(adjacency=fv.Adjacency.from_pairs([], [], num_nodes=graph.num_nodes)[0])
    assert model.predict_proba(alone).shape == (graph.num_nodes, 2)


def test_a_kind_called_itself_is_refused(graph):
    kinds = LinkKinds(("kin", "itself"), graph.adjacency.kinds.codes)
    other = graph.replace(adjacency=dataclasses.replace(graph.adjacency, kinds=kinds))
    assert "that of a node's link to itself. Rename yours." in refused(small().fit, other)


def test_interrupted_training_goes_on_to_the_same_bits(graph, tmp_path):
    whole = small(epochs=4).fit(graph)
    kept = {}

    def watch(progress, network):
        if len(progress.history) == 2:
            kept["state"] = (dataclasses.replace(progress, history=[*progress.history]), network.state())

    small(epochs=4).fit(graph, watch=watch)
    resumed = small(epochs=4).fit(graph, resume=kept["state"])
    assert all(torch.equal(whole.tensors()[name], tensor) for name, tensor in resumed.tensors().items())
    result = train_run(small(), graph, tmp_path / "run")
    assert result["interrupted"] is False
    assert fv.verify(tmp_path / "run", graph=graph).ok


# --- groups -----------------------------------------------------------------------------------------------------------


def test_groups_need_the_word(graph):
    assert refused(small(link_kinds="groups").fit, graph) == (
        "link_kinds: 'groups' needs each node's group at prediction, which is often not allowed. If it is, say so: "
        "group_at_prediction=True."
    )
    assert refused(small(group_at_prediction=True).fit, graph) == (
        "group_at_prediction: only link_kinds='groups' needs the groups at prediction; leave it out."
    )


def test_a_model_of_groups_says_that_it_needs_them_and_refuses_nodes_without(graph):
    model = small(link_kinds="groups", group_at_prediction=True).fit(graph)
    assert needs_group(model)
    assert not needs_group(small().fit(graph))
    assert tuple(model.link_weight_) == ("own group", "other group", "itself")
    nobody = graph.replace(sensitive=np.full(graph.num_nodes, -1, dtype=np.int16))
    assert "needs each node's group ('sensitive'), and none is known" in refused(model.predict_proba, nobody)
    some = graph.sensitive.copy()
    some[0] = -1
    said = refused(model.predict_proba, graph.replace(sensitive=some))
    assert "needs the group ('sensitive') of every node with links, as in its training, and that of 1 is not" in said


def test_links_of_unknown_groups_are_a_kind_of_their_own(graph):
    some = graph.sensitive.copy()
    some[:20] = -1
    model = small(link_kinds="groups", group_at_prediction=True).fit(graph.replace(sensitive=some))
    assert tuple(model.link_weight_) == ("own group", "other group", "unknown group", "itself")
    assert model.predict_proba(graph).shape == (graph.num_nodes, 2)


# --- what else is refused ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "which"),
    [
        ({"encoder": "sage"}, "'sage'"),
        ({"encoder": "sign"}, "'sign'"),
        ({"encoder": "mlp"}, "'mlp'"),
        ({"encoder": "gcn", "depth": 2}, "'gcn' of depth 2"),
        ({"encoder": torch.nn.Identity()}, "a module of your own"),
    ],
)
def test_other_encoders_are_refused(graph, settings, which):
    assert refused(small(**settings).fit, graph) == (
        f"link_kinds: the encoder is {which}; kinds of links have weights in 'gcn' and 'gin' of one layer."
    )


def test_what_other_terms_need_is_still_checked(graph):
    bad = small(self_supervision="agreement", views=1)
    assert "compares views, and there is 1" in refused(bad.fit, graph)


@pytest.mark.parametrize("kind", ["agreement", "reconstruction"])
def test_self_supervision_stands_beside_kinds(graph, kind):
    models = [
        small(self_supervision=kind, self_supervision_weight=1.0, path=path, precision="float64").fit(graph)
        for path in ("collapsed", "general")
    ]
    one, other = (model.predict_proba(graph) for model in models)
    np.testing.assert_allclose(one, other, atol=1e-9)


def test_groups_of_several_attributes_are_their_combinations(graph):
    two = {"sensitive": graph.sensitive, "age": np.arange(graph.num_nodes) % 2}
    several = fv.NodeGraph.from_arrays(
        features=graph.features, edges=np.stack([graph.adjacency.sources, graph.adjacency.indices]),
        labels=graph.labels, sensitive=two, splits=graph.splits,
    )  # fmt: skip
    model = small(link_kinds="groups", group_at_prediction=True).fit(several)
    assert tuple(model.link_weight_) == ("own group", "other group", "itself")
    assert model.predict_proba(several).shape == (graph.num_nodes, 2)


def test_propagated_folders_are_refused(tmp_path):
    people = fv.synthetic_graph(60, seed=1)
    frame = people.to_frame().drop("split")
    ends = {"source": people.adjacency.sources.astype(str), "target": people.adjacency.indices.astype(str)}
    folder = fv.propagate(frame, ends, folder=tmp_path / "folder", label="label", sensitive="sensitive", hops=1)
    sample = folder.sample()
    sample = sample.with_splits(fv.stratified_splits(sample, repeats=1)[0])
    for source in ("given", "bands", "groups"):
        model = small(link_kinds=source, group_at_prediction=source == "groups")
        assert refused(model.fit, sample).startswith("link_kinds: a propagated folder holds no kinds of links.")
        assert model.divisible() is False


# --- comparisons ------------------------------------------------------------------------------------------------------


def test_ablations_are_rows_of_one_comparison_and_those_of_groups_are_marked(graph, tmp_path):
    rows = [
        fv.FairVGNN(**SMALL),
        small(),
        small(link_kinds="groups", group_at_prediction=True),
    ]
    found = fv.compare(graph, methods=rows, folder=tmp_path / "study", seeds=1, plain=False, workers=1)
    document = found.to_dict()
    labels = {row["label"]: row["group_at_prediction"] for row in document["rows"]}
    assert [marked for label, marked in labels.items() if "link_kinds=groups" in label] == [True]
    assert [marked for label, marked in labels.items() if "link_kinds=given" in label] == [False]
    assert fv.verify(tmp_path / "study").ok
