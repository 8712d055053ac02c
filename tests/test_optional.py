"""Optional packages: what is installed is imported, what is not is named with the extra that brings it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fairview.errors import FairviewError
from fairview.optional import require

NEEDS = "Reports need altair and vl-convert; install them with: pip install 'fairview[report]'"


def test_what_is_installed_is_returned():
    assert require("json", "report", "JSON") is json


def test_what_is_missing_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(FairviewError) as caught:
        require("altair", "report", "Reports need altair and vl-convert")
    assert str(caught.value) == NEEDS
    with pytest.raises(FairviewError, match="install it with: pip install 'fairview\\[duckdb\\]'"):
        require("no_such_module", "duckdb", "Tables beyond memory need DuckDB")


def test_a_package_that_lacks_something_itself_says_so(tmp_path, monkeypatch):
    (tmp_path / "half_installed.py").write_text("import no_such_module\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        require("half_installed", "report", "Reports need half_installed")


WITHOUT = """
import json, sys
sys.modules["altair"] = sys.modules["vl_convert"] = None  # importing them fails, as if they were not installed
import fairview as fv
import fairview.report
from fairview.report.figures.registry import FIGURES

names = (fv.write_report, fv.FigureEntry, fv.register_figure, fv.Figure, list(FIGURES), fv.audit)
raised = []
for attempt in (
    lambda: fv.write_report(sys.argv[1]),
    lambda: fairview.report.render(fairview.report.folder.read_folder(sys.argv[1])),
    lambda: __import__("fairview.report.paper_charts"),
):
    try:
        attempt()
    except fv.FairviewError as error:
        raised.append(str(error))
print(json.dumps(raised))
"""


def test_without_altair_and_vl_convert_everything_but_reports_works(tmp_path: Path):
    (tmp_path / "metrics.json").write_text('{"test": {"auc": 0.7}}')
    outcome = subprocess.run(
        [sys.executable, "-c", WITHOUT, str(tmp_path)], capture_output=True, text=True, check=False
    )  # fmt: skip
    assert outcome.returncode == 0, outcome.stderr
    assert json.loads(outcome.stdout) == [NEEDS] * 3
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.json"]


def test_public_names_of_the_report_do_not_import_altair():
    code = (
        "import sys, fairview as fv, fairview.report; fv.Figure, fv.FigureEntry, fv.register_figure, fv.write_report; "
        "print([name for name in ('altair', 'vl_convert', 'torch') if name in sys.modules])"
    )
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert outcome.stdout.strip() == "[]"
