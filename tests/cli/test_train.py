from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairview as fv
from fairview.methods.registry import METHODS
from fairview.runs import seeds as seeds_module

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PyG's import is not ours to judge
    import torch_geometric.nn  # noqa: F401

QUICK = ("--set", "epochs=3", "--set", "views=2", "--set", "hidden=3", "--no-report")
FILES = ["history.jsonl", "metrics.json", "model.json", "model.safetensors", "predictions.csv", "run.json"]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.fixture
def tables(tmp_path) -> tuple[Path, Path]:
    """Own tables: people and links."""
    made = fv.synthetic_graph(80, average_degree=4, seed=5)
    names = [f"p{i:03d}" for i in np.random.default_rng(0).permutation(80)]
    rows = ["id,income,age,sex,kind,ok"]
    for i, name in enumerate(names):
        income, age = made.features[i, 0] * 1000, made.features[i, 5] * 10 + 40
        sex, kind = "fm"[made.sensitive[i]], "xyz"[i % 3]
        rows.append(f"{name},{income:.2f},{age:.1f},{sex},{kind},{made.labels[i]}")
    first, second = made.adjacency.sources, made.adjacency.indices
    links = ["source,target"] + [f"{names[a]},{names[b]}" for a, b in zip(first, second, strict=True) if a < b]
    people, edges = tmp_path / "people.csv", tmp_path / "links.csv"
    people.write_text("\n".join(rows) + "\n")
    edges.write_text("\n".join(links) + "\n")
    return people, edges


@pytest.fixture
def own(tables) -> tuple[Any, ...]:
    people, edges = tables
    roles = ("--label", "ok", "--sensitive", "sex", "--categorical", "kind")
    return ("--nodes", people, "--edges", edges, *roles, *QUICK)


@pytest.fixture
def one_core(monkeypatch):
    """Processes are tested elsewhere; here they would only take time."""
    monkeypatch.setattr(seeds_module, "available_cores", lambda: 1)


# --- one run ----------------------------------------------------------------------------------------------------------


def test_a_dataset_is_trained_and_leaves_a_run_folder(run, tmp_path):
    out = tmp_path / "a"
    outcome = run("train", "german", *QUICK, "--out", out, "--format", "json")
    assert (outcome.code, outcome.err) == (0, "")
    found = json.loads(outcome.out)
    assert found["run"] == str(out)
    assert list(found["metrics"]) == ["val", "test"]
    assert {"auc", "f1", "accuracy", "balanced_accuracy", "false_positive_rate", "statistical_parity_gap"} <= set(
        found["metrics"]["test"]
    )
    assert found["seconds"]["train"] > 0
    assert [path.name for path in sorted(out.iterdir())] == FILES
    settings = json.loads((out / "run.json").read_text())
    assert settings["seed"] == 1
    assert settings["parameters"]["epochs"] == 3
    assert settings["parameters"]["clamp_threshold"] == 0.1, "the paper's cell, by default"
    assert settings["data"]["source"]
    german = fv.load_dataset("german")
    assert settings["data"]["sha256"] == german.sha256
    assert found["metrics"]["test"]["accuracy"] == fv.evaluate(fv.load_model(out), german)["accuracy"]


def test_the_table_shows_the_constant_row_beside_it(run, tmp_path):
    outcome = run("train", "german", *QUICK, "--out", tmp_path / "a")
    assert outcome.code == 0
    assert "FairVGNN" in outcome.out
    assert "majority answer" in outcome.out
    assert "82.35" in outcome.out, "its F1"
    assert str(tmp_path / "a") in outcome.out.replace("\n", "")


@pytest.mark.parametrize("method", list(METHODS))
def test_every_method_can_be_trained(run, tmp_path, method):
    quick = ("--set", "epochs=2") if "epochs" in METHODS[method].parameters else ()
    command = ("train", "german", "--method", method, *quick, "--no-report", "--out", tmp_path / "a")
    outcome = run(*command, "--format", "json")
    assert outcome.code == 0, outcome.err
    assert [path.name for path in sorted((tmp_path / "a").iterdir())] == FILES
    assert json.loads((tmp_path / "a" / "run.json").read_text())["method"] == method


