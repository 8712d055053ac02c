"""What every method must do. A new entry of `METHODS` is tested here without a change to this file."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import random
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone

import fairview as fv

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from fairview.arguments import shortened
    from fairview.methods.contract import features_like
    from fairview.methods.expected import expected_words
    from fairview.methods.network_method import NetworkMethod
    from fairview.methods.registry import METHODS
    from fairview.methods.settings import check_settings, settings_model
    from fairview.nn.encoders import ENCODERS

    CLASSES = {name: entry.method for name, entry in METHODS.items()}

FAIRLEARN = ("exponentiated-gradient", "threshold-optimizer")
"""Methods that can't be fitted without the extra `fairlearn`."""

NO_LINKS = (
    "constant",
    "exponentiated-gradient",
    "gradient-boosting",
    "logistic-regression",
    "threshold-optimizer",
)
"""Methods that look at no links, whatever their settings."""

INSIDE = {
    "ensemble": {"model": "vanilla", "model_settings": {"epochs": 3, "hidden": 4}, "members": 2},
    "group-thresholds": {"model": "vanilla", "model_settings": {"epochs": 3, "hidden": 4}},
}
"""Methods around a model: one with encoder and seed is the hardest to carry."""

SMALL = {
    "epochs": 3,
    "hidden": 4,
    "views": 3,
    "discriminator_steps": 2,
    "classifier_steps": 2,
    "generator_steps": 1,
    "seed": 1,
}


RANDOM = {"parity": {"head": "mlp"}}
"""Settings with which a seed makes a difference, where it does not always."""


def cases() -> list[tuple[str, str | None]]:
    """Every method, with every encoder where it has one."""
    return [
        (name, encoder)
        for name, method in CLASSES.items()
        if name not in FAIRLEARN or importlib.util.find_spec("fairlearn")
        for encoder in (ENCODERS if "encoder" in settings_model(method).model_fields else (None,))
    ]


def make(case: tuple[str, str | None], **changes: Any) -> Any:
    """A method with settings that take a blink."""
    name, encoder = case
    if name in FAIRLEARN:
        pytest.importorskip("fairlearn")
    known = settings_model(CLASSES[name]).model_fields
    settings = {key: value for key, value in SMALL.items() if key in known}
    return CLASSES[name](**INSIDE.get(name, {}) | settings | ({"encoder": encoder} if encoder else {}) | changes)


def fingerprint(model: Any) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(model.tensors().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.contiguous().numpy().tobytes())
    return digest.hexdigest()


def fingerprints(graph: fv.NodeGraph | None = None) -> dict[str, str]:
    """Of every case; without a graph, of one made here: another process calls it."""
    if graph is None:
        made = fv.synthetic_graph(120, groups={"f": 0.4, "m": 0.6}, average_degree=6, seed=1)
        graph = made.with_splits(fv.stratified_splits(made, repeats=1)[0])
    return {f"{name} {encoder}": fingerprint(make((name, encoder)).fit(graph)) for name, encoder in cases()}


def permuted(graph: fv.NodeGraph, order: np.ndarray) -> fv.NodeGraph:
    """Node `order[i]` becomes node i."""
    place = np.argsort(order)
    links = graph.adjacency
    return graph.replace(
        features=graph.features[order],
        labels=graph.labels[order],
        sensitive=graph.sensitive[order],
        splits={},
        adjacency=fv.Adjacency.from_pairs(
            place[links.sources], place[links.indices], num_nodes=len(order), weights=links.weights
        )[0],
    )


CASES = cases()
every = pytest.mark.parametrize("case", CASES, ids=[" ".join(filter(None, case)) for case in CASES])
seeded = pytest.mark.parametrize(
    "case",
    [case for case in CASES if "seed" in settings_model(CLASSES[case[0]]).model_fields],
    ids=lambda case: " ".join(filter(None, case)),
)
networks = pytest.mark.parametrize("name", [name for name, kind in CLASSES.items() if issubclass(kind, NetworkMethod)])
learners = pytest.mark.parametrize("name", [name for name in METHODS if name != "constant"])


@pytest.fixture
def graphs(graph, other_graph, weighing_or_not) -> tuple[fv.NodeGraph, fv.NodeGraph]:
    """`graph` and `other_graph`, with plain links and with weighted ones."""
    return weighing_or_not(graph), weighing_or_not(other_graph)


