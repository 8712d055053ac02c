"""Is a full disk a sentence, and nothing lost, at the sizes that are tried?"""

from __future__ import annotations

import subprocess

import pytest
from benchmarks.kills import write_tables

from benchmarks import full_disk

needs_mount = pytest.mark.skipif(not full_disk.can_mount(), reason="no right to mount a tmpfs")


@needs_mount
def test_a_full_disk_is_named_and_the_work_goes_on_once_there_is_room(tmp_path):
    write_tables(tmp_path / "tables" / "nodes.parquet", tmp_path / "tables" / "edges.parquet")
    propagate = full_disk.jobs(tmp_path / "tables")[0]
    outcome = full_disk.fill(propagate, 2, tmp_path)
    assert outcome == full_disk.Outcome(full=2, wrong=[])


@needs_mount
def test_work_that_leaves_half_a_file_without_a_word_is_noticed(tmp_path, monkeypatch):
    def careless(_: full_disk.Job, output) -> subprocess.CompletedProcess[str]:
        output.write_bytes(b"half")
        return subprocess.CompletedProcess([], 0 if "whole" in output.parts else 1, "", "error: 12 bytes written.")

    monkeypatch.setattr(full_disk, "command", careless)
    outcome = full_disk.fill(full_disk.Job("careless", (), "scores.parquet"), 1, tmp_path)
    assert [problem.split(": ")[1] for problem in outcome.wrong] == [
        "the message does not name the cause",
        "a file is there although the command failed",
        "can't go on after room was made",
    ]
