"""`fv.tune`: from a limit to a model, a refusal or the knee; the folder, and going on after an interruption."""

from __future__ import annotations

import csv
import json
import shutil
from typing import ClassVar

import numpy as np
import optuna
import pytest

import fairview as fv
from fairview.metrics.registry import METRICS

LIMIT_KEYS = {"gap", "limit", "estimate", "upper_bound", "p_value", "confidence", "nodes"}


@pytest.fixture
def document(tuned, read_json):
    return read_json(tuned / "tune.json")


# --- the folder -------------------------------------------------------------------------------------------------------


def test_the_document_has_the_fields_of_the_contract(tuned, document):
    assert document["kind"] == "tuning"
    assert document["run"] == str(tuned / "run")
    assert document["refused"] is None
    chosen = document["chosen"]
    assert {"method", "settings", "threshold", "limits"} <= set(chosen)
    assert [set(limit) for limit in chosen["limits"]] == [LIMIT_KEYS]
    assert set(document["metrics"]) == {"val", "test"}
    for row in document["frontier"]:
        assert {"method", "settings", "metrics", "on_frontier"} <= set(row)
    assert set(document["seconds"]) == {"fit", "certify", "total"}
    assert document["seconds"]["total"] >= document["seconds"]["fit"] > 0
    assert document["trials"] == 22 + 2  # of either number of hops: one without, and five weights of two penalties


def test_what_is_promised_is_within_the_limit(document):
    limit = document["chosen"]["limits"][0]
    assert (limit["gap"], limit["limit"], limit["confidence"]) == ("statistical_parity", 0.15, 0.95)
    assert limit["estimate"] <= limit["upper_bound"] <= 0.15
    assert limit["p_value"] <= 0.05
    assert limit["nodes"] == pytest.approx(document["nodes"]["certification"], abs=5)


def test_the_chosen_model_is_an_ordinary_run_with_its_threshold(tuned, document, many):
    model = fv.load_model(tuned / "run")
    assert model.threshold_ == document["chosen"]["threshold"]
    scores = model.predict_proba(many)[:, 1]
    np.testing.assert_array_equal(model.predict(many), scores > document["chosen"]["threshold"])
    with (tuned / "run" / "predictions.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [int(row["prediction"]) for row in rows] == model.predict(many).tolist()
    np.testing.assert_allclose([float(row["score"]) for row in rows], scores, rtol=1e-8)


def test_metrics_are_those_of_evaluate(tuned, document, many, read_json):
    model = fv.load_model(tuned / "run")
    for split in ("val", "test"):
        expected = fv.evaluate(model, many, split=split, intervals=True).to_dict()
        assert document["metrics"][split] == expected
        assert read_json(tuned / "run" / "metrics.json")[split] == expected


def test_rows_of_the_frontier_are_candidates_on_the_val_nodes(document):
    rows, chosen = document["frontier"], document["chosen"]
    picked = rows[chosen["candidate"]]
    assert (picked["method"], picked["threshold"], picked["certified"]) == (chosen["method"], chosen["threshold"], True)
    for name in METRICS:
        assert picked["metrics"][name] == document["metrics"]["val"][name]
    utility = [row["metrics"]["balanced_accuracy"] for row in rows]
    assert utility == sorted(utility, reverse=True)
    assert any(row["on_frontier"] for row in rows)
    assert max(row["metrics"]["balanced_accuracy"] for row in rows if row["certified"]) == chosen["utility"]
    assert all(row["p_value"] <= 0.05 for row in rows if row["certified"])
    assert {"parity", "logistic-regression"} == {row["method"] for row in rows}


def test_yardsticks_are_the_constant_and_the_model_without_a_limit(document):
    constant, plain = document["yardsticks"]
    assert constant["metrics"]["balanced_accuracy"] == 0.5
    assert plain["metrics"] == document["frontier"][plain["candidate"]]["metrics"]


def test_what_other_limits_would_take_agrees_with_what_was_taken(document):
    at = next(row for row in document["choices"] if row["limit"] == 0.15)
    assert at["candidate"] == document["chosen"]["candidate"]
    assert at["utility"] == document["chosen"]["utility"]


def test_optuna_opens_the_journal_and_finds_the_trials(tuned):
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(tuned / "journal.log")))
    study = optuna.load_study(study_name="logistic-regression", storage=storage)
    assert len(study.trials) == 2
    assert [direction.name for direction in study.directions] == ["MAXIMIZE", "MINIMIZE"]
    assert len(optuna.load_study(study_name="parity", storage=storage).trials) == 22
    assert study.best_trials


