"""Run folders: what is in them, and that a run that was stopped ends as if it had not been."""

from __future__ import annotations

import csv
import io
import json
import platform
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import fairview as fv
from fairview.runs import run as runs
from fairview.runs.run import predictions, run_identity, summarise_seeds, train_run

SMALL = {"hidden": 3, "views": 2, "discriminator_steps": 1, "classifier_steps": 1, "generator_steps": 1}
FILES = ["history.jsonl", "metrics.json", "model.json", "model.safetensors", "predictions.csv", "run.json"]
METRICS = {
    "auc",
    "f1",
    "accuracy",
    "balanced_accuracy",
    "false_positive_rate",
    "statistical_parity_gap",
    "equal_opportunity_gap",
    "equalized_odds_gap",
}


def model(kind: str = "gcn", *, epochs: int = 6, seed: int = 1, **changes: Any) -> Any:
    if kind == "vanilla":
        return fv.Vanilla(epochs=epochs, hidden=3, seed=seed, **changes)
    return fv.FairVGNN(encoder=kind, epochs=epochs, seed=seed, **SMALL | changes)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


class KilledError(Exception):
    """Stands for a process that was killed: nothing is tidied up."""


def stop_at(epoch: int, error: type[BaseException]) -> Any:
    def notice(progress: Any, epochs: int) -> None:
        if progress.epochs == epoch:
            raise error

    return notice


# --- what is in a folder ----------------------------------------------------------------------------------------------


def test_a_run_folder_has_the_files_of_the_contract(graph, tmp_path):
    result = train_run(model(), graph, tmp_path / "a")
    assert [path.name for path in sorted((tmp_path / "a").iterdir())] == FILES
    facts = ["group_at_prediction", "best_epoch", "epochs", "notes"]
    assert list(result) == ["run", "metrics", *facts, "seconds", "interrupted"]
    assert result["run"] == str(tmp_path / "a")
    assert list(result["metrics"]) == ["val", "test"]
    assert set(result["metrics"]["test"]) > METRICS
    head = {"kind": "metrics", "version": 2}
    assert head | result["metrics"] == json.loads((tmp_path / "a" / "metrics.json").read_text())
    assert set(result["seconds"]) == {"train", "evaluate"}
    assert not result["interrupted"]


def test_the_metrics_are_those_of_the_saved_model(graph, tmp_path):
    train_run(model(), graph, tmp_path)
    loaded = fv.load_model(tmp_path)
    metrics = json.loads((tmp_path / "metrics.json").read_text())
    for split in ("val", "test"):
        found = fv.evaluate(loaded, graph, split=split)
        assert {name: metrics[split][name] for name in METRICS} == {name: found[name] for name in METRICS}


def test_run_json_says_how_to_make_it_again(graph, tmp_path):
    trained = model()
    train_run(trained, graph, tmp_path)
    run = json.loads((tmp_path / "run.json").read_text())
    assert (run["kind"], run["version"], run["method"]) == ("run", 2, "fairvgnn")
    assert run["machine"]["processor"]
    assert run["machine"]["cpu_capability"] == torch.backends.cpu.get_cpu_capability()
    assert type(trained)(**run["parameters"] | {"encoder_updates": tuple(run["parameters"]["encoder_updates"])})
    assert (run["seed"], run["best_epoch"], run["epochs"]) == (1, trained.best_epoch_, 6)
    assert run["data"]["sha256"] == graph.sha256
    assert run["keep_probability"] == trained.keep_probability_
    assert run["versions"]["python"] == platform.python_version()
    assert run["versions"]["torch"].startswith(torch.__version__.split("+")[0])
    assert {"fairview", "numpy", "scipy", "torch_geometric", "scikit-learn", "polars"} <= set(run["versions"])
    assert run["threads"] == 1


