"""Are the result pages what their documents say? They are generated, so that nobody edits a number."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from fairview.paper.results_page import PICTURES, results_page
from fairview.paper.tables_page import tables_page

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def on_the_site():
    spec = importlib.util.spec_from_file_location("make_results", DOCS / "results" / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.on_the_site


@pytest.mark.parametrize(("name", "page"), [("results.md", results_page), ("results-tables.md", tables_page)])
def test_a_page_is_what_the_documents_beside_it_give(on_the_site, name, page):
    assert (DOCS / name).read_text(encoding="utf-8") == on_the_site(page(DOCS / "results"))


def test_pictures_are_there():
    pictures = re.findall(r"!\[[^]]*\]\(([^)]+)\)", (DOCS / "results.md").read_text(encoding="utf-8"))
    assert pictures == [f"results/{name}.svg" for name in PICTURES]
    for picture in pictures:
        assert (DOCS / picture).read_text(encoding="utf-8").startswith("<svg")


def test_names_of_pages_become_links(on_the_site):
    made = on_the_site("![Figure 4](fig4.svg) is measured (docs/speed.md), see [tables](results-tables.md).")
    assert made == "![Figure 4](results/fig4.svg) is measured ([speed](speed.md)), see [tables](results-tables.md)."
