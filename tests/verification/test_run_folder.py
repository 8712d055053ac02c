"""A run folder: every byte, every type and range, and numbers that follow from each other."""

from __future__ import annotations

import json
import re

import pytest

import fairview as fv
from fairview.runs.run import train_run

FILES = ("audit.json", "history.jsonl", "metrics.json", "model.json", "model.safetensors", "predictions.csv")


def test_an_untouched_run_is_ok_and_says_what_was_looked_at(copied, many):
    folder = copied("run")
    found = fv.verify(folder)
    assert (found.ok, found.problems, found.recomputed) == (True, (), False)
    assert found.checked == ("run.json", *FILES)
    assert fv.verify(folder, many) == fv.Verification(True, (), found.checked, False, True)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("change", [lambda b: b + b" ", lambda b: b[:-1], lambda b: b.replace(b"0", b"1", 1)])
def test_one_changed_byte_is_noticed_with_the_files_name(copied, name, change):
    path = copied("run") / name
    path.write_bytes(change(path.read_bytes()))
    expected = f"{name}: does not match its sha256 in run.json; it is damaged or changed."
    assert expected in fv.verify(path.parent).problems


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_noticed(copied, name):
    folder = copied("run")
    (folder / name).unlink()
    assert f"{name}: is missing, although run.json records it." in fv.verify(folder).problems


def test_run_json_is_protected_by_its_own_hash(copied, edit):
    folder = copied("run")
    edit(folder / "run.json", lambda document: document.update(seed=2))
    assert fv.verify(folder).problems == (
        f"{folder / 'run.json'}: does not match its own sha256; it is damaged or changed.",
    )


def test_a_half_written_audit_is_noticed(copied):
    folder = copied("run")
    (folder / "report.html").write_text("of another run")
    assert fv.verify(folder).problems == (
        "report.html: is not recorded in run.json: it was not finished, or is another's.",
    )


def test_an_unfinished_run_is_not_ok(copied):
    folder = copied("run")
    (folder / "run.json").unlink()
    assert fv.verify(folder).problems == ("run.json: is missing: the run is unfinished.",)


def test_metrics_that_the_predictions_do_not_give_are_noticed_although_the_hashes_fit(copied, edit, reseal, many):
    folder = copied("run")
    edit(folder / "metrics.json", lambda document: document["test"].update(accuracy=0.99))
    reseal(folder)
    assert fv.verify(folder).ok  # without the data nobody can know
    (problem,) = fv.verify(folder, many).problems
    assert re.fullmatch(r"metrics.json: test: accuracy is 0.99; the predictions give 0\.\d+\.", problem)


def test_counts_of_groups_are_made_again(copied, edit, reseal, many):
    folder = copied("run")
    edit(folder / "metrics.json", lambda document: document["test"]["groups"][0].update(nodes=7))
    reseal(folder)
    assert fv.verify(folder, many).problems == (
        "metrics.json: test: the counts of the groups are not those that the predictions give.",
    )


def test_a_prediction_that_its_score_contradicts_is_noticed(copied, reseal):
    folder = copied("run")
    path = folder / "predictions.csv"
    lines = path.read_text().splitlines()
    lines[1] = lines[1][:-1] + str(1 - int(lines[1][-1]))
    path.write_text("\n".join(lines) + "\n")
    reseal(folder)
    (problem,) = fv.verify(folder).problems
    assert problem.startswith(
        "predictions.csv: 1 of 1,600 rows have a prediction that its score and the threshold 0.5 "
    )


def test_scores_of_another_model_are_noticed(copied, reseal, many):
    folder = copied("run")
    fv.LogisticRegression().fit(many).save(folder)
    reseal(folder)
    problems = fv.verify(folder, many).problems
    assert len(problems) == 1
    assert "rows have another score than the model gives" in problems[0]


def test_another_graph_is_noticed(copied, many):
    found = fv.verify(copied("run"), fv.synthetic_graph(50, seed=1))
    assert found.problems == ("run.json: the run is of another graph than the one given.",)


def test_a_forger_can_not_name_files_outside_the_folder(copied):
    from fairview.manifest import sealed

    folder = copied("run")
    document = json.loads((folder / "run.json").read_text())
    document["files"]["../../etc/passwd"] = "0" * 64
    (folder / "run.json").write_text(sealed(document))
    assert fv.verify(folder).problems == (f"{folder / 'run.json'}: names a file outside its folder.",)


def test_a_run_of_the_first_version_says_that_it_has_no_hashes():
    from pathlib import Path

    found = fv.verify(Path(__file__).parents[1] / "report" / "folders-of-0.1.0" / "run")
    assert (found.ok, found.problems) == (True, ())
    assert found.notes == ("run.json: was written by version 0.1.0, which kept no hashes.",)


def test_every_seed_is_checked_and_a_missing_one_noticed(copied, many):
    import shutil

    folder = copied("seeds")
    assert fv.verify(folder, many).ok
    assert "seed-2/predictions.csv" in fv.verify(folder).checked
    path = folder / "seed-2" / "metrics.json"
    path.write_bytes(path.read_bytes() + b" ")
    assert fv.verify(folder).problems == (
        "seed-2/metrics.json: does not match its sha256 in run.json; it is damaged or changed.",
    )
    shutil.rmtree(folder / "seed-1")
    assert "seed-1: is missing." in fv.verify(folder).problems


def with_odd_ids(graph: fv.NodeGraph) -> fv.NodeGraph:
    return graph.replace(node_ids=("'-5", "-5", "=1+1", *graph.ids[3:]))


def test_predictions_with_the_quotes_of_the_first_version_are_still_verified(many, tmp_path, reseal):
    graph = with_odd_ids(many)
    train_run(fv.Constant(), graph, tmp_path)
    path = tmp_path / "predictions.csv"
    exact = path.read_text()
    assert fv.verify(tmp_path, graph).ok
    quoted = exact.replace("\n-5,", "\n'-5,").replace("\n=1+1,", "\n'=1+1,")  # two ids are alike now
    assert quoted.count("\n'-5,") == 2
    path.write_text(quoted)
    reseal(tmp_path)
    assert fv.verify(tmp_path, graph).problems == ()
    path.write_text(exact.replace("\n=1+1,", "\n''=1+1,"))
    reseal(tmp_path)
    assert fv.verify(tmp_path, graph).problems == ("predictions.csv: its ids are not those of the graph.",)


def test_an_id_that_is_there_twice_is_noticed(many, tmp_path, reseal):
    train_run(fv.Constant(), many, tmp_path)
    path = tmp_path / "predictions.csv"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:2], lines[1], *lines[3:]]))
    reseal(tmp_path)
    assert fv.verify(tmp_path).problems == (f"{path}: repeats an id.",)
