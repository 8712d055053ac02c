from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from fairview.errors import InputError
from fairview.study.comparison import compare
from fairview.study.plan import Row, plan, selection_sentence, split_numbers
from fairview.study.result_tables import tables
from fairview.study.trials import Result, Trial

QUICK = {"fairvgnn": {"epochs": 2, "hidden": 3, "views": 2}, "vanilla": {"epochs": 3, "hidden": 3}}
SAME_BYTES = ("study.json", "results.csv", "summary.json")


def quick(graph, folder, **options):
    options = {"methods": ["fairvgnn"], "seeds": 2, "workers": 1, "changes": QUICK} | options
    return compare(graph, folder=folder, **options)


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in SAME_BYTES}


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture(scope="module")
def finished(graph, tmp_path_factory):
    """FairVGNN, the plain model and the majority answer; two seeds on two splits."""
    return quick(graph, tmp_path_factory.mktemp("finished"), splits=2)


# --- the rows ---------------------------------------------------------------------------------------------------------


def test_the_majority_answer_and_the_plain_model_are_always_there():
    rows = plan(["fairvgnn", "logistic-regression"], ["gcn", "gin"])
    assert [(row.method, row.encoder) for row in rows] == [
        ("constant", None),
        ("logistic-regression", None),
        ("vanilla", "gcn"),
        ("fairvgnn", "gcn"),
        ("vanilla", "gin"),
        ("fairvgnn", "gin"),
    ]
    assert [row.method for row in plan(["fairvgnn"], ["gcn"], plain=False)] == ["constant", "fairvgnn"]


def test_one_selection_rule_holds_for_every_method_and_is_declared():
    rows = plan(["fairvgnn"], ["gcn"], selection="score")
    assert {row.method: row.settings.get("selection") for row in rows} == {
        "constant": None,
        "vanilla": "score",
        "fairvgnn": None,  # it has no other
    }
    assert {row.settings["selection_weight"] for row in rows if row.encoder} == {1.0}
    assert selection_sentence(rows, "score") == (
        "One rule for all: every method with epochs keeps the one with the largest AUC + F1 + accuracy - "
        "(SP gap + EO gap) on the validation nodes."
    )


def test_rules_that_differ_are_said_to_differ():
    for selection in ("loss", "own"):
        sentence = selection_sentence(plan(["fairvgnn"], ["gcn"], selection=selection), selection)
        assert "plain model keeps the epoch with the lowest loss" in sentence
        assert "FairVGNN the one with the largest AUC" in sentence
        assert "Compare them with care." in sentence
    assert "lowest loss" in selection_sentence(plan([], ["gcn"], selection="loss"), "loss")


def test_fairvgnn_takes_the_paper_s_settings_where_there_are_some():
    german = plan(["fairvgnn"], ["gcn", "mlp"], dataset="german")
    models = {
        row.encoder: row.trials("german", seeds=1, splits=1)[0].model() for row in german if row.entry.has_presets
    }
    assert models["gcn"].clamp_threshold == 0.1
    assert models["mlp"].balanced_discriminator, "the paper has no such cell: the default preset"
    assert plan(["fairvgnn"], ["gcn"])[-1].trials("own", seeds=1, splits=1)[0].model().clamp_threshold == 1.0


def test_edits_has_the_published_threshold_of_a_known_dataset():
    found = {name: plan(["edits"], ["gcn"], dataset=name)[-1].settings for name in ("bail-no-time", "german", None)}
    assert [settings.get("edge_threshold") for settings in found.values()] == [0.012, 0.25, None]


def test_a_preset_must_exist_even_if_nobody_takes_it():
    with pytest.raises(InputError, match=r"^no preset 'papre'\. Did you mean 'paper'\?$"):
        plan(["nifty"], ["gcn"], preset="papre")


def test_one_method_may_be_given_as_a_word(graph, tmp_path):
    found = compare(graph, methods="constant", encoders="gcn", plain=False, seeds=1, folder=tmp_path)
    assert [row.method for row in found.rows] == ["constant"]


def test_all_that_is_wrong_is_said_at_once():
    with pytest.raises(InputError) as caught:
        plan(["fairvgn"], ["gcnn"], changes={"vanilla": {"seed": 3, "selection": "loss"}, "nifty": {"epochs": 1}})
    assert caught.value.problems == (
        "no method 'fairvgn'. Did you mean 'fairvgnn'?",
        "no encoder 'gcnn'. Did you mean 'gcn'?",
        "changes['vanilla']['seed']: use seeds.",
        "changes['vanilla']['selection']: use selection: one rule for all methods.",
        "changes['nifty']: 'nifty' is not compared here. Known: constant, vanilla, fairvgn.",
    )
    with pytest.raises(InputError, match=r"Vanilla: no parameter 'epoch'\. Did you mean 'epochs'\?"):
        plan([], ["gcn"], changes={"vanilla": {"epoch": 3}})
    with pytest.raises(InputError, match="encoders: none given"):
        plan(["fairvgnn"], [])


