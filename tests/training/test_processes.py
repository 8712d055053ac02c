"""Do several processes train what one would?"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import fairview as fv
from fairview.training.processes import Place, place_by_torchrun

SCRIPT = Path(__file__).with_name("trained_together.py")


@pytest.fixture(scope="module")
def answers(propagated, tmp_path_factory) -> list[list[dict]]:
    """What three processes say, each with a third of the nodes."""
    home, folders = tmp_path_factory.mktemp("together"), [propagated(operator).folder for operator in ("gcn", "sum")]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "3"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    done = subprocess.run(
        [*torchrun, SCRIPT, *folders, home], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return [json.loads((home / f"answers-{rank}.json").read_text()) for rank in range(3)]


def test_several_processes_train_what_one_does_to_1e_6(answers):
    for answer in answers[0]:
        assert answer["scores"] <= 1e-6, answer
        assert answer["losses"] <= 1e-6, answer
        assert answer["epochs"][0] == answer["epochs"][1], answer


def test_in_float64_they_differ_by_rounding_alone(answers):
    (wide,) = [answer for answer in answers[0] if "float64" in answer["case"]]
    assert max(wide["scores"], wide["losses"]) <= 1e-13


def test_all_processes_have_the_same_weights(answers):
    first, *others = ([answer["weights"] for answer in of_process] for of_process in answers)
    assert all(other == first for other in others)


def test_without_torchrun_a_process_is_alone(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR"):
        monkeypatch.delenv(name, raising=False)
    assert place_by_torchrun() is None


def test_torchrun_says_which_process_this_is(monkeypatch):
    for name, value in (("RANK", "2"), ("WORLD_SIZE", "4"), ("MASTER_ADDR", "localhost")):
        monkeypatch.setenv(name, value)
    assert place_by_torchrun() == Place(2, 4)
    assert not Place(2, 4).leads
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert place_by_torchrun() is None
    monkeypatch.setenv("WORLD_SIZE", "many")
    with pytest.raises(fv.InputError) as caught:
        place_by_torchrun()
    assert str(caught.value) == "RANK=0, WORLD_SIZE=many: expected numbers as torchrun sets them."
