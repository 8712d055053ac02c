from __future__ import annotations

import dataclasses
import json
import pickle

import numpy as np
import pytest

import fairview as fv
from fairview.errors import FairviewError, InputError
from fairview.study import trials as trials_module
from fairview.study.journal import decode, encode
from fairview.study.trials import Result, Timing, Trial, run_trial, run_trials
from fairview.workers import Death

QUICK = {"epochs": 3, "hidden": 3}


def plain(seed=1, split=0, **settings) -> Trial:
    return Trial("own", "vanilla", "gcn", QUICK | settings, seed=seed, split=split)


def timeless(results):
    return [result.model_dump(exclude={"timing"}) for result in results]


# --- a trial ----------------------------------------------------------------------------------------------------------


def test_an_id_names_everything_and_any_change_gives_another():
    trial = Trial("german", "fairvgnn", "gcn", {"epochs": 5, "views": 2}, seed=3, split=12, variant="w/o fm")
    assert trial.id.startswith("german fairvgnn gcn w/o fm split-12 seed-03 ")
    changes = [
        {"dataset": "bail"}, {"method": "vanilla"}, {"encoder": None}, {"settings": {"epochs": 5}}, {"seed": 4},
        {"split": 0}, {"variant": ""}, {"settings": {"epochs": 5, "views": 2.0}},
    ]  # fmt: skip
    assert len({trial.id, *(dataclasses.replace(trial, **change).id for change in changes)}) == 1 + len(changes)


def test_the_order_of_settings_does_not_matter_and_lists_are_tuples():
    one = Trial("a", "fairvgnn", "gcn", {"views": 2, "encoder_updates": ["classifier"]})
    other = Trial("a", "fairvgnn", "gcn", {"encoder_updates": ("classifier",), "views": 2})
    assert (one, hash(one), one.id) == (other, hash(other), other.id)
    assert one.settings["encoder_updates"] == ("classifier",), "as the method wants it"


def test_a_trial_can_t_be_changed_and_survives_pickling():
    trial = plain()
    with pytest.raises(TypeError):
        trial.settings["epochs"] = 9
    copy = pickle.loads(pickle.dumps(trial))
    assert copy == trial
    assert copy.id == trial.id


def test_settings_must_be_plain_values():
    with pytest.raises(InputError, match="are not plain values"):
        Trial("own", "vanilla", None, {"encoder": object()})
    with pytest.raises(InputError, match="are not plain values"):
        Trial("own", "vanilla", "gcn", {"dropout": float("nan")})


def test_a_trial_is_the_same_as_training_by_hand_with_its_seed_and_one_thread(graph):
    found = run_trial(plain(seed=3), graph)
    model = fv.Vanilla(encoder="gcn", seed=3, threads=1, **QUICK).fit(graph)
    assert found.metrics == {name: fv.evaluate(model, graph, split=name).to_dict() for name in ("val", "test")}
    assert (found.best_epoch, found.failed) == (model.best_epoch_, None)
    assert found.timing.seconds > 0
    assert found.timing.peak_memory_mb > 10


def test_split_i_is_repeat_i_with_the_seed_of_the_study(graph):
    split = fv.stratified_splits(graph, repeats=3, seed=5)[2]
    on = plain(split=3).on(graph, study_seed=5)
    assert all((on.splits[name] == mask).all() for name, mask in split.items())
    assert plain(split=0).on(graph, study_seed=5) is graph
    assert run_trial(plain(split=3), graph, study_seed=5).metrics["test"]["nodes"] == split["test"].sum()


def test_a_split_of_a_known_dataset_has_as_many_training_labels_as_published():
    german = fv.load_dataset("german")
    on = Trial("german", "constant", None, split=2).on(german)
    assert on.labels[on.split("train")].tolist().count(1) == 50
    assert on.split("train").sum() == 100
    assert (on.split("test") != german.split("test")).any()


def test_wrong_names_and_settings_are_found_before_anything_runs():
    with pytest.raises(InputError, match=r"no method 'vanila'\. Did you mean 'vanilla'\?"):
        Trial("own", "vanila", None).model()
    with pytest.raises(InputError, match="no parameter 'epoch'"):
        Trial("own", "vanilla", "gcn", {"epoch": 3}).model()


def test_a_diverging_trial_is_a_failed_result_with_its_reason(graph):
    found = run_trial(plain(learning_rate=1e30), graph)
    assert found.metrics == {}
    assert "finite" in str(found.failed)


