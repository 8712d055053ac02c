"""Arrays that are no graph are refused with all their problems at once, whatever they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fairview.data.graph import NodeGraph
from fairview.errors import InputError

ARRAYS: dict[str, Any] = {
    "features": [[0.5, 1], [1, 1], [2, 0], [3, 1]],
    "edges": [[0, 1, 2], [1, 2, 2]],
    "labels": [0, 1, -1, 1],
    "sensitive": ["f", "m", None, "f"],
    "channels": ["income", "gender"],
    "sensitive_channels": ("gender",),
}


def problems_of(**changes: Any) -> tuple[str, ...]:
    with pytest.raises(InputError) as refused:
        NodeGraph.from_arrays(**(ARRAYS | changes))
    return refused.value.problems


MASK = [True, False, False, False]
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a vector of features": ({"features": [1, 2]}, "features: shape (2,); expected (nodes, channels)."),
    "texts as features": ({"features": [["a"]]}, "features: must be numbers, got <U1."),
    "NaN": (
        {"features": [[np.nan, 1], [1, 1], [np.nan, 0], [3, 1]]},
        "features: channel 'income': 2 values are NaN (rows 0, 2).",
    ),
    "infinite": (
        {"features": [[0, 1], [1, -np.inf], [2, 0], [3, 1]]},
        "features: channel 'gender': 1 values are infinite (rows 1).",
    ),
    "beyond float32": (
        {"features": [[0, 1], [1, 1e39], [2, 0], [3, 1]]},
        "features: channel 'gender': 1 values are beyond the range of float32 (rows 1).",
    ),
    "edges in rows": (
        {"edges": [[0, 1], [1, 2], [2, 3]]},
        "edges: shape (3, 2); expected (2, number of edges). Transpose it.",
    ),
    "flat edges": ({"edges": [0, 1]}, "edges: shape (2,); expected (2, number of edges)."),
    "float edges": ({"edges": [[0.0], [1.0]]}, "edges: node numbers must be integers, got float64."),
    "unknown nodes": ({"edges": [[0, 7], [9, 1]]}, "edges: 2 of 2 edges name a node outside 0..3 ((0, 9), (7, 1))."),
    "other labels": ({"labels": [0, 2, 1, 1]}, "labels: expected 0, 1 and -1 (unlabelled), got 0, 1, 2."),
    "text labels": ({"labels": list("nyny")}, "labels: expected 0, 1 and -1 (unlabelled), got n, y."),
    "few labels": ({"labels": [0, 1]}, "labels: shape (2,); expected (4,)."),
    "few groups": ({"sensitive": ["f"]}, "sensitive: 1 values for 4 nodes."),
    "groups in a table": ({"sensitive": [["f"]] * 4}, "sensitive: shape (4, 1); expected one value per node."),
    "short mask": (
        {"splits": {"train": [True]}},
        "split 'train': expected 4 booleans, got bool with shape (1,).",
    ),
    "mask of numbers": (
        {"splits": {"train": [0, 1, 1, 0]}},
        "split 'train': expected 4 booleans, got int64 with shape (4,).",
    ),
    "overlap": (
        {"splits": {"train": [True, True, False, False], "val": [False] * 4, "test": [True, True, False, True]}},
        "splits 'train' and 'test' share 2 nodes (rows 0, 1); they must be disjoint.",
    ),
    "few names": ({"channels": ["gender"]}, "channels: 1 names for 2 columns of features."),
    "one class name": (
        {"classes": ("yes", "yes")},
        "classes: expected two different names, negative and positive, got yes, yes.",
    ),
    "three classes": (
        {"classes": ("a", "b", "c")},
        "classes: expected two different names, negative and positive, got a, b, c.",
    ),
    "few ids": ({"node_ids": ("a", "b", "c")}, "ids: 3 for 4 nodes."),
    "repeated ids": ({"node_ids": ("a", "b", "b", "a")}, "ids: must be unique; repeated: a, b."),
    "unknown sensitive channel": (
        {"sensitive_channels": ("gendre",)},
        "sensitive_channels: no channel 'gendre'. Did you mean 'gender'?",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_graph_is_refused_in_these_words(case: str) -> None:
    changes, message = REFUSED[case]
    assert problems_of(**changes) == (message,)


def test_repeated_channels_are_named() -> None:
    found = problems_of(channels=["a", "a"], sensitive_channels=())
    assert found == ("channels: names must be unique; repeated: a.",)


@pytest.mark.parametrize("name", ["features", "edges", "labels", "sensitive"])
def test_ragged_lists_are_refused_by_name(name: str) -> None:
    found = problems_of(**{name: [[0], [1, 2], [0], [0]]})
    assert len(found) == 1
    assert found[0].startswith(f"{name}: ")


def test_a_ragged_mask_is_refused_by_name() -> None:
    (found,) = problems_of(splits={"train": [[True], [True, False]]})
    assert found.startswith("split 'train': ")


def test_all_independent_problems_are_reported_together() -> None:
    found = problems_of(
        features=[[np.nan, 1e39], [1, 1], [np.inf, 0], [3, 1]],
        edges=[[0.5], [1.0]],
        labels=[0, 5, 1, 1],
        sensitive=["f"],
        splits={"train": [1], "val": MASK, "test": MASK},
    )
    assert found == (
        "features: channel 'income': 1 values are NaN (rows 0).",
        "features: channel 'income': 1 values are infinite (rows 2).",
        "features: channel 'gender': 1 values are beyond the range of float32 (rows 0).",
        "edges: node numbers must be integers, got float64.",
        "sensitive: 1 values for 4 nodes.",
        "labels: expected 0, 1 and -1 (unlabelled), got 0, 1, 5.",
        "split 'train': expected 4 booleans, got int64 with shape (1,).",
        "splits 'val' and 'test' share 1 nodes (rows 0); they must be disjoint.",
    )


# --- any malformed arrays ---------------------------------------------------------------------------------------------

SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5)
DTYPES = st.sampled_from(["?", "i1", "u8", "i8", "f2", "f8", "longdouble", "c8", "U2", "S2", "O", "M8[D]", "m8[s]"])
RAGGED = st.lists(st.lists(st.integers(-1, 4), max_size=3), max_size=5)
VALUES = st.none() | st.booleans() | st.integers(-2, 2**70) | st.floats() | st.text(max_size=2)


@st.composite
def any_array(draw: st.DrawFn) -> Any:
    kind = draw(st.sampled_from(["array", "array", "list", "ragged", "scalar"]))
    if kind == "array":
        dtype = draw(DTYPES)
        return draw(hnp.arrays(dtype, draw(SHAPES), elements=VALUES if dtype == "O" else None))
    if kind == "list":
        return draw(st.lists(VALUES, max_size=5))
    return draw(RAGGED if kind == "ragged" else VALUES)


PLACES = ("features:", "edges:", "labels:", "sensitive:", "channels:", "split '", "splits '", "ids:", "classes:")


def frozen_copy(value: Any) -> Any:
    return value.tobytes() if isinstance(value, np.ndarray) and value.dtype != object else repr(value)


@settings(max_examples=1500, deadline=None)
@given(
    features=hnp.arrays(np.float64, st.tuples(st.integers(0, 4), st.integers(0, 3))) | any_array(),
    edges=hnp.arrays(np.int64, st.tuples(st.just(2), st.integers(0, 5)), elements=st.integers(-1, 5)) | any_array(),
    labels=st.none() | st.lists(st.integers(-1, 1), max_size=4) | any_array(),
    sensitive=st.none() | any_array(),
    channels=st.none() | st.lists(st.text(max_size=2) | st.integers(0, 3), max_size=4),
    splits=st.none()
    | st.dictionaries(st.text(max_size=2), st.lists(st.booleans(), max_size=4) | any_array(), max_size=3),
    node_ids=st.none() | st.lists(st.text(max_size=2) | st.integers(), max_size=4),
    classes=st.lists(st.text(max_size=1), max_size=3),
    directed=st.booleans(),
)
def test_malformed_arrays_give_a_graph_or_an_input_error_and_are_left_alone(**arrays: Any) -> None:
    before = {name: frozen_copy(value) for name, value in arrays.items()}
    problems: tuple[str, ...] = ()
    try:
        graph = NodeGraph.from_arrays(**arrays)
    except InputError as error:
        problems = error.problems
    assert all(problem.startswith(PLACES) for problem in problems)
    if not problems:
        assert np.isfinite(graph.features).all()
        assert len(graph.channels) == graph.num_channels
        assert set(graph.labels.tolist()) <= {-1, 0, 1}
        assert graph.sensitive.max(initial=-1) < max(len(graph.groups), 1)
        assert len(graph.sha256) == 64
    assert {name: frozen_copy(value) for name, value in arrays.items()} == before
