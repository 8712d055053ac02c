"""`fv.verify`: the whole folder, file by file."""

from __future__ import annotations

import json
import shutil

import pytest

import fairview as fv

FILES = ("tune.json", "model.json", "model.safetensors", "certificate.json")


@pytest.fixture
def copy(tuned, tmp_path):
    return shutil.copytree(tuned, tmp_path / "tuned")


def edit(path, change):
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def test_an_untouched_tuning_is_ok_and_says_what_was_looked_at(copy, many):
    found = fv.verify(copy)
    assert (found.ok, found.problems, found.checked, found.recounted) == (True, (), FILES, False)
    assert fv.verify(copy, many) == fv.Verification(True, (), FILES, True)
    assert fv.verify(copy / "run", many).checked == FILES[1:]


def test_a_graph_without_splits_is_divided_as_tune_did(few, column, tmp_path):
    bare = few.replace(splits={})
    fv.tune(bare, max_gap=0.35, methods="column", trials=2, folder=tmp_path)
    assert fv.verify(tmp_path, bare).ok
    assert not fv.verify(tmp_path, few.replace(splits={name: few.split(name) for name in ("train", "val")})).ok


def test_an_ordinary_run_has_a_model_and_no_certificate(few, tmp_path):
    fv.LogisticRegression().fit(few).save(tmp_path)
    found = fv.verify(tmp_path, few)
    assert (found.ok, found.checked, found.recounted) == (True, FILES[1:3], False)


def test_a_changed_threshold_is_noticed_by_the_model_file_itself(copy):
    path = copy / "run" / "model.json"
    edit(path, lambda document: document.update(threshold=0.111))
    problems = fv.verify(copy).problems
    assert problems[0] == f"{path}: does not match its own sha256; it is damaged or changed."
    assert "certificate.json: it is of another model than model.json" in problems[1]


def test_a_refitted_model_is_noticed(copy, many):
    fv.LogisticRegression().fit(many).save(copy / "run")
    assert any("refitting or changing a model voids it" in problem for problem in fv.verify(copy, many).problems)


def test_other_tensors_are_noticed(copy):
    path = copy / "run" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"\x7f")
    assert fv.verify(copy).problems == (f"{path}: does not match its sha256; it is damaged or changed.",)


def test_a_certificate_that_was_taken_away_is_noticed(copy):
    (copy / "run" / "certificate.json").unlink()
    assert fv.verify(copy).problems == (
        "run/certificate.json: is missing, although tune.json says that a model was certified.",
    )


def test_a_document_that_tells_of_another_model_is_noticed(copy):
    for change in (
        lambda document: document["chosen"].update(threshold=0.111),
        lambda document: document["chosen"].update(method="vanilla"),
        lambda document: document["chosen"]["limits"][0].update(limit=0.01),
    ):
        before = (copy / "tune.json").read_text()
        edit(copy / "tune.json", change)
        assert fv.verify(copy).problems == ("run: it is not the model that tune.json describes.",)
        (copy / "tune.json").write_text(before)


def test_a_run_beside_a_refusal_is_noticed(copy):
    edit(copy / "tune.json", lambda document: document.update(chosen=None))
    assert fv.verify(copy).problems[0] == ("run: there is one, although tune.json says that no model was chosen.")


@pytest.mark.parametrize("name", ["tune.json", "run/run.json", "run/model.json", "run/certificate.json"])
@pytest.mark.parametrize("content", [b"", b"[]", b"null", b'{"chosen": ', b"[" * 100_000, b"\xff\xfe\x00", b"7", b"{}"])
def test_any_damaged_file_is_a_problem_that_names_it_and_never_a_crash(copy, name, content):
    (copy / name).write_bytes(content)
    found = fv.verify(copy)
    assert not found.ok
    assert any(name.removeprefix("run/").removesuffix(".json") in problem for problem in found.problems)


def test_nothing_to_verify_is_an_error(tmp_path):
    with pytest.raises(fv.InputError) as caught:
        fv.verify(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}: nothing to verify. Looked for tune.json, model.json and certificate.json."
    )
