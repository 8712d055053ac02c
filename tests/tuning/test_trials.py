"""Trials on disk: what was fitted is read back, and nothing else is."""

from __future__ import annotations

import hashlib
import io
import json

import numpy as np
import pytest

import fairview as fv
from fairview.training.loop import Loop
from fairview.tuning.holdout import hold_out
from fairview.tuning.trials import fit_trial, load_trial, save_trial


@pytest.fixture(scope="module")
def holdout(few):
    return hold_out(few, seed=1)


@pytest.fixture
def saved(holdout, tmp_path):
    trial = fit_trial(fv.LogisticRegression(), "logistic-regression", {"inverse_penalty": 1.0}, holdout)
    save_trial(trial, tmp_path)
    return trial


SETTINGS = {"inverse_penalty": 1.0}


def load(folder, holdout, method="logistic-regression", settings=SETTINGS):
    return load_trial(folder, method, settings, holdout)


def test_a_trial_survives_on_disk(saved, holdout, tmp_path):
    found = load(tmp_path, holdout)
    assert (found.method, found.settings, found.seconds) == (saved.method, saved.settings, saved.seconds)
    np.testing.assert_array_equal(found.scores, saved.scores)
    np.testing.assert_array_equal(found.model.predict_proba(holdout.graph)[:, 1], saved.scores)


def test_its_model_names_the_graph_itself(saved, holdout, few):
    assert saved.model.facts().graph_sha256 == few.sha256 != holdout.design.sha256


def test_it_was_fitted_on_train_labels_only(saved, few):
    alone = fv.LogisticRegression().fit(few)
    np.testing.assert_allclose(saved.scores, alone.predict_proba(few)[:, 1], atol=1e-9)


def test_an_empty_folder_holds_no_trial(holdout, tmp_path):
    assert load(tmp_path, holdout) is None


@pytest.mark.parametrize("name", ["trial.json", "model.json", "model.safetensors", "scores.npy"])
@pytest.mark.parametrize("content", [b"", b"[]", b"null", b"[" * 100_000, b"\xff\xfe"])
def test_a_damaged_trial_is_fitted_again(saved, holdout, tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    assert load(tmp_path, holdout) is None


def as_saved(array: np.ndarray) -> bytes:
    np.save(stream := io.BytesIO(), array)
    return stream.getvalue()


def as_archive() -> bytes:
    np.savez(stream := io.BytesIO(), scores=np.zeros(600))
    return stream.getvalue()


FORGED = {
    "half a header": b"\x93NUMPY\x01\x00\x01\x00" + as_saved(np.zeros(600))[10:],
    "empty": b"", "archive": as_archive(), "nan": as_saved(np.full(600, np.nan)),
    "beyond 1": as_saved(np.full(600, 7.0)),
    "other length": as_saved(np.zeros(599)), "other type": as_saved(np.zeros(600, dtype=np.float32)),
    "more than memory": as_saved(np.zeros(600)).replace(b"(600,), }        ", b"(600000000000,), }"),
}  # fmt: skip


@pytest.mark.parametrize("content", FORGED.values(), ids=FORGED)
def test_scores_that_are_none_are_fitted_again_although_their_hash_fits(saved, holdout, tmp_path, content):
    (tmp_path / "scores.npy").write_bytes(content)
    about = json.loads((tmp_path / "trial.json").read_text())
    about["sha256"]["scores.npy"] = hashlib.sha256(content).hexdigest()
    (tmp_path / "trial.json").write_text(json.dumps(about))
    assert load(tmp_path, holdout) is None


def test_a_trial_of_other_settings_is_refused(saved, holdout, tmp_path):
    with pytest.raises(fv.InputError) as caught:
        load(tmp_path, holdout, settings={"inverse_penalty": 2.0})
    assert str(caught.value) == f"{tmp_path}: holds another trial than expected. Use another folder."


def test_a_trial_of_another_graph_is_fitted_again(saved, many, tmp_path):
    assert load(tmp_path, hold_out(many, seed=1)) is None


def test_ctrl_c_in_a_network_ends_the_search_and_keeps_no_half_trained_model(few, tmp_path, monkeypatch):
    """A network's fit takes Ctrl-C as "keep the best epoch so far"; a trial must be whole."""
    epoch, reached = Loop._one_epoch, []

    def interrupted(loop, trainee, progress):
        reached.append(1)
        if len(reached) == 3:
            raise KeyboardInterrupt
        epoch(loop, trainee, progress)

    monkeypatch.setattr(Loop, "_one_epoch", interrupted)
    monkeypatch.setattr(fv.Vanilla, "search_space", {"epochs": (5,)})
    with pytest.raises(KeyboardInterrupt):
        fv.tune(few, max_gap=0.2, methods="vanilla", trials=2, folder=tmp_path / "out")
    assert not list((tmp_path / "out").glob("trials/*/trial.json"))


def test_labels_for_tables_name_what_was_varied(saved, holdout):
    assert saved.label == "Logistic regression, inverse penalty 1"
    penalised = fit_trial(
        fv.Parity(statistical_parity_weight=3.0), "parity", {"statistical_parity_weight": 3.0, "basis": "raw"}, holdout
    )
    assert penalised.label == "Parity, λ 3, basis raw"
    assert not penalised.group_at_prediction
