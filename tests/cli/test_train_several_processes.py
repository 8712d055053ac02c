"""`torchrun -m fairview train --propagated DIR`: one run by several processes, also after one of them was killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from fairview.cli.processes import graph_for_report
from fairview.propagation import sampling
from fairview.propagation.shards import training_shard

TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "fairview"]
SETTINGS = ("--set", "epochs=60", "--set", "views=3", "--no-report")
FILES = ("model.safetensors", "predictions.csv", "history.jsonl", "metrics.json", "run.json")


def start(*arguments: object) -> subprocess.Popen[str]:
    """A command line in two processes."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    command = [*TORCHRUN, *map(str, arguments)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


@pytest.fixture(scope="module")
def folder(propagated) -> Path:
    return propagated().folder


@pytest.fixture(scope="module")
def undisturbed(folder, tmp_path_factory) -> Path:
    """A run by two processes that nobody disturbed."""
    home = tmp_path_factory.mktemp("together") / "run"
    code, out, err = finish(start("train", "--propagated", folder, *SETTINGS, "--out", home, "--format", "json"))
    assert code == 0, err
    assert json.loads(out)["run"] == str(home)  # printed once
    assert "error" not in err
    return home


def test_two_processes_make_the_run_that_one_makes(run, folder, undisturbed, tmp_path):
    assert run("train", "--propagated", folder, *SETTINGS, "--out", tmp_path / "alone").code == 0
    scores = [pl.read_csv(home / "predictions.csv") for home in (undisturbed, tmp_path / "alone")]
    assert scores[0]["id"].equals(scores[1]["id"])
    assert (scores[0]["score"] - scores[1]["score"]).abs().max() <= 1e-6
    records = [json.loads((home / "run.json").read_text()) for home in (undisturbed, tmp_path / "alone")]
    assert records[0]["data"]["propagated"].pop("processes") == 2
    for name in ("identity", "data", "best_epoch", "notes"):
        assert records[0][name] == records[1][name]
    assert sorted(path.name for path in undisturbed.iterdir()) == sorted([*FILES, "model.json"])


def test_a_run_of_two_processes_is_verified_like_any_other(run, folder, undisturbed):
    assert run("verify", undisturbed, "--propagated", folder).code == 0


@pytest.mark.parametrize("victim", [1, pytest.param(0, marks=pytest.mark.slow)])
def test_a_killed_process_stops_the_others_and_resume_gives_the_same_bytes(folder, undisturbed, victim, tmp_path):
    home = tmp_path / "run"
    arguments = ("train", "--propagated", folder, *SETTINGS, "--out", home)
    process = start(*arguments)
    while not (home / "checkpoint.safetensors").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    os.kill(process_of(process.pid, victim), signal.SIGKILL)
    killed = time.perf_counter()
    code, out, err = finish(process)
    assert time.perf_counter() - killed < 20
    assert code == 1
    assert not out
    sentence = "a process of the group ended; what is finished is kept: go on with the same command and --resume --out"
    assert f"error: {sentence} {home}\n" in err
    assert "src/fairview" not in err  # no traceback of ours
    assert not (home / "run.json").exists()
    code, _, err = finish(start(*arguments, "--resume"))
    assert code == 0, err
    for name in FILES:
        assert (home / name).read_bytes() == (undisturbed / name).read_bytes(), name


def process_of(parent: int, rank: int) -> int:
    """The process that torchrun started with this number."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    (number,) = [
        int(child) for child in children if f"\0RANK={rank}\0".encode() in Path(f"/proc/{child}/environ").read_bytes()
    ]
    return number


# --- before anything is connected -------------------------------------------------------------------------------------


@pytest.fixture(params=[0, 1])
def rank(request, monkeypatch) -> int:
    """This process is one of two on one machine."""
    places = {"RANK": request.param, "LOCAL_RANK": request.param, "WORLD_SIZE": 2, "MASTER_ADDR": "localhost"}
    for name, value in places.items():
        monkeypatch.setenv(name, str(value))
    return request.param


def test_several_processes_need_a_folder_and_one_of_them_says_so(run, rank, tmp_path):
    outcome = run("train", "german", "--out", tmp_path / "run")
    assert (outcome.code, outcome.out) == (1, "")
    sentence = (
        "error: torchrun: 2 processes train from a propagated folder only. Make one with `fairview propagate` and give "
        "--propagated DIR, or leave torchrun out.\n"
    )
    assert outcome.err == (sentence if rank == 0 else "")
    assert not (tmp_path / "run").exists()


def test_a_wrong_setting_is_said_once(run, rank, folder, tmp_path):
    outcome = run("train", "--propagated", folder, "--set", "epoch=3", "--out", tmp_path / "run")
    assert outcome.code == 1
    assert outcome.err == ("error: FairVGNN: no parameter 'epoch'. Did you mean 'epochs'?\n" if rank == 0 else "")


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("logistic-regression", []),
        ("parity", ["hops=0"]),
        ("masking", ["epochs=2"]),
        ("fairgnn", ["epochs=2"]),
        ("vanilla", ["epochs=2", "statistical_parity_weight=1"]),
        ("fairvgnn", ["epochs=2", "discriminator=energy"]),
    ],
)
def test_what_cannot_be_divided_is_trained_by_the_first_process(run, rank, folder, method, settings, tmp_path):
    changes = [part for setting in settings for part in ("--set", setting)]
    home = tmp_path / "run"
    outcome = run("train", "--propagated", folder, "--method", method, *changes, "--no-report", "--out", home)
    assert outcome.code == 0
    assert home.exists() == (rank == 0)
    if rank == 0:
        assert "with these settings is trained by one process; the others have ended.\n" in outcome.err
    else:
        assert outcome.out == outcome.err == ""


def test_a_report_beyond_what_one_process_loads_is_left_out(propagated, monkeypatch, capsys):
    share = training_shard(propagated(), rank=0, processes=2)
    whole = graph_for_report(share, propagated(), None)
    assert whole is not None
    assert whole.sha256 == share.sha256
    monkeypatch.setattr(sampling, "MOST_ROWS", 1_000)
    assert graph_for_report(share, propagated(), None) is None
    sentence = "no report: its audit takes one process, which loads at most 1,000 nodes, and the run has 1,500.\n"
    assert capsys.readouterr().err == sentence