def test_channels_in_another_order_are_matched_in_time_proportional_to_their_number():
    """60 seconds for 100,000 of them, when each was looked for among all."""
    names = tuple(f"c{place}" for place in range(50_000))
    values = np.arange(100_000, dtype=np.float32).reshape(2, -1)
    graph = fv.NodeGraph.from_arrays(features=values[:, ::-1], edges=[[0], [1]], channels=names[::-1])
    start = time.process_time()
    assert (features_like(graph, names) == values).all()
    assert time.process_time() - start < 2


# --- same seed, same bits ---------------------------------------------------------------------------------------------


@every
def test_same_seed_same_bits_whatever_ran_before(case, graphs):
    graph, _ = graphs
    first = fingerprint(make(case).fit(graph))
    if "seed" in make(case).get_params():
        make(case, seed=7).fit(graph)
    torch.manual_seed(5)
    torch.rand(3)
    again = make(case)
    assert fingerprint(again.fit(graph)) == first
    assert fingerprint(again.fit(graph)) == first, "a second fit of the same object starts afresh"


@seeded
def test_other_seeds_give_other_models(case, graph):
    random = RANDOM.get(case[0], {})
    assert fingerprint(make(case, seed=2, **random).fit(graph)) != fingerprint(make(case, **random).fit(graph))


def test_two_processes_give_the_same_bits():
    script = "import json, runpy, sys; print(json.dumps(runpy.run_path(sys.argv[1])['fingerprints']()))"
    command = [sys.executable, "-W", "ignore", "-c", script, __file__]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == fingerprints()


@every
def test_global_randomness_is_neither_used_nor_disturbed(case, graph):
    before = torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate()  # noqa: NPY002
    model = make(case).fit(graph)
    model.predict_proba(graph)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.random.get_state()[1].tolist() == before[1]  # noqa: NPY002
    assert random.getstate() == before[2]


@every
def test_the_number_of_threads_is_left_as_it_was(case, graph):
    before = torch.get_num_threads()
    make(case, **({"threads": before + 1} if "threads" in make(case).get_params() else {})).fit(graph)
    assert torch.get_num_threads() == before


@every
def test_the_graph_is_not_changed(case, graphs):
    graph, _ = graphs
    links = graph.adjacency
    arrays = [
        graph.features,
        graph.labels,
        graph.sensitive,
        links.indices,
        *([links.weights] if links.weighted else []),
    ]
    copies = [array.copy() for array in arrays]
    model = make(case).fit(graph)
    model.predict_proba(graph)
    assert all(np.array_equal(a, b) for a, b in zip(copies, arrays, strict=True))


@every
def test_labels_outside_train_and_val_do_not_matter(case, graph):
    used = graph.splits["train"] | graph.splits["val"]
    other = graph.replace(labels=np.where(used, graph.labels, 1 - graph.labels))
    assert fingerprint(make(case).fit(other)) == fingerprint(make(case).fit(graph))


# --- parameters -------------------------------------------------------------------------------------------------------


@every
def test_parameters_survive_get_set_and_clone(case, graph):
    model = make(case)
    settings = model.get_params()
    assert type(model)(**settings).get_params() == settings
    assert type(model)().set_params(**settings).get_params() == settings
    fitted = model.fit(graph)
    copy = clone(fitted)
    assert copy.get_params() == settings
    with pytest.raises(fv.InputError, match="not fitted yet"):
        copy.predict_proba(graph)
    assert fingerprint(copy.fit(graph)) == fingerprint(fitted)


@pytest.mark.parametrize("name", METHODS)
def test_unknown_parameters_are_refused(name):
    with pytest.raises(TypeError, match="no_such_thing"):
        CLASSES[name](no_such_thing=1)
    with pytest.raises(ValueError, match="no_such_thing"):
        CLASSES[name]().set_params(no_such_thing=1)


