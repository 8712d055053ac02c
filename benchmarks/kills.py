"""Does work survive `kill -9`? Killed at random moments and resumed, and killed at every step of a save.

python -m benchmarks.kills                        100 kills of train, compare, tune and propagate, 200 during saves
python -m benchmarks.kills --kills 6 --saves 20   fewer of them
python -m benchmarks.kills --kills 40 --saves 0 --only propagate "train from a folder"

Resumed work must leave the bytes of undisturbed work. A killed save must leave what `fairview verify` finds whole, or
what says that it is unfinished and becomes whole when the same is asked again. Exit code 3 if anything differs.

This process imports everything once; the work is done, and killed, in forks of it. It never uses polars itself, whose
threads a fork would not have.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

import fairview as fv
from fairview.runs.evidence import audit_run
from fairview.runs.run import train_run
from fairview.training.machine import torch_threads

Work = Callable[[Path], object]

_STEPS = ("open", "os.mkdir", "os.rename", "os.remove", "os.chmod", "tempfile.mkstemp", "os.truncate")
"""Events of Python that change a folder; each comes before the change."""


@dataclass(frozen=True)
class Job:
    """What is done in a folder, again and again until it is finished.

    Attributes:
        name: of the command.
        work: what is killed; called again, it goes on.
        before: what the folder holds when it begins.
    """

    name: str
    work: Work
    before: Work = field(default=lambda _: None)


@dataclass
class Tally:
    """Kills that landed, and what was wrong afterwards."""

    kills: int = 0
    wrong: list[str] = field(default_factory=list)


def jobs(tables: Path) -> list[Job]:
    """Train, compare, tune, propagate and train from a propagated folder, each some hundred milliseconds long."""
    small, large = _graph(80), _graph(600)
    quick: Any = {"vanilla": {"epochs": 10, "hidden": 3}, "fairvgnn": {"epochs": 3, "hidden": 3, "views": 2}}
    fair: Any = {"epochs": 40, "hidden": 3, "views": 2}
    tuned: Any = {"max_gap": 0.3, "methods": "logistic-regression", "trials": 6}
    nodes, edges, stored = (tables / name for name in ("nodes.parquet", "edges.parquet", "propagated"))
    roles: Any = {"label": "label", "sensitive": "sensitive", "split": "split"}

    def prepare() -> None:
        write_tables(nodes, edges)
        fv.propagate(nodes, edges, folder=stored, **roles)

    _fork(prepare)

    def from_folder(folder: Path) -> object:
        whole = fv.open_propagated(stored)
        return train_run(fv.Vanilla(epochs=120, hidden=4), whole.graph(), folder, resume=True, whole=whole)

    return [
        Job("propagate", lambda folder: fv.propagate(nodes, edges, folder=folder, engine="duckdb", **roles)),
        Job("train from a folder", from_folder),
        Job("train", lambda folder: train_run(fv.Vanilla(epochs=120, hidden=4), small, folder, resume=True)),
        Job("train FairVGNN", lambda folder: train_run(fv.FairVGNN(**fair), small, folder, resume=True)),
        Job("compare", lambda folder: fv.compare(small, seeds=2, folder=folder, workers=1, changes=quick)),
        Job("tune", lambda folder: fv.tune(large, folder=folder, resume=True, **tuned)),
    ]


def saves() -> list[Job]:
    """Work that is little but saving: a run, an audit and a report beside it, a model over an old one, a study."""
    graph = _graph(80)
    old, new = fv.Vanilla(epochs=1, hidden=3, seed=1).fit(graph), fv.Vanilla(epochs=1, hidden=3, seed=2).fit(graph)

    def run(folder: Path) -> object:
        return train_run(fv.LogisticRegression(), graph, folder, resume=True)

    return [
        Job("train", run),
        Job("audit", lambda folder: audit_run(folder, graph, probes=False), before=run),
        Job("report", lambda folder: fv.write_report(folder), before=run),
        Job("model.save over an old model", new.save, before=old.save),
        Job("compare", lambda folder: fv.compare(graph, methods="constant", plain=False, folder=folder, workers=1)),
    ]


# --- two kinds of kills -----------------------------------------------------------------------------------------------


def kill_at_random(job: Job, wanted: int, root: Path, seed: int) -> Tally:
    """Kill the job at random moments, resume it until it is finished, and compare with undisturbed work."""
    moments, tally = random.Random(f"{seed} {job.name}"), Tally()
    start = time.monotonic()
    _fork(lambda: job.work(root / "whole"))
    duration, expected = time.monotonic() - start, contents(root / "whole")
    number = 0
    while tally.kills < wanted:
        number += 1
        folder = root / f"killed-{number}"
        while not _fork(lambda: job.work(folder), moments.uniform(0, duration) if tally.kills < wanted else None):  # noqa: B023
            tally.kills += 1
        tally.wrong += _differences(f"{job.name} {number}", folder, expected)
    return tally


def kill_at_steps(job: Job, steps: list[int], expected: dict[str, bytes], root: Path) -> Tally:
    """Kill the job before given steps of its changes to the folder; look, ask again, and look again."""
    tally = Tally()
    for step in steps:
        folder = root / f"step-{step}"
        shutil.rmtree(folder, ignore_errors=True)
        job.before(folder)
        before = contents(folder)
        if _fork(lambda: _stopping(job.work, folder, step)):  # noqa: B023
            tally.wrong.append(f"{job.name}: step {step} was never reached")
            continue
        tally.kills += 1
        tally.wrong += [f"{job.name}, step {step}: {problem}" for problem in corrupt(folder, before)]
        _fork(lambda: job.work(folder))  # noqa: B023
        tally.wrong += _differences(f"{job.name}, step {step}", folder, expected)
    return tally


def corrupt(folder: Path, before: dict[str, bytes]) -> list[str]:
    """What is wrong with a folder after a kill, beside being unfinished."""
    lost = [name for name in before if not (folder / name).exists()]
    if lost:
        return [f"{', '.join(lost)} lost"]
    return [
        problem for problem in _verified(folder) if "unfinished" not in problem and "was not finished" not in problem
    ]


def count_steps(job: Job, root: Path) -> tuple[int, dict[str, bytes]]:
    """How many steps the job takes, and what undisturbed work leaves."""
    folder, note = root / "whole", root / "steps"
    root.mkdir()
    job.before(folder)
    _fork(lambda: note.write_text(str(_counted(job.work, folder))))
    return int(note.read_text()), contents(folder)


# --- parts ------------------------------------------------------------------------------------------------------------


def contents(folder: Path) -> dict[str, bytes]:
    """Every file that is the same in every run: nothing of seconds, memory or the folder's own name."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if not path.is_file() or path.name.startswith(".") or path.name in ("timings.csv", "files.json"):
            continue
        if path.name.startswith("journal."):
            continue  # seconds of every trial, in the order of their end
        content = path.read_bytes()
        if path.name in ("tune.json", "trial.json"):
            content = json.dumps(_without_seconds(json.loads(content))).encode()
        found[name] = content
    return found