OWN = '''
import numpy as np, torch
import fairview as fv

class Half(fv.Estimator):
    """Half of the first channel."""

    def __init__(self, *, slope: float = 0.5, seed: int = 1):
        self.slope, self.seed = slope, seed

    def fit(self, graph):
        self.facts_ = fv.Facts.of(graph)
        return self

    def predict_proba(self, graph):
        positive = 1 / (1 + np.exp(-self.slope * graph.features[:, 0]))
        return np.stack([1 - positive, positive], axis=1)

    def tensors(self):
        return {"slope": torch.tensor(self.slope)}

    def restore(self, tensors, facts):
        self.facts_ = facts
        return self

class Bare:
    def fit(self, graph):
        return self

    def predict_proba(self, graph):
        return np.full((graph.num_nodes, 2), 0.5)

class Encoder(torch.nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.linear = torch.nn.Linear(channels, 4)

    def forward(self, x, edge_index):
        return self.linear(x)
'''


def test_a_drawn_split_and_the_doubts_of_a_method_are_printed(run, own, tmp_path):
    tables_only = own[: -len(QUICK)]
    outcome = run("train", *tables_only, "--method", "nifty", "--set", "epochs=2", "--no-report", "--out", tmp_path)
    text = " ".join(outcome.out.split())
    assert "The graph has no split: a stratified one was drawn with seed 0." in text
    assert "NIFTY: its counterfactual view is empty" in text
    assert "of 2 kept)" in text