WRONG = {
    "encoder": ["gcm", 3],
    "operator": ["avg"],
    "self_loops": [-1.0, float("nan")],
    "hidden": [0, 2.5, True],
    "depth": [0, 10**6],
    "dropout": [1.0, -0.1],
    "views": [0, 10**4],
    "temperature": [0.0, float("inf")],
    "mask": ["medium"],
    "feature_masks": ["yes", 1],
    "mask_density_weight": [-0.5],
    "weight_regulariser": ["weird"],
    "clamp_threshold": [0.0, "0.1"],
    "classifier_clamp": [-1.0],
    "discriminator_steps": [-1],
    "classifier_steps": [-1],
    "generator_steps": [1.5],
    "learning_rate": [0.0],
    "learning_rate_encoder": [-0.1, float("nan"), 1e38],
    "weight_decay": [-1e-5],
    "encoder_updates": [("nobody",), "classifier"],
    "sensitive_nodes": ["val"],
    "adversary_sample": [0],
    "epochs": [0, 10**9],
    "selection_weight": [-1.0],
    "patience": [0],
    "path": ["fast"],
    "precision": ["float16"],
    "threads": [0, 10**9],
    "seed": [-1, 1.0],
    "answer": ["maybe"],
    "basis": ["spline", 3],
    "knots": [1],
    "hops": [-1],
    "head": ["tree"],
    "restarts": [0],
    "l2": [0.0, float("nan")],
    "penalty": ["covariance"],
    "statistical_parity_weight": [-1.0, float("inf")],
    "equal_opportunity_weight": [-1.0],
    "equalized_odds_weight": [float("nan")],
    "class_balanced": [1],
    "max_iterations": [0],
    "inverse_penalty": [0.0, float("inf"), float("nan")],
    "sensitive_channels": [None],
    "model": ["no-such-method", "os:system"],
    "members": [0, 10**4, 2.0],
    "map": ["linear"],
    "relaxation": [-0.1, 1.5, float("nan")],
    "gap": ["equalized_odds"],
    "constraint": ["parity"],
    "difference_bound": [0.0, 2.0],
    "tolerance": [-0.1, 1.1],
    "objective": ["auc"],
}


@pytest.mark.parametrize("name", METHODS)
def test_values_out_of_range_are_refused_by_name(name, graph):
    fields = settings_model(CLASSES[name]).model_fields
    tried = [(field, value) for field in fields for value in WRONG.get(field, [])]
    assert tried
    for field, value in tried:
        with pytest.raises(fv.InputError) as caught:
            CLASSES[name](**{field: value}).fit(graph)
        said = f"{CLASSES[name].__name__}: {field}={value!r}"
        assert str(caught.value).startswith((f"{said}; ", f"{said}: ")), (field, value)


@pytest.mark.parametrize("name", METHODS)
def test_every_parameter_refuses_wrong_types_and_absurd_sizes_in_plain_words(name):
    """No parameter takes any object, not a number, or a number of rounds, nodes or layers without an end."""
    method = CLASSES[name]
    for field, about in settings_model(method).model_fields.items():
        expected = expected_words(about.rebuild_annotation())
        wrong: list[Any] = [object(), b"x", {1}, float("nan"), float("-inf"), 1j]
        wrong += [True] if "number" in expected else []
        wrong += [10**31, -(10**30), 1e300, "3"] if "number" in expected else [3]
        wrong += [None] if "None" not in expected else []
        for value in wrong:
            with pytest.raises(fv.InputError) as caught:
                check_settings(method, {field: value})
            message = f"{method.__name__}: {field}={shortened(value)}; expected {expected}."
            assert str(caught.value) == message, (field, value)


def test_a_number_of_numpy_is_told_how_to_become_one_of_pythons():
    with pytest.raises(fv.InputError) as caught:
        check_settings(fv.Vanilla, {"hidden": np.int64(4)})
    assert str(caught.value) == (
        "Vanilla: hidden=np.int64(4); expected a whole number, at least 1 and at most 65,536. Turn it into a Python "
        "number: value.item()."
    )


def test_every_wrong_parameter_is_named_at_once(graph):
    with pytest.raises(fv.InputError) as caught:
        fv.FairVGNN(hidden=0, views=0, seed=-1).fit(graph)
    assert [problem.split("=")[0] for problem in caught.value.problems] == [
        "FairVGNN: views",
        "FairVGNN: hidden",
        "FairVGNN: seed",
    ]


@pytest.mark.parametrize("name", list(METHODS))
def test_every_value_of_the_search_space_is_allowed(name):
    entry = METHODS[name]
    assert bool(entry.search_space) != entry.looks_at_nothing
    for parameter, values in entry.search_space.items():
        assert len(set(values)) == len(values) > 1
        for value in values:
            check_settings(entry.method, {parameter: value})


# --- prediction -------------------------------------------------------------------------------------------------------


@every
def test_not_fitted_is_said(case, graph, tmp_path):
    model = make(case)
    message = rf"^{type(model).__name__}: not fitted yet; call fit\(graph\) first\.$"
    for action in (model.predict_proba, model.predict):
        with pytest.raises(fv.InputError, match=message):
            action(graph)
    with pytest.raises(fv.InputError, match=message):
        model.save(tmp_path)
    with pytest.raises(fv.InputError, match=message):
        model.facts()
    assert list(tmp_path.iterdir()) == []