def test_the_history_is_one_line_per_epoch(graph, tmp_path):
    trained = model(epochs=4)
    train_run(trained, graph, tmp_path)
    lines = (tmp_path / "history.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == trained.history_
    assert len(lines) == 4


@pytest.mark.parametrize("make", [fv.Constant, fv.LogisticRegression])
def test_methods_without_epochs_leave_the_same_files(graph, tmp_path, make):
    result = train_run(make(), graph, tmp_path)
    assert [path.name for path in sorted(tmp_path.iterdir())] == FILES
    assert (tmp_path / "history.jsonl").read_text() == ""
    assert list(result["metrics"]) == ["val", "test"]


def test_predictions_hold_every_node_and_its_exact_id(graph, tmp_path):
    trained = model()
    train_run(trained, graph, tmp_path)
    text = (tmp_path / "predictions.csv").read_text()
    assert text.startswith("id,score,prediction\n")
    rows = list(csv.reader(io.StringIO(text)))[1:]
    assert [row[0] for row in rows[:5]] == ["=1+1", "-5", 'say "hi", you', "007", "n0"]
    assert len(rows) == 80
    np.testing.assert_allclose([float(row[1]) for row in rows], trained.predict_proba(graph)[:, 1], rtol=1e-8)
    assert [int(row[2]) for row in rows] == trained.predict(graph).tolist()
    assert predictions(trained, graph) == text


def test_two_runs_are_byte_identical_and_nothing_of_the_model_depends_on_the_folder(graph, tmp_path):
    for name in ("a", "b"):
        train_run(model("sage"), graph, tmp_path / name)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


# --- stopping and going on --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["gcn", "gin", "sage", "vanilla"])
def test_interrupted_after_any_epoch_and_resumed_the_run_is_the_same_bit_by_bit(graph, tmp_path, kind):
    whole = train_run(model(kind), graph, tmp_path / "whole")
    for epoch in range(1, 6):
        folder = tmp_path / str(epoch)
        stopped = train_run(model(kind), graph, folder, notice=stop_at(epoch, KeyboardInterrupt))
        assert stopped["interrupted"]
        assert {path.name for path in folder.iterdir()} == {*FILES, "checkpoint.safetensors"} - {"run.json"}
        assert len((folder / "history.jsonl").read_text().splitlines()) == epoch
        resumed = train_run(model(kind), graph, folder, resume=True)
        assert contents(folder) == contents(tmp_path / "whole"), epoch
        assert resumed["metrics"] == whole["metrics"]
        assert not resumed["interrupted"]


@pytest.mark.parametrize("settings", [{"adversary_sample": 20, "mask": "hard"}, {"patience": 2, "epochs": 30}])
def test_sampled_adversaries_and_early_stopping_resume_too(graph, tmp_path, settings):
    train_run(model("sage", **settings), graph, tmp_path / "whole")
    train_run(model("sage", **settings), graph, tmp_path / "a", notice=stop_at(2, KeyboardInterrupt))
    train_run(model("sage", **settings), graph, tmp_path / "a", resume=True)
    assert contents(tmp_path / "a") == contents(tmp_path / "whole")


@pytest.mark.parametrize("epoch", [1, 2, 3, 5])
def test_killed_it_goes_on_from_the_last_checkpoint(graph, tmp_path, monkeypatch, epoch):
    monkeypatch.setattr(runs, "CHECKPOINT_EVERY", 2)
    train_run(model("gin"), graph, tmp_path / "whole")
    with pytest.raises(KilledError):
        train_run(model("gin"), graph, tmp_path / "a", notice=stop_at(epoch, KilledError))
    there = [path.name for path in (tmp_path / "a").iterdir()] if epoch > 1 else []
    assert there == (["checkpoint.safetensors"] if epoch > 1 else [])
    seen: list[int] = []
    train_run(model("gin"), graph, tmp_path / "a", resume=True, notice=lambda p, _: seen.append(p.epochs))
    assert seen == list(range(epoch - epoch % 2 + 1, 7)), "no epoch before the checkpoint is trained again"
    assert contents(tmp_path / "a") == contents(tmp_path / "whole")


@pytest.mark.parametrize("phase", ["discriminator_phase", "classifier_phase", "generator_phase", "validate"])
def test_interrupted_in_the_middle_of_an_epoch(graph, tmp_path, monkeypatch, phase):
    from fairview.methods.fairvgnn import FairVGNNNetwork

    train_run(model("sage"), graph, tmp_path / "whole")
    real, calls = getattr(FairVGNNNetwork, phase), []

    def interrupted(self: Any, *masks: Any) -> Any:
        calls.append(1)
        found = real(self, *masks)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(FairVGNNNetwork, phase, interrupted)
    assert train_run(model("sage"), graph, tmp_path / "a")["interrupted"]
    monkeypatch.undo()
    train_run(model("sage"), graph, tmp_path / "a", resume=True)
    assert contents(tmp_path / "a") == contents(tmp_path / "whole")


def test_stopped_again_and_again(graph, tmp_path):
    train_run(model("gcn"), graph, tmp_path / "whole")
    for epoch in (1, 3, 4):
        train_run(model("gcn"), graph, tmp_path / "a", resume=True, notice=stop_at(epoch, KeyboardInterrupt))
    train_run(model("gcn"), graph, tmp_path / "a", resume=True)
    assert contents(tmp_path / "a") == contents(tmp_path / "whole")


def test_a_module_of_the_users_own_resumes_too(graph, tmp_path):
    class Own(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.linear = torch.nn.Linear(8, 3)

        def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
            return torch.nn.functional.dropout(self.linear(x), 0.5, self.training)

    def make() -> fv.FairVGNN:
        return fv.FairVGNN(encoder=Own(), epochs=5, **SMALL)

    whole = train_run(make(), graph, tmp_path / "whole")
    train_run(make(), graph, tmp_path / "a", notice=stop_at(3, KeyboardInterrupt))
    train_run(make(), graph, tmp_path / "a", resume=True)
    assert contents(tmp_path / "a") == contents(tmp_path / "whole")
    encoder = json.loads((tmp_path / "a" / "run.json").read_text())["parameters"]["encoder"]
    assert encoder["module"].endswith("<locals>.Own")
    assert len(encoder["sha256"]) == 64
    assert train_run(make(), graph, tmp_path / "a", resume=True)["metrics"] == whole["metrics"]


# --- folders that are in use ------------------------------------------------------------------------------------------


def test_an_unfinished_run_is_not_overwritten(graph, tmp_path):
    train_run(model(), graph, tmp_path, notice=stop_at(2, KeyboardInterrupt))
    with pytest.raises(fv.InputError) as caught:
        train_run(model(), graph, tmp_path)
    assert str(caught.value) == f"{tmp_path}: holds an unfinished run. Go on with resume=True, or use another folder."


def test_a_checkpoint_of_other_settings_or_data_is_refused(graph, tmp_path):
    train_run(model(), graph, tmp_path, notice=stop_at(2, KeyboardInterrupt))
    other = graph.replace(labels=1 - graph.labels)
    for wrong, data in ((model(seed=2), graph), (model(epochs=7), graph), (model("gin"), graph), (model(), other)):
        with pytest.raises(fv.ModelFileError, match="belongs to a run with other settings or other data"):
            train_run(wrong, data, tmp_path, resume=True)


@pytest.mark.parametrize("place", [9, 200, -1])
def test_a_damaged_checkpoint_is_refused(graph, tmp_path, place):
    train_run(model(), graph, tmp_path, notice=stop_at(2, KeyboardInterrupt))
    content = bytearray((tmp_path / "checkpoint.safetensors").read_bytes())
    content[place] ^= 1
    (tmp_path / "checkpoint.safetensors").write_bytes(content)
    with pytest.raises(fv.ModelFileError):
        train_run(model(), graph, tmp_path, resume=True)


def test_a_forged_checkpoint_that_does_not_fit_is_refused(graph, tmp_path):
    from fairview.training.checkpoint import load_checkpoint, save_checkpoint

    train_run(model(), graph, tmp_path, notice=stop_at(2, KeyboardInterrupt))
    path, identity = tmp_path / "checkpoint.safetensors", run_identity(model(), graph)
    progress, state = load_checkpoint(path, identity=identity)
    name = "now.classifier.weight"
    for forged in (
        {},
        {key: value for key, value in state.items() if key != name},
        state | {name: torch.zeros(5, 5)},
        state | {"adam.encoder.mean": torch.zeros(3)},
        state | {"random.mask": torch.zeros(3)},
        state | {"random.global": torch.zeros(3, dtype=torch.uint8)},
    ):
        save_checkpoint(path, progress, forged, identity=identity)
        with pytest.raises(fv.ModelFileError, match="the checkpoint is not of this method and this data"):
            train_run(model(), graph, tmp_path, resume=True)


def test_a_finished_run_is_shown_again_but_not_overwritten(graph, tmp_path):
    first = train_run(model(), graph, tmp_path)
    before = contents(tmp_path)
    again = train_run(model(), graph, tmp_path, resume=True)
    assert (again["metrics"], again["interrupted"]) == (first["metrics"], False)
    with pytest.raises(
        fv.InputError, match=r"holds a finished run already; resume=True shows it again\. Use another folder"
    ):
        train_run(model(), graph, tmp_path)
    for resume in (False, True):
        with pytest.raises(
            fv.InputError, match=r"holds a finished run with other settings or data\. Use another folder"
        ):
            train_run(model(seed=2), graph, tmp_path, resume=resume)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "null"])
