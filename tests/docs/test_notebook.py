"""The notebook of the tutorials runs from top to bottom and shows what it promises."""

from __future__ import annotations

from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[2] / "docs" / "tutorials" / "notebook.ipynb"

pytestmark = pytest.mark.xdist_group("notebook")  # it is run once


@pytest.fixture(scope="module")
def executed():
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        assert not cell.get("outputs"), "stored without outputs: clear them before saving"
    assert len(notebook.cells) <= 12
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    return notebook


def test_the_notebook_runs_and_shows_html_frames_and_charts(executed):
    results = [output.data for cell in executed.cells for output in cell.get("outputs", []) if "data" in output]
    pages = "\n".join(data.get("text/html", "") for data in results)
    for title in ("NodeGraph: german", "GraphAudit of german", "Evaluation of 250 nodes", "Comparison on german"):
        assert f"<strong>{title}" in pages, title
    assert sum("vegaEmbed" in data.get("text/html", "") for data in results) == 2
    assert 'class="dataframe"' in pages  # the frames


def test_the_notebook_prints_no_warnings(executed):
    streams = [
        output for cell in executed.cells for output in cell.get("outputs", []) if output.output_type == "stream"
    ]
    assert streams == []
