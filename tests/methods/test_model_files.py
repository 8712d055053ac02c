"""Model files: what is in them, and what happens to one that is not as it was written."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import safetensors.torch
import torch

import fairview as fv
from fairview.methods import model_files as files

SMALL = {"epochs": 1, "hidden": 2, "views": 2, "discriminator_steps": 1, "classifier_steps": 1, "generator_steps": 1}


@pytest.fixture(scope="module")
def table_graph() -> fv.NodeGraph:
    made = fv.synthetic_graph(60, average_degree=4, seed=3)
    columns = {"id": [f"n{i}" for i in range(60)], "ok": made.labels, "sex": np.array(["f", "m"])[made.sensitive]}
    columns |= {"age": made.features[:, 4], "kind": np.array(["x", "y", "z"])[np.arange(60) % 3]}
    return fv.read_graph(pl.DataFrame(columns), label="ok", sensitive="sex", categorical=["kind"], split_seed=0)


@pytest.fixture(scope="module")
def saved(table_graph, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    fv.FairVGNN(**SMALL, seed=1).fit(table_graph).save(folder)
    return folder


@pytest.fixture
def run(saved, tmp_path) -> Path:
    """A copy to damage."""
    return Path(shutil.copytree(saved, tmp_path / "run"))


def rewrite(run: Path, *, tensors: bytes | None = None, **changes: object) -> None:
    """As someone would who knows the format: every hash is right."""
    document = files.checked((run / "model.json").read_bytes(), "model.json") | changes
    if tensors is not None:
        (run / "model.safetensors").write_bytes(tensors)
        document["tensors_sha256"] = hashlib.sha256(tensors).hexdigest()
    (run / "model.json").write_bytes(files.canonical(document))


def parameters(run: Path) -> dict:
    return files.checked((run / "model.json").read_bytes(), "model.json")["parameters"]


# --- as written -------------------------------------------------------------------------------------------------------


def test_the_document_says_what_prediction_and_audit_need(saved, table_graph):
    document = json.loads((saved / "model.json").read_text())
    digest = document.pop("sha256")
    rest = json.dumps(document, sort_keys=True, indent=1) + "\n"
    assert hashlib.sha256(rest.encode()).hexdigest() == digest
    keys = "facts fairview format group_at_prediction method parameters tensors_sha256 threshold"
    assert sorted(document) == keys.split()
    assert (document["format"], document["method"], document["fairview"]) == (2, "fairvgnn", fv.__version__)
    assert document["parameters"] == fv.FairVGNN(**SMALL, seed=1).plain_params() | {
        "encoder_updates": ["discriminator", "classifier", "generator"]
    }
    facts = document["facts"]
    assert facts["channels"] == list(table_graph.channels) == ["age", "kind=x", "kind=y", "kind=z"]
    assert facts["recipe"]["features"]["scaling"]["center"] == list(table_graph.recipe.features.scaling.center)
    assert facts["recipe"]["similarity"]["kind"] == "neighbours"
    assert (facts["groups"], facts["classes"], facts["sensitive_name"]) == (["f", "m"], ["0", "1"], "sex")
    assert facts["graph_sha256"] == table_graph.sha256
    tensors = safetensors.torch.load_file(saved / "model.safetensors")
    assert {"evaluation_masks", "clamp_mask", "mask.scores", "classifier.weight"} <= set(tensors)


def test_a_threshold_of_ones_own_is_saved_and_used(table_graph, tmp_path):
    model = fv.LogisticRegression().fit(table_graph)
    stricter = model.with_threshold(0.7)
    stricter.save(tmp_path)
    loaded = fv.load_model(tmp_path)
    scores = model.predict_proba(table_graph)[:, 1]
    assert (loaded.threshold_, model.threshold_) == (0.7, 0.5)
    assert loaded.predict(table_graph).tolist() == (scores > 0.7).astype(int).tolist()
    with pytest.raises(fv.InputError, match=r"threshold: 1; expected a number from 0 to 1, below 1\."):
        model.with_threshold(1)


def test_nothing_in_the_files_depends_on_time_or_place(table_graph, saved, tmp_path):
    fv.FairVGNN(**SMALL, seed=1).fit(table_graph).save(tmp_path / "elsewhere")
    for name in ("model.json", "model.safetensors"):
        assert (tmp_path / "elsewhere" / name).read_bytes() == (saved / name).read_bytes()


def test_saving_over_a_model_replaces_it(table_graph, run):
    fv.Constant().fit(table_graph).save(run)
    assert isinstance(fv.load_model(run), fv.Constant)
    assert sorted(path.name for path in run.iterdir()) == ["model.json", "model.safetensors"]


def test_a_write_that_fails_leaves_the_old_model(table_graph, run, monkeypatch):
    before = fv.load_model(run).get_params()
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(
        fv.FairviewError, match=r"model\.safetensors\.next: can't be written \(No space left on device\)\.$"
    ):
        fv.Constant().fit(table_graph).save(run)
    monkeypatch.undo()
    assert fv.load_model(run).get_params() == before


# --- models of 0.1.0, whose JSON has its sha256 in a line below it ---------------------------------------------------

OLD = Path(__file__).parent / "models-of-0.1.0"


@pytest.mark.parametrize(("name", "scores"), json.loads((OLD / "scores.json").read_text()).items())
def test_models_of_the_first_version_predict_what_they_predicted(name, scores):
    graph = fv.synthetic_graph(40, groups={"f": 0.4, "m": 0.6}, average_degree=4, seed=1)
    model = fv.load_model(OLD / name)
    np.testing.assert_allclose(model.predict_proba(graph)[:5, 1], scores, atol=2e-6)


def test_their_changed_bytes_are_noticed_too(tmp_path):
    run = Path(shutil.copytree(OLD / "fairvgnn", tmp_path / "run"))
    text = (run / "model.json").read_text()
    for wrong in (text.replace('"hidden": 3', '"hidden": 4'), text[:-2], text + "\n", text.rsplit("\n", 2)[0] + "\n"):
        assert wrong != text
        (run / "model.json").write_text(wrong)
        with pytest.raises(fv.ModelFileError, match=r"model\.json: does not match its own sha256"):
            fv.load_model(run)


# --- classes of one's own, which no file can name ---------------------------------------------------------------------


class Halfway(fv.Estimator):
    """Says 0.5, or what it was told."""

    def __init__(self, *, answer: float = 0.5) -> None:
        self.answer = answer

    def fit(self, graph):
        self.facts_ = fv.Facts.of(graph)
        return self

    def predict_proba(self, graph):
        return np.full((graph.num_nodes, 2), self.answer)

    def tensors(self):
        return {}

    def restore(self, tensors, facts):
        self.facts_ = facts
        return self


def test_a_class_of_ones_own_is_handed_over_to_load(table_graph, tmp_path):
    Halfway(answer=0.25).fit(table_graph).save(tmp_path)
    assert fv.load_model(tmp_path, method=Halfway).answer == 0.25
    with pytest.raises(fv.ModelFileError, match=r"which is not registered; pass its class: method=Halfway\."):
        fv.load_model(tmp_path)
    with pytest.raises(fv.ModelFileError, match=r"holds a model of '.*:Halfway', not of 'constant'\.$"):
        fv.load_model(tmp_path, method=fv.Constant)


def test_what_is_lacking_to_be_saved_is_said(table_graph, tmp_path):
    class Bare:
        def fit(self, graph):
            return self

        def predict_proba(self, graph):
            return np.full((graph.num_nodes, 2), 0.5)

    with pytest.raises(fv.InputError, match=r"^method Bare: it can be compared, but not saved: it has no get_params"):
        files.save_model(Bare(), tmp_path)

    class Half(Halfway):
        tensors, restore = fv.Estimator.tensors, fv.Estimator.restore

    with pytest.raises(fv.FairviewError, match=r"^Half can't be saved: it has no tensors\(\)"):
        Half().fit(table_graph).save(tmp_path)


# --- missing, swapped, not files --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["model.json", "model.safetensors"])
def test_missing_files_folders_pipes_and_devices(run, name):
    path = run / name
    for put in (
        path.unlink,
        path.mkdir,
        lambda: (path.rmdir(), os.mkfifo(path)),
        lambda: (path.unlink(), path.symlink_to("/dev/zero")),
        lambda: (path.unlink(), path.symlink_to(path)),
        lambda: (path.unlink(), path.write_bytes(b"")),
    ):
        put()
        with pytest.raises(fv.ModelFileError, match=rf"{name}: (can't be read|is not a file|does not match)"):
            fv.load_model(run)


def test_a_folder_that_is_none(tmp_path):
    (tmp_path / "file").write_text("x")
    for wrong in (tmp_path / "nothing", tmp_path / "file"):
        with pytest.raises(fv.ModelFileError, match=r"model\.json: can't be read"):
            fv.load_model(wrong)


@pytest.mark.parametrize("name", ["model.json", "model.safetensors"])
def test_too_large(run, monkeypatch, name):
    monkeypatch.setattr(files, "LARGEST", (run / name).stat().st_size - 1)
    with pytest.raises(fv.ModelFileError, match=r"has [\d,]+ bytes; expected at most [\d,]+\.$"):
        fv.load_model(run)


def test_files_of_two_models_do_not_mix(table_graph, run, tmp_path):
    fv.FairVGNN(**SMALL, seed=2).fit(table_graph).save(tmp_path / "other")
    shutil.copy(tmp_path / "other" / "model.safetensors", run)
    with pytest.raises(fv.ModelFileError, match=r"model\.safetensors: does not match its sha256; it is damaged or"):
        fv.load_model(run)


# --- hostile, with every hash right -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 3}, r"format 3; this version reads 1 and 2"),
        ({"format": None}, r"format None"),
        ({"method": "os.system"}, r"unknown method 'os\.system'"),
        ({"method": "fairview.methods.vanilla.Vanilla"}, "unknown method"),
        ({"method": None}, "unknown method None"),
        ({"method": ["fairvgnn"]}, "unknown method"),
        ({"method": "constant"}, "not a model of this version"),
        ({"method": "vanilla"}, "not a model of this version"),
        ({"method": "logistic-regression"}, "not a model of this version"),
        ({"parameters": None}, "not a model of this version"),
        ({"parameters": []}, "not a model of this version"),
        ({"parameters": "encoder"}, "not a model of this version"),
        ({"parameters": {"__class__": "os.system"}}, "no parameter '__class__'"),
        ({"facts": None}, "not a model of this version"),
        ({"facts": {}}, "not a model of this version"),
        ({"facts": [1]}, "not a model of this version"),
        ({"tensors_sha256": None}, "does not match its sha256"),
        ({"tensors_sha256": 5}, "does not match its sha256"),
    ],
)
def test_documents_that_lie(run, changes, message):
    rewrite(run, **changes)
    with pytest.raises(fv.ModelFileError, match=message):
        fv.load_model(run)


@pytest.mark.parametrize(
    "change",
    [
        {"encoder": "os.system"},
        {"encoder": {"module": "os", "class": "system"}},
        {"encoder": "gin"},
        {"encoder": "sage"},
        {"encoder": "mlp"},
        {"hidden": 3},
        {"hidden": 10**9},  # no memory is taken for it
        {"hidden": 10**30},
        {"hidden": "2"},
        {"depth": 2},
        {"depth": 10**9},
        {"precision": "float64"},
        {"precision": "float16"},
        {"threads": 10**9},
        {"seed": -1},
        {"views": 0},
        {"operator": "__import__"},
        {"encoder_updates": ["nobody"]},
        {"self_loops": -1},
        {"feature_masks": 1},
        {"surplus": 1},
        {"views": 10**12},
    ],
    ids=str,
)
def test_parameters_that_lie(run, change):
    rewrite(run, parameters=parameters(run) | change)
    with pytest.raises(fv.ModelFileError, match="not a model of this version"):
        fv.load_model(run)


def test_the_number_of_views_is_that_of_the_masks_whatever_the_parameter_says(run, table_graph):
    rewrite(run, parameters=parameters(run) | {"views": 1000})
    assert fv.load_model(run).predict_proba(table_graph).shape == (60, 2)


def hostile_tensors(tensors: dict[str, torch.Tensor]) -> dict[str, dict[str, torch.Tensor]]:
    weight = tensors["classifier.weight"]
    return {
        "none": {},
        "one missing": {name: value for name, value in tensors.items() if name != "clamp_mask"},
        "no classifier": {name: value for name, value in tensors.items() if not name.startswith("classifier")},
        "one more": tensors | {"surplus": weight.clone()},
        "nan": tensors | {"classifier.weight": weight * float("nan")},
        "infinite": tensors | {"encoder.layers.0.bias": torch.full((2,), float("inf"))},
        "double": tensors | {"classifier.weight": weight.double()},
        "whole numbers": tensors | {"classifier.weight": weight.to(torch.int32)},
        "bfloat16": tensors | {"classifier.weight": weight.to(torch.bfloat16)},
        "float8": tensors | {"classifier.weight": weight.to(torch.float8_e4m3fn)},
        "complex": tensors | {"classifier.weight": weight.to(torch.complex64)},
        "wide head": tensors | {"classifier.weight": torch.zeros(1, 3)},
        "tall head": tensors | {"classifier.weight": torch.zeros(2, 2), "classifier.bias": torch.zeros(2)},
        "flat head": tensors | {"classifier.weight": weight.flatten()},
        "scalar head": tensors | {"classifier.weight": torch.tensor(1.0)},
        "scalar adversary": tensors | {"discriminator.weight": torch.tensor(1.0)},
        "other width": tensors | {"encoder.layers.0.lin.weight": torch.zeros(3, 4)},
        "no views": tensors | {"evaluation_masks": torch.zeros(0, 4)},
        "flat masks": tensors | {"evaluation_masks": torch.zeros(4)},
        "scalar masks": tensors | {"evaluation_masks": torch.tensor(0.0)},
        "masks beyond 1": tensors | {"evaluation_masks": torch.full((2, 4), 7.0)},
        "mean mask of other length": tensors | {"clamp_mask": torch.zeros(5)},
        "double mean mask": tensors | {"clamp_mask": torch.zeros(4, dtype=torch.float64)},
        "scores of other shape": tensors | {"mask.scores": torch.zeros(4, 3)},
    }


NAMES = list(hostile_tensors({"classifier.weight": torch.zeros(1, 2)}))


@pytest.mark.parametrize("name", NAMES)
def test_tensors_that_do_not_fit(run, name):
    tensors = safetensors.torch.load_file(run / "model.safetensors")
    rewrite(run, tensors=safetensors.torch.save(hostile_tensors(tensors)[name]))
    with pytest.raises(fv.ModelFileError, match=r"not a model of this version|can't be read"):
        fv.load_model(run)


@pytest.mark.parametrize(
    "tensors",
    [
        {},
        {"score": torch.tensor(0.5, dtype=torch.float64)},
        {"score": torch.tensor(float("nan"), dtype=torch.float64)},
        {"score": torch.tensor([1.0], dtype=torch.float64)},
        {"score": torch.tensor(1)},
    ],
    ids=["none", "half", "nan", "a list", "whole"],
)
def test_a_constant_that_is_none(table_graph, tmp_path, tensors):
    fv.Constant().fit(table_graph).save(tmp_path)
    rewrite(tmp_path, tensors=safetensors.torch.save(tensors))
    with pytest.raises(fv.ModelFileError, match="not a model of this version"):
        fv.load_model(tmp_path)
    rewrite(tmp_path, parameters={"answer": "os.system"})
    with pytest.raises(fv.ModelFileError, match=r"answer='os\.system'"):
        fv.load_model(tmp_path)


def test_a_regression_with_other_weights_than_channels(table_graph, tmp_path):
    fv.LogisticRegression().fit(table_graph).save(tmp_path)
    for weights in (torch.zeros(3, dtype=torch.float64), torch.zeros(4), torch.zeros(4, 1, dtype=torch.float64)):
        bias = torch.tensor(0.0, dtype=torch.float64)
        rewrite(tmp_path, tensors=safetensors.torch.save({"weights": weights, "bias": bias}))
        with pytest.raises(fv.ModelFileError, match="not a model of this version"):
            fv.load_model(tmp_path)


def header(text: bytes, payload: bytes = b"", length: int | None = None) -> bytes:
    return (len(text) if length is None else length).to_bytes(8, "little") + text + payload


F32 = '{"a":{"dtype":"F32","shape":[2],"data_offsets":%s}}'


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00" * 7,
        header(b"{}", length=2**63),
        header(b"{}", length=2**64 - 1),
        header(b"{}", length=100_000_001),
        header(b"{", length=1),
        header(b"[]"),
        header(b"null"),
        header(b"\xff\xfe"),
        header(b'{"a":' * 200 + b"1" + b"}" * 200),
        header(b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
        header((F32 % "[0,8]").encode()),
        header((F32 % "[8,0]").encode(), b"\0" * 8),
        header((F32 % "[-8,0]").encode(), b"\0" * 8),
        header((F32 % "[0,9]").encode(), b"\0" * 9),
        header((F32 % "[0,18446744073709551616]").encode(), b"\0" * 8),
        header((F32 % "[4,12]").encode(), b"\0" * 12),
        header((F32 % "[0,8]").encode(), b"\0" * 80),
        header(
            b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},'
            b'"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}',
            b"\0" * 12,
        ),
        header(b'{"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}}'),
        header(b'{"a":{"dtype":"F32","shape":[0,4611686018427387904],"data_offsets":[0,0]}}'),
        header(b'{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,0]}}'),
        header(b'{"a":{"dtype":"OBJECT","shape":[1],"data_offsets":[0,8]}}', b"\0" * 8),
        header(b'{"a":{"dtype":"F32","shape":"big","data_offsets":[0,8]}}', b"\0" * 8),
        header(b'{"__metadata__":{"a":5}}'),
        header(b'{"__metadata__":[]}'),
    ],
)
def test_hostile_headers_with_the_right_hash(run, content):
    rewrite(run, tensors=content)
    with pytest.raises(fv.ModelFileError, match=r"not a model of this version|can't be read"):
        fv.load_model(run)


class Bomb:
    def __reduce__(self):
        return os.mkdir, (os.environ["FAIRVIEW_BOMB"],)


def test_pickles_are_not_opened(run, tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRVIEW_BOMB", str(tmp_path / "exploded"))
    bomb = pickle.dumps(Bomb())
    rewrite(run, tensors=bomb)
    with pytest.raises(fv.ModelFileError):
        fv.load_model(run)
    torch.save({"a": torch.zeros(1)}, tmp_path / "zip")
    rewrite(run, tensors=(tmp_path / "zip").read_bytes())
    with pytest.raises(fv.ModelFileError):
        fv.load_model(run)
    (run / "model.json").write_bytes(bomb)
    with pytest.raises(fv.ModelFileError):
        fv.load_model(run)
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize(
    "body",
    [
        b'{"format":' + b"9" * 5000 + b"}",
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"format": 1, "format": 1}',
        b'{"format": NaN}',
        b'{"format": 1e999}',
        b'{"format":1}',
        b"[1]}",
        b"{}",
        b'{"\xff": 1}',
        b'{"\\ud800": 1}',
    ],
    ids=["digits", "deep", "deep lists", "repeated", "nan", "inf", "spaces", "tail", "empty", "utf-8", "surrogate"],
)
def test_json_that_readers_disagree_about(run, body):
    (run / "model.json").write_bytes(body + b"\n" + hashlib.sha256(body).hexdigest().encode() + b"\n")
    with pytest.raises(fv.ModelFileError):
        fv.load_model(run)
