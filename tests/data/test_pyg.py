from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import fairview as fv

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PyG's import is not ours to judge
    from torch_geometric.data import Data, HeteroData


def data(**changes: object) -> Data:
    """Three nodes in a chain; an attribute that is changed to None is left out."""
    attributes = {
        "x": torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
        "edge_index": torch.tensor([[0, 1], [1, 2]]),
        "y": torch.tensor([0, 1, -1]),
        "sensitive": torch.tensor([0, 1, 0]),
    } | changes
    return Data(**{name: value for name, value in attributes.items() if value is not None})


def refused(given: object, **options: object) -> str:
    with pytest.raises(fv.InputError) as caught:
        fv.from_pyg(given, **options)
    return str(caught.value)


def test_what_a_data_holds():
    graph = fv.from_pyg(data(train_mask=torch.tensor([True, False, False])), groups=["f", "m"])
    assert graph.features.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert (graph.num_edges, graph.labels.tolist()) == (2, [0, 1, -1])
    assert (graph.groups, graph.sensitive.tolist()) == (("f", "m"), [0, 1, 0])
    assert graph.splits["train"].tolist() == [True, False, False]


# --- there and back ---------------------------------------------------------------------------------------------------


def test_german_survives_the_round_trip():
    graph = fv.load_dataset("german")
    again = fv.from_pyg(graph.to_pyg())
    assert again.sha256 == graph.sha256
    assert (again.sensitive_name, again.sensitive_channels) == (graph.sensitive_name, graph.sensitive_channels)


@st.composite
def graphs(draw: st.DrawFn) -> fv.NodeGraph:
    n = draw(st.integers(1, 6))
    several = st.lists
    part = draw(several(st.sampled_from(["train", "val", "test", "none", "extra"]), min_size=n, max_size=n))
    names = draw(st.sampled_from([("train", "val", "test"), ("test", "train"), ("extra",), ()]))
    edges = np.array(draw(several(st.tuples(*[st.integers(0, n - 1)] * 2))), dtype=int).reshape(-1, 2).T
    weights = draw(st.sampled_from([None, edges.sum(axis=0) / 2]))  # the same both ways; 0 to 0 is a loop
    if weights is not None:
        edges, first = np.unique(np.sort(edges, axis=0), axis=1, return_index=True)
        weights = weights[first]
    graph = fv.NodeGraph.from_arrays(
        features=draw(several(several(st.floats(-9, 9, width=32), min_size=2, max_size=2), min_size=n, max_size=n)),
        edges=edges,
        sensitive=draw(st.none() | several(st.sampled_from(["f", "m", "d", None]), min_size=n, max_size=n)),
        directed=draw(st.booleans()),
        edge_weight=weights,
        classes=("bad", "good"),
        sensitive_name="sex",
        sensitive_channels=draw(st.sampled_from([(), ("x1",)])),
        node_ids=draw(st.sampled_from([None, tuple("abcdef"[:n])])),
        splits={name: np.array([word == name for word in part]) for name in names},
    )
    return graph.replace(labels=np.array(draw(several(st.sampled_from([-1, 0, 1]), min_size=n, max_size=n))))


@settings(deadline=None)
@given(graphs())
def test_every_graph_survives_the_round_trip(graph):
    again = fv.from_pyg(graph.to_pyg())
    assert again.sha256 == graph.sha256
    for field in ("channels", "classes", "groups", "sensitive_name", "sensitive_channels", "node_ids"):
        assert getattr(again, field) == getattr(graph, field)


# --- weights ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(2,), (2, 1)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64])
def test_weights_are_used_if_asked_for(shape, dtype):
    weights = torch.tensor([2, 5], dtype=dtype).reshape(shape)
    by_hand = fv.from_pyg(data(), edge_weight=weights)
    assert by_hand.adjacency.to_scipy().toarray().tolist() == [[0, 2, 0], [2, 0, 5], [0, 5, 0]]
    for name in ("edge_weight", "edge_attr", "hours"):
        named = fv.from_pyg(data(**{name: weights}), edge_weight=name)
        assert named.sha256 == by_hand.sha256
        assert not any("ignored" in note for note in named.provenance.notes)


def test_what_is_not_used_is_noted():
    graph = fv.from_pyg(data(edge_weight=torch.tensor([2.0, 5.0]), edge_attr=torch.ones(2, 3)))
    assert graph.sha256 == fv.from_pyg(data()).sha256
    assert graph.provenance.notes == (
        "data.edge_weight is ignored; pass edge_weight='edge_weight' to use it",
        "attributes of the edges ignored: 'edge_attr'",
        "2 edges given in one direction only, made symmetric",
    )