# --- the same again ---------------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_document(many, tuned, document, tmp_path, without_seconds, read_json):
    options = {"max_gap": 0.15, "methods": ["parity", "logistic-regression"], "trials": 2}
    in_memory = fv.tune(many, **options)
    assert without_seconds(in_memory.document) == without_seconds(document)
    assert in_memory.certificate == read_json(tuned / "run" / "certificate.json")


def test_two_workers_find_what_one_finds(few, tmp_path, without_seconds):
    found = [
        fv.tune(
            few, max_gap=0.3, methods="logistic-regression", trials=3, workers=workers, folder=tmp_path / str(workers)
        )
        for workers in (1, 2)
    ]
    assert without_seconds(found[0].document) == without_seconds(found[1].document)


def test_a_search_that_was_stopped_goes_on_where_it_was(few, column, tmp_path, without_seconds):
    options = {"max_gap": 0.3, "methods": "column", "trials": 5, "folder": tmp_path / "out"}
    whole = fv.tune(few, **options | {"folder": None})
    column.graphs, column.fails = [], {3: KeyboardInterrupt()}
    with pytest.raises(KeyboardInterrupt):
        fv.tune(few, **options)
    assert not (tmp_path / "out" / "tune.json").exists()
    column.graphs, column.fails = [], {}
    resumed = fv.tune(few, **options, resume=True)
    assert len(column.graphs) == 3  # two of five were finished
    assert without_seconds(resumed.document) == without_seconds(whole.document)
    column.graphs = []
    again = fv.tune(few, **options, resume=True)
    assert column.graphs == []
    assert without_seconds(again.document) == without_seconds(whole.document)


def test_another_request_in_the_same_folder_is_refused(tuned, many):
    options = {"methods": ["parity", "logistic-regression"], "trials": 2, "folder": tuned}
    with pytest.raises(fv.InputError) as caught:
        fv.tune(many, max_gap=0.1, resume=True, **options)
    assert str(caught.value) == (
        f"{tuned}: holds a search with other limits. Use another folder; a second look at the same certification nodes "
        "under another limit is not covered by a certificate."
    )
    with pytest.raises(fv.InputError) as caught:
        fv.tune(many, max_gap=0.15, **options)
    assert str(caught.value) == f"{tuned}: holds this search already. Go on with resume=True, or use another folder."
    with pytest.raises(fv.InputError, match="holds a search with other confidence, seed"):
        fv.tune(many, max_gap=0.15, confidence=0.9, seed=2, resume=True, **options)


def test_a_folder_of_something_else_is_refused(few, tuned, tmp_path):
    shutil.copytree(tuned / "run", tmp_path / "run")
    with pytest.raises(fv.InputError) as caught:
        fv.tune(few, max_gap=0.3, methods="parity", folder=tmp_path / "run")
    assert str(caught.value) == f"{tmp_path / 'run'}: holds something else already. Use another folder."


@pytest.mark.parametrize("content", ["", "[]", "null", "{", "[" * 100_000])
def test_a_folder_that_can_not_be_read_is_refused(few, tmp_path, content):
    (tmp_path / "study.json").write_text(content)
    with pytest.raises(fv.InputError) as caught:
        fv.tune(few, max_gap=0.3, methods="parity", folder=tmp_path, resume=True)
    assert str(caught.value) == f"{tmp_path / 'study.json'}: can't be read. Use another folder, or remove this one."


# --- methods ----------------------------------------------------------------------------------------------------------


def test_a_method_that_fails_in_some_trials_is_noted(few, column):
    column.fails = {1: fv.InputError("column: empty."), 2: fv.InputError("column: empty.")}
    tuning = fv.tune(few, max_gap=0.3, methods="column", trials=4)
    assert tuning.document["notes"] == ["2 models could not be fitted (column: column: empty.)."]
    assert tuning.document["trials"] == 2


