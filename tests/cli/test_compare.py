from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from fairview.cli import main, trial_progress
from fairview.study.trials import Result, Timing

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PyG's import is not ours to judge
    import torch_geometric.nn  # noqa: F401

QUICK = (
    *("--set", "fairvgnn.epochs=2", "--set", "fairvgnn.views=2", "--set", "vanilla.epochs=3"),
    *("--workers", "1", "--no-report"),
)
ON_GERMAN = ("compare", "german", "--seeds", "2", *QUICK)
GERMAN = (*ON_GERMAN, "--methods", "fairvgnn")
BOTH = ("--methods", "fairvgnn,logistic-regression")


@pytest.fixture(scope="module")
def compared(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("compared")
    with pytest.raises(SystemExit):
        main([*GERMAN, "--out", str(folder)])
    return folder


@pytest.fixture
def folder(compared, tmp_path) -> Path:
    """A finished comparison to go on with."""
    return shutil.copytree(compared, tmp_path / "compared")


def test_json_is_the_summary_with_the_costs_and_nothing_else_is_printed(run, tmp_path):
    folder = tmp_path / "compared"
    outcome = run(*GERMAN, "--out", folder, "--format", "json")
    assert (outcome.code, outcome.err) == (0, "")
    found = json.loads(outcome.out)
    assert found["folder"] == str(folder)
    assert [row["label"] for row in found["rows"]] == ["Majority answer", "Plain model · GCN", "FairVGNN · GCN"]
    assert found["rows"][0]["mean"]["accuracy"] == 0.7
    assert found["rows"][2]["settings"]["epochs"] == 2
    assert found["rows"][2]["settings"]["clamp_threshold"] == 0.1, "the paper's cell, by default"
    assert all(row["seconds"] > 0 for row in found["rows"])
    files = ["files.json", "journal.jsonl", "results.csv", "study.json", "summary.json", "timings.csv"]
    assert sorted(path.name for path in folder.iterdir()) == files


def test_the_table_has_the_rows_the_rule_and_how_the_intervals_were_made(run, folder):
    outcome = run(*GERMAN, "--out", folder)
    assert (outcome.code, outcome.err) == (0, ""), "all was done already"
    for text in (
        "bal. ACC", "FPR", "rank", "Pareto", "s/run", "Majority answer", "FairVGNN", "±", "One rule for all",
        "95 % t interval", "Seeds: 2. Splits: 1 (the graph's own split).", "Against the plain model",
    ):  # fmt: skip
        assert text in outcome.out, text


def test_run_again_with_more_it_says_what_is_done_and_adds_the_rest(run, folder):
    outcome = run(*ON_GERMAN, *BOTH, "--out", folder, "--format", "json")
    assert outcome.code == 0
    assert outcome.err == "resuming: 5 of 6 trials are done already\n"
    assert [row["label"] for row in json.loads(outcome.out)["rows"]][1] == "Logistic regression"


def test_another_comparison_in_the_same_folder_is_refused(run, folder):
    outcome = run(*GERMAN, "--out", folder, "--selection", "own")
    assert outcome.code == 1
    assert "the selection rule was 'score', now it is 'own'." in outcome.err
    assert outcome.out == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--methods", "fairvgn"), "no method 'fairvgn'. Did you mean 'fairvgnn'?"),
        (("--encoders", "gcnn"), "no encoder 'gcnn'. Did you mean 'gcn'?"),
        (("--set", "epochs=3"), "--set epochs=3: expected METHOD.NAME=VALUE, for example --set fairvgnn.epochs=50."),
        (("--set", "vanilla.epochs=no"), "Vanilla: epochs='no'"),
        (("--set", "vanilla.seed=3"), "--set vanilla.seed: use --seeds."),
    ],
)
def test_wrong_words_are_answered_with_help_and_nothing_is_written(run, tmp_path, arguments, message):
    outcome = run("compare", "german", *arguments, "--out", tmp_path / "a")
    assert outcome.code == 1
    assert message in outcome.err
    assert not (tmp_path / "a").exists()


def test_own_tables_over_several_splits(run, tmp_path):
    rows = [f"{i},{(i * 7) % 11},{(i * 5) % 13},{'fm'[i % 2]},{int((i * 7) % 11 > 4)}" for i in range(60)]
    (tmp_path / "people.csv").write_text("\n".join(["id,age,income,sex,ok", *rows]) + "\n")
    roles = ("--nodes", tmp_path / "people.csv", "--label", "ok", "--sensitive", "sex", "--splits", "2", "--seeds", "1")
    outcome = run("compare", *roles, *QUICK, "--out", tmp_path / "out", "--format", "json")
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)
    assert [row["runs"] for row in found["rows"]] == [2, 2, 2, 2]
    assert found["graph"]["groups"] == {"f": 30, "m": 30}


