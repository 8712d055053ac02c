"""A tuning folder: its models, its decision made again, its certificate, its run."""

from __future__ import annotations

import contextlib
import shutil

import numpy as np
import pytest

import fairview as fv
from fairview.manifest import file_sha256

CHANGED = "does not match its sha256 in files.json; it is damaged or changed."


def test_an_untouched_tuning_is_ok_and_says_what_was_looked_at(copied, many):
    folder = copied("tuning")
    found = fv.verify(folder)
    assert (found.ok, found.problems, found.recounted, found.recomputed) == (True, (), False, False)
    assert {"files.json", "tune.json", "run/run.json", "run/certificate.json"} <= set(found.checked)
    assert any(name.startswith("trials/") and name.endswith("/scores.npy") for name in found.checked)
    again = fv.verify(folder, many)
    assert (again.ok, again.recounted, again.recomputed, again.notes) == (True, True, True, ())
    assert {"run.json", "certificate.json", "model.json"} <= set(fv.verify(folder / "run", many).checked)


def test_a_graph_without_splits_is_divided_as_tune_did(many, tmp_path):
    bare = many.replace(splits={})
    fv.tune(bare, max_gap=0.3, methods="logistic-regression", trials=1, folder=tmp_path)
    assert fv.verify(tmp_path, bare).ok
    other = bare.with_splits(fv.stratified_splits(bare, repeats=2)[1])
    assert not fv.verify(tmp_path, other).ok


def test_a_model_that_was_saved_alone_has_no_certificate(many, tmp_path):
    fv.LogisticRegression().fit(many).save(tmp_path)
    found = fv.verify(tmp_path, many)
    assert (found.ok, found.checked, found.recounted) == (True, ("model.json", "model.safetensors"), False)


def test_a_changed_threshold_is_noticed(copied, edit):
    folder = copied("tuning")
    edit(folder / "run" / "model.json", lambda document: document.update(threshold=0.111))
    problems = fv.verify(folder).problems
    assert any(problem.startswith("run/model.json: does not match its sha256 in run.json") for problem in problems)
    assert any("certificate.json: it is of another model than model.json" in problem for problem in problems)


def test_a_refitted_model_is_noticed(copied, many):
    folder = copied("tuning")
    fv.LogisticRegression().fit(many).save(folder / "run")
    assert any("refitting or changing a model voids it" in problem for problem in fv.verify(folder, many).problems)


def test_a_certificate_that_was_taken_away_is_noticed(copied):
    folder = copied("tuning")
    (folder / "run" / "certificate.json").unlink()
    assert any("run/certificate.json: is missing" in problem for problem in fv.verify(folder).problems)


def test_a_decision_that_tells_of_another_model_is_noticed_although_the_hashes_fit(copied, edit, reseal):
    folder = copied("tuning")
    before = (folder / "tune.json").read_text()
    for change in (
        lambda document: document["chosen"].update(threshold=0.111),
        lambda document: document["chosen"].update(method="vanilla"),
        lambda document: document["chosen"]["limits"][0].update(limit=0.01),
    ):
        edit(folder / "tune.json", change)
        assert f"tune.json: {CHANGED}" in fv.verify(folder).problems
        reseal(folder)
        assert fv.verify(folder).problems == ("run: it is not the model that tune.json describes.",)
        (folder / "tune.json").write_text(before)


def test_a_certificate_that_repeats_a_group_is_noticed_at_once(copied, edit, reseal):
    """Each pair of groups is tested: 3,000 of them would take hours."""
    folder = copied("tuning") / "run"
    edit(
        folder / "certificate.json", lambda document: document["limits"][0]["groups"][0].extend([{"group": "a"}] * 3000)
    )
    reseal(folder)
    assert "certificate.json: statistical_parity: it repeats a group, or counts more than 100." in (
        fv.verify(folder).problems
    )


def test_a_run_beside_a_refusal_is_noticed(copied, edit, reseal):
    folder = copied("tuning")
    edit(folder / "tune.json", lambda document: document.update(chosen=None))
    reseal(folder)
    assert fv.verify(folder).problems[0] == "run: there is one, although tune.json says that no model was chosen."