def test_a_method_without_randomness_runs_once_per_split():
    assert [t.seed for t in Row("constant", None).trials("own", seeds=3, splits=1)] == [1]
    assert [(t.split, t.seed) for t in Row("vanilla", "gcn").trials("own", seeds=2, splits=2)] == [
        (1, 1), (1, 2), (2, 1), (2, 2),
    ]  # fmt: skip
    assert list(split_numbers(1)) == [0], "the graph's own"


# --- what it says -----------------------------------------------------------------------------------------------------


def test_the_rows_are_means_over_the_trials_of_results_csv(finished):
    results = table(finished.folder / "results.csv")
    assert [line["trial"] for line in results] == sorted(line["trial"] for line in results)
    assert len(results) == 2 + 4 + 4
    for row in finished.summary["rows"]:
        lines = [line for line in results if line["method"] == row["method"]]
        values = [float(line["test_accuracy"]) for line in lines]
        assert row["runs"] == len(values)
        assert row["mean"]["accuracy"] == pytest.approx(np.mean(values))
        assert row["std"]["accuracy"] == pytest.approx(np.std(values))


def test_differences_are_to_the_plain_model_with_the_same_split_and_seed(finished):
    results = {(line["method"], line["split"], line["seed"]): line for line in table(finished.folder / "results.csv")}
    pairs = [(split, seed) for split in "12" for seed in "12"]
    gaps = [
        float(results["fairvgnn", *pair]["test_auc"]) - float(results["vanilla", *pair]["test_auc"]) for pair in pairs
    ]
    by_method = {row["method"]: row for row in finished.summary["rows"]}
    assert by_method["fairvgnn"]["difference"]["auc"]["mean"] == pytest.approx(np.mean(gaps))
    assert by_method["vanilla"]["difference"] is None
    assert by_method["constant"]["difference"] is None


def test_the_summary_declares_its_rules_and_holds_no_clock(finished):
    summary = json.loads((finished.folder / "summary.json").read_text())
    assert summary == json.loads(json.dumps(finished.summary))
    assert "The intervals rest on 2 splits only: use 5 or more." in summary["notes"]
    assert (summary["kind"], summary["version"], summary["seeds"], summary["splits"]) == ("comparison", 1, 2, 2)
    assert summary["split_rule"] == "2 stratified splits drawn with study seed 0"
    assert summary["selection"].startswith("One rule for all")
    assert "seconds" not in json.dumps(summary)
    shown = finished.to_dict()
    assert all(row["seconds"] > 0 and row["memory_mb"] > 0 for row in shown["rows"])
    timings = table(finished.folder / "timings.csv")
    seconds = [float(line["seconds"]) for line in timings if line["method"] == "vanilla"]
    assert shown["rows"][1]["seconds"] == pytest.approx(np.mean(seconds), abs=1e-3)


def test_a_model_that_gives_everybody_the_same_answer_is_named(graph, tmp_path):
    found = quick(graph, tmp_path, methods=[], seeds=1, changes={"vanilla": {"epochs": 1, "learning_rate": 1e-9}})
    near = [abs(row["mean"]["balanced_accuracy"] - 0.5) <= 0.02 for row in found.summary["rows"]]
    said = any("Plain model · GCN is close to the same answer for everybody" in note for note in found.summary["notes"])
    assert said == near[1]
    assert "Majority answer: a single run has no interval." in found.summary["notes"]
    assert found.summary["rows"][0]["low"]["auc"] is None


def test_a_metric_that_is_undefined_in_one_run_is_undefined_in_the_row_with_the_reason(graph, tmp_path):
    test = graph.split("test")
    group = graph.sensitive == graph.groups.index("f")
    labels = np.where(test & group, 0, graph.labels)
    found = quick(graph.replace(labels=labels), tmp_path, seeds=1)
    for row in found.summary["rows"]:
        assert row["mean"]["equal_opportunity_gap"] is None
        assert "group 'f' has no positive labels" in row["undefined"]["equal_opportunity_gap"]
        assert not row["pareto"]
        assert row["mean"]["auc"] is not None
    assert "test equal_opportunity_gap: group 'f'" in table(tmp_path / "results.csv")[0]["undefined"]


def test_failed_runs_are_shown_not_hidden(graph, tmp_path):
    found = quick(graph, tmp_path, changes=QUICK | {"vanilla": {"learning_rate": 1e30}})
    plain = next(row for row in found.summary["rows"] if row["method"] == "vanilla")
    assert (plain["failed"], plain["runs"], plain["mean"]["auc"], plain["pareto"]) == (2, 2, None, False)
    assert plain["undefined"]["auc"].startswith("undefined in 2 of 2 runs (the run failed: epoch 1")
    assert any(note.startswith("Plain model · GCN: 2 of 2 runs failed (epoch 1") for note in found.summary["notes"])
    assert table(tmp_path / "results.csv")[-1]["failed"].startswith("epoch 1")