def test_edges_that_were_dropped_or_merged_are_noted():
    given = data(edge_index=torch.tensor([[0, 0, 1, 2], [1, 1, 0, 2]]))
    assert fv.from_pyg(given).provenance.notes == ("1 self-loops dropped", "1 parallel edges merged")
    assert fv.from_pyg(data(), directed=True).provenance.notes == ()


def test_what_goes_out_weighted_comes_in_weighted():
    graph = fv.from_pyg(data(), edge_weight=[0.5, 3])
    out = graph.to_pyg()
    assert out.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert (out.edge_weight.tolist(), out.weighted) == ([0.5, 0.5, 3, 3], True)
    out.edge_weight += 1  # a copy
    assert graph.adjacency.weights.tolist() == [0.5, 0.5, 3, 3]
    assert fv.from_pyg(graph.to_pyg()).sha256 == graph.sha256
    assert "edge_weight" not in fv.from_pyg(data()).to_pyg()


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (
            torch.tensor([1.0, float("nan")]),
            "edge_weight: 1 of 2 weights can't be used (edge 1: nan); a weight is 0 or a number from 1e-12 to 1e+12. "
            "Correct them, or rescale all weights.",
        ),
        (torch.ones(2, 2), "edge_weight: shape (2, 2); expected (2,), one weight for each edge."),
        (torch.ones(3), "edge_weight: shape (3,); expected (2,), one weight for each edge."),
        ("hour", "data: no attribute 'hour' with the weights of the edges. Did you mean 'hours'?"),
    ],
)
def test_bad_weights(weights, message):
    assert refused(data(hours=torch.ones(2)), edge_weight=weights) == message


def test_a_group_without_members_is_kept():
    graph = fv.NodeGraph.from_arrays(features=[[1.0]], edges=[[], []], sensitive=["f"])
    graph = graph.replace(groups=("f", "m"))
    assert fv.from_pyg(graph.to_pyg()).groups == ("f", "m")


def test_what_goes_out_can_be_changed_without_harm():
    graph = fv.load_dataset("german")
    before = graph.features.copy()
    out = graph.to_pyg()
    out.x += 1
    out.train_mask[:] = True
    np.testing.assert_array_equal(graph.features, before)
    assert graph.splits["train"].sum() == 100


def test_what_comes_in_is_never_changed_and_not_followed():
    given = data(train_mask=torch.tensor([True, False, False]))
    before = copy.deepcopy(given)
    graph = fv.from_pyg(given)
    for name, value in before.to_dict().items():
        assert torch.equal(given[name], value)
    given.x += 1
    assert graph.features[0, 0] == 1


# --- one error each, all listed ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"edge_index": torch.tensor([[0.0, 1.0], [1.0, 2.0]])},
            "edges: node numbers must be integers, got float32.",
        ),
        (
            {"edge_index": torch.tensor([[0, 1], [1, 2], [2, 0]])},
            "edges: shape (3, 2); expected (2, number of edges). Transpose it.",
        ),
        ({"edge_index": torch.tensor([[0, 9], [1, 2]])}, "edges: 1 of 2 edges name a node outside 0..2 ((9, 2))."),
        (
            {"x": torch.tensor([[1.0, float("nan")], [3.0, 4.0], [5.0, 6.0]])},
            "features: channel 'x1': 1 values are NaN (rows 0).",
        ),
        ({"train_mask": torch.tensor([True])}, "split 'train': expected 3 booleans, got bool with shape (1,)."),
        ({"val_mask": torch.tensor([1, 0, 0])}, "split 'val': expected 3 booleans, got int64 with shape (3,)."),
        ({"y": torch.tensor([0, 1, 2])}, "labels: expected 0, 1 and -1 (unlabelled), got 0, 1, 2."),
        ({"y": torch.tensor([[0], [1], [1]])}, "labels: shape (3, 1); expected (3,)."),
        ({"sensitive": torch.zeros(3, 2)}, "sensitive: shape (3, 2); expected one value per node."),
        ({"x": None}, "data: no 'x'."),
        ({"ids": ["a", "a", "b"]}, "ids: must be unique; repeated: a."),
        ({"ids": 5}, "data.ids: expected a list of texts, got 5."),
        ({"channels": "ab"}, "data.channels: expected a list of texts, got 'ab'."),
        ({"groups": 2}, "data.groups: expected a list of texts, got 2."),
        ({"groups": ["f"]}, "groups: 1 names for the codes 0 to 0, but there is 1."),
        ({"classes": ["a"]}, "data.classes: 1 names; expected those of the negative and the positive class."),
        (
            {"sensitive": None},
            "data: no attribute or channel 'sensitive' with the sensitive values. Known: edge_index, x, y.",
        ),
    ],
)
def test_bad_data(changes, message):
    found = refused(data(**changes))
    if "Known" in message:  # the order of attributes is PyG's
        found = found.split("Known")[0] + message[message.index("Known") :]
    assert found == message


