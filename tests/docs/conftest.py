from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fairview.methods.registry import METHODS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture
def fresh_folder(tmp_path, monkeypatch):
    """A temporary folder to run a page in; modules that it writes there and methods that it registers are forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    before = set(sys.modules)
    monkeypatch.setattr(METHODS, "_entries", {name: METHODS[name] for name in METHODS})
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
