"""Can the pages be read in an editor, and do they name things that exist?"""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + sorted(ROOT.glob("docs/**/*.md"))
IDS = [str(page.relative_to(ROOT)) for page in PAGES]
PATH = re.compile(r"`([a-z_][\w-]*/[\w/.-]+\.(?:py|toml|md))`")


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_lines_are_short_and_old_phrases_gone(page):
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        assert len(line) <= 120 or line.startswith("|"), f"{page.name}:{number} has {len(line)} characters"
        assert "bit by bit" not in line, f"{page.name}:{number}"


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_bullets_are_short(page):
    if page.name == "CHANGELOG.md":
        return
    text = page.read_text(encoding="utf-8")
    for bullet in re.findall(r"^ *(?:-|\d+\.) .*(?:\n(?: +\S.*))*", text, flags=re.MULTILINE):
        assert len(bullet.split()) < 50, f"{page.name}: {bullet}"


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_files_that_a_page_names_exist(page):
    for name in PATH.findall(page.read_text(encoding="utf-8")):
        there = any((folder / name).exists() for folder in (ROOT, ROOT / "src" / "fairview"))
        assert there or "NAME" in name, f"{page.name}: {name}"


def test_the_walks_name_functions_that_exist():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    steps = re.findall(r"^(\d+)\. `([\w./]+)\.py` `(\w+)`", text, flags=re.MULTILINE)
    assert sum(number == "1" for number, _, _ in steps) == 2, "a walk to a run, and one to a certified model"
    assert max(int(number) for number, _, _ in steps) <= 12
    for _, path, name in steps:
        module = importlib.import_module("fairview." + path.removesuffix("/__init__").replace("/", "."))
        value = getattr(module, name)
        assert value.__module__ == module.__name__, f"{name} lies in {value.__module__}"
