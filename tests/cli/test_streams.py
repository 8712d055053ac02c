"""A reader that hangs up, a closed stream, a full disk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = f"{sys.executable} -m fairview"
pytestmark = pytest.mark.skipif(not Path("/bin/sh").exists(), reason="speaks to a shell")


def shell(line: str, **environment: str) -> tuple[str, str]:
    """What a line prints, on standard output and error; `$?` of the first command of a pipe goes to file 3."""
    done = subprocess.run(
        ["/bin/sh", "-c", line], capture_output=True, text=True, check=False, env=os.environ | environment
    )
    return done.stdout, done.stderr


def code_in_pipe(command: str, reader: str, tmp_path: Path, **environment: str) -> tuple[str, str]:
    code = tmp_path / "code"
    _, err = shell(f"({COMMAND} {command}; echo $? >{code}) | {reader}", **environment)
    return code.read_text().strip(), err


@pytest.mark.parametrize("command", ["datasets", "datasets --format json", "--help", "--version", "env"])
def test_a_reader_that_has_seen_enough_is_no_error(command, tmp_path):
    assert code_in_pipe(command, "true", tmp_path, PYTHONUNBUFFERED="") == ("0", "")


def test_without_buffers_too(tmp_path):
    assert code_in_pipe("datasets", "head -1 >/dev/null", tmp_path, PYTHONUNBUFFERED="1") == ("0", "")


def test_the_exit_code_is_the_commands_own(tmp_path):
    assert code_in_pipe("no-such-command 2>&1", "true", tmp_path) == ("2", "")


def test_work_is_finished_although_nobody_reads(tmp_path):
    train = f"train german --method logistic-regression --out {tmp_path / 'run'}"
    assert code_in_pipe(f"{train} 2>&1", "true", tmp_path) == ("0", "")
    assert (tmp_path / "run" / "metrics.json").exists()


@pytest.mark.parametrize("closed", [">&-", "2>&-"])
def test_a_closed_stream_is_no_error(closed):
    out, err = shell(f"{COMMAND} datasets {closed}; echo code $?")
    assert out.endswith("code 0\n")
    assert err == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_told_once(unbuffered):
    out, err = shell(f"{COMMAND} datasets >/dev/full; echo code $?", PYTHONUNBUFFERED=unbuffered)
    assert (out, err) == ("code 1\n", "error: file system: No space left on device.\n")
