"""What does a full disk cost? Work on a small tmpfs that fills up, and the same work again after room was made.

python -m benchmarks.full_disk                    20 sizes each of propagate, train from a folder and predict
python -m benchmarks.full_disk --sizes 4          fewer of them

The estimate before the work is switched off, as if other programs filled the disk meanwhile. Work that finds no room
must end with a sentence and exit code 1, leave nothing that is read as whole, and give the bytes of undisturbed work
once there is room. Needs the right to mount (root on Linux). Exit code 3 if anything differs.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import fairview as fv
from benchmarks.kills import contents, write_tables

_ROOMY = 512 * 1024
_CHILD = """
import sys
from fairview.propagation.engines.budget import Budget
Budget.check_disk = lambda *_: None
from fairview.cli.main import main
main(sys.argv[1:])
"""


class Job(NamedTuple):
    """A command, and the file or folder that it leaves."""

    name: str
    words: tuple[str, ...]
    output: str


class Outcome(NamedTuple):
    """How often the disk was full, and what was wrong."""

    full: int
    wrong: list[str]


def jobs(tables: Path) -> list[Job]:
    """Propagate, train from a folder and predict from it; the last two read what lies on another disk."""
    roles = ("--label", "label", "--sensitive", "sensitive", "--split", "split")
    nodes, edges, stored, run = (str(tables / name) for name in ("nodes.parquet", "edges.parquet", "propagated", "run"))
    trained = ("--propagated", stored, "--method", "vanilla", "--set", "epochs=20", "--no-report", "--resume")
    everything = [
        Job("propagate", ("propagate", "--nodes", nodes, "--edges", edges, *roles, "--engine", "duckdb"), "folder"),
        Job("train", ("train", *trained), "run"),
        Job("predict", ("predict", run, "--propagated", stored), "scores.parquet"),
    ]
    for job, output in zip(everything, (stored, run), strict=False):
        command(job, Path(output)).check_returncode()
    return everything


def command(job: Job, output: Path) -> subprocess.CompletedProcess[str]:
    """The job in a process of its own."""
    words = [sys.executable, "-c", _CHILD, *job.words, "--out", str(output)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


@contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[Path]:
    """A tmpfs of so many kilobytes."""
    folder.mkdir(parents=True, exist_ok=True)
    _mount("-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder))
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def can_mount() -> bool:
    """Whether this process may mount a tmpfs."""
    with tempfile.TemporaryDirectory() as place:
        try:
            with small_disk(Path(place), 64):
                return True
        except (OSError, subprocess.CalledProcessError):
            return False


def fill(job: Job, sizes: int, root: Path) -> Outcome:
    """Run the job on disks that are too small by more and more, make room, and run it again."""
    with small_disk(root / "whole", _ROOMY) as disk:
        command(job, disk / job.output).check_returncode()
        expected, needed = _contents(disk / job.output), _peak(disk)
    full, wrong = 0, []
    for number in range(sizes):
        size = max(needed * (number + 1) // (sizes + 1), 4)
        with small_disk(root / "small", size) as disk:
            ended = command(job, disk / job.output)
            if ended.returncode == 0:
                continue
            full += 1
            place = f"{job.name} on {size} KiB"
            wrong += [f"{place}: {problem}" for problem in _unclear(ended)]
            wrong += [f"{place}: {problem}" for problem in _half_written(disk / job.output)]
            _mount("-o", f"remount,size={_ROOMY}k", str(disk))
            again = command(job, disk / job.output)
            if again.returncode:
                wrong.append(f"{place}: can't go on after room was made: {again.stderr.strip()[-300:]}")
            elif _contents(disk / job.output) != expected:
                wrong.append(f"{place}: differs from undisturbed work after room was made")
    return Outcome(full, wrong)


def _mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True, capture_output=True)


def _contents(output: Path) -> dict[str, bytes]:
    return {output.name: output.read_bytes()} if output.is_file() else contents(output)


def _peak(disk: Path) -> int:
    """KiB that the work left, and half as many again for what it had removed by its end."""
    used = int(subprocess.run(["du", "-sk", disk], check=True, capture_output=True, text=True).stdout.split()[0])
    return used * 3 // 2


def _unclear(ended: subprocess.CompletedProcess[str]) -> list[str]:
    """What a user could not make sense of."""
    if ended.returncode != 1 or "Traceback" in ended.stderr:
        return [f"exit code {ended.returncode}: {ended.stderr.strip()[-300:]}"]
    last = ended.stderr.strip().splitlines()[-1:]
    return [] if "space" in ended.stderr.lower() else [f"the message does not name the cause: {last}"]


def _half_written(output: Path) -> list[str]:
    """Whether something unfinished is read as whole."""
    if output.is_file():
        return ["a file is there although the command failed"]
    try:
        return [] if not fv.verify(output).ok else ["verify finds it whole"]
    except fv.FairviewError:
        return []


def main(arguments: list[str] | None = None) -> int:
    """Fill the disk at many sizes, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sizes", type=int, default=20)
    asked = parser.parse_args(arguments)
    if not can_mount():
        print("no right to mount a tmpfs: nothing was tried")
        return 1
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as place:
        root = Path(place).resolve()
        write_tables(root / "tables" / "nodes.parquet", root / "tables" / "edges.parquet")
        for job in jobs(root / "tables"):
            outcome = fill(job, asked.sizes, root)
            wrong += outcome.wrong
            print(f"{job.name}: the disk was full {outcome.full} times, {len(outcome.wrong)} problems", flush=True)
    for problem in wrong:
        print(problem)
    return 3 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