def _without_seconds(document: Any) -> Any:
    if isinstance(document, dict):
        return {key: _without_seconds(value) for key, value in document.items() if key not in ("seconds", "run")}
    return [_without_seconds(each) for each in document] if isinstance(document, list) else document


def _differences(place: str, folder: Path, expected: dict[str, bytes]) -> list[str]:
    made = contents(folder)
    wrong = [name for name in sorted({*made, *expected}) if made.get(name) != expected.get(name)]
    problems = [] if wrong else _verified(folder)
    return [f"{place}: {name} differs from undisturbed work" for name in wrong] + [f"{place}: {p}" for p in problems]


def write_tables(nodes: Path, edges: Path) -> None:
    """A graph as two Parquet files."""
    graph = _graph(4_000)
    nodes.parent.mkdir()
    graph.to_frame().write_parquet(nodes)
    ids = pl.Series(graph.ids)
    ends = {"source": ids[graph.adjacency.sources], "target": ids[graph.adjacency.indices]}
    pl.DataFrame(ends).write_parquet(edges)


def _verified(folder: Path) -> list[str]:
    """What `fairview verify` finds, in a process of its own."""
    note = folder.with_name(f"{folder.name}.problems.json")

    def verify() -> None:
        try:
            found = list(fv.verify(folder).problems)
        except fv.InputError as error:  # nothing in it yet
            found = [] if "nothing to verify" in str(error) else [str(error)]
        note.write_text(json.dumps(found))

    _fork(verify)
    problems: list[str] = json.loads(note.read_text())
    note.unlink()
    return problems


