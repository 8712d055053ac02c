from __future__ import annotations

import sys

import pytest
import vl_convert

import fairview as fv


@pytest.fixture(scope="module")
def audit() -> fv.GraphAudit:
    return fv.audit(fv.synthetic_graph(200, seed=1), permutations=19)


@pytest.fixture(scope="module")
def model_audit(graph) -> fv.ModelAudit:
    return fv.audit_model(fv.FairVGNN(epochs=1, views=2, hidden=3).fit(graph), graph)


@pytest.fixture(scope="module")
def comparison(graph, tmp_path_factory) -> fv.Comparison:
    changes = {"vanilla": {"epochs": 2, "hidden": 3}, "fairvgnn": {"epochs": 2, "hidden": 3, "views": 2}}
    return fv.compare(
        graph, methods=["fairvgnn"], seeds=2, workers=1, changes=changes, folder=tmp_path_factory.mktemp("c")
    )


def titles(chart) -> list[str]:
    return [panel["title"] for panel in chart.to_dict()["vconcat"]]  # valid Vega-Lite, or `to_dict` fails


def test_each_result_has_a_chart_of_its_own(audit, model_audit, comparison):
    assert titles(audit.chart()) == ["Correlation with group, before and after message passing"]
    assert titles(model_audit.chart())[0] == "AUC against statistical parity gap"
    assert titles(comparison.chart())[0] == "AUC against statistical parity gap"


def test_the_function_and_the_method_draw_the_same(audit):
    assert fv.chart(audit, "probes").to_dict() == audit.chart("probes").to_dict()


@pytest.mark.parametrize("figure", ["tradeoff", "groups", "mask", "probes", "thresholds"])
def test_a_model_has_these_figures(model_audit, figure):
    assert titles(model_audit.chart(figure))


def test_a_chart_suits_light_and_dark_pages(audit):
    config = audit.chart().to_dict()["config"]
    assert config["background"] == "transparent"
    assert config["axis"]["labelColor"] == config["title"]["color"] == config["legend"]["labelColor"] == "#808080"


def test_an_unknown_figure_is_answered_with_those_that_are_there(comparison):
    with pytest.raises(fv.InputError) as caught:
        comparison.chart("tradeof")
    assert str(caught.value) == "chart: this Comparison has no figure 'tradeof'. Did you mean 'tradeoff'?"
    with pytest.raises(fv.InputError, match=r"Known: tradeoff, comparison\.$"):
        comparison.chart("zzz")


def test_a_result_without_numbers_has_nothing_to_draw():
    graph = fv.NodeGraph.from_arrays(features=[[0.5], [1.0]], edges=[[0], [1]], sensitive=["f", "f"])
    with pytest.raises(fv.InputError) as caught:
        fv.audit(graph, permutations=19).chart()
    assert str(caught.value) == "chart: this GraphAudit has nothing to draw; its numbers are undefined."


def test_other_things_have_no_chart(graph):
    with pytest.raises(fv.InputError) as caught:
        fv.chart(graph)
    assert (
        str(caught.value) == "chart: NodeGraph has no chart; expected a GraphAudit, a ModelAudit, an Explanation, a "
        "Comparison or a Tuning."
    )


def test_without_altair_the_error_says_what_to_install(audit, monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)  # an import of it fails
    with pytest.raises(fv.FairviewError) as caught:
        audit.chart()
    assert str(caught.value) == "Charts need altair; install it with: pip install 'fairview[report]'"


def test_whatever_knows_its_tune_json_has_the_chart_of_a_tuning(made):
    class Tuning:
        def to_dict(self) -> dict:
            tuning = made.tuning(("statistical_parity", "equal_opportunity"), grouped=4, candidates=20)
            tuning["limits"][1]["limit"] = 0.1  # each panel has a limit of its own
            return tuning

    chart = fv.chart(Tuning())
    assert titles(chart) == [
        "Balanced accuracy against statistical parity gap",
        "Balanced accuracy against equal opportunity gap",
    ]
    assert titles(fv.chart(Tuning(), "frontier")) == titles(chart)
    assert vl_convert.vegalite_to_svg(chart.to_json()).count("limit") >= 2
