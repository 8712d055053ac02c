from __future__ import annotations

import json
import os
import shutil
import socket
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

import fairview as fv
from fairview.atomic import write_atomic
from fairview.errors import FairviewError, InputError, for_command_line
from fairview.marks import GENERATOR, MARKS, wrote
from fairview.outputs import check_file, check_folder
from fairview.runs.evidence import audit_run
from fairview.runs.finished import OUTPUTS
from fairview.runs.run import train_run

OLD = Path(__file__).parent
needs_fifos = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no FIFOs")


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("id,score,prediction\n1,0.5,1\n")  # as if fairview had written it
    return path


@pytest.fixture(scope="module")
def graph():
    graph = fv.synthetic_graph(200, seed=1)
    return graph.with_splits(fv.stratified_splits(graph, repeats=1)[0])


def refused(call, *arguments, **options) -> str:
    with pytest.raises(FairviewError) as caught:
        call(*arguments, **options)
    return for_command_line(caught.value)


# --- one file ---------------------------------------------------------------------------------------------------------


def test_an_input_is_never_replaced_however_its_path_is_spelt(people, tmp_path, monkeypatch):
    (tmp_path / "folder").mkdir()
    (tmp_path / "soft.csv").symlink_to(people)
    (tmp_path / "chain.csv").symlink_to("soft.csv")
    (tmp_path / "hard.csv").hardlink_to(people)
    (tmp_path / "link").symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    for path in (
        people, "people.csv", "./people.csv", "folder/../people.csv", "soft.csv", "chain.csv", "hard.csv",
        "link/people.csv",
    ):  # fmt: skip
        for inputs in ([people], ["people.csv"], ["soft.csv"], ["other.csv", "hard.csv"]):
            message = refused(check_file, path, "predictions.csv", inputs=inputs, overwrite=True)
            expected = "is an input of this command; --out can't replace it. Name another file."
            assert message == f"{Path(path)}: {expected}"


def test_in_python_the_message_has_no_flags(people, tmp_path):
    with pytest.raises(InputError) as caught:
        check_folder(tmp_path, ["people.csv"], inputs=[people])
    assert str(caught.value) == f"{people}: the graph was read from it; folder can't replace it. Name another folder."


def test_a_folder_is_not_replaced(tmp_path):
    expected = f"{tmp_path}: is a folder, not a file. Name a file in it."
    assert refused(check_file, tmp_path, "predictions.csv", overwrite=True) == expected
    assert refused(write_atomic, tmp_path, "new") == expected


@needs_fifos
def test_pipes_sockets_and_devices_are_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        places = {tmp_path / "pipe": "pipe (FIFO)", tmp_path / "socket": "socket", Path("/dev/null"): "device"}
        for path, kind in places.items():
            before = path.lstat()
            for call in (
                lambda p=path: check_file(p, "predictions.csv", overwrite=True),
                lambda p=path: write_atomic(p, "x"),
            ):
                assert refused(call) == f"{path}: is a {kind}, not a file. Name a file."
            assert os.path.samestat(path.lstat(), before)


@pytest.mark.skipif(not Path("/dev/stdout").is_symlink(), reason="the system has no such link")
def test_standard_output_is_no_file_either(tmp_path):
    message = refused(check_file, "/dev/stdout", "predictions.csv", overwrite=True)
    assert message.startswith("/dev/stdout: is a symbolic link (to ")


def test_a_link_is_neither_followed_nor_replaced(tmp_path):
    (tmp_path / "target.csv").write_text("id,score,prediction\n")
    for name, target in (("link.csv", "target.csv"), ("dangling.csv", "nowhere.csv"), ("loop.csv", "loop.csv")):
        path = tmp_path / name
        path.symlink_to(target)
        expected = (
            f"{path}: is a symbolic link (to {target}), and links are neither followed nor replaced. Name the file "
            "itself."
        )
        assert refused(check_file, path, "predictions.csv", overwrite=True) == expected
        assert refused(write_atomic, path, "new") == expected
        assert path.is_symlink()
    assert not (tmp_path / "nowhere.csv").exists()
    assert (tmp_path / "target.csv").read_text() == "id,score,prediction\n"


