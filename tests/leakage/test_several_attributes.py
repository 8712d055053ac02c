"""Audits by several sensitive attributes: what two of them hide, their combinations show."""

from __future__ import annotations

import json

import numpy as np
import pytest

import fairview as fv
from fairview.leakage.exact_null import shuffled_correlations
from fairview.leakage.graph_audit import audit
from fairview.leakage.leaks import leak_tests
from fairview.leakage.model_audit import audit_model
from fairview.leakage.sentences import by_attribute, rule_sentence
from fairview.metrics.intervals import Interval
from fairview.propagation.correlation import known_groups
from fairview.propagation.operators import Operator

SETTINGS = {"operator": Operator(), "hops": 2, "permutations": 49, "seed": 3}


@pytest.fixture(scope="module")
def planted(crossed):
    return crossed(1500)


@pytest.fixture(scope="module")
def found(planted):
    return audit(planted, hops=1, permutations=99, probes=False)


@pytest.fixture(scope="module")
def rare(crossed):
    return crossed(400, rare=7)


# --- graphs -----------------------------------------------------------------------------------------------------------


def test_a_leak_of_the_combinations_is_flagged_for_them_and_for_neither_attribute(found):
    assert set(found.leaking) >= {"leak_strong"}
    assert [part.leaking for part in found.attributes.values()] == [(), ()]
    proxy = [abs(part.channel("proxy_strong").correlation[0]) for part in (*found.attributes.values(), found)]
    assert max(proxy[:2]) < 0.1 < 0.45 < proxy[2]


def test_probes_read_the_combinations_and_neither_attribute(crossed):
    probed = audit(crossed(500), hops=1, permutations=19)
    linear = {
        name: max(probe.auc for probe in part.probes if probe.probe == "linear")
        for name, part in (*probed.attributes.items(), ("both", probed))
    }
    assert max(linear["race"], linear["sex"]) < 0.6 < 0.65 < linear["both"]


def test_homophily_and_groups_are_those_of_each_attribute(planted, found):
    assert list(found.attributes) == ["race", "sex"]
    for name, part in found.attributes.items():
        alone = planted.attribute(name)
        assert part.homophily == alone.homophily()
        assert [place.group for place in part.groups] == list(alone.groups)
        assert part.graph["groups"] == alone.group_sizes
    assert found.homophily == planted.homophily()


def test_each_attribute_is_audited_as_if_alone_but_for_the_correction(planted, found):
    for name, part in found.attributes.items():
        alone = audit(planted.attribute(name), hops=1, permutations=99, probes=False)
        for one, other in zip(part.channels, alone.channels, strict=True):
            assert (one.correlation, one.p_value, one.rank) == (other.correlation, other.p_value, other.rank)
            assert (one.low, one.high) == (other.low, other.high)
            assert one.leak_p_value >= other.leak_p_value


def test_one_attribute_has_no_part_of_its_own(planted):
    alone = audit(planted.attribute("race"), hops=1, permutations=19, probes=False)
    assert alone.attributes == {}
    document = alone.to_dict()
    assert "attributes" not in document
    assert "attributes" not in document["graph"]
    assert list(by_attribute(document)) == ["race"]


def test_the_document_of_an_attribute_reads_as_that_of_its_audit(found):
    document = json.loads(json.dumps(found.to_dict()))
    parts = by_attribute(document)
    assert list(parts) == ["race", "sex", "race & sex"]
    assert document["graph"]["attributes"] == {name: dict(part.graph["groups"]) for name, part in
                                               found.attributes.items()}  # fmt: skip
    for name, part in found.attributes.items():
        own = json.loads(json.dumps(part.to_dict()))
        assert {key: parts[name][key] for key in own if key != "graph"} == {
            k: v for k, v in own.items() if k != "graph"
        }
        assert parts[name]["graph"]["groups"] == own["graph"]["groups"]
    assert rule_sentence(document).endswith("corrected for testing many columns, hops and sensitive attributes).")
    assert "for any of the attributes or their combinations" in found.rule


def test_every_attribute_is_told_of_and_in_a_notebook(found):
    text = str(found)
    for name in ("race:", "sex:", "race & sex:"):
        assert f"\n{name}\n" in text
    assert "Message passing reveals race & sex in" in text
    assert "Correlation with race over" in found._repr_html_()


def test_small_combinations_are_named_where_the_probes_leave_them_out(rare):
    probed = audit(rare, hops=1, permutations=19)
    (said,) = [note for note in probed.notes if "left out of the probes" in note]
    sizes = {name: size for name, size in rare.group_sizes.items() if name.startswith("race=other")}
    assert said == (
        "2 combinations of groups with fewer than 10 nodes are left out of the probes: " + ", ".join(sorted(sizes))
    )
    assert all(probe.auc is not None for probe in probed.probes)
    assert probed.attributes["race"].undefined["probe"].startswith("a group or class has 7 nodes only")
    assert [place.nodes for place in probed.groups if place.group in sizes] == list(sizes.values())


def test_an_attribute_without_two_groups_is_undefined_and_the_others_are_not(planted):
    graph = planted.with_attributes([*planted.attributes, fv.Attribute("none", np.full(1500, -1, dtype=np.int16), ())])
    found = audit(graph, hops=1, permutations=19, probes=False)
    assert "correlation" in found.undefined
    assert "no node's group is known" in found.attributes["none"].undefined["correlation"]
    assert "correlation" not in found.attributes["race"].undefined


