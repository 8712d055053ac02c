"""A metric, a dataset, a method and a figure from outside the package go through train, compare and report.

CONTRIBUTING's recipes are these tests, in words.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

import fairview as fv
from fairview.cli.main import main
from fairview.data.datasets.registry import DATASETS
from fairview.methods.registry import METHODS
from fairview.metrics.registry import METRICS
from fairview.report.figures.registry import FIGURES

HERE = Path(__file__).parent
ENTRY_POINTS = """[fairview.methods]
prior = outside:METHOD

[fairview.datasets]
village = outside:DATASET

[fairview.metrics]
predictive_parity_gap = outside:METRIC

[fairview.figures]
village = outside:FIGURE
"""


def check(folder: Path) -> None:
    """The run, the comparison and their reports have all four."""
    metrics = json.loads((folder / "run" / "metrics.json").read_text())
    assert 0 <= metrics["test"]["predictive_parity_gap"] <= 1
    assert "predictive_parity_gap" in metrics["test"]["intervals"]
    record = json.loads((folder / "run" / "run.json").read_text())
    assert (record["method"], record["data"]["source"]) == ("prior", "village")
    summary = json.loads((folder / "comparison" / "summary.json").read_text())
    rows = {row["method"]: row for row in summary["rows"]}
    assert rows["prior"]["label"] == "Prior of the village"
    assert "predictive_parity_gap" in rows["prior"]["mean"]
    with (folder / "comparison" / "results.csv").open(newline="") as stream:
        assert "test_predictive_parity_gap" in next(csv.reader(stream))
    for name in ("run", "comparison"):
        page = (folder / name / "report.html").read_text()
        for text in ("predictive parity gap", "Who lives there?", "Villagers", "rior of the village"):
            assert text in page, (name, text)


def test_registered_by_hand_they_go_through_train_compare_and_report(tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(HERE / "plugin")
    import outside

    def run(*arguments: object) -> str:
        with pytest.raises(SystemExit) as caught:
            main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        assert caught.value.code in (0, None), printed.err
        return printed.out

    with ExitStack() as registered:
        for registry, entry in (
            (METRICS, outside.METRIC), (DATASETS, outside.DATASET), (METHODS, outside.METHOD), (FIGURES, outside.FIGURE)
        ):  # fmt: skip
            registered.enter_context(registry.added(entry))
        assert "village" in run("datasets")
        assert "PP gap" in run("train", "village", "--method", "prior", "--out", tmp_path / "run")
        compare = ("compare", "village", "--methods", "prior", "--set", "vanilla.epochs=3", "--workers", "1")
        assert "PP gap" in run(*compare, "--out", tmp_path / "comparison")
        for name in ("run", "comparison"):
            run("report", tmp_path / name)
        check(tmp_path)
        assert fv.load_model(tmp_path / "run").slope == 0.1
    assert "village" not in DATASETS


def test_announced_by_an_installed_package_they_do_too(tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    (site / "outside.py").write_text((HERE / "plugin" / "outside.py").read_text())
    about = site / "village-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: village\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRY_POINTS)
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])

    def run(*arguments: object) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "fairview", *map(str, arguments)],
            capture_output=True, text=True, env=os.environ | {"PYTHONPATH": path}, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "village" in run("datasets")
    run("train", "village", "--method", "prior", "--out", tmp_path / "run")
    compare = ("compare", "village", "--methods", "prior", "--set", "vanilla.epochs=3", "--workers", "2")
    assert "Prior of the village" in run(*compare, "--out", tmp_path / "comparison")
    check(tmp_path)


def test_a_package_that_cannot_be_imported_is_named(tmp_path, monkeypatch):
    about = tmp_path / "broken-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[fairview.methods]\nbroken = no_such_module:METHOD\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(METHODS, "_announced", False)
    with pytest.raises(fv.FairviewError) as caught:
        list(METHODS)
    assert str(caught.value) == (
        "broken announces the method 'broken', which can't be imported (No module named 'no_such_module'). "
        "Update that package, or uninstall it."
    )
