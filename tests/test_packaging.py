"""What packages, workflows and citations say of the project agrees with the project."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import fairview as fv

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHONS = ["3.11", "3.12", "3.13"]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[><=\[]", requirement)[0] for requirement in requirements}


def test_the_supported_pythons_are_said_alike_everywhere():
    classifiers = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if "Python :: 3." in line]
    assert classifiers == PYTHONS
    assert re.search(r"python: (\[.*\])", text(".github/workflows/ci.yml"))[1] == str(PYTHONS).replace("'", '"')
    assert PROJECT["requires-python"] == ">=3.11"


def test_what_draws_is_an_extra_that_tests_have():
    extras = PROJECT["optional-dependencies"]
    assert names(extras["report"]) == {"altair", "vl-convert-python"}
    assert not names(extras["report"]) & names(PROJECT["dependencies"])
    assert names(extras["fairlearn"]) == {"fairlearn"}
    assert names(extras["spark"]) == {"pyspark"}
    assert names(extras["duckdb"]) == {"duckdb"}
    assert extras["all"] == ["fairview[report,fairlearn,duckdb,spark]"]
    assert "fairview[all]" in extras["test"]


def test_the_citation_names_the_version_and_the_paper():
    citation = text("CITATION.cff")
    assert f"\nversion: {fv.__version__}\n" in citation
    assert "doi: 10.1145/3534678.3539404" in citation
    assert PROJECT["urls"]["Paper"].endswith("10.1145/3534678.3539404")


@pytest.mark.parametrize("hook", ["ruff format", "ruff check", "mypy", "lint-imports"])
def test_the_hooks_are_what_make_lint_runs(hook):
    assert f"$(BIN)/{hook}" in text("Makefile")
    assert f"entry: .venv/bin/{hook}" in text(".pre-commit-config.yaml")


def test_the_image_is_built_from_the_wheels_without_a_network():
    dockerfile, makefile = text("Dockerfile"), text("Makefile")
    for part in ("--no-index --find-links", "'fairview[report]'", "dist/wheelhouse"):
        assert part in dockerfile
        assert part in makefile