# --- resumed, extended, refused ---------------------------------------------------------------------------------------


def test_interrupted_after_any_trial_and_resumed_the_bytes_are_the_same(graph, finished, tmp_path, counted):
    for stop_at in (1, 9):
        folder, before = tmp_path / str(stop_at), len(counted)

        def stop(result, done, total, stop_at=stop_at):
            if done == stop_at:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            quick(graph, folder, splits=2, notice=stop)
        quick(graph, folder, splits=2)
        assert contents(folder) == contents(finished.folder)
        assert len(counted) - before == 10, "nothing is run twice"


def test_more_seeds_methods_and_encoders_are_added_to_what_is_there(graph, tmp_path, counted):
    quick(graph, tmp_path / "grown", methods=[], seeds=1, changes={"vanilla": QUICK["vanilla"]})
    grown = quick(graph, tmp_path / "grown", seeds=2, encoders=["gcn", "mlp"])
    whole = quick(graph, tmp_path / "whole", seeds=2, encoders=["gcn", "mlp"])
    assert contents(grown.folder) == contents(whole.folder)
    assert len(counted) == 9 + 9, "a majority answer, four plain runs and four of FairVGNN, each once"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seeds": 1}, "it has 2 seeds, now 1 are asked for."),
        ({"splits": 1}, r"it has 2 split\(s\), now 1 are asked for \(one split is the graph's own"),
        ({"study_seed": 4}, "the study seed was '0', now it is '4'."),
        ({"selection": "loss"}, "the selection rule was 'score', now it is 'loss'."),
        (
            {"methods": [], "changes": {"vanilla": QUICK["vanilla"]}},
            "it has a row 'fairvgnn gcn', which is not asked for now.",
        ),
        (
            {"changes": QUICK | {"vanilla": {"epochs": 4}}},
            r"row 'vanilla gcn' has other settings \('epochs', 'hidden'\)",
        ),
    ],
)
def test_a_folder_of_another_comparison_is_refused_with_the_difference(graph, finished, options, message):
    before = contents(finished.folder)
    with pytest.raises(InputError, match=message) as caught:
        quick(graph, finished.folder, **{"splits": 2} | options)
    assert "A comparison can be extended, not changed: use another folder." in str(caught.value)
    assert contents(finished.folder) == before


def test_other_data_is_refused(graph, finished):
    other = graph.with_features(np.asarray(graph.features) + 1, graph.channels)
    with pytest.raises(InputError, match="the data was '"):
        quick(other, finished.folder, splits=2)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"kind": "study", "version": 1, "rows": [1]}', "[" * 9999])
def test_a_study_that_can_t_be_read_is_refused(graph, tmp_path, content):
    (tmp_path / "study.json").write_text(content)
    with pytest.raises(InputError, match="can't be read as the description of a comparison"):
        quick(graph, tmp_path)


def test_a_run_folder_is_not_written_into(graph, tmp_path):
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(InputError, match="holds a training run, not a comparison"):
        quick(graph, tmp_path)


def test_numbers_out_of_range_and_graphs_that_can_t_be_judged_are_refused_before_anything_is_written(graph, tmp_path):
    with pytest.raises(InputError) as caught:
        quick(graph, tmp_path / "a", seeds=0, splits=0, study_seed=-1, workers=0)
    assert len(caught.value.problems) == 4
    untested = graph.with_splits({name: mask for name, mask in graph.splits.items() if name != "test"})
    with pytest.raises(InputError, match="no node of the test split has a label"):
        quick(untested, tmp_path / "a")
    with pytest.raises(InputError, match="no split 'train'"):
        quick(graph.with_splits({name: graph.split(name) for name in ("val", "test")}), tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_texts_in_the_tables_are_exact(graph, tmp_path):
    quick(graph, tmp_path, seeds=1)
    entries = [json.loads(line)["entry"] for line in (tmp_path / "journal.jsonl").read_text().splitlines()[1:]]
    trials = [Trial(**entry["of"]) for entry in entries]
    results = [Result.model_validate(entry["result"]).model_copy(update={"notes": ["-5, =cmd()"]}) for entry in entries]
    exact, with_quotes = (tables(trials, results, with_quotes=quotes)[0] for quotes in (False, True))
    assert {line["notes"] for line in csv.DictReader(io.StringIO(exact))} == {"-5, =cmd()"}
    assert {line["notes"] for line in csv.DictReader(io.StringIO(with_quotes))} == {"'-5, =cmd()"}  # as in 0.1.0
