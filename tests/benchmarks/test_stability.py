"""The tables of docs/stability.md: which numbers they are, and that the page has what was measured."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import fairview as fv
from benchmarks import stability

ROOT = Path(__file__).parents[2]


def line(method: str, seed: int, machine: str, gap: float, **changes: float) -> dict[str, str]:
    numbers = {"largest_score_change": 0.0, "flipped_share": 0.0, "auc": 0.7, "balanced_accuracy": 0.6} | changes
    numbers |= {"equal_opportunity_gap": 0.1, stability.AT_BASE_RATE: gap}
    told = {"graph": "g", "method": method, "seed": str(seed), "machine": machine, "capability": "AVX2"}
    return told | {name: str(value) for name, value in (numbers | {"statistical_parity_gap": gap}).items()}


def test_ranges_are_taken_within_a_seed_and_the_widest_is_shown():
    lines = [
        line("m", 1, "own", 0.10),
        line("m", 1, "default", 0.12, largest_score_change=0.03, flipped_share=0.01),
        line("m", 1, "rerun 1", 0.16, largest_score_change=0.05, flipped_share=0.02),
        line("m", 2, "own", 0.30),
        line("m", 2, "default", 0.25),
        line("m", 3, "own", 0.20),
    ]
    printed = stability.tables(lines).splitlines()
    still, gap = "0.0 (0.0) / 0.0 (0.0)", "20.0 ± 10.0 (3.5)"
    assert f"| m | 3 | 0.03 / 0.05 | 1.0 / 2.0 | {still} | 3.5 (5.0) / 6.0 (6.0) | {still} |" in printed
    assert f"| m | 70.0 ± 0.0 (0.0) | 60.0 ± 0.0 (0.0) | {gap} | 10.0 ± 0.0 (0.0) | {gap} |" in printed


def test_methods_are_made_as_train_makes_them():
    graph = fv.load_dataset("german")
    single = stability.make("fairvgnn", graph, "german", 3)
    assert single.get_params() == fv.FairVGNN.from_preset("german", "gcn", seed=3).get_params()
    ensemble = stability.make("fairvgnn x5", graph, "german", 3)
    assert [member.seed for member in ensemble.unfitted_members()] == [3000, 3001, 3002, 3003, 3004]


def test_the_page_has_the_tables_of_what_was_measured():
    with (ROOT / "docs/results/stability.csv").open(encoding="utf-8") as stream:
        lines = list(csv.DictReader(stream))
    page = (ROOT / "docs/stability.md").read_text(encoding="utf-8")
    for row in stability.tables(lines).splitlines():
        assert row in page, row


def test_the_machines_own_kernels_are_among_those_compared():
    assert stability.MACHINES["own"] == {}
    assert set(stability.MACHINES) == {"own", "avx2", "default", "old"}


@pytest.mark.slow
def test_a_small_measurement_runs_from_end_to_end(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    found = stability.measure("german", ["parity"], 1, 1, tmp_path, 1)
    assert [row["machine"] for row in found] == [*stability.MACHINES, "rerun 1"]
    assert np.isfinite([row["auc"] for row in found]).all()