@every
def test_probabilities_are_probabilities(case, graphs):
    graph, other_graph = graphs
    model = make(case).fit(graph)
    for some in (graph, other_graph):
        found = model.predict_proba(some)
        assert found.shape == (some.num_nodes, 2)
        assert (found >= 0).all()
        assert (found <= 1).all()
        np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-12)
        np.testing.assert_array_equal(model.predict(some), found[:, 1] > 0.5)
        np.testing.assert_array_equal(model.predict_proba(some), found)


@every
def test_channels_of_an_unseen_graph_are_matched_by_name(case, graph, other_graph):
    model = make(case).fit(graph)
    order = np.random.default_rng(0).permutation(other_graph.num_channels)
    noise = np.full((other_graph.num_nodes, 1), 17.0, dtype=np.float32)
    turned = other_graph.with_features(
        np.hstack([noise, other_graph.features[:, order]]), ["unrelated", *(other_graph.channels[j] for j in order)]
    )
    np.testing.assert_array_equal(model.predict_proba(turned), model.predict_proba(other_graph))


@learners
def test_a_missing_channel_is_named(name, graph, other_graph):
    model = make((name, None)).fit(graph)
    with pytest.raises(
        fv.InputError, match=r"^predict: the graph lacks channels that the model was fitted with: 'plain_2'\.$"
    ):
        model.predict_proba(other_graph.without_channels(["plain_2"]))


@every
def test_permuting_the_nodes_permutes_the_predictions(case, graphs):
    graph, other_graph = graphs
    model = make(case).fit(graph)
    for some in (graph, other_graph):
        order = np.random.default_rng(3).permutation(some.num_nodes)
        found = model.predict_proba(permuted(some, order))
        np.testing.assert_allclose(found, model.predict_proba(some)[order], atol=1e-5)


# --- weights of links -------------------------------------------------------------------------------------------------

PLAIN_GIVEN = (
    "predict: the model was fitted on links with weights, and this graph's have none; read it with edge_weight."
)
WEIGHTS_GIVEN = (
    "predict: the model was fitted on links without weights, and this graph's have some; read it without edge_weight."
)


@every
def test_weights_of_one_give_the_numbers_of_plain_links(case, graph, other_graph, with_weights):
    plain, ones = make(case).fit(graph), make(case).fit(with_weights(graph, 1.0))
    for some in (graph, other_graph):
        found = ones.predict_proba(with_weights(some, 1.0))
        np.testing.assert_allclose(found, plain.predict_proba(some), rtol=1e-5, atol=1e-6)


@every
def test_weights_change_the_scores_or_may_be_left_out_but_are_never_ignored_in_silence(
    case, graph, other_graph, with_weights
):
    for fitted_on, given, message in (
        (with_weights(graph), other_graph, PLAIN_GIVEN),
        (graph, with_weights(other_graph), WEIGHTS_GIVEN),
    ):
        model = make(case).fit(fitted_on)
        fitting = other_graph if given.adjacency.weighted else with_weights(other_graph)
        found = model.predict_proba(fitting)
        if case[0] in NO_LINKS or case[1] == "mlp":
            np.testing.assert_array_equal(model.predict_proba(given), found)
            continue
        with pytest.raises(fv.InputError) as caught:
            model.predict_proba(given)
        assert str(caught.value) == message
        if fitting.adjacency.weighted:
            assert not np.allclose(model.predict_proba(with_weights(fitting, 1.0)), found, rtol=0, atol=1e-6)


@networks
def test_representations_and_views_ask_for_the_same_links(name, graph, other_graph, with_weights):
    model = make((name, None)).fit(with_weights(graph))
    assert model.representations(with_weights(other_graph)).shape == (other_graph.num_nodes, 4)
    with pytest.raises(fv.InputError, match="this graph's have none"):
        model.representations(other_graph)
    if name == "edits":
        with pytest.raises(fv.InputError, match="this graph's have none"):
            model.fair_view(other_graph)


@every
def test_a_graph_without_links_and_a_single_node_can_be_predicted(case, graph):
    model = make(case).fit(graph)
    bare = fv.NodeGraph.from_arrays(
        features=graph.features[:1], channels=graph.channels, edges=[[], []], sensitive=["f"],
        sensitive_name=graph.sensitive_name,
    )  # fmt: skip
    assert np.isfinite(model.predict_proba(bare)).all()


# --- files ------------------------------------------------------------------------------------------------------------


