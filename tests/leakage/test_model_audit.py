from __future__ import annotations

import json
import os
import time
from typing import Any

import numpy as np
import pytest
from torch import nn

import fairview as fv
from fairview.leakage.model_audit import audit_model
from fairview.leakage.model_findings import ModelAudit
from fairview.metrics.evaluation import METRICS
from fairview.propagation.correlation import sensitive_correlation
from fairview.propagation.operators import Operator

TINY = {"epochs": 3, "hidden": 4, "views": 3, "discriminator_steps": 1, "classifier_steps": 2, "generator_steps": 1}


@pytest.fixture(scope="module")
def german() -> fv.NodeGraph:
    return fv.load_dataset("german")


@pytest.fixture(scope="module")
def model(german: fv.NodeGraph) -> fv.FairVGNN:
    return fv.FairVGNN(seed=1, **TINY).fit(german)


@pytest.fixture(scope="module")
def plain(german: fv.NodeGraph) -> fv.Vanilla:
    return fv.Vanilla(epochs=20, hidden=4, seed=1).fit(german)


@pytest.fixture(scope="module")
def found(german: fv.NodeGraph, model: fv.FairVGNN, plain: fv.Vanilla) -> ModelAudit:
    table = fv.LogisticRegression().fit(german)
    return audit_model(model, german, plain=plain, others={"table alone": table}, probes=True, seed=1)


class Given:
    """A method of the user's own: nothing but scores."""

    def __init__(self, scores: Any) -> None:
        self.scores = np.asarray(scores, dtype=np.float64)

    def fit(self, graph: fv.NodeGraph) -> Given:
        return self

    def predict_proba(self, graph: fv.NodeGraph) -> np.ndarray:
        return np.column_stack([1 - self.scores, self.scores])


def small_graph(labels: list[int], groups: list[Any], **other: Any) -> fv.NodeGraph:
    test = np.ones(len(labels), dtype=bool)
    features = np.arange(len(labels), dtype=float)[:, None]
    return fv.NodeGraph.from_arrays(
        features=features, edges=[[0], [1]], labels=labels, sensitive=groups, splits={"test": test}, **other
    )


# --- the document -----------------------------------------------------------------------------------------------------


def test_the_document_has_the_agreed_keys_and_is_strict_json(found: ModelAudit) -> None:
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert {"method", "encoder", "split", "threshold", "rows", "keep", "representations", "theorem2"} <= set(plain)
    assert {"groups", "scores", "calibration", "roc", "thresholds", "notes"} <= set(plain)
    assert (plain["method"], plain["encoder"], plain["split"], plain["threshold"]) == ("fairvgnn", "gcn", "test", 0.5)
    assert {"applies", "reason", "chi", "epsilon", "left", "printed", "corrected"} <= set(plain["theorem2"])
    assert {"printed_holds", "corrected_holds", "assumptions"} <= set(plain["theorem2"])
    assert [group["group"] for group in plain["groups"]] == ["Male", "Female"]
    assert set(plain["groups"][0]["selection_rate"]) == {"value", "low", "high"}
    assert [len(group["edges"]) for group in plain["scores"]] == [21, 21]
    assert len(plain["thresholds"]["points"]) == 101
    assert set(plain["calibration"][0]["bins"][0]) == {"predicted", "observed", "nodes", "low", "high"}
    assert set(plain["roc"][0]) == {"group", "auc", "low", "high", "points"}


def test_the_rows_are_those_of_evaluate_the_model_first(
    found: ModelAudit, german: fv.NodeGraph, model: fv.FairVGNN
) -> None:
    rows = found.to_dict()["rows"]
    assert [row["name"] for row in rows] == ["fairvgnn", "plain", "constant", "table alone"]
    expected = fv.evaluate(model, german, intervals=True)
    assert {name: rows[0][name] for name in METRICS} == dict(expected.metrics)
    assert rows[0]["intervals"]["auc"] == {"low": expected.intervals["auc"].low, "high": expected.intervals["auc"].high}
    assert rows[2]["accuracy"] == pytest.approx(0.7)


