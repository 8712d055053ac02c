"""A NodeGraph holds what it was given, checked, and nothing in it can be changed in place."""

from __future__ import annotations

import copy
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairview.data.adjacency import Adjacency
from fairview.data.graph import NodeGraph, Provenance
from fairview.errors import InputError
from fairview.metrics import Undefined

ARRAYS: dict[str, Any] = {
    "features": [[0.5, 1], [1, 1], [2, 0], [3, 1]],
    "edges": [[0, 1, 2], [1, 2, 2]],
    "labels": [0, 1, -1, 1],
    "sensitive": ["f", "m", None, "f"],
    "channels": ["income", "gender"],
    "splits": {"train": [True, False, False, False], "test": [False, True, False, True]},
    "sensitive_channels": ("gender",),
    "node_ids": ("007", "7", "c", "d"),
    "classes": ("no", "yes"),
    "sensitive_name": "gender",
}


def make(**changes: Any) -> NodeGraph:
    return NodeGraph.from_arrays(**(ARRAYS | changes))


def test_a_graph_by_hand() -> None:
    graph = make()
    assert graph.features.tolist() == [[0.5, 1], [1, 1], [2, 0], [3, 1]]
    assert graph.features.dtype == np.float32
    assert (graph.num_nodes, graph.num_edges, graph.num_channels) == (4, 2, 2)
    assert graph.adjacency.to_scipy().toarray().tolist() == [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    assert graph.labels.tolist() == [0, 1, -1, 1]
    assert graph.labelled.tolist() == [True, True, False, True]
    assert (graph.classes, graph.positive) == (("no", "yes"), "yes")
    assert (graph.sensitive.tolist(), graph.groups) == ([0, 1, -1, 0], ("f", "m"))
    assert (graph.group_sizes, graph.sensitive_unknown) == ({"f": 2, "m": 1}, 1)
    assert graph.ids == ("007", "7", "c", "d")
    assert graph.split("test").tolist() == [False, True, False, True]
    assert graph.split("all").tolist() == [True] * 4
    assert graph.channel_index("gender") == 1
    assert repr(graph) == "NodeGraph(4 nodes, 2 edges, 2 channels, sensitive 'gender': f 2, m 1)"


def test_labels_groups_splits_and_names_are_optional() -> None:
    graph = NodeGraph.from_arrays(features=np.zeros((3, 2)), edges=[])
    assert graph.labels.tolist() == [-1, -1, -1]
    assert (graph.groups, graph.sensitive_unknown) == ((), 3)
    assert graph.channels == ("x0", "x1")
    assert graph.ids == ("0", "1", "2")
    assert dict(graph.splits) == {}
    assert graph.provenance == Provenance(source="arrays")
    assert repr(graph) == "NodeGraph(3 nodes, 0 edges, 2 channels, sensitive 'sensitive': no groups)"


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
def test_empty_graphs_work(shape: tuple[int, int]) -> None:
    graph = NodeGraph.from_arrays(features=np.empty(shape), edges=[[], []])
    assert (graph.num_nodes, graph.num_channels, graph.num_edges) == (*shape, 0)
    assert isinstance(graph.homophily(), Undefined)
    assert len(graph.sha256) == 64


def test_one_direction_or_both_makes_no_difference_unless_directed() -> None:
    one, both = make(edges=[[0, 1], [1, 2]]), make(edges=[[0, 1, 2, 1], [1, 2, 1, 0]])
    assert one.sha256 == both.sha256
    directed = make(edges=[[0, 1], [1, 2]], directed=True)
    assert (directed.num_edges, directed.adjacency.num_pairs) == (2, 2)
    assert directed.sha256 != make(edges=[[0, 1, 2, 1], [1, 2, 1, 0]], directed=True).sha256 != both.sha256


@pytest.mark.parametrize(
    ("edges", "groups", "expected"),
    [
        ([[0, 1, 2], [1, 2, 3]], ["f", "f", "m", "m"], 2 / 3),
        ([[0, 1, 2, 0], [1, 2, 3, 0]], ["f", "f", "m", "m"], 2 / 3),  # a self-loop is no edge
        ([[0, 1, 2], [1, 2, 3]], ["f", "f", "f", "f"], 1.0),
        ([[0, 1, 2], [1, 2, 3]], ["f", "m", "f", "x"], 0.0),
        ([[0, 1, 2], [1, 2, 3]], ["f", "f", None, "m"], 1.0),  # only 0-1 has two known ends
    ],
)
def test_homophily_is_the_share_of_edges_within_a_group(
    edges: list[list[int]], groups: list[str | None], expected: float
) -> None:
    assert make(edges=edges, sensitive=groups).homophily() == pytest.approx(expected)


@pytest.mark.parametrize(("edges", "groups"), [([], ["f", "f", "m", "m"]), ([[0], [1]], ["f", None, "m", "m"])])
def test_homophily_without_an_edge_between_known_groups_is_undefined(edges: list[Any], groups: list[Any]) -> None:
    reason = "no edge joins two nodes whose sensitive group is known"
    assert make(edges=edges, sensitive=groups).homophily() == Undefined(reason)


# --- immutable --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["features", "labels", "sensitive", "groups", "splits", "adjacency", "classes"])
def test_no_attribute_can_be_set_or_deleted(name: str) -> None:
    graph = make()
    with pytest.raises(AttributeError):
        setattr(graph, name, None)
    with pytest.raises(AttributeError):
        delattr(graph, name)


def test_no_array_can_be_written_to() -> None:
    graph = make()
    for array in (graph.features, graph.labels, graph.sensitive, *graph.splits.values(), graph.adjacency.indices):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(TypeError):
        graph.splits["train"] = np.ones(4, dtype=bool)  # type: ignore[index]
    with pytest.raises(TypeError):
        graph.provenance.sha256["nodes.csv"] = "0"  # type: ignore[index]


def test_lists_of_names_become_tuples_of_texts() -> None:
    ids, groups = ["a", "b", "c", "d"], np.array(["f", "m"])
    graph = make(node_ids=ids, classes=["no", "yes"], sensitive_channels=["gender"]).replace(groups=groups)
    ids[0] = "z"
    groups[0] = "z"
    assert (graph.ids, graph.groups, graph.classes) == (("a", "b", "c", "d"), ("f", "m"), ("no", "yes"))
    assert all(type(name) is str for name in (*graph.groups, *graph.ids, *graph.sensitive_channels))


def callers_arrays() -> dict[str, Any]:
    return {
        "features": np.array(ARRAYS["features"], dtype=np.float32),
        "edges": np.array(ARRAYS["edges"]),
        "labels": np.array(ARRAYS["labels"], dtype=np.int8),
        "sensitive": np.array(ARRAYS["sensitive"], dtype=object),
        "splits": {name: np.array(mask) for name, mask in ARRAYS["splits"].items()},
    }


def test_the_callers_arrays_are_neither_changed_nor_shared() -> None:
    given = callers_arrays()
    before = copy.deepcopy(given)
    graph = make(**given)
    digest = graph.sha256
    for name in ("features", "edges", "labels", "sensitive"):
        assert given[name].tolist() == before[name].tolist()
        assert given[name].flags.writeable
    given["features"][:], given["edges"][:], given["labels"][:], given["sensitive"][:] = 9, 0, 0, "x"
    given["splits"]["train"][:] = True
    given["splits"]["more"] = np.ones(4, dtype=bool)
    assert graph.replace().sha256 == digest == make().sha256


def test_a_read_only_view_of_the_callers_array_is_copied_too() -> None:
    mine = np.array(ARRAYS["features"], dtype=np.float32)
    view = mine.view()
    view.flags.writeable = False
    graph = make().replace(features=view)
    mine[:] = 9
    assert graph.features.tolist() == ARRAYS["features"]


def test_read_only_arrays_and_pandas_are_accepted() -> None:
    given = callers_arrays()
    for name in ("features", "edges", "labels", "sensitive"):
        given[name].flags.writeable = False
    assert make(**given).sha256 == make().sha256
    frame = pd.DataFrame(ARRAYS["features"])
    assert make(features=frame, labels=pd.Series(ARRAYS["labels"])).sha256 == make().sha256
    assert make(labels=[0.0, 1.0, -1.0, 1.0]).sha256 == make().sha256


# --- other versions of a graph ----------------------------------------------------------------------------------------


def test_with_splits_replaces_all_of_them() -> None:
    graph = make().with_splits({"val": [True, True, False, False]})
    assert list(graph.splits) == ["val"]
    assert list(make().splits) == ["train", "test"]


def test_with_features_keeps_everything_else() -> None:
    masked = make().with_features(np.array(ARRAYS["features"]) * [1, 0])
    assert masked.features[:, 1].tolist() == [0, 0, 0, 0]
    assert (masked.channels, masked.sensitive_channels) == (("income", "gender"), ("gender",))
    renamed = make().with_features([[1], [2], [3], [4]], ["age"])
    assert (renamed.channels, renamed.sensitive_channels) == (("age",), ())
    assert renamed.labels.tolist() == make().labels.tolist()


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ([[1e40, 0]] * 4, "features: channel 'income': 4 values are beyond the range of float32 (rows 0, 1, 2, 3)."),
        ([[0, np.nan]] + [[0, 0]] * 3, "features: channel 'gender': 1 values are NaN (rows 0)."),
        ([["a", "b"]] * 4, "features: must be numbers, got <U1."),
        ([[1, 2, 3]] * 4, "channels: 2 names for 3 columns of features."),
    ],
)
def test_with_features_checks_them_like_any_others(features: Any, message: str) -> None:
    with pytest.raises(InputError) as refused:
        make().with_features(features)
    assert str(refused.value) == message


