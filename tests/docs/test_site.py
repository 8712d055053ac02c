"""Is the site whole? It is built in strict mode, says every public name, and asks nobody else for anything."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

import fairview as fv

pytestmark = pytest.mark.xdist_group("site")  # it is built once


@pytest.fixture(scope="module")
def site(root, tmp_path_factory):
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=root, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_is_built_and_loads_nothing_from_elsewhere(site, root):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 60
    loaded = re.compile(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"(?:https?:)?//")
    assert [page.name for page in pages if loaded.search(page.read_text(encoding="utf-8"))] == []


def test_the_reference_has_every_public_name(root):
    pages = "\n".join(path.read_text(encoding="utf-8") for path in (root / "docs" / "reference").glob("*.md"))
    named = set(re.findall(r"^::: fairview\.(\w+)", pages, flags=re.MULTILINE))
    assert set(fv.__all__) - {"__version__", "metrics"} <= named


def test_the_command_line_page_has_every_command(site):
    from fairview.cli.main import app

    page = (site / "reference" / "command-line.html").read_text(encoding="utf-8")
    for command in app.registered_commands:
        assert f"fairview {command.name}" in page
    assert "--split-seed" in page


@pytest.mark.parametrize("name", ["FairVGNN", "Vanilla", "NIFTY", "EDITS", "FairGNN", "Masking"])
def test_the_reference_documents_shared_parameters_and_hides_inner_functions(site, name):
    page = (site / "reference" / "methods.html").read_text(encoding="utf-8")
    entry = page[page.index(f'id="fairview.{name}"') :].split("<h3 ", maxsplit=1)[0]
    for parameter in ("encoder", "epochs", "seed"):
        assert f"<b><code>{parameter}</code></b>" in entry
    assert f"fairview.{name}.fit" in entry
    assert f"fairview.{name}.blank_modules" not in entry
