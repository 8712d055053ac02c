from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairview as fv
from fairview.data.splits import with_default_split
from fairview.data.trainable import reasons_against
from fairview.methods.contract import check_trainable, training_rows


def graph(labels: list[int], sensitive: list[str | None], parts: list[str] | None = None) -> fv.NodeGraph:
    splits = {p: np.array([part == p for part in parts]) for p in ("train", "val", "test")} if parts else None
    made = fv.NodeGraph.from_arrays(
        features=np.zeros((len(labels), 1)), edges=[[], []], sensitive=sensitive, splits=splits
    )
    return made.replace(labels=np.array(labels, dtype=np.int8))


@pytest.mark.parametrize(
    ("labels", "sensitive", "parts", "reasons"),
    [
        ([0, 1, 0, 1], list("fmfm"), None, []),
        ([0, 1, 0, 1], list("ffff"), None, ["one group only ('f'); at least two are needed to compare"]),
        ([0, 1, 0, 1], [None] * 4, None, ["no node has a sensitive value; at least two are needed to compare"]),
        ([1, 1, 1, -1], list("fmfm"), None, ["all 3 labels are '1'; both classes are needed"]),
        ([-1, -1, -1, -1], list("fmfm"), None, ["no node has a label"]),
        ([0, 1], list("fm"), None, ["2 labelled nodes are too few to divide into train, val and test"]),
        (
            [0, 0, 1, 1],
            list("fmfm"),
            ["train", "train", "test", "test"],
            [
                "all 2 labels in the train split are '0'; both classes are needed",
                "no node of the val split has a label",
            ],
        ),
        ([0, 1, -1], list("fmf"), ["val", "test", "train"], ["no node of the train split has a label"]),
    ],
)
def test_every_reason_is_given(labels, sensitive, parts, reasons):
    assert reasons_against(graph(labels, sensitive, parts)) == reasons


def test_each_of_several_attributes_needs_two_groups():
    made = graph([0, 1, 0, 1], {"sex": list("fmfm"), "race": list("aaaa"), "age": [None] * 4})
    assert reasons_against(made) == [
        "'race': one group only ('a'); at least two are needed to compare",
        "'age': no node has a sensitive value; at least two are needed to compare",
    ]
    with pytest.raises(fv.InputError, match="'race' has fewer than two groups"):
        check_trainable(with_default_split(made)[0])


@settings(max_examples=200, deadline=None)
@given(st.data(), st.integers(1, 8), st.booleans())
def test_there_is_a_reason_exactly_when_training_refuses(data, n, own_split):
    labels = data.draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=n, max_size=n))
    sensitive = data.draw(st.lists(st.sampled_from(["f", "m", None]), min_size=n, max_size=n))
    parts = data.draw(st.lists(st.sampled_from(["train", "val", "test", ""]), min_size=n, max_size=n))
    made = graph(labels, sensitive, parts if own_split else None)
    refused = False
    try:
        split, _ = with_default_split(made)
        check_trainable(split)
        training_rows(split)
    except fv.InputError:
        refused = True
    assert bool(reasons_against(made)) == refused