def test_without_channels_drops_them_by_name() -> None:
    graph = make().without_channels(["gender"])
    assert (graph.channels, graph.features.tolist(), graph.sensitive_channels) == (
        ("income",),
        [[0.5], [1], [2], [3]],
        (),
    )
    with pytest.raises(InputError) as refused:
        make().without_channels(["gendre"])
    assert str(refused.value) == "no channel 'gendre'. Did you mean 'gender'?"


def test_unknown_splits_are_named() -> None:
    with pytest.raises(InputError) as refused:
        make().split("tset")
    assert str(refused.value) == "no split 'tset'. Did you mean 'test'?"


def test_provenance_gathers_notes() -> None:
    first = Provenance(source="nodes.csv", sha256={"nodes.csv": "ab"})
    second = first.noting("2 self-loops dropped").noting("age scaled")
    assert first.notes == ()
    assert second == Provenance(
        source="nodes.csv", sha256={"nodes.csv": "ab"}, notes=("2 self-loops dropped", "age scaled")
    )


# --- the hash ---------------------------------------------------------------------------------------------------------

CHANGES: dict[str, Any] = {
    "features": [[0.5, 1], [1, 1], [2, 0], [3, 2]],
    "edges": [[0, 1], [1, 3]],
    "labels": [0, 1, 0, 1],
    "sensitive": ["f", "m", "m", "f"],
    "channels": ["wealth", "gender"],
    "splits": {"train": [True, False, True, False], "test": [False, True, False, True]},
    "sensitive_channels": (),
    "node_ids": ("07", "7", "c", "d"),
    "classes": ("yes", "no"),
    "sensitive_name": "sex",
    "directed": True,
}


