"""What an entry of the registry knows of its class."""

from __future__ import annotations

import json

import numpy as np
import pytest

import fairview as fv
from fairview.methods.model_files import canonical, checked
from fairview.methods.registry import METHODS, needs_group, resolve_method
from fairview.study.plan import plan


class Told(fv.Estimator):
    """A method of somebody's own that needs the group."""

    group_at_prediction = True

    def fit(self, graph):
        self.share_ = np.full(len(graph.groups), 0.5)
        return self

    def predict_proba(self, graph):
        positive = self.share_[graph.sensitive]
        return np.stack([1 - positive, positive], axis=1)


def test_a_class_of_one_s_own_says_itself_that_it_needs_the_group():
    assert resolve_method(Told).group_at_prediction
    assert resolve_method(Told()).group_at_prediction
    assert fv.MethodEntry(name="told", words="told", target=Told).group_at_prediction
    assert needs_group(Told())


def test_three_methods_need_or_do_not_need_the_group():
    needing = [name for name, entry in METHODS.items() if entry.group_at_prediction]
    assert needing == ["group-thresholds", "threshold-optimizer"]
    assert not needs_group(fv.LogisticRegression())
    assert not needs_group(object())


def test_an_estimator_without_parameters_has_none():
    assert Told().get_params() == {}
    assert repr(Told()) == "Told()"


@pytest.mark.parametrize(
    ("settings", "rows"),
    [
        ({}, ["Group thresholds"]),
        ({"model": "vanilla"}, ["Group thresholds · GCN", "Group thresholds · GIN"]),
    ],
)
def test_rows_have_an_encoder_only_where_the_model_inside_has_one(settings, rows):
    found = plan(["group-thresholds"], ["gcn", "gin"], changes={"group-thresholds": settings}, plain=False)
    assert [row.label for row in found][1:] == rows
    seeds = {len(row.trials("german", seeds=3, splits=1)) for row in found[1:]}
    assert seeds == {3 if settings else 1}


def test_an_instance_with_a_model_inside_is_compared_by_its_settings(graph, tmp_path):
    inside = fv.GroupThresholds(model=fv.Vanilla(epochs=2, hidden=3, encoder="mlp"), relaxation=0.5)
    found = fv.compare(graph, methods=[inside], plain=False, seeds=1, folder=tmp_path, workers=1)
    row = found.summary["rows"][1]
    assert (row["label"], row["failed"]) == ("Group thresholds · MLP", 0)
    assert row["settings"]["model"] == "vanilla"
    assert row["settings"]["model_settings"]["epochs"] == 2
    assert "Group thresholds · MLP †" in repr(found)
    assert "† needs each node's sensitive group at prediction." in repr(found)
    assert "† needs each node&#x27;s sensitive group at prediction." in found._repr_html_()


def test_wrong_settings_of_the_model_inside_are_found_before_the_work():
    with pytest.raises(
        fv.InputError, match=r"^Vanilla: epochs=0; expected a whole number, at least 1 and at most 1,000,000\.$"
    ):
        plan(
            ["group-thresholds"],
            ["gcn"],
            changes={"group-thresholds": {"model": "vanilla", "model_settings": {"epochs": 0}}},
        )


def test_model_files_without_the_key_still_load(graph, tmp_path):
    fv.GroupThresholds().fit(graph).save(tmp_path)
    path = tmp_path / "model.json"
    document = checked(path.read_bytes(), path)
    assert document.pop("group_at_prediction") is True
    path.write_bytes(canonical(document))
    assert "group_at_prediction" not in json.loads(path.read_text())
    assert needs_group(fv.load_model(tmp_path))