def _graph(nodes: int) -> fv.NodeGraph:
    graph = fv.synthetic_graph(nodes, average_degree=4, label_bias=0.1, seed=2)
    return graph.with_splits(fv.stratified_splits(graph, repeats=1)[0])


def _fork(work: Callable[[], object], seconds: float | None = None) -> bool:
    """Do it in a process of its own, which is killed after some seconds; whether it came to its end."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            with open(os.devnull, "w") as nowhere:  # noqa: PTH123 - progress bars
                os.dup2(nowhere.fileno(), 2)
            with torch_threads(1):
                work()
            code = 0
        finally:
            os._exit(code)
    deadline = time.monotonic() + (600 if seconds is None else seconds)
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            if os.WIFSIGNALED(status):
                return False
            if os.waitstatus_to_exitcode(status):
                raise RuntimeError("the work failed")
            return True
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def _counted(work: Work, folder: Path) -> int:
    seen = 0

    def count() -> None:
        nonlocal seen
        seen += 1

    _watch(folder, count)
    work(folder)
    return seen


def _stopping(work: Work, folder: Path, step: int) -> None:
    """The work, up to a step, at which the process kills itself."""
    left = step

    def count() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    _watch(folder, count)
    work(folder)


def _watch(folder: Path, count: Callable[[], None]) -> None:
    """Count every change of the folder, just before it; for the rest of this process."""
    place = str(folder)

    def hook(event: str, given: tuple[Any, ...]) -> None:
        if event not in _STEPS or not given or not str(given[0]).startswith(place):
            return
        if event == "open" and not (isinstance(given[2], int) and given[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)):
            return
        count()

    sys.addaudithook(hook)


def main(arguments: list[str] | None = None) -> int:
    """Run both, and print the numbers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--saves", type=int, default=200)
    parser.add_argument("--seed", type=int, default=12)
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", help="which work is killed at random moments [default: all]"
    )
    asked = parser.parse_args(arguments)
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as made:
        root = Path(made).resolve()
        all_jobs = [job for job in jobs(root / "tables") if asked.only is None or job.name in asked.only]
        if not all_jobs:
            parser.error(f"--only: {', '.join(job.name for job in jobs(root / 'again'))}")
        for place, job in enumerate(all_jobs):
            share = (asked.kills + place) // len(all_jobs)  # they add up to the number that is asked for
            tally = kill_at_random(job, share, root / "random" / job.name, asked.seed)
            wrong += tally.wrong
            print(f"{job.name}: {tally.kills} kills at random moments, {len(tally.wrong)} differences", flush=True)
        landed, saving = 0, saves() if asked.saves else []
        steps = [(place, *count_steps(job, root / f"save-{place}")) for place, job in enumerate(saving)]
        every = [(place, step) for place, count, _ in steps for step in range(1, count + 1)]
        chosen = random.Random(asked.seed).sample(every * (1 + asked.saves // max(len(every), 1)), asked.saves)
        for place, count, expected in steps:
            job, mine = saving[place], sorted(step for other, step in chosen if other == place)
            tally = kill_at_steps(job, mine, expected, root / f"save-{place}")
            wrong, landed = wrong + tally.wrong, landed + tally.kills
            print(
                f"save, {job.name}: {tally.kills} kills at {len({*mine})} of {count} steps, {len(tally.wrong)} corrupt"
            )
    for problem in wrong:
        print(problem)
    print(f"{asked.kills} kills at random moments and {landed} during saves: {len(wrong)} problems")
    return 3 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