def test_a_report_is_written_beside_the_results(run, folder):
    arguments = [argument for argument in ON_GERMAN if argument != "--no-report"]
    outcome = run(*arguments, *BOTH, "--out", folder)
    assert outcome.code == 0, outcome.err
    assert "FairVGNN · GCN" in (folder / "report.html").read_text(encoding="utf-8")


def test_a_polite_end_keeps_what_is_finished_and_says_how_to_go_on(tmp_path):
    out = tmp_path / "out"
    command = [
        sys.executable,
        "-c",
        "from fairview.cli import main; main()",
        "compare",
        "german",
        "--seeds",
        "50",
        "--out",
        str(out),
        *QUICK,
    ]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    journal = out / "journal.jsonl"
    for _ in range(1200):
        if journal.exists() and journal.read_bytes().count(b"\n") > 2:
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    printed, said = process.communicate(timeout=60)
    assert (process.returncode, printed) == (130, "")
    assert said == f"interrupted: finished trials are kept; the same command goes on in {out}\n"
    assert journal.read_bytes().endswith(b"}\n")


def test_logs_get_a_line_now_and_then_with_the_time_left(capsys, monkeypatch):
    clock = iter([0.0, 0.0, 10.0, 20.0, 30.0])
    monkeypatch.setattr(trial_progress, "perf_counter", lambda: next(clock))
    result = Result(trial="a", timing=Timing(seconds=1.0, peak_memory_mb=1.0))
    with trial_progress.follow_trials("Comparing") as notice:
        notice(None, 2, 8)
        for done in (3, 4, 5):
            notice(result, done, 8)
    assert capsys.readouterr().err == ("resuming: 2 of 8 trials are done already\n4 of 8 trials, about 40 s left\n")


# --- methods and encoders of one's own --------------------------------------------------------------------------------

MINE = """
import numpy as np
import torch


class Share:
    def __init__(self, plus=0.0):
        self.plus = plus

    def fit(self, graph):
        self.share = graph.labels[graph.split("train") & graph.labelled].mean() + self.plus

    def predict_proba(self, graph):
        positive = np.clip(self.share + 0.1 * np.tanh(graph.features[:, 0]), 0, 1)
        return np.stack([1 - positive, positive], axis=1)


class Broken(Share):
    def fit(self, graph):
        raise ZeroDivisionError("by nothing")


def narrow(channels):
    return Narrow(channels)


class Narrow(torch.nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.linear = torch.nn.Linear(channels, 2)

    def forward(self, x, edge_index):
        return self.linear(x)
"""


@pytest.fixture
def my_folder(tmp_path, monkeypatch):
    (tmp_path / "mine_compared.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    yield tmp_path
    __import__("sys").modules.pop("mine_compared", None)


def test_a_method_and_an_encoder_of_the_current_folder_are_compared_in_several_processes(run, my_folder):
    outcome = run(
        "compare", "german", "--methods", "mine_compared:Share,vanilla", "--encoders", "mine_compared:narrow",
        "--set", "mine_compared:Share.plus=0.1", "--set", "vanilla.epochs=2", "--seeds", "1", "--workers", "2",
        "--no-report", "--out", "out", "--format", "json",
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    rows = {row["label"]: row for row in json.loads(outcome.out)["rows"]}
    assert list(rows) == ["Majority answer", "Share", "Plain model · narrow"]
    assert rows["Share"]["settings"] == {"plus": 0.1}
    assert rows["Share"]["method"] == "mine_compared:Share"
    assert rows["Majority answer"]["unranked"] == "It gives everybody the same answer: a yardstick, not a competitor."
    assert rows["Share"]["unranked"] is None


@pytest.mark.parametrize(
    ("option", "spec", "message"),
    [
        ("--methods", "mine_compared:Shar", "method 'mine_compared:Shar': can't be imported (module 'mine_compared' "),
        ("--methods", "mine_compared:narrow", "method 'mine_compared:narrow': is no class; expected package."),
        ("--methods", "mine_compared:Narrow", "method Narrow: it has no fit and no predict_proba; a method"),
        ("--methods", "no_such_module:A", "method 'no_such_module:A': can't be imported (No module named "),
        ("--encoders", "mine_compared:MINE", "encoder 'mine_compared:MINE': can't be imported"),
        ("--encoders", "mine_compared:np.pi", "encoder 'mine_compared:np.pi': is a float; expected a function"),
    ],
)  # fmt: skip
def test_wrong_specs_are_named(run, my_folder, option, spec, message):
    outcome = run("compare", "german", option, spec, "--out", "out")
    assert (outcome.code, outcome.out) == (1, "")
    assert message in outcome.err
    assert not (my_folder / "out").exists()


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_method_that_raises_is_named_with_the_line(run, my_folder, workers):
    outcome = run("compare", "german", "--methods", "mine_compared:Broken,mine_compared:Share", "--no-plain",
                  "--workers", workers, "--out", "out")  # fmt: skip
    assert outcome.code == 1
    assert "mine_compared:Broken: it raised ZeroDivisionError: by nothing (" in outcome.err
    assert "mine_compared.py, line 20). Finished trials are kept" in outcome.err