def test_below_a_file_there_is_no_folder(people):
    path = people / "deep" / "p.csv"
    assert refused(check_file, path, "predictions.csv") == f"{path}: can't be written ({people} is not a folder)."


def test_a_folder_that_is_read_only_is_noticed_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) != tmp_path)  # for root, everything can be written to
    path = tmp_path / "new" / "p.csv"
    assert refused(check_file, path, "predictions.csv") == f"{path}: can't be written (Permission denied)."
    assert refused(check_folder, tmp_path / "new") == f"{tmp_path / 'new'}: can't be written (Permission denied)."
    assert list(tmp_path.iterdir()) == []


def test_a_foreign_file_needs_force_and_an_own_one_does_not(tmp_path, people):
    notes = tmp_path / "notes.csv"
    notes.write_text("id,remark\n1,never lose this\n")
    assert refused(check_file, notes, "predictions.csv") == (
        f"{notes}: exists, and holds something else than fairview's predictions. Name another file, or pass --force to "
        "replace it."
    )
    check_file(notes, "predictions.csv", overwrite=True)
    check_file(people, "predictions.csv")
    (tmp_path / "empty").touch()
    check_file(tmp_path / "empty", "predictions.csv")  # as `mktemp` makes it
    check_file(tmp_path / "new.csv", "predictions.csv")


def test_the_results_of_a_finished_folder_stay_as_they_are(graph, tmp_path):
    train_run(fv.Constant(), graph, tmp_path)
    for name in ("predictions.csv", "model.json", "run.json", "metrics.json"):
        assert refused(check_file, tmp_path / name, "predictions.csv", overwrite=True) == (
            f"{tmp_path / name}: belongs to the results in its folder, which stay as run.json describes them. Name "
            "another file."
        )
    check_file(tmp_path / "new.csv", "predictions.csv")
    old = shutil.copytree(OLD / "report" / "folders-of-0.1.0" / "run", tmp_path / "old")  # no hashes in its run.json
    (old / "predictions.csv").write_text("id,score,prediction\n")
    assert "belongs to the results in its folder" in refused(check_file, old / "predictions.csv", "predictions.csv")


# --- a folder ---------------------------------------------------------------------------------------------------------


def test_other_files_in_a_folder_do_not_matter(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    check_folder(tmp_path, OUTPUTS)
    check_folder(tmp_path / "new" / "folder", OUTPUTS)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_every_foreign_file_in_the_way_is_named(tmp_path):
    (tmp_path / "metrics.json").write_text('{"speed": 7}')
    (tmp_path / "report.html").write_text("<h1>My own</h1>")
    (tmp_path / "model.json").mkdir()
    message = refused(check_folder, tmp_path, OUTPUTS)
    assert message.splitlines() == [
        "3 problems:",
        f"  - {tmp_path / 'metrics.json'}: exists, and was not written by fairview. Move it away, or pass --force "
        "to replace it.",
        f"  - {tmp_path / 'model.json'}: is a folder, not a file. Name a file in it.",
        f"  - {tmp_path / 'report.html'}: exists, and was not written by fairview. Move it away, or pass --force "
        "to replace it.",
    ]
    assert "model.json: is a folder" in refused(check_folder, tmp_path, OUTPUTS, overwrite=True)


def test_a_file_is_no_folder(people, tmp_path):
    assert refused(check_folder, people) == f"{people}: is not a folder. Name another --out."
    assert refused(check_folder, people, inputs=[people]) == (
        f"{people}: is an input of this command; --out can't replace it. Name another folder."
    )
    (tmp_path / "link").symlink_to("nowhere")
    assert refused(check_folder, tmp_path / "link") == f"{tmp_path / 'link'}: is not a folder. Name another --out."
    (tmp_path / "real").mkdir()
    (tmp_path / "latest").symlink_to("real")
    check_folder(tmp_path / "latest", OUTPUTS)


# --- which files are fairview's ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", ["report/folders-of-0.1.0/run", "report/folders-of-0.1.0/comparison",
                                    "methods/models-of-0.1.0/fairvgnn"])  # fmt: skip
