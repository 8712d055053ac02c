from __future__ import annotations

import pytest

from fairview.study import trials
from fairview.study.trials import run_trial


@pytest.fixture
def counted(monkeypatch):
    """The ids of the trials that were run in this process."""
    ran: list[str] = []

    def run(trial, graph, **options):
        ran.append(trial.id)
        return run_trial(trial, graph, **options)

    monkeypatch.setattr(trials, "run_trial", run)
    return ran