def test_counts_histogram_and_calibration_hold_the_same_nodes(found: ModelAudit) -> None:
    for group, histogram, calibrated in zip(found.groups, found.scores, found.calibration, strict=True):
        assert group.nodes == sum(histogram.counts) == sum(one.nodes for one in calibrated.bins)
    gap = abs(found.groups[0].selection_rate.value - found.groups[1].selection_rate.value)
    assert found.rows["fairvgnn"]["statistical_parity_gap"] == pytest.approx(gap)
    point = found.to_dict()["thresholds"]["points"][50]
    assert point["threshold"] == 0.5
    assert point["statistical_parity_gap"] == pytest.approx(gap)


def test_the_same_seed_gives_the_same_document(found: ModelAudit, german: fv.NodeGraph, model: fv.FairVGNN) -> None:
    once, again = (audit_model(model, german, probes=False, seed=1).to_dict() for _ in range(2))
    assert once == again
    assert once["roc"] == found.to_dict()["roc"]


def test_it_prints_as_a_few_lines(found: ModelAudit) -> None:
    lines = repr(found).splitlines()
    assert lines[0] == "ModelAudit of fairvgnn (gcn) on 'test', 250 nodes"
    assert lines[1].startswith("  fairvgnn: auc 0.")
    assert lines[-1].startswith("  group 'Female': 94 nodes, selected ")


# --- what the model says of itself ------------------------------------------------------------------------------------


def test_keep_probabilities_stand_beside_the_correlations_of_the_models_own_operator(german: fv.NodeGraph) -> None:
    model = fv.FairVGNN(operator="mean", self_loops=2.0, sensitive_channels=False, **TINY).fit(german)
    keep = audit_model(model, german, probes=False).keep
    correlation = np.abs(sensitive_correlation(german, Operator(kind="mean", self_loops=2.0), 1))
    assert keep is not None
    assert [one.name for one in keep] == [name for name in german.channels if name != "Gender"]
    for one in keep:
        place = german.channel_index(one.name)
        assert one.keep_probability == model.keep_probability_[one.name]
        assert (one.correlation_before, one.correlation_after) == pytest.approx(correlation[:, place])


def test_each_hop_of_sign_stands_beside_its_own_correlation(german: fv.NodeGraph) -> None:
    model = fv.FairVGNN(encoder="sign", depth=3, sensitive_channels=False, **TINY).fit(german)
    keep = audit_model(model, german, probes=False).keep
    correlation = np.abs(sensitive_correlation(german, Operator(), 3))
    channels = [name for name in german.channels if name != "Gender"]
    assert keep is not None
    assert [one.name for one in keep] == [f"{name}@{hop}" for hop in range(4) for name in channels]
    for one in keep:
        name, _, hop = one.name.rpartition("@")
        expected = correlation[[0, int(hop)], german.channel_index(name)]
        assert one.keep_probability == model.keep_probability_[one.name]
        assert (one.correlation_before, one.correlation_after) == pytest.approx(expected)