def test_if_every_trial_fails_it_is_said(few, column):
    column.fails = {number: fv.InputError(f"column: {number % 2}.") for number in range(1, 5)}
    with pytest.raises(fv.InputError) as caught:
        fv.tune(few, max_gap=0.3, methods="column", trials=4)
    assert str(caught.value) == "tune: none of 4 models could be fitted: column: 1.; column: 0."


def test_a_method_that_needs_the_group_needs_the_users_word(few):
    with pytest.raises(fv.InputError) as caught:
        fv.tune(few, max_gap=0.3, methods="group-thresholds")
    assert str(caught.value) == (
        "methods: group thresholds needs each node's group at prediction, which is often not allowed. If it is, say "
        "so: group_at_prediction=True."
    )
    allowed = fv.tune(few, max_gap=0.3, methods="group-thresholds", trials=1, group_at_prediction=True)
    assert allowed.chosen["group_at_prediction"]
    assert all(row["group_at_prediction"] for row in allowed.document["frontier"])


def test_a_class_of_ones_own_is_tuned_saved_and_verified(few, column, tmp_path):
    class Mine(column):
        """Not registered."""

    tuning = fv.tune(few, max_gap=0.35, methods=Mine, trials=4, folder=tmp_path)
    assert tuning.chosen["method"].endswith(":test_a_class_of_ones_own_is_tuned_saved_and_verified.<locals>.Mine")
    np.testing.assert_array_equal(fv.load_model(tmp_path / "run", method=Mine).predict(few), tuning.model.predict(few))
    assert fv.verify(tmp_path, few, method=Mine).ok
    assert "which is not registered; pass its class: method=" in fv.verify(tmp_path, few).problems[0]


def test_a_class_without_a_search_space_or_files_is_refused_before_the_work(few, column):
    class Fixed(column):
        search_space: ClassVar = {}

    class Bare:
        search_space: ClassVar = {"place": (1, 2)}

        def fit(self, graph):
            raise AssertionError

        predict_proba = fit

    with pytest.raises(fv.InputError) as caught:
        fv.tune(few, max_gap=0.3, methods=[Fixed, Bare])
    assert caught.value.problems == (
        "methods: Fixed declares no search_space, so that there is nothing to try. Give its class one, a dictionary "
        "from parameters to values, or leave it out.",
        "methods: Bare can't be saved, and a certificate is for a saved model. Derive it from fairview.Estimator, and "
        "add tensors() and restore(tensors, facts).",
    )


# --- gaps, utilities, splits ------------------------------------------------------------------------------------------


def test_several_gaps_are_all_certified(many):
    tuning = fv.tune(many, max_gap={"statistical_parity": 0.2, "equal_opportunity": 0.3}, methods="parity")
    limits = tuning.chosen["limits"]
    assert [(limit["gap"], limit["limit"]) for limit in limits] == [
        ("statistical_parity", 0.2),
        ("equal_opportunity", 0.3),
    ]
    assert all(limit["p_value"] <= 0.05 for limit in limits)
    assert tuning.certificate["statement"] == (
        "With 95 % confidence the statistical parity gap is at most 20 points and the equal opportunity gap is at most "
        "30 points."
    )


@pytest.mark.parametrize("utility", ["auc", "accuracy", "f1"])
def test_the_most_useful_is_so_in_the_utility_that_was_asked_for(few, column, utility):
    tuning = fv.tune(few, max_gap=0.3, methods="column", trials=4, utility=utility)
    certified = [row for row in tuning.document["frontier"] if row["certified"]]
    assert max(row["metrics"][utility] for row in certified) == pytest.approx(tuning.chosen["utility"])


def test_a_graph_without_splits_is_divided_and_a_note_says_so(few, column):
    tuning = fv.tune(few.replace(splits={}), max_gap=0.3, methods="column", trials=2)
    assert tuning.document["notes"] == ["The graph has no split: a stratified one was drawn with seed 0."]


