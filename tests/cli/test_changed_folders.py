"""Every command that reads a folder refuses what is not as it was written, with the file's name."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time

import pytest

import fairview as fv
from fairview.manifest import sealed

TRAIN = ("train", "german", "--method", "vanilla", "--set", "epochs=5", "--no-report")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    from fairview.cli.main import main

    folder = tmp_path_factory.mktemp("finished") / "run"
    with pytest.raises(SystemExit):
        main([*TRAIN, "--out", str(folder), "--format", "json"])
    with pytest.raises(SystemExit):
        main(["report", str(folder)])
    return folder


@pytest.fixture
def folder(finished, tmp_path):
    (tmp_path / "people.csv").write_text("id\n1\n")
    return shutil.copytree(finished, tmp_path / "run")


def commands(folder):
    return {
        "report": ("report", folder),
        "resume": (*TRAIN, "--resume", "--out", folder),
        "audit": ("audit", folder, "--no-probes"),
        "predict": ("predict", folder, "--nodes", folder.parent / "people.csv", "--out", folder.parent / "scores.csv"),
    }


READS = [
    ("report", "metrics.json"), ("report", "history.jsonl"), ("report", "run.json"),
    ("resume", "metrics.json"), ("resume", "history.jsonl"), ("resume", "run.json"), ("resume", "model.json"),
    ("resume", "model.safetensors"), ("resume", "predictions.csv"),
    ("audit", "run.json"), ("audit", "model.json"), ("audit", "model.safetensors"),
    ("predict", "model.json"), ("predict", "model.safetensors"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "name"), READS)
def test_a_changed_file_is_refused_with_its_name(run, folder, command, name):
    path = folder / name
    content = path.read_bytes()
    path.write_bytes(content.replace(b"1", b"2", 1) if name != "model.safetensors" else content[:-1] + b"\x7f")
    found = run(*commands(folder)[command])
    assert (found.code, found.out) == (1, "")
    assert str(path) in found.err or f"{folder}: {name}: " in found.err
    assert "bug" not in found.err


BROKEN = {
    "empty": b"", "list": b"[]", "null": b"null", "number": b"7", "brackets": b"[" * 100_000, "no text": b"\xff\xfe",
    "auc of 7": b'{"test": {"auc": 7.0}}', "nan": b'{"test": {"auc": NaN}}', "words": b'{"test": {"auc": "high"}}',
}  # fmt: skip


@pytest.mark.parametrize("name", ["metrics.json", "run.json"])
@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("command", ["report", "resume"])
def test_types_and_ranges_are_checked_before_anything_else(run, folder, name, content, command):
    (folder / name).write_bytes(content)
    found = run(*commands(folder)[command])
    assert (found.code, found.out) == (1, "")
    assert name in found.err
    assert "bug" not in found.err
    assert len(found.err) < 2000


@pytest.mark.parametrize(
    ("change", "commands_that_read_it"),
    [
        (lambda test: test.update(auc=7.0), ("report", "resume")),
        (lambda test: test["intervals"]["auc"].update(high=7.0), ("report",)),
        (lambda test: test["groups"][0].update(selection_rate=7.0), ("report",)),
    ],
)
def test_a_forged_number_out_of_range_is_refused_although_its_hash_fits(run, folder, change, commands_that_read_it):
    import hashlib

    metrics = json.loads((folder / "metrics.json").read_text())
    change(metrics["test"])
    (folder / "metrics.json").write_text(json.dumps(metrics))
    record = json.loads((folder / "run.json").read_text())
    record["files"]["metrics.json"] = hashlib.sha256((folder / "metrics.json").read_bytes()).hexdigest()
    (folder / "run.json").write_text(sealed(record))
    for command in commands_that_read_it:
        found = run(*commands(folder)[command])
        assert found.code == 1
        assert "auc" in found.err or "selection_rate" in found.err


@pytest.mark.parametrize("name", ["metrics.json", "history.jsonl"])
def test_a_report_of_a_run_that_lost_a_file_is_refused(run, folder, name):
    (folder / name).unlink()
    found = run("report", folder)
    assert (found.code, found.err) == (
        1,
        f"error: {folder / name}: is missing, although run.json records it. Put it back, or make the folder again.\n",
    )


def test_an_empty_run_json_does_not_pass_for_one_of_the_first_version(run, folder):
    (folder / "run.json").write_text("{}")
    for command in commands(folder).values():
        found = run(*command)
        assert found.code == 1
        assert "run.json" in found.err


def test_a_new_run_in_place_of_an_unfinished_one_leaves_no_stale_report(run, folder):
    (folder / "run.json").unlink()  # as a kill before the end leaves it
    assert run(*commands(folder)["resume"]).code == 0
    assert not (folder / "report.html").exists()
    assert fv.verify(folder).ok


def test_the_report_of_an_unfinished_run_says_so_on_top(run, folder):
    (folder / "run.json").unlink()
    assert run("report", folder).code == 0
    page = (folder / "report.html").read_text()
    notice = "This run is unfinished: the numbers are those of the best epoch before it was stopped."
    assert notice in page
    assert page.index(notice) < page.index("<h2")


def test_a_second_process_in_a_folder_is_refused_at_once(run, tmp_path):
    folder = tmp_path / "busy"
    long = [str(part) for part in TRAIN] + ["--set", "epochs=100000", "--out", str(folder)]
    first = subprocess.Popen([sys.executable, "-m", "fairview", *long], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while not (folder / ".lock").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        found = run(*TRAIN, "--out", folder)
        assert (found.code, found.out) == (1, "")
        assert (
            f"error: {folder}: process {first.pid} is working in it. Wait for it, or use another folder." in found.err
        )
    finally:
        os.kill(first.pid, 9)
        first.wait()
    assert run(*TRAIN, "--out", folder).code in (0, 1)
    assert not (folder / ".lock").exists()
