"""Gradient-boosted trees as plain arrays: scikit-learn's numbers, without its objects."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import GradientBoostingClassifier

import fairview as fv
from fairview.methods.gradient_boosting import LEAF, Forest, GradientBoosting


@pytest.fixture(scope="module")
def german() -> fv.NodeGraph:
    return fv.load_dataset("german")


@pytest.mark.parametrize("given", [{}, {"trees": 30, "learning_rate": 0.5, "depth": 6}, {"depth": 1}])
def test_it_is_scikit_learns_on_the_train_nodes(german, given):
    train = german.splits["train"]
    names = {"trees": "n_estimators", "depth": "max_depth", "learning_rate": "learning_rate"}
    oracle = GradientBoostingClassifier(random_state=0, **{names[key]: value for key, value in given.items()})
    oracle.fit(german.features[train], german.labels[train])
    found = GradientBoosting(**given).fit(german).predict_proba(german)
    np.testing.assert_allclose(found, oracle.predict_proba(german.features), rtol=0, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.integers(1, 5))
def test_it_is_scikit_learns_on_any_table(seed, rows, channels):
    draw = np.random.default_rng(seed)
    x = draw.integers(-2, 3, size=(rows, channels)).astype(np.float32) * draw.choice([1, 1e-3, 1e6])
    y = np.r_[0, 1, draw.integers(0, 2, size=rows - 2)]
    graph = fv.NodeGraph.from_arrays(
        features=x, edges=[[], []], labels=y, sensitive=y, splits={"train": np.ones(rows, dtype=bool)}
    )
    oracle = GradientBoostingClassifier(n_estimators=5, random_state=0).fit(x, y)
    found = GradientBoosting(trees=5).fit(graph).predict_proba(graph)
    np.testing.assert_allclose(found, oracle.predict_proba(x), rtol=0, atol=1e-12)


def test_a_forest_by_hand():
    # tree 1: x0 <= 1 ? 10 : (x1 <= 0 ? 20 : 30); tree 2: always 0.5
    forest = Forest(
        channel=np.array([0, LEAF, 1, LEAF, LEAF, LEAF]),
        threshold=np.array([1.0, 0, 0, 0, 0, 0]),
        left=np.array([1, LEAF, 3, LEAF, LEAF, LEAF]),
        right=np.array([2, LEAF, 4, LEAF, LEAF, LEAF]),
        value=np.array([0.0, 10, 0, 20, 30, 0.5]),
        roots=np.array([0, 5]),
        prior=np.array(-1.0),
    )
    forest.check(2)
    x = np.array([[1, 9], [2, 0], [2, 1]], dtype=np.float32)
    assert forest.sum(x).tolist() == [9.5, 19.5, 29.5]


def test_the_sensitive_channel_can_be_left_out(german):
    fitted = GradientBoosting(trees=5, sensitive_channels=False).fit(german)
    assert "Gender" not in fitted.facts().channels
    flipped = german.with_features(
        np.where(np.array(german.channels) == "Gender", 1 - german.features, german.features)
    )
    np.testing.assert_array_equal(fitted.predict_proba(german), fitted.predict_proba(flipped))


def test_the_links_do_not_matter(german):
    bare = german.replace(adjacency=fv.Adjacency.from_pairs([0], [1], num_nodes=german.num_nodes)[0])
    fitted = GradientBoosting(trees=5).fit(german)
    np.testing.assert_array_equal(fitted.predict_proba(bare), fitted.predict_proba(german))


# --- tensors from a file ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted(german) -> GradientBoosting:
    return GradientBoosting(trees=3, depth=2).fit(german)


def first(tensors: dict[str, Any], leaf: bool) -> int:
    return int(((tensors["channel"] == LEAF) == leaf).nonzero()[0])


HOSTILE: dict[str, Callable[[dict[str, Any]], None]] = {
    "a channel beyond the last": lambda t: t["channel"].__setitem__(first(t, leaf=False), 27),
    "a channel below the first": lambda t: t["channel"].__setitem__(first(t, leaf=False), -2),
    "a way back to the root": lambda t: t["left"].__setitem__(first(t, leaf=False), 0),
    "a node that leads to itself": lambda t: t["right"].__setitem__(1, 1),
    "a way out of the trees": lambda t: t["right"].__setitem__(first(t, leaf=False), len(t["right"])),
    "a negative way": lambda t: t["left"].__setitem__(first(t, leaf=False), -3),
    "a leaf that leads on": lambda t: t["left"].__setitem__(first(t, leaf=True), len(t["left"]) - 1),
    "a root beyond the last": lambda t: t["roots"].__setitem__(1, len(t["left"])),
    "a root below the first": lambda t: t["roots"].__setitem__(1, -1),
    "a question in a leaf": lambda t: t["channel"].__setitem__(first(t, leaf=True), 0),
}
MISSHAPEN: dict[str, Callable[[dict[str, Any]], None]] = {
    "a tree less than asked for": lambda t: t.update(roots=t["roots"][:-1]),
    "no nodes": lambda t: t.update({name: t[name][:0] for name in ("channel", "left", "right", "threshold", "value")}),
    "arrays of two lengths": lambda t: t.update(value=t["value"][:-1]),
    "another type": lambda t: t.update(left=t["left"].to(torch.int32)),
    "a missing array": lambda t: t.pop("channel"),
    "a further array": lambda t: t.update(more=t["left"]),
    "a wide prior": lambda t: t.update(prior=t["prior"].repeat(2)),
    "a scalar for a row": lambda t: t.update(channel=t["channel"][0]),
}


@pytest.mark.parametrize("harm", [*HOSTILE.values(), *MISSHAPEN.values()], ids=[*HOSTILE, *MISSHAPEN])
def test_hostile_tensors_are_refused(fitted, harm):
    tensors = {name: tensor.clone() for name, tensor in fitted.tensors().items()}
    GradientBoosting(**fitted.get_params()).restore(dict(tensors), fitted.facts())  # unharmed, it is accepted
    harm(tensors)
    blank = GradientBoosting(**fitted.get_params())
    with pytest.raises(ValueError, match=r"^the (trees ask for channels or lead to nodes|tensors are not those of)"):
        blank.restore(tensors, fitted.facts())
    with pytest.raises(fv.InputError, match="not fitted yet"):
        blank.facts()


def test_a_saved_forest_answers_alike(fitted, german, tmp_path):
    fitted.save(tmp_path)
    np.testing.assert_array_equal(fv.load_model(tmp_path).predict_proba(german), fitted.predict_proba(german))


# --- what it is for ---------------------------------------------------------------------------------------------------


def test_bail_is_solved_by_its_table_alone():
    if not os.environ.get("FAIRVIEW_DATA"):
        pytest.skip("needs bail.zip: name its folder in FAIRVIEW_DATA")
    bail = fv.load_dataset("bail")
    found = fv.evaluate(GradientBoosting().fit(bail), bail, split="test")
    assert found["auc"] > 0.98
    assert found["accuracy"] > 0.98