def test_files_of_the_first_version_are_known(folder):
    assert [path.name for path in (OLD / folder).iterdir() if not wrote(path)] == []


def test_files_of_this_version_are_known_by_their_content_alone(graph, tmp_path):
    train_run(fv.Vanilla(epochs=2, seed=1), graph, tmp_path / "run")
    audit_run(tmp_path / "run", graph, of_graph=fv.audit(graph, probes=False, permutations=19), probes=False)
    fv.write_report(tmp_path / "run", figures=("svg", "png"))
    fv.compare(graph, methods=["constant"], plain=False, seeds=1, folder=tmp_path / "comparison", workers=1)
    fv.tune(graph, max_gap=0.9, methods="logistic-regression", trials=1, folder=tmp_path / "tuning")
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"report.html", "journal.log", "scores.npy", "trial.json", "tune.json", "summary.json"} <= {
        path.name for path in written
    }
    assert {".svg", ".png"} <= {path.suffix for path in written}
    assert GENERATOR in (tmp_path / "run" / "report.html").read_bytes()
    assert [str(path) for path in written if not wrote(path)] == []
    for path in written:
        if path.name in MARKS and path.name not in ("checkpoint.safetensors", "study.json", "journal.jsonl"):
            alone = tmp_path / "alone" / path.name
            alone.parent.mkdir(exist_ok=True)
            shutil.copy(path, alone)
            if path.name != "scores.npy":  # told by the model beside it
                assert wrote(alone), path
            alone.unlink()


FOREIGN = {
    "text": b"x", "no keys": b"{}", "list": b"[]", "brackets": b"[" * 100_000, "kind": b'{"kind": "mine"}',
    "no text": b"\xff\xfe\x00", "table": b"id\n1\n", "long header": b"\xff" * 8 + b"{}",
}  # fmt: skip


@pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN)
def test_anything_else_is_foreign(tmp_path, content):
    decided_elsewhere = ("checkpoint.safetensors", "study.json", "journal.jsonl")
    for name in (*MARKS, "chart.svg", "chart.png", "table3.md", "table3.csv", "table3.json"):
        if name not in decided_elsewhere:
            (tmp_path / name).write_bytes(content)
            assert not wrote(tmp_path / name), name
            (tmp_path / name).unlink()


def test_tensors_of_another_library_are_foreign(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(safetensors.numpy.save({"w": np.zeros(3)}, {"format": "pt"}))
    assert not wrote(tmp_path / "model.safetensors")


# --- the library ------------------------------------------------------------------------------------------------------


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_save_keeps_the_model_of_another_library(graph, tmp_path):
    (tmp_path / "model.safetensors").write_bytes(safetensors.numpy.save({"w": np.zeros(3)}))
    before, model = contents(tmp_path), fv.Constant().fit(graph)
    with pytest.raises(InputError) as caught:
        model.save(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path / 'model.safetensors'}: exists, and was not written by fairview. Move it away, or pass "
        "overwrite=True to replace it."
    )
    assert contents(tmp_path) == before
    model.save(tmp_path, overwrite=True)
    model.save(tmp_path)
    assert fv.load_model(tmp_path).get_params() == model.get_params()


def test_a_first_save_that_was_killed_between_its_files_is_finished_by_the_next(graph, tmp_path):
    model = fv.Constant().fit(graph)
    model.save(tmp_path)
    (tmp_path / "model.json").unlink()
    model.save(tmp_path)
    assert fv.load_model(tmp_path).get_params() == model.get_params()


