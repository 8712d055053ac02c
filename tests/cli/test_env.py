from __future__ import annotations

import json
import platform

import fairview as fv


def test_versions_and_machine(run):
    outcome = run("env")
    assert (outcome.code, outcome.err) == (0, "")
    assert fv.__version__ in outcome.out
    assert "polars" in outcome.out


def test_json(run, monkeypatch, tmp_path):
    monkeypatch.setenv("FAIRVIEW_DATA", str(tmp_path))
    facts = json.loads(run("env", "--format", "json").out)
    assert facts["fairview"] == fv.__version__
    assert facts["python"] == platform.python_version()
    assert facts["cores"] >= 1
    assert facts["processor"]
    assert facts["cpu_capability"]
    assert str(tmp_path) in facts["data_folders"]
    assert {"numpy", "polars", "torch", "typer"} <= set(facts["packages"])