def test_an_attribute_is_no_hidden_column(planted):
    with pytest.raises(fv.InputError, match="hidden: 'sex' is the sensitive attribute"):
        audit(planted, permutations=19, probes=False, hidden={"sex": np.zeros(1500)})


# --- the test ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shuffling", ["exact", "quick"])
def test_the_shuffles_of_several_attributes_are_those_of_each(planted, shuffling):
    codes = [known_groups(planted.attribute("race")), known_groups(planted)]
    together = leak_tests(planted.features, planted.adjacency, codes, shuffling=shuffling, **SETTINGS)
    for one, found in zip(codes, together, strict=True):
        (alone,) = leak_tests(planted.features, planted.adjacency, [one], shuffling=shuffling, **SETTINGS)
        np.testing.assert_array_equal(found.p_value, alone.p_value)
        np.testing.assert_array_equal(found.spread, alone.spread)
        assert (found.leak_p_value >= alone.leak_p_value).all()


def test_a_statistic_counts_for_the_other_attribute_too(planted):
    """The p-value, by hand: the share of shuffles whose largest t, of both attributes, is as large."""
    codes = [known_groups(planted.attribute("race")), known_groups(planted)]
    every = np.ones(planted.num_channels, dtype=np.bool_)
    found = leak_tests(planted.features, planted.adjacency, codes, tested=[every, every], **SETTINGS)
    statistics = []
    for one in codes:
        size = np.abs(shuffled_correlations(planted.features, planted.adjacency, [one], **SETTINGS)[0])
        parts = [size[:, 1:], size[:, 1:] - size[:, :1]]
        statistics.append(np.minimum(*((part - part.mean(axis=0)) / part.std(axis=0) for part in parts)))
    largest = np.max([each.max(axis=(1, 2)) for each in statistics], axis=0)
    for test, statistic in zip(found, statistics, strict=True):
        by_hand = (largest[:, None, None] >= statistic[0] - 1e-5).mean(axis=0)
        np.testing.assert_allclose(test.leak_p_value, by_hand, atol=1e-12)


def test_shuffles_are_propagated_once_for_all(planted):
    codes = [known_groups(planted.attribute("race")), known_groups(planted)]
    found = shuffled_correlations(planted.features, planted.adjacency, codes, **SETTINGS)
    for one, correlations in zip(codes, found, strict=True):
        alone = shuffled_correlations(planted.features, planted.adjacency, [one], **SETTINGS)[0]
        np.testing.assert_array_equal(correlations, alone)


# --- models -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def of_model(rare):
    model = fv.Vanilla(epochs=15, hidden=4).fit(rare)
    return audit_model(model, rare, probes=False), fv.evaluate(model, rare, intervals=True)


def test_a_model_is_audited_by_the_groups_of_each_attribute(of_model, rare):
    found, evaluation = of_model
    assert list(found.attributes) == ["race", "sex"]
    for name, part in found.attributes.items():
        expected = [(group.group, group.nodes) for group in evaluation.attributes[name].groups]
        assert [(group.group, group.nodes) for group in part.groups] == expected
        assert [row.group for row in part.roc] == [row.group for row in part.scores] == [name for name, _ in expected]
    assert [group.group for group in found.groups] == list(rare.groups)
    assert {group.group for group in found.groups if group.small} >= {"race=other & sex=f", "race=other & sex=m"}


def test_the_threshold_curve_has_the_gaps_of_the_metrics_at_the_threshold(of_model):
    found, evaluation = of_model
    place = found.thresholds.thresholds.index(0.5)
    for name, part in (*found.attributes.items(), ("race & sex", found)):
        for gap in ("statistical_parity_gap", "equal_opportunity_gap"):
            value = evaluation.attributes[name][gap]
            if isinstance(value, float):
                assert part.thresholds.values[gap][place] == pytest.approx(value, abs=1e-12)
            else:
                assert gap in part.thresholds.undefined
    small = evaluation.attributes["race & sex"].left_out["statistical_parity_gap"]
    assert small
    assert set(small) <= {"race=other & sex=f", "race=other & sex=m"}
    assert set(found.thresholds.values) == {"accuracy", "statistical_parity_gap", "equal_opportunity_gap"}


def test_theorem_2_is_asked_of_each_attribute(of_model):
    found, _ = of_model
    assert found.theorem2.reason.startswith("The theorem is about two groups; here are 6")
    assert found.attributes["sex"].theorem2.chi is not None


def test_rows_have_the_gaps_of_each_attribute(of_model):
    found, evaluation = of_model
    document = json.loads(json.dumps(found.to_dict()))
    row = document["rows"][0]
    gap = "statistical_parity_gap"
    for name, part in evaluation.attributes.items():
        told, value = row["attributes"][name], part[gap]
        assert told[gap] == (value if isinstance(value, float) else None)
        assert (gap in told["intervals"]) is isinstance(part.intervals[gap], Interval)
    assert list(document["attributes"]) == ["race", "sex"]
    assert "by race & sex:" in repr(found)
    assert "Gaps by sensitive attribute" in found._repr_html_()


def test_representations_are_probed_by_each_attribute(crossed):
    graph = crossed(300)
    found = audit_model(fv.Vanilla(epochs=10, hidden=4).fit(graph), graph)
    for part in (*found.attributes.values(), found):
        assert [(each.model, each.probe) for each in part.representations] == [
            ("vanilla", "linear"),
            ("vanilla", "nonlinear"),
        ]
    both = found.representations[0].auc
    assert both > max(part.representations[0].auc for part in found.attributes.values())
