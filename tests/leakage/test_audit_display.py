from __future__ import annotations

import polars as pl
import pytest

import fairview as fv
from fairview.metrics.registry import METRICS


@pytest.fixture(scope="module")
def leaky() -> fv.NodeGraph:
    made = fv.synthetic_graph(2000, seed=1)
    return made.with_splits(fv.stratified_splits(made, repeats=1)[0])


@pytest.fixture(scope="module")
def audit(leaky) -> fv.GraphAudit:
    return fv.audit(leaky, permutations=99, probes=False)


def test_an_audit_is_a_frame_with_a_row_per_channel_and_hop(audit):
    frame = audit.to_frame()
    assert frame.columns == [
        "channel", "hop", "correlation", "low", "high", "p_value", "leak_p_value", "leaking", "sensitive",
    ]  # fmt: skip
    assert frame.height == 3 * len(audit.channels)
    strong = audit.channel("leak_strong")
    rows = frame.filter(channel="leak_strong")
    assert tuple(rows["correlation"]) == strong.correlation
    assert tuple(rows["low"]) == strong.low
    assert tuple(rows["p_value"]) == strong.p_value
    assert rows["leak_p_value"].to_list() == [None, *strong.leak_p_value]
    assert set(frame.filter(leaking=True)["channel"]) == {"leak_strong"}


def test_what_was_not_measured_is_null():
    graph = fv.NodeGraph.from_arrays(features=[[0.5], [1.0]], edges=[[0], [1]], sensitive=["f", "f"])
    audit = fv.audit(graph, permutations=19)
    assert audit.to_frame()["correlation"].to_list() == [None] * 3
    assert audit.to_frame().schema["p_value"] == pl.Float64
    assert "Leakage is undefined" in audit._repr_html_()


def test_the_html_leads_with_the_verdict_and_the_leaking_channels(audit):
    html = audit._repr_html_()
    assert (
        html.index("Message passing reveals group in 1 of 8 columns: leak_strong.")
        < html.index("<table")
        < html.index(">leak_strong</th>")
    )
    assert ">flagged</td>" in html
    assert html.index(">leak_strong</th>") < html.index('<th scope="row"', html.index(">leak_strong</th>"))


def test_names_from_the_data_are_escaped_in_an_audit(leaky):
    name = "<img src=x onerror=alert(1)>"
    graph = leaky.replace(channels=(name, *leaky.channels[1:]), sensitive_name=name, groups=(name, "b"))
    assert "<img" not in fv.audit(graph, permutations=19, probes=False)._repr_html_()
    model = fv.audit_model(fv.Vanilla(epochs=1).fit(graph), graph, others={name + "2": fv.Constant().fit(graph)})
    assert "<img" not in model._repr_html_()
    assert model._repr_html_().count("&lt;img") == 2


def test_a_model_audit_is_a_frame_with_a_row_per_model_and_metric(leaky):
    audit = fv.audit_model(fv.Vanilla(epochs=2).fit(leaky), leaky, probes=False)
    frame = audit.to_frame()
    assert frame.columns == ["model", "metric", "value", "low", "high", "undefined"]
    assert frame.height == 2 * len(METRICS)
    assert frame["model"].unique(maintain_order=True).to_list() == ["vanilla", "constant"]
    value, low, high = frame.filter(model="vanilla", metric="accuracy").row(0)[2:5]
    assert value == audit.rows["vanilla"]["accuracy"]
    assert low <= value <= high


def test_the_html_of_a_model_has_its_rivals_groups_and_masks(leaky):
    audit = fv.audit_model(fv.FairVGNN(epochs=1, views=2, hidden=3).fit(leaky), leaky, probes=False)
    html = audit._repr_html_()
    for text in (
        "ModelAudit of fairvgnn (gcn)",
        ">constant</th>",
        ">SP gap</th>",
        "Learnt masks",
        ">keep probability</th>",
    ):
        assert text in html, text
