from __future__ import annotations

import json
import warnings

import pytest

from fairview.runs import path_speed as speed

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PyG's import is not ours to judge
    import torch_geometric.nn  # noqa: F401


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """One epoch of each path, with a single view and step: what is measured is not what is tested."""
    monkeypatch.setattr(speed, "ENOUGH_SECONDS", 0.0)


def test_json_has_the_keys_of_the_contract(run):
    outcome = run("speed", "german", "--encoder", "gcn", "--threads", 1, "--format", "json")
    assert (outcome.code, outcome.err) == (0, "")
    found = json.loads(outcome.out)
    keys = {"ratio", "general_seconds_per_epoch", "fast_seconds_per_epoch", "max_gradient_difference", "peak_memory_mb"}
    assert keys <= set(found)
    assert found["ratio"] > 0
    assert found["max_gradient_difference"] < 1e-10
    assert (found["encoder"], found["nodes"], found["threads"]) == ("gcn", 1000, 1)


def test_the_table_says_the_same(run):
    outcome = run("speed")
    assert outcome.code == 0, outcome.err
    assert "ratio" in outcome.out
    assert "largest gradient difference" in outcome.out


def test_what_does_not_exist_is_said(run):
    outcome = run("speed", "germen")
    assert outcome.code == 1
    assert "Did you mean 'german'?" in outcome.err
    assert run("speed", "--encoder", "gat").code == 2
    assert run("speed", "--threads", "0").code == 2