RUNS = {
    "train": lambda graph, folder, **more: train_run(fv.Constant(), graph, folder, **more),
    "compare": lambda graph, folder, **more: fv.compare(
        graph, methods=["constant"], plain=False, seeds=1, folder=folder, workers=1, **more
    ),
    "tune": lambda graph, folder, **more: fv.tune(
        graph, max_gap=0.9, methods="logistic-regression", trials=1, folder=folder, **more
    ),
}
WRITES = [
    ("train", "metrics.json"), ("train", "predictions.csv"), ("train", "audit.json"), ("train", "report.html"),
    ("compare", "results.csv"), ("compare", "files.json"), ("compare", "report.html"),
    ("tune", "journal.log"), ("tune", "report.html"), ("tune", "run/metrics.json"), ("tune", "run/run.json"),
    ("tune", "trials/0000/model.safetensors"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "name"), WRITES)
def test_a_foreign_file_in_the_folder_is_kept_and_replaced_on_request(graph, tmp_path, command, name):
    path = tmp_path / "out" / name
    path.parent.mkdir(parents=True)
    path.write_text("my own work")
    message = refused(RUNS[command], graph, tmp_path / "out")
    assert message.startswith(f"{path}: exists, and was not written by fairview. Move it away, or pass --force")
    assert contents(tmp_path) == {str(path): b"my own work"}
    RUNS[command](graph, tmp_path / "out", overwrite=True)
    assert not path.exists() or path.read_bytes() != b"my own work"


@pytest.mark.parametrize(
    ("command", "name"), [("train", "predictions.csv"), ("compare", "results.csv"), ("tune", "tune.json")]
)
def test_the_tables_that_a_graph_was_read_from_are_never_replaced(tmp_path, command, name):
    made = fv.synthetic_graph(200, seed=1)
    rows = [
        f"{i},{x},{s},{y}"
        for i, (x, s, y) in enumerate(zip(made.features[:, 0], made.sensitive, made.labels, strict=True))
    ]
    path = tmp_path / name
    path.write_text("\n".join(["id,score,sex,ok", *rows]) + "\n")
    graph = fv.read_graph(path, label="ok", sensitive="sex", split_seed=0)
    before = contents(tmp_path)
    for folder in (tmp_path, str(tmp_path) + "/../" + tmp_path.name):
        with pytest.raises(InputError) as caught:
            RUNS[command](graph, folder, overwrite=True)
        place = Path(folder) / name
        assert (
            str(caught.value) == f"{place}: the graph was read from it; folder can't replace it. Name another folder."
        )
    assert contents(tmp_path) == before


def test_a_file_that_appears_during_the_work_is_kept_too(graph, tmp_path):
    class Slow(fv.Constant):
        def fit(self, graph):
            (tmp_path / "metrics.json").write_text("from another program")
            return super().fit(graph)

    assert "metrics.json: exists, and was not written by fairview." in refused(train_run, Slow(), graph, tmp_path)
    assert (tmp_path / "metrics.json").read_text() == "from another program"


def test_a_report_or_chart_of_ones_own_is_kept(graph, tmp_path):
    train_run(fv.Vanilla(epochs=2, seed=1), graph, tmp_path)
    fv.write_report(tmp_path, figures=["svg"])
    chart = next((tmp_path / "figures").iterdir())
    chart.write_text("<svg>mine</svg>")
    before = contents(tmp_path)
    assert f"{chart}: exists, and was not written by fairview." in refused(fv.write_report, tmp_path, figures=["svg"])
    assert contents(tmp_path) == before
    fv.write_report(tmp_path, figures=["svg"], overwrite=True)
    assert b"mine" not in chart.read_bytes()
    record = json.loads((tmp_path / "run.json").read_text())
    assert "report.html" in record["files"]


@needs_fifos
def test_a_card_in_place_of_a_pipe_is_refused_at_once(graph, tmp_path):
    train_run(fv.Constant(), graph, tmp_path)
    os.mkfifo(tmp_path / "README.md")
    assert "README.md: is a pipe (FIFO), not a file." in refused(fv.write_card, tmp_path)


def test_a_lock_file_of_somebody_else_is_kept(graph, tmp_path):
    (tmp_path / ".lock").write_text("of another program")
    assert refused(train_run, fv.Constant(), graph, tmp_path) == (
        f"{tmp_path / '.lock'}: was not written by fairview. Move it away, or use another folder."
    )
    assert contents(tmp_path) == {str(tmp_path / ".lock"): b"of another program"}