def test_ctrl_c_in_a_trial_is_no_result(graph, monkeypatch):
    def interrupted(self, *_, **__):
        self.interrupted_ = True  # the best epoch so far was kept
        return self

    monkeypatch.setattr(fv.Vanilla, "fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_trial(plain(), graph)


def test_a_result_survives_json_to_the_last_bit_and_nothing_odd_gets_in(graph):
    found = run_trial(plain(), graph)
    assert Result.model_validate(json.loads(json.dumps(found.model_dump(mode="json")))) == found
    timing = {"seconds": 1.0, "peak_memory_mb": 1.0}
    for wrong in (
        {"metrics": {"test": {"undefined": {}}}},
        {"metrics": {"train": found.metrics["test"]}},
        {"metrics": {"test": found.metrics["test"] | {"auc": "high"}}},
        {"extra": 1},
        {"timing": timing | {"seconds": float("nan")}},
    ):
        with pytest.raises(ValueError):
            Result.model_validate({"trial": "a", "timing": timing} | wrong)


# --- many -------------------------------------------------------------------------------------------------------------


def test_what_is_done_is_not_done_again_and_the_order_is_that_of_the_trials(graph, tmp_path, counted):
    first, second, third = plain(1), plain(2), plain(3)
    run_trials([first, second], {"own": graph}, tmp_path, workers=1)
    told = []
    found = run_trials(
        [third, second, first], {"own": graph}, tmp_path, workers=1, notice=lambda *said: told.append(said[1:])
    )
    assert counted == [first.id, second.id, third.id]
    assert [result.trial for result in found] == [third.id, second.id, first.id]
    assert told == [(2, 3), (3, 3)]


def test_a_failed_trial_is_written_down_and_not_tried_again(graph, tmp_path, counted):
    both = [plain(learning_rate=1e30), plain()]
    for _ in range(2):
        failed, fine = run_trials(both, lambda _: graph, tmp_path, workers=1)
        assert (failed.failed is None, fine.failed) == (False, None)
    assert len(counted) == 2


def test_ctrl_c_keeps_what_is_finished(graph, tmp_path, counted):
    def stop(result, done, total):
        if done == 1:
            raise KeyboardInterrupt

    both = [plain(1), plain(2)]
    with pytest.raises(KeyboardInterrupt):
        run_trials(both, {"own": graph}, tmp_path, workers=1, notice=stop)
    run_trials(both, {"own": graph}, tmp_path, workers=1)
    assert counted == [trial.id for trial in both]


def test_processes_and_one_process_give_the_same_bits(graph, tmp_path):
    trials = [plain(1), Trial("own", "constant", None), plain(2, split=1)]
    alone = run_trials(trials, {"own": graph}, tmp_path / "one", workers=1)
    together = run_trials(trials, {"own": graph}, tmp_path / "two", workers=2)
    assert timeless(alone) == timeless(together)


def test_a_trial_whose_process_died_is_named_and_the_others_are_kept(graph, tmp_path, monkeypatch, counted):
    both = [plain(1), plain(2)]

    def half(tasks, work, **_):
        yield tasks[0], Death("its process was killed (signal 9)")
        yield tasks[1], work(tasks[1], graph)

    monkeypatch.setattr(trials_module, "spread", half)
    with pytest.raises(FairviewError) as caught:
        run_trials(both, {"own": graph}, tmp_path, workers=2)
    assert str(caught.value) == (
        "1 of 2 trials ended without a result; the others are kept.\n"
        f"  - {both[0].id}: its process was killed (signal 9)\n"
        "Run the same again to try these once more; with fewer workers each has more memory."
    )
    monkeypatch.undo()
    found = run_trials(both, {"own": graph}, tmp_path, workers=1)
    assert timeless(found) == timeless([run_trial(trial, graph) for trial in both])


def test_each_graph_is_asked_for_once_and_the_trials_of_a_dataset_come_together(graph, tmp_path, counted):
    asked: list[str] = []

    def graph_of(name):
        asked.append(name)
        return graph

    trials = [dataclasses.replace(plain(seed), dataset=name) for seed in (1, 2) for name in ("a", "b")]
    run_trials(trials, graph_of, tmp_path, workers=1)
    assert asked == ["a", "b"]
    assert [name.split()[0] for name in counted] == ["a", "a", "b", "b"]


def test_a_journal_of_other_data_is_refused(graph, tmp_path):
    run_trials([plain()], {"own": graph}, tmp_path, workers=1)
    other = graph.with_features(np.asarray(graph.features) + 1, graph.channels)
    with pytest.raises(InputError, match=r"line 2 was computed on other data than 'own' is now \(sha256 "):
        run_trials([plain()], {"own": other}, tmp_path, workers=1)
    with pytest.raises(InputError, match="belongs to another study"):
        run_trials([plain()], {"own": graph}, tmp_path, workers=1, study_seed=1)


def test_a_journal_with_a_trial_twice_or_with_something_else_is_refused(graph, tmp_path):
    run_trials([plain()], {"own": graph}, tmp_path, workers=1)
    path = tmp_path / "journal.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + whole.splitlines(keepends=True)[1])
    with pytest.raises(InputError, match=r"line 3 repeats the trial 'own vanilla gcn split-00 seed-01"):
        run_trials([plain()], {"own": graph}, tmp_path, workers=1)
    entry = decode(whole.splitlines(keepends=True)[1])
    assert entry is not None
    path.write_bytes(whole + encode(entry | {"result": {"trial": "x"}}))
    with pytest.raises(InputError, match="line 3 is not a trial's result"):
        run_trials([plain()], {"own": graph}, tmp_path, workers=1)


def test_timing_is_no_part_of_what_is_compared():
    one = Result(trial="a", timing=Timing(seconds=1.0, peak_memory_mb=2.0))
    other = Result(trial="a", timing=Timing(seconds=3.0, peak_memory_mb=4.0))
    assert timeless([one]) == timeless([other])
