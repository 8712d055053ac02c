"""Whatever is passed in place of a graph or a model: the message says what was expected, and how to get it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from torch_geometric.data import Data

import fairview as fv
from fairview.methods.registry import METHODS

CLASSES = {name: entry.method for name, entry in METHODS.items()}
ANY = "Make one: fv.read_graph, fv.load_dataset, fv.from_pyg or fv.NodeGraph.from_arrays."
ARRAYS = "Make one: fv.NodeGraph.from_arrays(features=..., edges=..., labels=..., sensitive=...)."
FRAME = "Read it: fv.read_graph(frame, label=..., sensitive=...)."
NO_GRAPHS: list[tuple[Any, str, str]] = [
    (None, "None", ANY),
    (3, "3", ANY),
    ([], "a list", ANY),
    (fv.NodeGraph, "the class NodeGraph", ANY),
    ("german", "'german'", "Load it: fv.load_dataset('german')."),
    (Path("people.csv"), "'people.csv'", "Read it: fv.read_graph('people.csv', label=..., sensitive=...)."),
    (pd.DataFrame(), "a DataFrame", FRAME),
    (pl.DataFrame(), "a DataFrame", FRAME),
    (Data(), "a Data", "Turn it into one: fv.from_pyg(data, sensitive=...)."),
    (np.zeros(3), "a ndarray", ARRAYS),
    (torch.zeros(3), "a Tensor", ARRAYS),
]
every_object = pytest.mark.parametrize(("given", "shown", "remedy"), NO_GRAPHS, ids=lambda value: str(value)[:20])


def quick(name: str) -> Any:
    method = CLASSES[name]
    return method(**{"epochs": 2} if "epochs" in method().get_params() else {})


def said(action: Any) -> str:
    with pytest.raises(fv.InputError) as caught:
        action()
    return str(caught.value)


@every_object
def test_what_is_no_graph_is_refused_by_fit_and_predict(given, shown, remedy, graph):
    fitted = fv.LogisticRegression().fit(graph)
    calls = {
        "fit": fv.Vanilla().fit,
        "predict": fitted.predict,
        "predict_proba": fitted.predict_proba,
        "audit": fv.audit,
        "stratified_splits": fv.stratified_splits,
    }
    for name, call in calls.items():
        assert said(lambda call=call: call(given)) == f"{name}: {shown}; expected a NodeGraph. {remedy}"
    assert said(lambda: fv.evaluate(fitted, given)) == f"evaluate: {shown}; expected a NodeGraph. {remedy}"


@pytest.mark.parametrize("given", [None, "german", np.zeros((3, 3)), fv.NodeGraph, 7])
@pytest.mark.parametrize(
    "function",
    [fv.summarise, fv.sensitive_correlation, fv.audit, fv.tune, lambda graph: fv.mask_by_correlation(graph, "S1")],
)
def test_what_is_no_graph_is_refused_by_every_function_that_takes_one(function, given):
    with pytest.raises(fv.InputError, match="expected a NodeGraph"):
        function(given)


@pytest.mark.parametrize("given", [None, 7, [], b"x", fv.NodeGraph])
@pytest.mark.parametrize("function", [fv.write_report, fv.write_card, fv.verify, fv.load_model])
def test_what_is_no_path_is_refused_by_every_function_that_takes_a_folder(function, given):
    with pytest.raises(fv.InputError, match="expected the path of a folder"):
        function(given)


@pytest.mark.parametrize("given", ["train", np.zeros(3), 7.5])
def test_splits_that_are_no_dictionary_are_refused(graph, given):
    with pytest.raises(fv.InputError, match="expected a dictionary from names to masks"):
        graph.with_splits(given)


@pytest.mark.parametrize("given", [7, None, 1j])
def test_methods_and_gaps_that_are_no_names_are_refused_by_tune(graph, given):
    with pytest.raises(fv.InputError):
        fv.tune(graph, max_gap=0.2, methods=given)
    with pytest.raises(fv.InputError, match="expected the names of gaps"):
        fv.tune(graph, max_gap=0.2, gaps=given or [None])


def test_a_metric_that_is_no_entry_is_refused():
    with pytest.raises(fv.InputError, match="metric: expected a MetricEntry, got dict"):
        fv.register_metric({"name": "auc"})


@pytest.mark.parametrize("name", METHODS)
def test_every_method_refuses_what_is_no_graph(name, graph):
    frame = f"a DataFrame; expected a NodeGraph. {FRAME}"
    assert said(lambda: quick(name).fit(pd.DataFrame())) == f"fit: {frame}"
    assert said(lambda: quick(name).fit(graph=pd.DataFrame())) == f"fit: {frame}"
    assert said(lambda: quick(name).predict_proba(pd.DataFrame())) == f"predict_proba: {frame}"


@pytest.mark.parametrize("name", [name for name in METHODS if name != "constant"])
def test_a_graph_without_channels_is_refused(name, graph):
    bare = graph.with_features(graph.features[:, :0], ())
    message = "fit: the graph has 0 channels; expected at least one, because a model learns from features."
    assert said(lambda: quick(name).fit(bare)) == message


@pytest.mark.parametrize("name", ["parity", "vanilla", "logistic-regression"])
def test_a_graph_with_no_channel_but_sensitive_ones_is_refused_without_them(name, graph):
    alone = graph.without_channels([name for name in graph.channels if name not in graph.sensitive_channels])
    model = CLASSES[name](sensitive_channels=False)
    assert alone.sensitive_channels == alone.channels
    assert said(lambda: model.fit(alone)) == (
        "fit: the graph has no channel but those of the sensitive attribute; pass more channels, or "
        "sensitive_channels=True."
    )


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (None, "None"),
        (fv.Parity, "the class Parity"),
        ("parity", "'parity'"),
    ],
)
def test_what_is_no_model_is_refused_by_evaluate(given, shown, graph):
    expected = f"{shown}; expected a fitted model, such as fv.Parity().fit(graph)."
    assert said(lambda: fv.evaluate(given, graph)) == f"evaluate: {expected}"
    assert said(lambda: fv.audit_model(given, graph)) == f"audit_model: {expected}"


def test_a_model_that_is_not_fitted_is_refused_by_evaluate(graph):
    assert said(lambda: fv.evaluate(fv.Parity(), graph)) == "Parity: not fitted yet; call fit(graph) first."


@pytest.mark.parametrize("threshold", ["0.5", None, True, [0.5], float("nan"), float("inf"), -0.1, 1, 1.0])
def test_a_threshold_that_is_no_number_below_one_is_refused(threshold, graph):
    model = fv.Constant().fit(graph)
    expected = f"threshold: {threshold!r}; expected a number from 0 to 1, below 1."
    assert said(lambda: model.with_threshold(threshold)) == expected


def test_a_threshold_of_numpy_is_taken(graph):
    assert fv.Constant().fit(graph).with_threshold(np.float32(0.25)).threshold_ == 0.25


def test_a_split_that_is_no_name_is_refused(graph):
    model = fv.Constant().fit(graph)
    assert said(lambda: fv.evaluate(model, graph, split=3)) == "no split '3'. Known: train, val, test, all."
    assert said(lambda: fv.evaluate(model, graph, split=[])) == "no split '[]'. Known: train, val, test, all."


@pytest.mark.parametrize("folder", [None, 3, "", "a\0b"])
def test_a_folder_that_is_no_path_is_refused(folder, graph):
    model = fv.Constant().fit(graph)
    assert said(lambda: model.save(folder)) == f"save: {folder!r}; expected the path of a folder."
    assert said(lambda: fv.load_model(folder)) == f"load_model: {folder!r}; expected the path of a folder."
    assert said(lambda: fv.verify(folder)) == f"verify: {folder!r}; expected the path of a folder."
    comparison = said(lambda: fv.compare(graph, folder=folder))
    assert comparison == f"folder: {folder!r}; expected the path of a folder."


def test_a_module_that_takes_no_links_is_refused(graph):
    linear = fv.Vanilla(encoder=torch.nn.Linear(graph.num_channels, 16), epochs=1)
    assert said(lambda: linear.fit(graph)) == (
        "encoder: Linear; expected a module with forward(x, edge_index) -> (n, hidden)."
    )
