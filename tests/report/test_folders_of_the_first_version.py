"""Folders that version 0.1.0 wrote are still reported, and go on or say why not."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import fairview as fv

OLD = Path(__file__).parent / "folders-of-0.1.0"


@pytest.mark.parametrize(("name", "text"), [("run", "FairVGNN"), ("comparison", "Vanilla · GCN")])
def test_they_are_reported(tmp_path, name, text):
    folder = Path(shutil.copytree(OLD / name, tmp_path / name))
    assert text in fv.write_report(folder).read_text()


def test_the_model_of_a_run_opens(tmp_path):
    assert fv.load_model(OLD / "run").views == 2


def test_a_comparison_goes_on_where_settings_are_the_same(tmp_path):
    folder = Path(shutil.copytree(OLD / "comparison", tmp_path / "comparison"))
    graph = fv.load_dataset("german")
    asked = {
        "methods": ["fairvgnn", "logistic-regression"],
        "seeds": 1,
        "folder": folder,
        "changes": {"fairvgnn": {"epochs": 3}, "vanilla": {"epochs": 3}},
        "workers": 1,
    }
    with pytest.raises(fv.InputError) as caught:  # FairVGNN's published settings now say what was a default
        fv.compare(graph, **asked)
    assert str(caught.value).endswith(
        "row 'fairvgnn gcn' has other settings ('balanced_discriminator'). A comparison can be extended, not changed: "
        "use another folder."
    )