def test_a_graph_without_a_test_split_has_metrics_of_val_only(few, column, tmp_path):
    splits = {name: few.split(name) for name in ("train", "val")}
    tuning = fv.tune(few.replace(splits=splits), max_gap=0.3, methods="column", trials=2, folder=tmp_path)
    assert set(tuning.document["metrics"]) == {"val"}


def test_a_test_split_without_labels_is_no_reason_to_fail_at_the_end(few, column, tmp_path):
    graph = few.replace(labels=np.where(few.split("test"), -1, few.labels))
    tuning = fv.tune(graph, max_gap=0.5, gaps="equal_opportunity", methods="column", trials=2, folder=tmp_path)
    assert set(tuning.document["metrics"]) == {"val"}
    assert fv.verify(tmp_path, graph).ok


# --- no limit, and a refusal ------------------------------------------------------------------------------------------


def test_without_a_limit_the_knee_is_taken_without_a_certificate(few, column, tmp_path):
    tuning = fv.tune(few, methods="column", trials=4, folder=tmp_path)
    document = tuning.document
    assert tuning.certificate is None
    assert tuning.refused is None
    assert (document["limits"], document["conditions"], document["choices"]) == ([], [], [])
    assert document["chosen"]["limits"] == []
    assert document["frontier"][document["chosen"]["candidate"]]["on_frontier"]
    assert (tmp_path / "run" / "model.json").exists()
    assert not (tmp_path / "run" / "certificate.json").exists()
    assert fv.verify(tmp_path).ok


@pytest.fixture(scope="module")
def refused(few, tmp_path_factory):
    folder = tmp_path_factory.mktemp("refused") / "out"
    return fv.tune(few, max_gap=0.12, methods="logistic-regression", trials=1, folder=folder), folder


def test_a_refusal_says_what_was_nearest_what_would_pass_and_how_many_nodes_are_needed(refused):
    tuning, _ = refused
    refusal = tuning.document["refusal"]
    nearest = refusal["nearest"]["limits"][0]
    assert nearest["p_value"] > 0.05
    assert set(nearest) == LIMIT_KEYS
    assert refusal["nodes_at_hand"] == nearest["nodes"]
    assert refusal["nodes_needed"] > refusal["nodes_at_hand"]
    assert refusal["certifiable"] > 0.12
    assert tuning.refused == (
        "No model could be certified. The surest candidate's statistical parity gap is "
        f"{100 * nearest['estimate']:.1f} points on {nearest['nodes']} certification nodes: that it is at most 12 "
        f"points is not certain enough (p = {nearest['p_value']:.3f}, 0.05 is needed). "
        f"About {refusal['nodes_needed']:,} certification nodes would be needed if its gap is what it looks like. "
        f"With the nodes at hand a limit of {100 * refusal['certifiable']:g} points would have been kept; to take "
        "it now, after looking, is not covered."
    )


def test_the_limit_that_a_refusal_names_is_certified(few, refused):
    certifiable = refused[0].document["refusal"]["certifiable"]
    tuning = fv.tune(few, max_gap=certifiable, methods="logistic-regression", trials=1)
    assert tuning.refused is None


def test_a_refusal_has_no_model_and_no_run(refused, read_json):
    tuning, folder = refused
    document = read_json(folder / "tune.json")
    assert (document["chosen"], document["run"], document["metrics"]) == (None, None, {})
    assert not (folder / "run").exists()
    assert tuning.certificate is None
    with pytest.raises(fv.RefusedError) as caught:
        tuning.model  # noqa: B018
    assert str(caught.value) == tuning.refused
    assert fv.verify(folder).ok


def test_if_the_gap_itself_is_too_large_more_nodes_would_not_help(few, column):
    tuning = fv.tune(few, max_gap=0.005, methods="column", trials=1)
    assert tuning.document["refusal"]["nodes_needed"] is None
    assert " If its gap is what it looks like, more nodes would not help." in tuning.refused


def test_nodes_at_hand_are_counted_once(few, column):
    tuning = fv.tune(few, max_gap=0.01, gaps=["statistical_parity", "equalized_odds"], methods="column", trials=1)
    assert tuning.document["refusal"]["nodes_at_hand"] == tuning.document["nodes"]["certification"]


