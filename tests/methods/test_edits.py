"""EDITS: what it masks and prunes, that the rest is Vanilla, and that prediction asks for nobody's group."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load, save
from scipy.stats import wasserstein_distance

import fairview as fv
from fairview.data.datasets import describe
from fairview.methods.edits import EDITS, channel_scale, kept_channels
from fairview.methods.estimator import Estimator
from fairview.nn.wasserstein import Hop, group_contrasts, mean_differences

SMALL = {"epochs": 3, "hidden": 4, "masked_channels": 2, "edge_threshold": 0.2, "seed": 1}


def fitted(graph: fv.NodeGraph, **changes: Any) -> EDITS:
    return EDITS(**SMALL | changes).fit(graph)


def same(one: Estimator, other: Estimator) -> bool:
    a, b = one.tensors(), other.tensors()
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def distance(graph: fv.NodeGraph, like: fv.NodeGraph) -> float:
    """After up to two hops, every channel measured in the units of `like`."""
    features = torch.tensor(graph.features, dtype=torch.float64) / channel_scale(like.features)
    hop = Hop(graph.adjacency, share=0.5)
    return float(mean_differences(features, group_contrasts(graph.sensitive), hop, hops=2).abs().sum())


# --- what it does to the graph ----------------------------------------------------------------------------------------


def test_planted_leaks_are_masked_and_the_distance_falls_with_each_step():
    made = fv.synthetic_graph(400, average_degree=10, homophily=0.9, seed=3)
    graph = made.with_splits(fv.stratified_splits(made, repeats=1)[0])
    masking, both = fitted(graph, edge_threshold=None), fitted(graph, edge_threshold=0.05)
    assert [name for name, kept in both.keep_probability_.items() if not kept] == ["proxy_weak", "proxy_strong"]
    before, masked, pruned = (
        distance(some, graph) for some in (graph, masking.fair_view(graph), both.fair_view(graph))
    )
    assert masked < 0.2 * before
    assert pruned < 0.95 * masked
    assert 0.5 * graph.num_edges < both.fair_view(graph).num_edges < graph.num_edges


def test_on_german_the_authors_log_is_met():
    """Their log: attribute bias 0.17086205 before, 0.05468373 after; structural bias 0.28068608 before."""
    graph = fv.load_dataset("german")
    model = fitted(graph, masked_channels=4, **describe("german").published["edits"], epochs=1)
    view, members = model.fair_view(graph), graph.sensitive == 0
    norm = channel_scale(graph.features) * graph.num_nodes**0.5

    def bias(x: torch.Tensor) -> float:
        return sum(wasserstein_distance(column[members], column[~members]) for column in x.T.numpy())

    before, after = (torch.tensor(some.features, dtype=torch.float64) / norm for some in (graph, view))
    assert bias(before) == pytest.approx(0.17086205, abs=1e-7)
    assert bias(after) == pytest.approx(0.05468373, abs=1e-7)
    structural = [1.9 * bias(Hop(g.adjacency, share=0.5)(x)) for g, x in ((graph, before), (view, after))]
    assert structural[0] == pytest.approx(0.28068608, abs=1e-7)
    assert structural[1] < 0.1  # theirs, with links added too, ends at 0.0938
    assert model.notes_[0].endswith("pruned 267 of 21,742 links.")


def test_a_lower_threshold_prunes_more_and_the_same_first(graph):
    left = [fitted(graph, edge_threshold=r).fair_view(graph).adjacency for r in (1.0, 0.5, 0.2, 0.01)]
    links = [set(zip(one.sources.tolist(), one.indices.tolist(), strict=True)) for one in left]
    assert len(links[0]) == graph.adjacency.num_pairs
    assert links[0] > links[1] > links[2] > links[3]


def test_units_do_not_matter(graph):
    factors = np.array([1, 100, 0.01, 1, 7, 1, 1, 3], dtype=np.float32)
    scaled = graph.with_features(graph.features * factors)
    one, other = fitted(graph), fitted(scaled)
    assert one.keep_probability_ == other.keep_probability_
    np.testing.assert_array_equal(one.fair_view(graph).adjacency.indices, other.fair_view(scaled).adjacency.indices)


def test_a_channel_of_zeros_is_no_trouble(graph):
    features = graph.features.copy()
    features[:, 3] = 0
    assert fitted(graph.with_features(features)).keep_probability_[graph.channels[3]] == 1


def test_equal_channels_are_masked_in_their_order():
    assert kept_channels(torch.ones(1, 3, 4), 2).tolist() == [0, 0, 1, 1]


# --- the rest is Vanilla ----------------------------------------------------------------------------------------------


def test_with_nothing_masked_and_nothing_pruned_it_is_vanilla(graph, other_graph, weighing_or_not):
    graph, other_graph = weighing_or_not(graph), weighing_or_not(other_graph)
    plain = fv.Vanilla(epochs=3, hidden=4, seed=1).fit(graph)
    idle = fitted(graph, masked_channels=0, edge_threshold=None)
    np.testing.assert_array_equal(idle.predict_proba(other_graph), plain.predict_proba(other_graph))


@pytest.mark.parametrize("encoder", ["gcn", "gin", "sage"])
def test_it_is_vanilla_on_the_fair_view(graph, other_graph, encoder, weighing_or_not):
    graph, other_graph = weighing_or_not(graph), weighing_or_not(other_graph)
    model = fitted(graph, encoder=encoder, precision="float64")
    plain = fv.Vanilla(encoder=encoder, epochs=3, hidden=4, seed=1, precision="float64").fit(model.fair_view(graph))
    for some in (graph, other_graph):
        found, expected = model.predict_proba(some), plain.predict_proba(model.fair_view(some))
        np.testing.assert_allclose(found, expected, atol=1e-10)
    assert not np.allclose(plain.predict_proba(graph), model.predict_proba(graph), atol=1e-4)


def test_it_goes_on_from_a_checkpoint_bit_by_bit(graph):
    kept: list[Any] = []

    def stop(progress: Any, network: Any) -> None:
        if progress.epochs == 2:
            kept.append((progress, network.state()))
            raise KeyboardInterrupt

    EDITS(**SMALL | {"epochs": 5}).fit(graph, watch=stop)
    resumed = EDITS(**SMALL | {"epochs": 5}).fit(graph, resume=kept[0])
    assert same(resumed, fitted(graph, epochs=5))


# --- whose group it looks at ------------------------------------------------------------------------------------------


def test_prediction_asks_for_nobodys_group(graph, other_graph):
    model = fitted(graph)
    for some in (graph, other_graph):
        unknown = some.replace(sensitive=np.full_like(some.sensitive, -1))
        assert model.fair_view(some).num_edges < some.num_edges
        np.testing.assert_array_equal(model.predict_proba(unknown), model.predict_proba(some))


def test_unknown_groups_are_left_out_of_the_distance(graph):
    """Nodes without links and without a group change nothing but the mean of the critic."""
    extra = np.full((5, graph.num_channels), 1000.0, dtype=np.float32)
    links, nodes = graph.adjacency, graph.num_nodes + 5
    larger = graph.replace(
        features=np.concatenate([graph.features, extra]),
        adjacency=fv.Adjacency.from_pairs(links.sources, links.indices, num_nodes=nodes)[0],
        labels=np.append(graph.labels, [-1] * 5),
        sensitive=np.append(graph.sensitive, [-1] * 5),
        splits={name: np.append(mask, [False] * 5) for name, mask in graph.splits.items()},
    )
    shared = [model.tensors()["pruning.directions"].sign() for model in (fitted(graph, hops=0), fitted(larger, hops=0))]
    assert torch.equal(*shared)


def test_only_the_train_split_is_asked_if_so_wished(graph):
    turned = graph.replace(sensitive=np.where(graph.splits["train"], graph.sensitive, 1 - graph.sensitive))
    assert same(fitted(graph, sensitive_nodes="train"), fitted(turned, sensitive_nodes="train"))
    assert not same(fitted(graph), fitted(turned))


def test_three_groups_have_three_critics():
    made = fv.synthetic_graph(150, groups={"a": 0.3, "b": 0.3, "c": 0.4}, average_degree=6, seed=1)
    graph = made.with_splits(fv.stratified_splits(made, repeats=1)[0])
    model = fitted(graph)
    assert model.tensors()["pruning.directions"].shape == (3, 3, 8)
    assert distance(model.fair_view(graph), graph) < distance(graph, graph)


def test_sensitive_channels_can_be_left_out(graph, other_graph):
    model = fitted(graph, sensitive_channels=False)
    assert "proxy_strong" not in model.facts().channels
    assert len(model.fair_view(other_graph).channels) == 7
    assert np.isfinite(model.predict_proba(other_graph)).all()


def test_directed_links_stay_directed(graph):
    links = graph.adjacency
    one_way = fv.Adjacency.from_pairs(
        *(ends[links.sources < links.indices] for ends in (links.sources, links.indices)), num_nodes=120, directed=True
    )[0]
    view = fitted(graph.replace(adjacency=one_way)).fair_view(graph.replace(adjacency=one_way))
    assert view.adjacency.directed
    assert 0 < view.num_edges < one_way.num_edges


# --- what it refuses --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [("masked_channels", -1), ("edge_threshold", 0.0), ("edge_threshold", 1.5), ("hops", -1), ("neighbour_share", 1.1)],
)
def test_values_out_of_range(graph, name, value):
    with pytest.raises(fv.InputError, match=rf"^EDITS: {name}={value}; "):
        fitted(graph, **{name: value})


def test_one_channel_must_stay(graph):
    with pytest.raises(fv.InputError, match=r"^masked_channels: 8 of 8 channels; at least one must stay\.$"):
        fitted(graph, masked_channels=8)


def test_one_group_in_train(graph):
    alone = graph.replace(sensitive=np.where(graph.splits["train"], 0, graph.sensitive))
    message = r"^train: 'group' has fewer than two groups in the train split\. Set sensitive_nodes='all'\.$"
    with pytest.raises(fv.InputError, match=message):
        fitted(alone, sensitive_nodes="train")


@pytest.mark.parametrize("shape", [(1, 3, 7), (1, 0, 8), (3, 8), (0, 3, 8)])
def test_a_model_file_with_another_critic_is_refused(graph, tmp_path, shape):
    import hashlib

    from fairview.methods.model_files import canonical, checked

    fitted(graph).save(tmp_path)
    tensors = load((tmp_path / "model.safetensors").read_bytes())
    payload = save(tensors | {"pruning.directions": torch.zeros(shape, dtype=torch.float64)})
    (tmp_path / "model.safetensors").write_bytes(payload)
    document = checked((tmp_path / "model.json").read_bytes(), "model.json")
    document["tensors_sha256"] = hashlib.sha256(payload).hexdigest()
    (tmp_path / "model.json").write_bytes(canonical(document))
    with pytest.raises(fv.ModelFileError):
        fv.load_model(tmp_path)


@pytest.mark.slow
def test_thirty_thousand_nodes_need_no_dense_matrix():
    script = """if True:
        import json, resource, warnings
        warnings.simplefilter("ignore")
        import fairview as fv
        from fairview.methods.edits import EDITS
        graph = fv.synthetic_graph(30_000, average_degree=20, seed=1)
        graph = graph.with_splits(fv.stratified_splits(graph, repeats=1)[0])
        view = EDITS(edge_threshold=0.02, epochs=2, threads=1).fit(graph).fair_view(graph)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps([view.num_edges, graph.num_edges, peak]))
    """
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120)
    left, links, megabytes = json.loads(done.stdout)
    assert left < links == 300_000
    assert megabytes < 1500, "one dense matrix of float32 alone would be 3,600"