@pytest.mark.parametrize("x", [torch.eye(3).to_sparse(), torch.ones(3, 2, dtype=torch.bfloat16)])
def test_tensors_that_are_no_arrays(x):
    assert refused(data(x=x)).startswith("data.x: can't be read as an array (")


@pytest.mark.parametrize("given", [None, 5, "data"])
def test_what_is_no_data(given):
    assert refused(given) == f"data: expected a torch_geometric.data.Data, got {type(given).__name__}."


def test_heterogeneous_data_has_no_x():
    assert refused(HeteroData()) == "2 problems:\n  - data: no 'x'.\n  - data: no 'edge_index'."


def test_overlapping_masks_are_a_leak_checked_pairwise():
    masks = {"train_mask": [1, 1, 0], "val_mask": [0, 1, 1], "test_mask": [1, 0, 1]}
    found = refused(data(**{name: torch.tensor(mask, dtype=torch.bool) for name, mask in masks.items()}))
    assert found == (
        "3 problems:\n"
        "  - splits 'train' and 'val' share 1 nodes (rows 1); they must be disjoint.\n"
        "  - splits 'train' and 'test' share 1 nodes (rows 0); they must be disjoint.\n"
        "  - splits 'val' and 'test' share 1 nodes (rows 2); they must be disjoint."
    )


def test_all_problems_are_listed():
    bad = data(
        x=torch.tensor([[1.0, float("inf")], [3.0, 4.0], [5.0, 6.0]]),
        edge_index=torch.tensor([[0.0], [1.0]]),
        y=torch.tensor([0, 1, 5]),
        train_mask=torch.tensor([True]),
    )
    with pytest.raises(fv.InputError) as caught:
        fv.from_pyg(bad, sensitive=["f", "m"])
    assert len(caught.value.problems) == 5


# --- where the sensitive values are -----------------------------------------------------------------------------------


def test_sensitive_values_of_the_callers_own():
    assert fv.from_pyg(data(sensitive=None), sensitive=["f", "m", "f"]).groups == ("f", "m")
    assert fv.from_pyg(data(sensitive=None), sensitive=torch.tensor([5, 6, 5])).groups == ("5", "6")


def test_a_channel_may_be_the_sensitive_attribute():
    graph = fv.from_pyg(data(x=torch.tensor([[1.0, 0.0], [3.0, 1.0], [5.0, 0.0]])), sensitive="s", channels=["a", "s"])
    assert (graph.groups, graph.sensitive.tolist(), graph.sensitive_channels) == (("0", "1"), [0, 1, 0], ("s",))


def test_minus_one_is_a_group_unless_the_groups_have_names():
    values = torch.tensor([-1, 1, -1])
    assert fv.from_pyg(data(sensitive=values)).group_sizes == {"-1": 2, "1": 1}
    named = fv.from_pyg(data(sensitive=values), groups=["f", "m"])
    assert (named.group_sizes, named.sensitive_unknown) == ({"f": 0, "m": 1}, 2)


def test_booleans_may_be_codes():
    assert fv.from_pyg(data(sensitive=torch.tensor([True, False, True])), groups=["f", "m"]).sensitive.tolist() == [
        1,
        0,
        1,
    ]


def test_mistyped_names():
    assert "Did you mean 'sensitive'?" in refused(data(), sensitive="sensitve")
    assert refused(data(label=torch.tensor([0, 1, 1])), label="lable") == (
        "data: no attribute 'lable' with the labels. Did you mean 'label'?"
    )


# --- what is said about the edges -------------------------------------------------------------------------------------


def test_one_way_edges_loops_and_duplicates_are_noted():
    pairs = torch.tensor([[0, 1, 1, 2, 0], [1, 0, 2, 2, 1]])
    assert fv.from_pyg(data(edge_index=pairs)).provenance.notes == (
        "1 self-loops dropped",
        "1 parallel edges merged",
        "1 edges given in one direction only, made symmetric",
    )
    assert fv.from_pyg(data(edge_index=pairs), directed=True).provenance.notes == (
        "1 self-loops dropped",
        "1 parallel edges merged",
    )


def test_edges_in_both_directions_need_no_note():
    assert fv.from_pyg(data(edge_index=torch.tensor([[0, 1], [1, 0]]))).provenance.notes == ()
    assert fv.from_pyg(data(edge_index=torch.empty((2, 0), dtype=torch.int64))).provenance.notes == ()


def test_attributes_of_edges_that_are_ignored_are_noted():
    given = data(edge_index=torch.tensor([[0, 1], [1, 0]]), edge_attr=torch.ones(2, 3), edge_type=torch.zeros(2))
    assert fv.from_pyg(given).provenance.notes == (
        "data.edge_type is ignored; pass link_kind='edge_type' to use it",
        "attributes of the edges ignored: 'edge_attr'",
    )