@pytest.mark.parametrize("encoder", ["mlp", "own"])
def test_without_an_operator_of_its_own_the_hop_is_gcns(german: fv.NodeGraph, encoder: str) -> None:
    class Own(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(27, 4)

        def forward(self, x: Any, edge_index: Any) -> Any:
            return self.linear(x)

    model = fv.FairVGNN(encoder=Own() if encoder == "own" else "mlp", **TINY).fit(german)
    found = audit_model(model, german, probes=False)
    assert found.encoder == ("Own" if encoder == "own" else "mlp")
    assert found.keep is not None
    assert found.keep[3].correlation_after == pytest.approx(abs(sensitive_correlation(german, Operator(), 1)[1, 3]))
    assert found.notes == ("The encoder has no operator of its own: 'after' is one hop of the gcn operator.",)


def test_keep_is_null_without_learnt_masks(german: fv.NodeGraph, plain: fv.Vanilla) -> None:
    assert audit_model(plain, german, probes=False).to_dict()["keep"] is None
    unmasked = fv.FairVGNN(feature_masks=False, **TINY).fit(german)
    assert audit_model(unmasked, german, probes=False).keep is None


def test_probes_read_the_representations_of_the_model_and_of_the_plain_one(found: ModelAudit) -> None:
    read = found.to_dict()["representations"]
    assert [(one["model"], one["probe"]) for one in read] == [
        ("fairvgnn", "linear"),
        ("fairvgnn", "nonlinear"),
        ("plain", "linear"),
        ("plain", "nonlinear"),
    ]
    assert all(0 <= one["low"] <= one["auc"] <= one["high"] <= 1 for one in read)


def test_a_method_without_representations_is_named(german: fv.NodeGraph) -> None:
    found = audit_model(fv.Constant().fit(german), german)
    assert (found.representations, found.encoder) == ((), None)
    assert found.notes == ("'constant' has no representations to probe.",)
    assert list(found.rows) == ["constant"]


# --- other people's data ----------------------------------------------------------------------------------------------


def test_more_than_two_groups_and_unknown_ones_work() -> None:
    rng = np.random.default_rng(0)
    groups = rng.choice(["a", "b", "c"], size=300).astype(object)
    groups[:7] = None
    labels = rng.integers(-1, 2, size=300)
    found = audit_model(Given(rng.random(300)), small_graph(labels.tolist(), groups.tolist()))
    assert [group.group for group in found.groups] == ["a", "b", "c"]
    unknown = int((labels[:7] >= 0).sum())
    assert sum(group.nodes for group in found.groups) == (labels >= 0).sum() - unknown
    assert found.notes[0] == f"Without a known group, and in no group's numbers: {unknown}."
    assert found.method == "Given"
    assert found.thresholds.values["equal_opportunity_gap"][50] == found.rows["Given"]["equal_opportunity_gap"]


def test_a_group_without_positives_stays_undefined_with_its_reason_everywhere() -> None:
    graph = small_graph([0, 1, 0, 0, 0, 1] * 5, ["f", "f", "f", "m", "m", "f"] * 5)
    plain = audit_model(Given(np.linspace(0, 1, 30)), graph).to_dict()
    reason = "group 'm' has no positive labels"
    assert plain["rows"][0]["undefined"]["equal_opportunity_gap"] == reason
    assert plain["groups"][1]["undefined"] == {"true_positive_rate": reason}
    assert plain["thresholds"]["undefined"] == {"equal_opportunity_gap": reason}
    assert plain["roc"][1]["auc"] is None
    assert plain["groups"][1]["small"]


def test_one_group_has_no_gap_and_no_correlation(german: fv.NodeGraph, model: fv.FairVGNN) -> None:
    alone = german.replace(sensitive=np.zeros(german.num_nodes, dtype=np.int16))
    found = audit_model(model, alone, probes=False)
    assert found.keep is not None
    assert found.keep[0].correlation_before is None
    assert "a correlation needs two groups" in found.notes[0]
    assert found.theorem2.reason == "The theorem is about two groups; here are 1."
    json.dumps(found.to_dict(), allow_nan=False)


def test_scores_that_are_no_probabilities_are_refused() -> None:
    graph = small_graph([0, 1, 0, 1], ["f", "f", "m", "m"])
    expected = r"^predict_proba: values from -1 to 2; an audit needs probabilities between 0 and 1\.$"
    with pytest.raises(fv.InputError, match=expected):
        audit_model(Given([-1, 0, 1, 2]), graph)


def test_a_name_that_the_audit_uses_itself_is_refused(german: fv.NodeGraph, model: fv.FairVGNN) -> None:
    with pytest.raises(fv.InputError, match=r"^others: the name 'constant' is taken by the audit itself"):
        audit_model(model, german, others={"constant": model})


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("FAIRVIEW_DATA"), reason="needs bail.zip: name its folder in FAIRVIEW_DATA")
def test_bails_test_split_takes_seconds_not_minutes() -> None:
    bail = fv.load_dataset("bail")
    model, plain = fv.FairVGNN(**TINY | {"epochs": 1}).fit(bail), fv.Vanilla(epochs=1).fit(bail)
    start = time.process_time()
    audit_model(model, bail, plain=plain, probes=False)
    assert time.process_time() - start < 6  # about 2 on a free core