def test_the_document_is_strict_json(tuned):
    def refuse(name):
        raise AssertionError(name)

    json.loads((tuned / "tune.json").read_text(), parse_constant=refuse)


def test_a_useless_model_is_not_certified(few, column):
    blank = few.replace(features=np.zeros_like(few.features) + np.arange(8, dtype=np.float32))
    with np.errstate(divide="ignore"):
        tuning = fv.tune(blank, max_gap=0.2, methods="logistic-regression", trials=1)
    assert (
        tuning.refused == "No candidate is more useful than the majority answer, so that there is nothing to certify."
    )
    assert tuning.document["refusal"]["nearest"] is None


# --- manners ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [optuna.logging.DEBUG, optuna.logging.ERROR])
def test_the_callers_optuna_is_as_loud_as_before(few, column, level):
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(level)
    try:
        fv.tune(few, methods="column", trials=1)
        assert optuna.logging.get_verbosity() == level
        column.fails = {2: KeyboardInterrupt()}
        with pytest.raises(KeyboardInterrupt):
            fv.tune(few, methods="column", trials=1)
        assert optuna.logging.get_verbosity() == level
    finally:
        optuna.logging.set_verbosity(before)


def test_progress_is_told_step_by_step(few, column):
    told = []
    fv.tune(few, methods=["parity", "column"], trials=3, notice=lambda done, total, text: told.append((done, total)))
    assert [done for done, _ in told[:-1]] == list(range(1, 16 + 4 + 3 + 1))
    assert {total for _, total in told[:-1]} == {16 + 4 + 3}
    assert told[-1] == (1, 1)


def test_a_tuning_shows_itself_in_text_and_as_a_table(few, column):
    tuning = fv.tune(few, max_gap=0.35, methods="column", trials=2)
    assert "at most 0.35 with confidence 0.95" in repr(tuning)
    assert "certification" in tuning._repr_html_()
    frame = tuning.to_frame()
    assert frame.height == len(tuning.document["frontier"])
    assert frame.columns[:3] == ["model", "method", "threshold"]
    assert tuning.to_dict() is tuning.document


def test_nobody_looks_at_the_test_split_before_the_end(few, column):
    """Other labels and groups of the test nodes change neither the choice nor the certificate's counts."""
    rng = np.random.default_rng(0)
    other = few.replace(
        labels=np.where(few.split("test"), rng.permutation(few.labels), few.labels),
        sensitive=np.where(few.split("test"), rng.permutation(few.sensitive), few.sensitive),
    )
    counts = [int((each.labels == label).sum()) for each in (few, other) for label in (0, 1)]
    first, second = (
        fv.tune(each, max_gap=0.35, gaps="equal_opportunity", methods="column", trials=3) for each in (few, other)
    )
    assert counts[:2] != counts[2:]
    assert first.document["chosen"] == second.document["chosen"]
    assert first.document["frontier"][0]["metrics"] == second.document["frontier"][0]["metrics"]


def test_more_models_after_a_decision_are_a_second_look(tmp_path):
    graph = fv.synthetic_graph(800, seed=1)
    request = {"max_gap": 0.3, "methods": ["parity", "logistic-regression"], "folder": tmp_path / "out"}
    fv.tune(graph, **request, trials=1)
    assert fv.tune(graph, **request, trials=1, resume=True).chosen is not None
    for budget in ({"trials": 2}, {"minutes": 1.0}):
        with pytest.raises(
            fv.InputError, match=r"holds a decision already\. To try more models would be a second look"
        ):
            fv.tune(graph, **request, **budget, resume=True)


def test_unlabelled_nodes_that_can_not_certify_are_not_spoken_of():
    graph = fv.synthetic_graph(2000, seed=1)
    split = fv.stratified_splits(graph, repeats=1, seed=0)[0]
    labels = graph.labels.copy()
    labels[split["test"].nonzero()[0][:10]] = -1
    tuning = fv.tune(graph.replace(labels=labels, splits=split), max_gap=0.3, methods="parity")
    assert "It does not speak of the 10 nodes without a label: none could certify." in tuning.document["conditions"]
    assert tuning.chosen["limits"][0]["nodes"] > 300
