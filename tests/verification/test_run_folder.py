"""A run folder: every byte, every type and range, and numbers that follow from each other."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import fairview as fv
from fairview.methods.model_files import canonical
from fairview.runs.run import train_run

FILES = ("audit.json", "history.jsonl", "metrics.json", "model.json", "model.safetensors", "predictions.csv")


def test_an_untouched_run_is_ok_and_says_what_was_looked_at(copied, many):
    folder = copied("run")
    found = fv.verify(folder)
    assert (found.ok, found.problems, found.recomputed) == (True, (), False)
    assert found.checked == ("run.json", *FILES)
    notes = ("audit.json: its correlations, probes and curves were not made again.",)
    assert fv.verify(folder, many) == fv.Verification(True, (), found.checked, False, True, notes)


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


def test_a_model_beside_a_checkpoint_is_an_unfinished_run(copied):
    folder = copied("run")
    for path in folder.iterdir():
        if path.is_file() and not path.name.startswith("model."):
            path.unlink()
    assert fv.verify(folder).ok
    (folder / "checkpoint.safetensors").write_bytes(b"")
    assert fv.verify(folder).problems == ("run.json: is missing: the run is unfinished.",)


def test_metrics_that_the_predictions_do_not_give_are_noticed_although_the_hashes_fit(copied, edit, reseal, many):
    folder = copied("run")
    edit(folder / "metrics.json", lambda document: document["test"].update(accuracy=0.99))
    (folder / "audit.json").unlink()
    reseal(folder)
    assert fv.verify(folder).ok  # without the data nobody can know
    (problem,) = fv.verify(folder, many).problems
    assert re.fullmatch(r"metrics.json: test: accuracy is 0.99; the predictions give 0\.\d+\.", problem)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda test: test["groups"][0].update(nodes=7), "test: 'groups' is not what the predictions give."),
        (
            lambda test: test["intervals"]["auc"].update(high=0.99),
            "test: 'intervals' is not what the predictions give.",
        ),
        (lambda test: test["intervals"].pop("f1"), "test: 'intervals' is not what the predictions give."),
        (lambda test: test["undefined"].update(auc="why"), "test: 'undefined' is not what the predictions give."),
        (lambda test: test.update(nodes=7), "test: 'nodes' is not what the predictions give."),
        (lambda test: test["pairs"].clear(), "test: 'pairs' is not what the predictions give."),
        (lambda test: test.pop("pairs"), "test: 'pairs' is not what the predictions give."),
        (lambda test: test.pop("auc"), r"test: auc is undefined; the predictions give 0\.\d+."),
    ],
)
def test_all_that_metrics_say_is_made_again(copied, edit, reseal, many, change, problem):
    folder = copied("run")
    edit(folder / "metrics.json", lambda document: change(document["test"]))
    (folder / "audit.json").unlink()  # it has the same metrics, and would be noticed, too
    reseal(folder)
    (found,) = fv.verify(folder, many).problems
    assert re.fullmatch(f"metrics.json: {problem}", found)


def test_a_split_that_was_taken_away_is_noticed(copied, edit, reseal, many):
    folder = copied("run")
    edit(folder / "metrics.json", lambda document: document.pop("val"))
    reseal(folder)
    assert fv.verify(folder, many).problems == ("metrics.json: val: is missing.",)


def test_intervals_of_another_numpy_are_not_compared_and_it_says_so(copied, edit, reseal, many):
    folder = copied("run")
    edit(folder / "metrics.json", lambda document: document["test"]["intervals"]["auc"].update(high=0.99))
    edit(folder / "run.json", lambda document: document["versions"].update(numpy="1.0"))
    reseal(folder)
    found = fv.verify(folder, many)
    assert (found.ok, found.notes[-1]) == (
        True,
        "metrics.json: its intervals were drawn with another version of NumPy, and not again.",
    )


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda run: run.update(method="masking"), "'method': not what model.json says."),
        (lambda run: run.update(seed=8), "'seed': not what model.json says."),
        (lambda run: run["parameters"].update(hidden=8), "'parameters: hidden': not what model.json says."),
        (lambda run: run["parameters"].pop("hidden"), "'parameters: hidden': not what model.json says."),
        (lambda run: run["data"].update(sha256="0" * 64), "'data: sha256': not what model.json says."),
        (lambda run: run.update(epochs=4), "'epochs' is 4; history.jsonl has 5."),
        (lambda run: run.update(best_epoch=9), "'best_epoch' is 9, which history.jsonl does not have."),
        (lambda run: run.update(keep_probability={"x": 1.0}), "'keep_probability' is not what the model gives."),
        (lambda run: run.update(threshold="0.5"), "threshold is 0.5; expected a number from 0 to 1."),
    ],
)
def test_what_run_json_says_of_the_model_is_compared_with_the_model_although_the_hashes_fit(
    copied, edit, reseal, change, problem
):
    folder = copied("run")
    edit(folder / "run.json", change)
    (folder / "audit.json").unlink()
    reseal(folder)
    assert f"run.json: {problem}" in fv.verify(folder).problems


@pytest.mark.parametrize(
    ("name", "value"), [("groups", ["0", "2"]), ("classes", ["0", "2"]), ("sensitive_name", "age"), ("directed", True)]
)
def test_what_the_model_says_of_its_graph_is_compared_with_the_graph(copied, reseal, many, name, value):
    folder = copied("run")
    document = json.loads((folder / "model.json").read_text())
    document["facts"][name] = value
    (folder / "model.json").write_bytes(canonical(document))
    reseal(folder)
    assert any(name in problem or "fitted" in problem for problem in fv.verify(folder, many).problems)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda audit: audit["model"]["rows"][0].update(auc=0.99), "the model's auc is not that of metrics.json."),
        (lambda audit: audit["graph"].update(nodes=7), "'nodes' is not that of the graph."),
        (lambda audit: audit["graph"]["groups"].update({"0": 7}), "'groups' is not that of the graph."),
        (lambda audit: audit.update(homophily=0.1), "'homophily' is not that of the graph."),
    ],
)
def test_an_audit_of_another_graph_or_model_is_noticed_although_the_hashes_fit(
    copied, edit, reseal, many, change, problem
):
    folder = copied("run")
    edit(folder / "audit.json", change)
    reseal(folder)
    assert fv.verify(folder, many).problems == (f"audit.json: {problem}",)


def test_scores_that_are_almost_one_are_kept_apart(tmp_path):
    """With nine digits they were equal in predictions.csv, and their AUC another."""
    rng = np.random.default_rng(0)
    features = np.linspace(-1, 1, 200)[:, None]
    labels = (features[:, 0] + rng.normal(0, 0.02, 200) > 0).astype(int)
    graph = fv.NodeGraph.from_arrays(
        features=features, edges=[[0], [1]], labels=labels, sensitive=rng.integers(0, 2, 200)
    )
    train_run(fv.LogisticRegression(inverse_penalty=1e6), graph, tmp_path)
    scores = [float(line.split(",")[1]) for line in (tmp_path / "predictions.csv").read_text().splitlines()[1:]]
    rounded = {f"{score:.9g}" for score in scores}
    assert len(rounded) < len({*scores})
    assert fv.verify(tmp_path, graph).ok


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
    assert len(problems) == 2
    assert problems[0].startswith("run.json: 'method', 'seed', ")
    assert "rows have another score than the model gives" in problems[1]


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


def test_weights_of_kinds_of_links_are_compared_with_the_model(graph, tmp_path, edit, reseal):
    folder = tmp_path / "run"
    model = fv.FairVGNN(epochs=2, hidden=3, views=2, link_kinds="bands")
    train_run(model, graph, folder)
    assert fv.verify(folder, graph=graph).ok
    edit(folder / "run.json", lambda run: run["link_kinds"]["itself"].update(weight=0.5))
    reseal(folder)
    assert fv.verify(folder).problems == ("run.json: 'link_kinds' is not what the model gives.",)