@pytest.mark.parametrize("name", CHANGES)
def test_the_hash_changes_with_anything_a_model_may_see(name: str) -> None:
    assert make(**{name: CHANGES[name]}).sha256 != make().sha256


def test_the_hash_changes_with_the_name_of_a_split_or_a_group() -> None:
    assert make().with_splits({"train": make().splits["train"], "val": make().splits["test"]}).sha256 != make().sha256
    assert make(sensitive=["f", "x", None, "f"]).sha256 != make().sha256


def test_the_hash_is_not_cut_short_for_many_ids() -> None:
    ids = np.array([f"id {k}" for k in range(3000)])
    arrays: dict[str, Any] = {"features": np.zeros((3000, 1)), "edges": []}
    first = NodeGraph.from_arrays(**arrays, node_ids=ids)
    ids[1500] = "another"
    assert NodeGraph.from_arrays(**arrays, node_ids=ids).sha256 != first.sha256


def test_the_hash_does_not_depend_on_the_source_or_on_how_texts_are_stored() -> None:
    assert make(provenance=Provenance(source="elsewhere")).sha256 == make().sha256
    assert make(channels=np.array(["income", "gender"])).sha256 == make().sha256


def test_the_hash_is_the_same_in_another_process() -> None:
    script = "import fairview.data.graph as g; print(g.NodeGraph.from_arrays(**{arrays!r}).sha256)"
    found = subprocess.run(
        [sys.executable, "-c", script.format(arrays=ARRAYS)],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": "123", "PYTHONPATH": ":".join(sys.path)},
    )
    assert found.stdout.strip() == make().sha256


# --- checked again ----------------------------------------------------------------------------------------------------

DIRECT: dict[str, tuple[dict[str, Any], str]] = {
    "features beyond float32": (
        {"features": np.full((4, 2), 1e300)},
        "features: NaN, infinite values, or values beyond the range of float32.",
    ),
    "codes that are no integers": (
        {"sensitive": np.full(4, 0.5)},
        "sensitive: expected 4 codes from -1 (unknown) to 1.",
    ),
    "codes outside": ({"sensitive": np.array([0, 1, 2, 0])}, "sensitive: expected 4 codes from -1 (unknown) to 1."),
    "labels outside": ({"labels": np.array([0, 1, 2, 0])}, "labels: expected 4 values of 0, 1 or -1 (unlabelled)."),
    "groups of one name": ({"groups": ("f", "f")}, "groups: names must be unique, got f, f."),
    "links of another graph": (
        {"adjacency": Adjacency.from_pairs([0], [1], num_nodes=2)[0]},
        "edges: made for 2 nodes, but features has 4 rows.",
    ),
}


@pytest.mark.parametrize("case", DIRECT)
def test_replacing_fields_checks_them_again(case: str) -> None:
    changes, message = DIRECT[case]
    with pytest.raises(InputError) as refused:
        make().replace(**changes)
    assert str(refused.value) == message


def test_a_wrong_keyword_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="sensitve"):
        make(sensitve=["f"])
