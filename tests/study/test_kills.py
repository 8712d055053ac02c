"""A comparison that is killed at random moments, with SIGKILL, which no program can catch."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fairview.study.journal import decode

SAME_BYTES = ("study.json", "results.csv", "summary.json")

COMPARE = """
import sys
import fairview as fv
from fairview.study import trials
from fairview.study.comparison import compare

def study(folder, workers):
    graph = fv.synthetic_graph(80, groups={"f": 0.4, "m": 0.6}, average_degree=6, seed=1)
    quick = {"fairvgnn": {"epochs": 4, "hidden": 3, "views": 2}, "vanilla": {"epochs": 5, "hidden": 3}}
    compare(graph, methods=["fairvgnn"], seeds=3, splits=2, folder=folder, workers=workers, changes=quick)
"""

TRIALS = 2 + 6 + 6

# One process imports everything once; its forks are the comparisons that are killed.
FORKS = (
    COMPARE
    + """
import os, pathlib, random, signal, time

def begun(folder):
    real = trials.run_trial
    def run(trial, graph, **options):
        with open(folder + ".starts", "a") as stream:
            stream.write(trial.id + "\\n")
        return real(trial, graph, **options)
    trials.run_trial = run
    study(folder, 1)

def fork(folder, seconds):
    child = os.fork()
    if child == 0:
        begun(folder)
        os._exit(0)
    deadline = time.monotonic() + (seconds or 600)
    while time.monotonic() < deadline:
        if os.waitpid(child, os.WNOHANG)[0]:
            return False
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return True

root, wanted = pathlib.Path(sys.argv[1]), int(sys.argv[2])
moments = random.Random(7)
start = time.monotonic()
fork(str(root / "whole"), None)
duration, kills, number = time.monotonic() - start, 0, 0
while kills < wanted:
    number += 1
    folder, here = root / f"killed-{number}", 0
    while fork(str(folder), moments.uniform(0, duration) if kills < wanted else None):
        kills, here = kills + 1, here + 1
    (root / f"killed-{number}.kills").write_text(str(here))
"""
)


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in SAME_BYTES}


def finished_trials(folder: Path) -> list[str]:
    lines = (folder / "journal.jsonl").read_bytes().splitlines(keepends=True)[1:]
    return [entry["result"]["trial"] for line in lines if (entry := decode(line)) is not None]


def check_kills(tmp_path: Path, kills: int) -> None:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-c", FORKS, tmp_path, str(kills)], check=True, timeout=900, env=environment)
    counts = 0
    for note in sorted(tmp_path.glob("*.kills")):
        folder = note.with_suffix("")
        assert contents(folder) == contents(tmp_path / "whole")
        done = finished_trials(folder)
        assert len(done) == len(set(done)) == TRIALS, "none lost, none twice"
        starts = (tmp_path / f"{folder.name}.starts").read_text().splitlines()
        assert len(starts) <= TRIALS + int(note.read_text()), "a kill costs one trial at most"
        counts += int(note.read_text())
    assert counts == kills


def test_killed_at_random_moments_and_resumed_the_bytes_are_those_of_an_uninterrupted_comparison(tmp_path):
    check_kills(tmp_path, kills=4)


@pytest.mark.slow
def test_killed_at_twenty_random_moments(tmp_path):
    check_kills(tmp_path, kills=20)


@pytest.mark.slow
def test_killed_twenty_times_with_two_processes_at_work(tmp_path):
    script = tmp_path / "study.py"
    script.write_text(COMPARE + "if __name__ == '__main__':\n    study(sys.argv[1], 2)\n")
    environment = os.environ | {"OMP_NUM_THREADS": "1"}

    def begin(folder: Path) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, script, folder], env=environment)

    start = time.monotonic()
    assert begin(tmp_path / "whole").wait() == 0
    duration = time.monotonic() - start
    moments = random.Random(11)
    kills = number = 0
    while kills < 20:
        number += 1
        folder = tmp_path / f"killed-{number}"
        while True:
            process = begin(folder)
            try:
                code = process.wait(moments.uniform(0.3, 1.0) * duration if kills < 20 else None)
            except subprocess.TimeoutExpired:
                before = finished_trials(folder) if (folder / "journal.jsonl").exists() else []
                process.send_signal(signal.SIGKILL)
                process.wait()
                after = finished_trials(folder) if (folder / "journal.jsonl").exists() else []
                assert after[: len(before)] == before, "what was written stays"
                kills += 1
            else:
                assert code == 0
                break
        assert contents(folder) == contents(tmp_path / "whole")
        done = finished_trials(folder)
        assert len(done) == len(set(done)) == TRIALS
