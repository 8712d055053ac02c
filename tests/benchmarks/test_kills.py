"""Are kills noticed that leave a mess, and only those?"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import kills
from fairview.atomic import write_atomic
from fairview.methods.model_files import model_content


def test_every_step_of_a_save_over_an_old_model_leaves_one_of_them(tmp_path):
    job = kills.saves()[3]
    steps, expected = kills.count_steps(job, tmp_path / "saves")
    tally = kills.kill_at_steps(job, [*range(1, steps + 1)], expected, tmp_path / "saves")
    assert (tally.kills, tally.wrong) == (steps, [])


def test_a_save_that_can_lose_both_models_is_noticed(tmp_path):
    job = kills.saves()[3]
    payload, document = model_content(job.work.__self__)

    def careless(folder: Path) -> None:
        write_atomic(folder / "model.safetensors", payload)
        write_atomic(folder / "model.json", document)

    careless_job = kills.Job("careless", careless, before=job.before)
    steps, expected = kills.count_steps(careless_job, tmp_path / "saves")
    tally = kills.kill_at_steps(careless_job, [*range(1, steps + 1)], expected, tmp_path / "saves")
    assert any("does not match its sha256" in problem for problem in tally.wrong)


@pytest.mark.slow
def test_kills_at_random_moments_and_during_saves_change_nothing(capsys):
    assert kills.main(["--kills", "12", "--saves", "30"]) == 0
    assert "12 kills at random moments and 30 during saves: 0 problems" in capsys.readouterr().out
