"""`fairview verify`: exit code 3 and the file's name for anything that was changed, and never a traceback."""

from __future__ import annotations

import json
import shutil
import warnings

import pytest

import fairview as fv

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PyG's import is not ours to judge
    import torch_geometric.nn  # noqa: F401


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("german") / "tuned"
    german = fv.load_dataset("german")
    tuning = fv.tune(german, max_gap=0.45, methods="logistic-regression", trials=2, folder=folder)
    assert tuning.refused is None
    return folder


@pytest.fixture
def copy(tuned, tmp_path):
    return shutil.copytree(tuned, tmp_path / "copy")


def test_a_whole_folder_is_ok_with_and_without_the_data(run, tuned):
    found = run("verify", tuned)
    assert (found.code, found.err) == (0, "")
    assert found.out == "ok: 17 files (no number was made again from the data)\n"
    found = run("verify", tuned, "--dataset", "german")
    assert found.out == "ok: 17 files (the metrics and the certificate's counts made again from the data)\n"
    document = json.loads(run("verify", tuned / "run", "--dataset", "german", "--format", "json").out)
    assert {"run.json", "certificate.json", "model.safetensors"} <= set(document.pop("checked"))
    assert document == {"ok": True, "problems": [], "recounted": True, "recomputed": True, "notes": []}


def edited(name, change):
    def apply(folder):
        path = folder / name
        document = json.loads(path.read_text())
        change(document)
        path.write_text(json.dumps(document))

    return apply


def written(name, content):
    return lambda folder: (folder / name).write_bytes(content)


def refitted(folder):
    fv.LogisticRegression(inverse_penalty=0.5).fit(fv.load_dataset("german")).save(folder / "run")


def group(document):
    return document["limits"][0]["groups"][0][0]


CHANGES = {
    "threshold": (edited("run/model.json", lambda d: d.update(threshold=0.3)), "model.json"),
    "refitted": (refitted, "certificate.json"),
    "p_value": (edited("run/certificate.json", lambda d: d["limits"][0].update(p_value=0.01)), "certificate.json"),
    "counts": (edited("run/certificate.json", lambda d: group(d).update(positive=group(d)["positive"] - 1)),
               "certificate.json"),
    "truncated": (written("run/certificate.json", b'{"kind": "certifi'), "certificate.json"),
    "list": (written("run/certificate.json", b"[]"), "certificate.json"),
    "null": (written("run/certificate.json", b"null"), "certificate.json"),
    "brackets": (written("run/certificate.json", b"[" * 100_000), "certificate.json"),
    "model brackets": (written("run/model.json", b"[" * 100_000), "model.json"),
    "tune brackets": (written("tune.json", b"[" * 100_000), "tune.json"),
    "tune null": (written("tune.json", b"null"), "tune.json"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("data", [(), ("--dataset", "german")], ids=["alone", "with data"])
def test_whatever_was_changed_has_exit_code_3_and_a_name(run, copy, name, data):
    change, file = CHANGES[name]
    change(copy)
    found = run("verify", copy, *data)
    assert found.code == 3
    assert file in found.out
    assert "NOT ok: " in found.out.splitlines()[-1]
    assert found.err == ""
    document = json.loads(run("verify", copy, *data, "--format", "json").out)
    assert document["ok"] is False
    assert any(file in problem for problem in document["problems"])


def test_another_graph_has_exit_code_3(run, copy, people):
    found = run("verify", copy, "--nodes", people, "--label", "ok", "--sensitive", "sex")
    assert found.code == 3
    assert "certificate.json: it is of another graph than the one given.\n" in found.out


def test_nothing_to_verify_has_exit_code_1(run, tmp_path):
    found = run("verify", tmp_path)
    assert (found.code, found.out) == (1, "")
    assert "nothing to verify. Looked for run.json or model.json (a run)," in found.err


def test_data_that_is_given_twice_has_exit_code_1(run, tuned, people):
    found = run("verify", tuned, "--dataset", "german", "--nodes", people)
    assert (found.code, found.err.strip()) == (1, "error: give either --dataset or --nodes.")


def test_no_folder_has_exit_code_2(run):
    assert run("verify").code == 2


def test_help_has_examples(run):
    found = run("verify", "--help")
    assert found.code == 0
    assert "fairview verify tuned/german --dataset german" in " ".join(found.out.split())