def test_a_run_json_that_is_none(graph, tmp_path, text):
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(fv.InputError, match=r"/run\.json: .*damaged"):
        train_run(model(), graph, tmp_path, resume=True)


def test_a_damaged_model_is_noticed_when_a_finished_run_is_shown(graph, tmp_path):
    train_run(model(), graph, tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"x")
    with pytest.raises(fv.InputError, match=r"model\.safetensors: does not match its sha256 in run\.json"):
        train_run(model(), graph, tmp_path, resume=True)


def test_where_nothing_can_be_written(graph, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(fv.FairviewError, match="can't be written"):
        train_run(fv.Constant(), graph, tmp_path / "file" / "run")


def test_a_graph_without_a_test_split_has_no_test_metrics(graph, tmp_path):
    masks = {name: graph.splits[name] for name in ("train", "val")}
    assert list(train_run(model(epochs=1), graph.with_splits(masks), tmp_path)["metrics"]) == ["val"]


# --- several runs -----------------------------------------------------------------------------------------------------


def test_mean_and_population_deviation_over_runs_and_undefined_stays_undefined():
    def run(auc: float | None, gap: float) -> dict[str, Any]:
        return {"metrics": {"test": {"auc": auc, "statistical_parity_gap": gap, "nodes": 5, "undefined": {}}}}

    found = summarise_seeds([run(0.5, 0.1), run(0.7, 0.3)])["test"]
    assert found["mean"] == pytest.approx({"auc": 0.6, "statistical_parity_gap": 0.2})
    assert found["std"] == pytest.approx({"auc": 0.1, "statistical_parity_gap": 0.1})
    assert [row["auc"] for row in found["runs"]] == [0.5, 0.7]
    for first, second in ((None, 0.7), (0.7, None)):
        found = summarise_seeds([run(first, 0.1), run(second, 0.3)])["test"]
        assert found["mean"]["auc"] is None
        assert found["std"]["auc"] is None


def test_the_identity_changes_with_everything_that_changes_the_run(graph):
    same = run_identity(model(), graph)
    assert run_identity(model(), graph) == same
    for other in (model(seed=2), model("gin"), model(clamp_threshold=0.2), fv.Vanilla()):
        assert run_identity(other, graph) != same
    assert run_identity(model(), graph.with_splits({})) != same
