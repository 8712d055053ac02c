from __future__ import annotations

import multiprocessing
import operator
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from fairview.errors import FairviewError
from fairview.workers import Death, spread

# A task is a function, and the work is to call it with what is shared: nothing of this file is needed in a worker.
SHARED = {"number": -3, "signal": int(signal.SIGKILL), "code": 7, "memory": 10**15}


def key(task: object) -> str:
    return {"abs": "number", "neg": "number", "raise_signal": "signal", "_exit": "code", "bytes": "memory"}.get(
        getattr(task, "__name__", ""), "number"
    )


def run(tasks, workers=1):
    return list(spread(tasks, operator.call, key=key, shared=SHARED.__getitem__, workers=workers))


def test_every_task_is_answered_and_what_is_shared_is_fetched_once_per_change():
    fetched: list[str] = []

    def shared(name: str) -> int:
        fetched.append(name)
        return SHARED[name]

    answers = list(spread([abs, operator.neg, abs, str], operator.call, key=key, shared=shared, workers=1))
    assert answers == [(abs, 3), (operator.neg, 3), (abs, 3), (str, "-3")]
    assert fetched == ["number"]


def test_no_tasks_no_processes():
    assert run([]) == []


def test_a_killed_worker_loses_its_task_only_and_is_replaced():
    answers = run([abs, signal.raise_signal, os._exit, abs])
    assert answers == [
        (abs, 3),
        (
            signal.raise_signal,
            Death("its process was killed (signal 9), as the system does when memory runs out"),
        ),
        (os._exit, Death("its process ended with code 7")),
        (abs, 3),
    ]


def test_a_task_without_enough_memory_says_so():
    assert run([bytes]) == [(bytes, Death("it ran out of memory"))]


def test_a_worker_that_ran_out_of_memory_is_ended_before_its_successor_begins():
    answers = spread([bytes, abs], operator.call, key=key, shared=SHARED.__getitem__, workers=1)
    assert next(answers) == (bytes, Death("it ran out of memory"))
    assert len(multiprocessing.active_children()) == 1
    assert list(answers) == [(abs, 3)]


def test_an_error_that_nobody_expected_stops_everything_with_its_trace():
    with pytest.raises(RuntimeError, match="TypeError"):
        run([len])


def test_several_workers_answer_all_tasks():
    assert sorted(answer for _, answer in run([abs, operator.neg, abs, abs], workers=2)) == [3, 3, 3, 3]


def test_closing_ends_the_processes_at_once():
    answers = spread([abs, time.sleep], operator.call, key=lambda t: t.__name__, shared=lambda k: 60, workers=1)
    assert next(answers) == (abs, 60)
    start = time.perf_counter()
    answers.close()
    assert time.perf_counter() - start < 10


UNGUARDED = """
import operator
from fairview.workers import spread
list(spread([abs], operator.call, key=str, shared=lambda _: 1, workers=1))
"""

ENDLESS = """
import multiprocessing, operator, threading, time
from fairview.workers import spread
if __name__ == "__main__":
    answers = spread([abs, time.sleep], operator.call, key=str, shared=lambda _: 600, workers=1)
    next(answers)
    threading.Thread(target=next, args=(answers,), daemon=True).start()
    print(multiprocessing.active_children()[0].pid, flush=True)
    time.sleep(600)
"""


def test_a_script_without_the_main_guard_is_told_about_it(tmp_path):
    script = tmp_path / "study.py"
    script.write_text(UNGUARDED)
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, timeout=60)
    assert "begin the study below `if __name__ == '__main__':`" in ended.stderr
    assert FairviewError.__name__ in ended.stderr


STARTING = """
import multiprocessing, operator, os, signal, threading, time
from fairview.workers import spread
def end():
    while len(multiprocessing.process._children) < 2:  # before that, Python itself complains of half a message
        time.sleep(0.001)
    time.sleep(float(os.environ["DELAY"]))
    os.kill(os.getpid(), signal.SIGKILL)
if __name__ == "__main__":
    threading.Thread(target=end).start()
    list(spread([abs] * 10**6, operator.call, key=str, shared=lambda _: 1, workers=2))
"""


@pytest.mark.parametrize("delay", ["0", "0.1", "1.5"])
def test_a_killed_parent_leaves_no_word_from_its_workers(tmp_path, delay):
    script = tmp_path / "study.py"
    script.write_text(STARTING)
    with (tmp_path / "words").open("wb") as words:
        command = [sys.executable, script]
        subprocess.run(command, stdout=words, stderr=words, check=False, env=os.environ | {"DELAY": delay}, timeout=60)
        for _ in range(400):
            if not any(str(script).encode() in line for line in command_lines()):
                break
            time.sleep(0.05)
        time.sleep(0.5)
    assert (tmp_path / "words").read_text() == ""


def command_lines() -> Iterator[bytes]:
    """Of all processes, where the system shows them."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            yield path.read_bytes()


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks for processes in /proc")
def test_orphans_of_a_killed_parent_end(tmp_path):
    script = tmp_path / "study.py"
    script.write_text(ENDLESS)
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as parent:
        worker = int(parent.stdout.readline())
        parent.kill()
    for _ in range(200):
        if not Path(f"/proc/{worker}").exists():
            return
        time.sleep(0.05)
    raise AssertionError("the worker outlived its parent")