def test_without_the_packages_that_draw_a_run_is_whole_and_a_line_says_so(run, own, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    outcome = run("train", *own[:-1], "--out", tmp_path / "a")
    assert outcome.code == 0
    needs = "Reports need altair and vl-convert; install them with: pip install 'fairview[report]'"
    assert f"no report: {needs}" in outcome.err
    assert (tmp_path / "a" / "run.json").exists()
    assert (tmp_path / "a" / "audit.json").exists()


def test_a_method_of_ones_own_is_trained_saved_and_predicts(run, own, tables, tmp_path, monkeypatch):
    (tmp_path / "mine_to_train.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)  # the command line finds modules of the current folder
    monkeypatch.setattr(sys, "path", [*sys.path])
    tables_only = own[: -len(QUICK)]
    spec = "mine_to_train:Half"
    outcome = run("train", *tables_only, "--method", spec, "--set", "slope=0.25", "--out", "a")
    assert outcome.code == 0, outcome.err
    assert json.loads(Path("a/run.json").read_text())["parameters"] == {"seed": 1, "slope": 0.25}
    people, edges = tables
    again = ("predict", "a", "--nodes", people, "--edges", edges, "--out", "p.csv")
    refused = run(*again)
    assert refused.code == 1
    assert Path("a/report.html").exists()
    assert "which is not registered; pass its class: --method mine_to_train:Half." in refused.err
    assert run(*again, "--method", spec).code == 0
    audited = run("audit", "a", *tables_only, "--method", spec, "--no-probes", "--permutations", "19")
    assert audited.code == 0, audited.err
    assert Path("p.csv").read_text() == Path("a/predictions.csv").read_text()
    bare = run("train", *tables_only, "--method", "mine_to_train:Bare", "--out", "b", "--no-report")
    assert bare.code == 1
    assert "method Bare: it can be compared, but not saved: it has no get_params, facts, tensors, restore." in bare.err


def test_an_encoder_of_ones_own_is_trained_saved_and_predicts(run, own, tables, tmp_path, monkeypatch):
    (tmp_path / "mine_to_encode.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    outcome = run("train", *own[:-1], "--encoder", "mine_to_encode:Encoder", "--out", "a")  # with its report
    assert outcome.code == 0, outcome.err
    people, edges = tables
    again = ("predict", "a", "--nodes", people, "--edges", edges, "--out", "p.csv")
    assert Path("a/report.html").exists()
    assert "user's own; pass it: --encoder package.module:factory." in run(*again).err
    assert run(*again, "--encoder", "mine_to_encode:Encoder").code == 0
    assert Path("p.csv").read_text() == Path("a/predictions.csv").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--method", "magic"), "no method 'magic'."),
        (("--method", "fairvgn"), "no method 'fairvgn'. Did you mean 'fairvgnn'?"),
        (("--method", "no_such_module:X"), "method 'no_such_module:X': can't be imported"),
        (("--method", "json:dumps"), "method 'json:dumps': is no class"),
        (("--method", "json:JSONDecoder"), "method JSONDecoder: it has no fit and no predict_proba"),
        (("--encoder", "gat"), "no encoder 'gat'."),
        (("--encoder", "json:__doc__"), "encoder 'json:__doc__': is a str; expected a function or a module class"),
    ],
)
def test_wrong_methods_and_encoders(run, arguments, message):
    outcome = run("train", "german", *arguments)
    assert outcome.code == 1
    assert message in outcome.err


def test_graph_and_model_are_audited_and_reported(run, tmp_path, own):
    quick = tuple(word for word in own if word != "--no-report")
    outcome = run("train", *quick, "--out", tmp_path / "a", "--format", "json")
    assert (outcome.code, outcome.err) == (0, "")
    assert json.loads(outcome.out)["report"] == str(tmp_path / "a" / "report.html")
    assert [path.name for path in sorted((tmp_path / "a").iterdir())] == sorted([*FILES, "audit.json", "report.html"])
    audit = json.loads((tmp_path / "a" / "audit.json").read_text())
    assert [row["name"] for row in audit["model"]["rows"]] == ["fairvgnn", "plain", "constant"]
    report = (tmp_path / "a" / "report.html").read_bytes()
    again = run("train", *quick, "--resume", "--out", tmp_path / "a")
    assert again.code == 0
    assert f"report: {tmp_path / 'a' / 'report.html'}" in again.out.replace("\n", "")
    assert (tmp_path / "a" / "report.html").read_bytes() == report, "it holds no time of day"


def test_an_older_audit_in_the_folder_is_not_taken_for_the_runs(run, tmp_path, own):
    """`audit --out DIR` before `train --out DIR` left an audit without a model, perhaps of another graph."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "audit.json").write_text('{"kind": "audit", "version": 1, "graph": {"source": "old"}}')
    quick = tuple(word for word in own if word != "--no-report")
    assert run("train", *quick, "--out", tmp_path / "run").code == 0
    document = json.loads((tmp_path / "run" / "audit.json").read_text())
    assert document["model"]["method"] == "fairvgnn"


def test_every_seed_has_its_report_and_all_of_them_one(run, tmp_path, own, one_core):
    quick = tuple(word for word in own if word != "--no-report")
    assert run("train", *quick, "--seeds", 2, "--out", tmp_path / "a").code == 0
    reports = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("report.html"))
    assert reports == [Path("report.html"), Path("seed-1/report.html"), Path("seed-2/report.html")]


@pytest.mark.parametrize("encoder", ["gin", "sage", "mlp"])
def test_every_encoder_has_settings_for_a_known_dataset(run, tmp_path, encoder):
    outcome = run("train", "german", "--encoder", encoder, "--set", "epochs=1", "--no-report", "--out", tmp_path / "a")
    assert outcome.code == 0, outcome.err
    assert json.loads((tmp_path / "a" / "run.json").read_text())["parameters"]["encoder"] == encoder


def test_presets_and_changes(run, tmp_path):
    changes = ("--set", "epochs=1", "--set", "classifier_clamp=0.5", "--set", "encoder_updates=classifier,")
    more = ("--set", "patience=none", "--set", "feature_masks=false", "--set", "mask=hard", "--no-report")
    outcome = run("train", "german", "--preset", "paper-table4", *changes, *more, "--out", tmp_path / "a")
    assert outcome.code == 0, outcome.err
    settings = json.loads((tmp_path / "a" / "run.json").read_text())["parameters"]
    assert (settings["self_loops"], settings["mask_density_weight"]) == (2.0, 0.5)
    assert (settings["classifier_clamp"], settings["encoder_updates"]) == (0.5, ["classifier"])
    assert (settings["patience"], settings["feature_masks"], settings["mask"]) == (None, False, "hard")


# --- seeds ------------------------------------------------------------------------------------------------------------


def test_seeds_1_to_n_and_seed_3_alone(run, tmp_path, own, one_core):
    outcome = run("train", *own, "--seeds", 3, "--out", tmp_path / "all", "--format", "json")
    assert outcome.code == 0, outcome.err
    assert sorted(path.name for path in (tmp_path / "all").iterdir()) == ["seed-1", "seed-2", "seed-3"]
    found = json.loads(outcome.out)
    assert found["run"] == str(tmp_path / "all")
    for split in ("val", "test"):
        each = found["metrics"][split]
        assert list(each) == ["mean", "std", "runs"]
        values = [json.loads((tmp_path / "all" / f"seed-{s}" / "metrics.json").read_text())[split] for s in (1, 2, 3)]
        assert each["runs"] == values
        for name in ("auc", "f1", "accuracy"):
            assert each["mean"][name] == pytest.approx(np.mean([value[name] for value in values]))
            assert each["std"][name] == pytest.approx(np.std([value[name] for value in values], ddof=0))
    assert run("train", *own, "--seed", 3, "--out", tmp_path / "alone").code == 0
    assert contents(tmp_path / "all" / "seed-3") == contents(tmp_path / "alone")
    table = run("train", *own, "--seeds", 3, "--out", tmp_path / "all", "--resume")
    assert table.code == 0
    assert "±" in table.out


# --- own tables -------------------------------------------------------------------------------------------------------


def test_shuffled_files_with_the_same_ids_give_the_same_model(run, tmp_path, tables, own):
    assert run("train", *own, "--out", tmp_path / "a").code == 0
    for path, seed in zip(tables, (1, 2), strict=True):
        head, *rows = path.read_text().splitlines()
        order = np.random.default_rng(seed).permutation(len(rows))
        if path.name == "links.csv":
            rows = [",".join(reversed(row.split(","))) if i % 2 else row for i, row in enumerate(rows)]
        path.write_text("\n".join([head, *(rows[i] for i in order)]) + "\n")
    assert run("train", *own, "--out", tmp_path / "b").code == 0
    for name in ("model.safetensors", "model.json", "predictions.csv", "metrics.json", "history.jsonl"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name


def test_own_tables_get_the_default_preset_and_no_sensitive_feature(run, tmp_path, own):
    assert run("train", *own, "--out", tmp_path / "a").code == 0
    document = json.loads((tmp_path / "a" / "run.json").read_text())
    assert document["parameters"]["balanced_discriminator"]
    assert list(document["keep_probability"]) == ["income", "age", "kind=x", "kind=y", "kind=z"]
    assert len(document["data"]["files"]) == 2


# --- going on ---------------------------------------------------------------------------------------------------------


def test_resume_in_the_command_line(run, tmp_path, own, monkeypatch):
    from fairview.methods.fairvgnn import FairVGNNNetwork

    whole, part = tmp_path / "whole", tmp_path / "part"
    assert run("train", *own, "--set", "epochs=5", "--out", whole).code == 0
    real, epochs = FairVGNNNetwork.epoch, []

    def interrupted(self):
        epochs.append(1)
        if len(epochs) == 3:
            raise KeyboardInterrupt
        return real(self)

    monkeypatch.setattr(FairVGNNNetwork, "epoch", interrupted)
    stopped = run("train", *own, "--set", "epochs=5", "--out", part, "--format", "json")
    assert stopped.code == 130
    assert json.loads(stopped.out)["interrupted"] is True
    assert stopped.err == f"interrupted: the best state so far is saved; go on with --resume --out {part}\n"
    monkeypatch.undo()

    again = run("train", *own, "--set", "epochs=5", "--out", part)
    assert (again.code, again.err) == (
        1,
        f"error: {part}: holds an unfinished run. Go on with --resume, or use another --out.\n",
    )
    other = run("train", *own, "--set", "epochs=6", "--out", part, "--resume")
    assert other.code == 1
    assert "belongs to a run with other settings or other data" in other.err
    assert run("train", *own, "--set", "epochs=5", "--out", part, "--resume").code == 0
    assert contents(part) == contents(whole)


def test_a_finished_run_is_not_trained_again(run, tmp_path, own):
    first = run("train", *own, "--out", tmp_path / "a", "--format", "json")
    again = run("train", *own, "--out", tmp_path / "a")
    assert again.code == 1
    assert "holds a finished run already; --resume shows it again. Use another --out." in again.err
    shown = run("train", *own, "--out", tmp_path / "a", "--resume", "--format", "json")
    assert json.loads(shown.out)["metrics"] == json.loads(first.out)["metrics"]


@pytest.mark.slow
def test_ctrl_c_ends_all_seeds_side_by_side(tmp_path):
    command = [sys.executable, "-W", "ignore", "-c", "from fairview.cli import main; main()", "train", "german"]
    command += ["--seeds", "2", "--set", "epochs=1000000", "--out", str(tmp_path / "a")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        until = time.monotonic() + 120
        waited_for = [tmp_path / "a" / name / "checkpoint.safetensors" for name in ("seed-1", "seed-2")]
        while not all(path.exists() for path in waited_for) and time.monotonic() < until:
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert err == f"interrupted: what is finished is kept; go on with --resume --out {tmp_path / 'a'}\n"
    for name in ("seed-1", "seed-2"):
        assert isinstance(fv.load_model(tmp_path / "a" / name), fv.FairVGNN)


@pytest.mark.parametrize("end", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_polite_end_keeps_what_is_best_so_far(tmp_path, end):
    out = tmp_path / "a"
    command = [sys.executable, "-W", "ignore", "-c", "from fairview.cli import main; main()", "train", "german"]
    command += ["--set", "epochs=1000000", "--out", str(out)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        until = time.monotonic() + 120
        while not (out / "checkpoint.safetensors").exists() and process.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(end)
        _, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert "interrupted: the best state so far is saved" in err
    assert "Traceback" not in err
    assert fv.load_model(out).predict_proba(fv.load_dataset("german")).shape == (1000, 2)
    assert not (out / "run.json").exists()


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give either a known dataset or --nodes."),
        (("german", "--nodes", "a.csv"), "give either a known dataset or --nodes."),
        (("--nodes", "a.csv"), "own tables need --label and --sensitive."),
        (("germen",), "Did you mean 'german'?"),
        (("german", "--preset", "papre"), "no preset 'papre'. Did you mean 'paper'?"),
        (("german", "--preset", "paper", "--encoder", "mlp"), "preset 'paper' has no cell 'german mlp'"),
        (("german", "--method", "vanilla", "--preset", "paper"), "--preset paper: plain model has no presets."),
        (("german", "--set", "epochs"), "--set epochs: expected NAME=VALUE, for example --set epochs=50."),
        (("german", "--set", "epoch=5"), "FairVGNN: no parameter 'epoch'. Did you mean 'epochs'?"),
        (("german", "--set", "epochs=0"), "FairVGNN: epochs=0; expected "),
        (("german", "--set", "clamp_threshold=much"), "FairVGNN: clamp_threshold='much'; expected "),
        (("german", "--set", "seed=5"), "--set seed=5: use --seed."),
        (("german", "--set", "encoder=gin"), "--set encoder=gin: use --encoder."),
        (("german", "--method", "constant", "--set", "answer=maybe"), "Constant: answer='maybe'; expected "),
    ],
)
def test_wrong_input_is_a_message_and_leaves_nothing_behind(run, tmp_path, arguments, message):
    outcome = run("train", *arguments, "--out", tmp_path / "a")
    assert (outcome.code, outcome.out) == (1, "")
    assert message in outcome.err
    assert "bug" not in outcome.err
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    "arguments",
    [("--seed", "-1"), ("--seeds", "0"), ("--seed", "x")],
    ids=" ".join,
)
def test_wrong_usage(run, arguments):
    outcome = run("train", "german", *arguments)
    assert outcome.code == 2
    assert arguments[0] in outcome.err


def test_where_nothing_can_be_written(run, tmp_path):
    (tmp_path / "file").write_text("x")
    outcome = run("train", "german", "--method", "constant", "--out", tmp_path / "file" / "a")
    assert outcome.code == 1
    assert "can't be written" in outcome.err
    assert "bug" not in outcome.err


def test_a_sensitive_attribute_with_one_value_is_refused(run, tmp_path, tables, own):
    tables[0].write_text(tables[0].read_text().replace(",m,", ",f,"))
    outcome = run("train", *own, "--out", tmp_path / "a")
    assert outcome.code == 1
    assert "train: the sensitive attribute 'sex' has fewer than two groups." in outcome.err
