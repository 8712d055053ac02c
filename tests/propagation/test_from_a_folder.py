"""A model that is trained from a folder is the model that is trained from the graph."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import torch

import fairview as fv
from fairview.data.stored_links import WHAT_CAN
from fairview.methods.registry import METHODS
from fairview.nn.encoders import EncoderSpec
from fairview.nn.inputs import GraphInputs
from fairview.nn.linear_path import NormalisedPath
from fairview.propagation import sampling
from fairview.propagation.operators import Operator

OPERATORS = {"gcn": "gcn", "mlp": "gcn", "gin": "sum", "sign": "gcn"}


@pytest.mark.parametrize("encoder", OPERATORS)
@pytest.mark.parametrize("sensitive_channels", [True, False])
def test_training_prediction_and_metrics_are_those_of_the_graph(
    encoder, sensitive_channels, own_tables, tmp_path, one_thread
):
    reading = own_tables.reading | {"sensitive_as_feature": True, "drop": ["plain_2"]}
    graph = fv.read_graph(own_tables.nodes, own_tables.edges, **reading | {"missing": "mean"})
    folder = fv.propagate(
        own_tables.nodes, own_tables.edges, folder=tmp_path, operator=OPERATORS[encoder], missing="mean", **reading
    )
    settings = {"encoder": encoder, "epochs": 4, "views": 3, "sensitive_channels": sensitive_channels, "seed": 1}
    from_graph, from_folder = (fv.FairVGNN(**settings).fit(each) for each in (graph, folder))
    expected = from_graph.predict_proba(graph)
    for given in (graph, folder, folder.graph()):
        scores = from_folder.predict_proba(given)
        if encoder == "gin":
            assert np.abs(scores - expected).max() < 1e-6
        else:
            assert np.array_equal(scores, expected)
    for split in ("val", "test"):
        told = fv.evaluate(from_graph, graph, split=split, intervals=True).to_dict()
        again = fv.evaluate(from_folder, folder, split=split, intervals=True).to_dict()
        assert again["groups"] == told["groups"]
        assert again["auc"] == pytest.approx(told["auc"], abs=1e-6)


@pytest.mark.parametrize("encoder", OPERATORS)
def test_scores_do_not_depend_on_how_many_nodes_are_read_at_a_time(encoder, propagated):
    folder = propagated(OPERATORS[encoder])
    model = fv.Vanilla(encoder=encoder, epochs=5, seed=1).fit(folder)
    whole = model.predict_proba(folder.graph())
    pieces = np.concatenate([model.predict_proba(rows) for rows in folder.graphs(rows=7)])
    assert np.abs(pieces - whole).max() < 1e-6


@pytest.mark.parametrize("encoder", OPERATORS)
def test_representations_are_those_of_the_graph(encoder, propagated, own_tables):
    model = fv.FairVGNN(encoder=encoder, epochs=2, views=2, seed=1).fit(own_tables.graph())
    apart = model.representations(propagated(OPERATORS[encoder])) - model.representations(own_tables.graph())
    assert np.abs(apart).max() < 1e-4


@pytest.mark.parametrize("settings", [{"hops": 0}, {"basis": "raw", "operator": "gcn"}])
def test_parity_works_without_hops_and_on_raw_channels(settings, propagated, own_tables):
    graph, folder = own_tables.graph(), propagated()
    from_graph, from_folder = (fv.Parity(**settings).fit(each) for each in (graph, folder))
    assert np.abs(from_folder.predict_proba(graph) - from_graph.predict_proba(graph)).max() < 1e-6
    assert np.abs(from_folder.predict_proba(folder) - from_graph.predict_proba(graph)).max() < 1e-6


def test_parity_names_what_works(propagated):
    message = (
        "parity: a propagated folder holds the channels after each hop, and no splines of them. Set hops=0, or "
        "basis='raw' with operator='gcn', as the folder was made."
    )
    with pytest.raises(fv.InputError) as caught:
        fv.Parity().fit(propagated())
    assert str(caught.value) == message


def test_sign_names_the_hops_that_a_folder_lacks(propagated):
    folder = propagated()
    with pytest.raises(fv.InputError) as caught:
        fv.Vanilla(encoder="sign", depth=3, epochs=2).fit(folder)
    assert str(caught.value) == (
        "propagated folder: it holds 2 hops, and one more is needed. Make such a folder with "
        "`fairview propagate --hops 3`."
    )
    with pytest.raises(fv.InputError, match="it was made with the operator 'gcn'"):
        fv.Vanilla(encoder="sign", operator="mean", epochs=2).fit(folder)


def test_the_fair_view_of_sign_is_that_of_the_graph(propagated, own_tables):
    model = fv.FairVGNN(encoder="sign", epochs=2, views=2, seed=1).fit(own_tables.graph())
    views = [model.fair_view(each) for each in (own_tables.graph(), propagated().graph())]
    assert views[0].channels == views[1].channels == model.columns_
    assert np.abs(views[0].features - views[1].features).max() < 1e-4


REFUSED = {
    "nifty": lambda: fv.NIFTY(epochs=2),
    "edits": lambda: fv.EDITS(epochs=2),
    "sage": lambda: fv.Vanilla(encoder="sage", epochs=2),
    "two layers": lambda: fv.Vanilla(encoder="gcn", depth=2, epochs=2),
    "the general path": lambda: fv.Vanilla(encoder="gcn", path="general", epochs=2),
    "a module of one's own": lambda: fv.Vanilla(encoder=Own(), epochs=2),
}


class Own(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(8, 4)

    def forward(self, x, edge_index):
        return self.linear(x) + edge_index.shape[1]


@pytest.mark.parametrize("name", REFUSED)
def test_what_needs_links_is_refused_and_names_what_does_not(name, propagated):
    with pytest.raises(fv.InputError, match=r"^propagated folder: it holds no links") as caught:
        REFUSED[name]().fit(propagated())
    assert str(caught.value).endswith(WHAT_CAN)


@pytest.mark.parametrize("name", [name for name in METHODS if name not in ("nifty", "edits", "parity")])
def test_every_other_method_gives_the_graphs_scores(name, propagated, own_tables, one_thread):
    def fitted(given):
        model = METHODS[name].method()
        settings = {"model": fv.Vanilla(epochs=3), "members": 2} if name == "ensemble" else {"epochs": 3}
        return model.set_params(**{k: v for k, v in settings.items() if hasattr(model, k)}).fit(given)

    graph, folder = own_tables.graph(), propagated()
    assert np.abs(fitted(folder).predict_proba(graph) - fitted(graph).predict_proba(graph)).max() < 1e-6


# --- samples ----------------------------------------------------------------------------------------------------------


@torch.no_grad()
def test_gin_normalises_with_the_moments_of_the_whole_folder(propagated, monkeypatch):
    monkeypatch.setattr(sampling, "FEWEST_ROWS", 10)
    folder = propagated("sum")
    whole, sample = folder.graph(), folder.sample(rows=200)
    encoder = EncoderSpec(kind="gin", hidden=5).build(whole.num_channels, seed=0).double()
    head = torch.nn.Linear(5, 1).double()
    masks = torch.rand(3, whole.num_channels, generator=torch.Generator().manual_seed(0)).double()
    rows = np.searchsorted(whole.ids, sample.ids)
    operator = Operator(kind="sum")
    both = [
        NormalisedPath(encoder, GraphInputs.of(graph, operator, dtype=torch.float64)).on(chosen).logits(masks, head)
        for graph, chosen in ((whole, rows), (sample, None))
    ]
    assert float((both[0] - both[1]).abs().max()) < 1e-6
    alone = sample.replace(adjacency=sample.adjacency.of(sample.adjacency.by_hop, kind="sum", self_loops=1.0, edges=1))
    other = NormalisedPath(encoder, GraphInputs.of(alone, operator, dtype=torch.float64)).on().logits(masks, head)
    assert float((both[0] - other).abs().max()) > 1e-3  # the sample's own moments are others


def test_gin_with_constant_and_repeated_channels(tmp_path, own_tables, monkeypatch):
    monkeypatch.setattr(sampling, "FEWEST_ROWS", 10)
    people = pl.read_parquet(own_tables.nodes).with_columns(same=pl.lit(1.0), twin=pl.col("plain_1"))
    folder = fv.propagate(
        people, pl.read_parquet(own_tables.edges), folder=tmp_path, operator="sum", **own_tables.reading
    )
    model = fv.FairVGNN(encoder="gin", epochs=3, views=2, seed=1).fit(folder.sample(rows=300))
    assert np.isfinite(model.predict_proba(folder)).all()


def test_a_model_of_a_sample_predicts_everybody(propagated, own_tables, monkeypatch):
    monkeypatch.setattr(sampling, "FEWEST_ROWS", 10)
    folder = propagated()
    model = fv.FairVGNN(epochs=3, views=2, adversary_sample=64, seed=1).fit(folder.sample(rows=400))
    assert np.abs(model.predict_proba(folder) - model.predict_proba(own_tables.graph())).max() < 1e-6


def test_a_graph_is_asked_for_where_a_folder_does_not_do(propagated):
    with pytest.raises(fv.InputError) as caught:
        fv.stratified_splits(propagated())
    assert (
        str(caught.value) == "stratified_splits: a Propagated; expected a NodeGraph. Take nodes of it: folder.sample()."
    )


def test_another_reading_is_refused_with_the_command_that_reads_alike(propagated, own_tables, tmp_path):
    model = fv.Vanilla(epochs=2, seed=1).fit(own_tables.graph(scaling="minmax"))
    with pytest.raises(fv.InputError, match=r"Propagate it with `fairview propagate --like RUN`, or in Python with"):
        model.predict_proba(propagated())
