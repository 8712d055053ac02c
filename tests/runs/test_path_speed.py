from __future__ import annotations

import pytest
import torch

from fairview.runs import path_speed as speed
from fairview.runs.path_speed import max_gradient_difference, measure_speed

SETTINGS = {"hidden": 4, "views": 3, "discriminator_steps": 1, "classifier_steps": 1, "generator_steps": 1, "seed": 1}


@pytest.mark.parametrize("encoder", ["gcn", "gin", "sage", "sign"])
def test_both_paths_are_timed_and_have_the_same_gradients(graph, monkeypatch, encoder):
    monkeypatch.setattr(speed, "ENOUGH_SECONDS", 0.0)
    before = torch.get_num_threads()
    found = measure_speed(graph, SETTINGS | {"encoder": encoder})
    assert {
        "ratio",
        "general_seconds_per_epoch",
        "fast_seconds_per_epoch",
        "max_gradient_difference",
        "peak_memory_mb",
    } <= set(found)
    assert found["ratio"] == found["general_seconds_per_epoch"] / found["fast_seconds_per_epoch"] > 0
    assert 0 <= found["max_gradient_difference"] < 1e-10
    assert found["peak_memory_mb"] > 1
    assert (found["encoder"], found["nodes"], found["edges"], found["threads"]) == (encoder, 80, graph.num_edges, 1)
    assert found["epochs_timed"] == {"general": 1, "fast": 1}
    assert torch.get_num_threads() == before


def test_the_paths_and_precision_of_the_settings_do_not_matter(graph, monkeypatch):
    monkeypatch.setattr(speed, "ENOUGH_SECONDS", 0.0)
    found = measure_speed(graph, SETTINGS | {"encoder": "gcn", "path": "general", "precision": "float32"}, threads=2)
    assert found["threads"] == 2


def test_a_difference_would_be_seen(graph, monkeypatch):
    from fairview.nn.linear_path import LinearRows

    real = LinearRows.logits
    monkeypatch.setattr(LinearRows, "logits", lambda self, masks, head: real(self, masks, head) * 1.001)
    assert max_gradient_difference(graph, SETTINGS | {"encoder": "gcn"}) > 1e-4