@every
def test_saved_and_loaded_it_is_the_same_model(case, graphs, tmp_path):
    graph, other_graph = graphs
    model = make(case).fit(graph)
    model.save(tmp_path / "a")
    loaded = fv.load_model(tmp_path / "a")
    assert type(loaded) is type(model)
    assert loaded.get_params() == model.get_params()
    assert loaded.facts() == model.facts()
    assert fingerprint(loaded) == fingerprint(model)
    np.testing.assert_array_equal(loaded.predict_proba(other_graph), model.predict_proba(other_graph))
    loaded.save(tmp_path / "b")
    for name in ("model.json", "model.safetensors"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["model.json", "model.safetensors"]


# --- graphs that can't be learnt from ---------------------------------------------------------------------------------


@learners
def test_without_any_split_one_is_drawn_and_a_note_says_so(name, graph):
    bare = graph.with_splits({})
    model = make((name, None)).fit(bare)
    assert model.notes_[0] == "The graph has no split: a stratified one was drawn with seed 0."
    drawn = graph.with_splits(fv.stratified_splits(graph, repeats=1, seed=0)[0])
    np.testing.assert_array_equal(model.predict_proba(graph), make((name, None)).fit(drawn).predict_proba(graph))
    assert fv.evaluate(model, bare).to_dict() == fv.evaluate(model, drawn).to_dict()


@learners
def test_no_train_split(name, graph):
    with pytest.raises(fv.InputError, match="no split 'train'"):
        make((name, None)).fit(graph.with_splits({"val": graph.splits["val"]}))


@networks
def test_no_val_split(name, graph):
    bare = graph.with_splits({"train": graph.splits["train"]})
    with pytest.raises(fv.InputError, match=r"^train: the graph has no split 'val'; draw one: graph\.with_splits"):
        make((name, None)).fit(bare)


@learners
@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (lambda g: np.where(g.splits["train"], -1, g.labels), r"^train: no node of the train split has a label\.$"),
        (lambda g: np.full_like(g.labels, -1), r"has a label"),
        (
            lambda g: np.where(g.splits["train"], 1, g.labels),
            r"^train: all 60 labels are '1'; both classes are needed\.$",
        ),
    ],
    ids=["none in train", "none at all", "one class"],
)
def test_labels_that_teach_nothing(name, labels, message, graph):
    with pytest.raises(fv.InputError, match=message):
        make((name, None)).fit(graph.replace(labels=labels(graph)))


@networks
def test_no_label_in_val(name, graph):
    labels = np.where(graph.splits["val"], -1, graph.labels)
    with pytest.raises(fv.InputError, match=r"^train: no node of the val split has a label; it chooses the epoch"):
        make((name, None)).fit(graph.replace(labels=labels))


@networks
@pytest.mark.parametrize("groups", [("f", "m"), ("f",)])
def test_one_sensitive_group(name, groups, graph):
    alone = graph.replace(sensitive=np.zeros_like(graph.sensitive), groups=groups)
    with pytest.raises(fv.InputError, match=r"^train: the sensitive attribute 'group' has fewer than two groups\.$"):
        make((name, None)).fit(alone)


@learners
def test_a_failed_fit_leaves_no_half_fitted_model(name, graph):
    model = make((name, None))
    with pytest.raises(fv.InputError):
        model.fit(graph.replace(labels=np.full_like(graph.labels, -1)))
    with pytest.raises(fv.InputError, match="not fitted yet"):
        model.predict_proba(graph)


@pytest.mark.parametrize("name", METHODS)
def test_class_and_entry_agree_on_the_need_for_the_group(name):
    assert METHODS[name].group_at_prediction is CLASSES[name].group_at_prediction


@every
def test_only_methods_that_say_so_need_the_group_at_prediction(case, graph, other_graph):
    model = make(case).fit(graph)
    nameless = other_graph.replace(sensitive=np.full_like(other_graph.sensitive, -1))
    if METHODS[case[0]].group_at_prediction:
        with pytest.raises(fv.InputError) as caught:
            model.predict_proba(nameless)
        who = f"predict: {type(model).__name__} needs each node's group"
        assert str(caught.value) == f"{who} ('group'), and none is known in this graph."
    else:
        np.testing.assert_array_equal(model.predict_proba(nameless), model.predict_proba(other_graph))


def test_the_names_of_the_registry_are_those_of_the_files():
    home = Path(fv.__file__).parent / "methods"
    for name, method in CLASSES.items():
        assert method.__module__ == f"fairview.methods.{name.replace('-', '_')}"
        assert (home / f"{name.replace('-', '_')}.py").is_file()
    with pytest.raises(TypeError):
        METHODS["other"] = fv.Constant  # type: ignore[index]
