from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def circulated() -> Path:
    """The folder with the files that the fair-GNN papers circulate."""
    folder = os.environ.get("FAIRVIEW_DATA")
    if not folder:
        pytest.skip("needs german.zip, bail.zip and credit.csv: name their folder in FAIRVIEW_DATA")
    return Path(folder)


@pytest.fixture
def empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user who has nothing: no folder named, an empty cache, which is returned."""
    monkeypatch.delenv("FAIRVIEW_DATA", raising=False)
    monkeypatch.delenv("FAIRVIEW_MIRROR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "cache"))
    return tmp_path / "cache" / "fairview"