def test_a_frontier_that_the_tried_models_do_not_give_is_noticed(copied, edit, reseal, many):
    folder = copied("tuning")
    edit(folder / "tune.json", lambda document: document["frontier"].pop())
    reseal(folder)
    assert "tune.json: frontier is not what the tried models give." in fv.verify(folder, many).problems


def test_a_tried_model_that_was_changed_is_noticed(copied):
    folder = copied("tuning")
    path = min(folder.glob("trials/*/scores.npy"))
    path.write_bytes(path.read_bytes()[:-1] + b"\x7f")
    place = path.relative_to(folder)
    assert any(problem.startswith(f"{place}: does not match its sha256 in") for problem in fv.verify(folder).problems)


def test_scores_that_the_tried_models_do_not_give_are_noticed_although_the_hashes_fit(copied, edit, reseal, many):
    folder = copied("tuning")
    path = min(folder.glob("trials/*/scores.npy"))
    np.save(path, np.load(path)[::-1])
    edit(path.with_name("trial.json"), lambda document: document["sha256"].update({path.name: file_sha256(path)}))
    reseal(folder)
    place = path.parent.relative_to(folder).as_posix()
    assert fv.verify(folder, many).problems == (f"{place}/scores.npy: these are not the scores that the model gives.",)


@pytest.mark.parametrize("name", ["model.json", "scores.npy"])
def test_a_tried_model_that_lost_a_file_is_noticed_with_the_files_name(copied, name):
    folder = copied("tuning")
    path = min(folder.glob(f"trials/*/{name}"))
    path.unlink()
    assert f"{path.relative_to(folder)}: is missing, although trial.json records it." in fv.verify(folder).problems


def test_a_trial_that_was_put_there_is_noticed(copied):
    folder = copied("tuning")
    shutil.copytree(min(folder.glob("trials/*")), folder / "trials" / "9999")
    assert "files.json: does not record trials/9999/trial.json." in fv.verify(folder).problems


def test_a_decision_on_another_question_is_noticed(copied, edit, reseal):
    folder = copied("tuning")
    edit(folder / "study.json", lambda document: document.update(confidence=0.5))
    reseal(folder)
    assert fv.verify(folder).problems == ("study.json: confidence is not that of tune.json.",)


@pytest.mark.parametrize("place", [("refused",), ("gaps", 0), ("graph", "sha256"), ("seed",), ("chosen", "limits")])
def test_a_decision_that_lacks_something_is_a_problem_and_never_a_crash(copied, edit, reseal, many, place):
    folder = copied("tuning")

    def change(document):
        for key in place[:-1]:
            document = document[key]
        del document[place[-1]]

    for name in ("tune.json", "study.json"):
        with contextlib.suppress(KeyError):
            edit(folder / name, change)
    reseal(folder)
    assert not fv.verify(folder, many).ok


def test_another_graph_is_noticed(copied):
    problems = fv.verify(copied("tuning"), fv.synthetic_graph(50, seed=1)).problems
    assert "run/run.json: the run is of another graph than the one given." in problems


@pytest.mark.parametrize("name", ["tune.json", "files.json", "run/run.json", "run/model.json", "run/certificate.json"])
@pytest.mark.parametrize("content", [b"", b"[]", b"null", b'{"chosen": ', b"[" * 100_000, b"\xff\xfe\x00", b"7", b"{}"])
def test_any_damaged_file_is_a_problem_that_names_it_and_never_a_crash(copied, name, content):
    folder = copied("tuning")
    (folder / name).write_bytes(content)
    found = fv.verify(folder)
    assert not found.ok
    assert any(name.removeprefix("run/") in problem for problem in found.problems)


def test_nothing_to_verify_is_an_error(tmp_path):
    with pytest.raises(fv.InputError) as caught:
        fv.verify(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}: nothing to verify. Looked for run.json or model.json (a run), seed-* (several), audit.json (an "
        "audit), explanation.json (an explanation), summary.json (a comparison), tune.json (a tuning) and "
        "manifest.json (a propagated folder)."
    )
