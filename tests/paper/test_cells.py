from __future__ import annotations

import json
from dataclasses import replace

import pytest

from fairview.errors import InputError
from fairview.paper import cells as module
from fairview.paper import fig1, fig3, fig4, table1, table3, table4, table6
from fairview.paper.artefacts import ARTEFACTS, ArtefactResult
from fairview.paper.cells import Cell, CellResult, change, printed_for, yardsticks
from fairview.paper.estimate import estimated_seconds, seconds_of
from fairview.paper.scope import Scope
from fairview.study.trials import Trial, run_trial

GERMAN = Scope(datasets=("german",))


@pytest.mark.parametrize("name", [name for name, found in ARTEFACTS.items() if found.cells is not None])
@pytest.mark.parametrize("quick", [False, True])
def test_every_trial_has_settings_that_its_method_takes(name, quick):
    scope = Scope(datasets=("german",), seeds=1, quick=quick)
    cells = ARTEFACTS[name].cells(scope)
    trials = [trial for cell in cells for trial in cell.trials(scope)]
    assert len(trials) == len(cells)
    for trial in trials:
        model = trial.model()  # checks them
        assert not quick or getattr(model, "epochs", 2) == 2


def test_settings_of_other_datasets_are_taken_too(monkeypatch):
    monkeypatch.setattr("fairview.paper.scope.is_at_hand", lambda name, _=None: name != "credit-large")
    monkeypatch.setattr("fairview.paper.table3.is_at_hand", lambda *_: True)
    scope = Scope(seeds=1)
    assert table3.datasets(scope) == ["german", "bail", "bail-no-time", "credit-small"]
    for cells in (table1.cells, table3.cells, table4.cells, table6.cells, table6.short_cells, fig3.cells, fig4.cells):
        for cell in cells(scope):
            for trial in cell.trials(scope):
                trial.model()
    compared = {cell.dataset for cell in table3.cells(scope) if cell.printed is not None}
    assert compared == {"german", "bail"}  # the small Credit graph is not the paper's


def test_table_3_has_each_method_and_what_the_paper_lacks():
    found = table3.cells(GERMAN)
    assert [cell.row for cell in found[:4]] == ["majority answer", "MLP", "logistic regression", "gradient boosting"]
    gcn = [cell for cell in found if cell.encoder == "gcn"]
    own = ["vanilla", "nifty", "edits", "fairgnn", "fairvgnn"]
    assert [cell.row for cell in gcn if cell.row in table3.METHODS] == own
    beside = [table3.LOWEST_LOSS, table3.MORE_LABELS, table3.TUNED]
    assert [cell.row for cell in gcn if cell.row not in table3.METHODS] == beside
    rules = [trial.settings.get("selection") for cell in gcn[:5] for trial in cell.trials(GERMAN)[:1]]
    assert rules == ["score", "loss", "score", "score", "score"]  # one rule, and the published one beside it
    assert gcn[1].printed["auc"].mean == 74.11
    assert [len(cell.trials(GERMAN)) for cell in (found[0], gcn[0])] == [1, 5]  # a majority has no seeds


def test_rows_of_their_own_say_what_is_other():
    found = {cell.row: cell for cell in table3.cells(GERMAN) if cell.encoder == "gcn"}
    assert found[table3.MORE_LABELS].settings == found["fairgnn"].settings | {"labels": 500}
    assert found[table3.TUNED].settings["mask_density_weight"] != found["fairvgnn"].settings["mask_density_weight"]
    assert found[table3.TUNED].printed == found["fairvgnn"].printed


def test_only_what_the_paper_prints_is_tuned_for():
    splits = Scope(datasets=("german",), splits=2)
    assert table3.TUNED not in {cell.row for cell in table3.cells(splits)}


def test_methods_can_be_chosen():
    scope = Scope(datasets=("german",), encoders=("gin",), methods=("nifty",))
    assert [(cell.encoder, cell.row) for cell in table3.cells(scope)] == [(None, "majority answer"), ("gin", "nifty")]


def test_table_4_compares_the_tuned_variants_only():
    found = [cell for cell in table4.cells(GERMAN) if cell.encoder == "gcn"]
    judged = [(cell.block, cell.row) for cell in found if not cell.not_compared]
    tuned = [(table4.AS_PUBLISHED, row) for row in ("without-fm", "without-wc", "without-both")]
    assert judged == [(table4.ONE_SWITCH, "full"), *tuned]
    assert found[0].settings["epochs"] == 400  # Table 4's own recipe


def test_tables_share_the_full_models_runs():
    full = {trial.id for cell in table3.cells(GERMAN) if cell.row == "fairvgnn" for trial in cell.trials(GERMAN)}
    adaptive = {trial.id for cell in table6.cells(GERMAN) if cell.row == "adaptive" for trial in cell.trials(GERMAN)}
    assert len(full) == 15
    assert adaptive == full


def test_figure_1_masks_channels_in_the_order_of_their_correlation():
    found = [cell for cell in fig1.cells(GERMAN) if cell.encoder == "gcn"]
    assert len(found) == 28
    assert [cell.masked for cell in found[:3]] == ["", "Gender", "Single"]
    graph = GERMAN.graph(found[1].trials(GERMAN)[0].dataset)
    assert not graph.features[:, 0].any()
    assert graph.features[:, 1:].tolist() == GERMAN.graph("german").features[:, 1:].tolist()


def test_several_splits_and_smoke_tests_are_not_compared():
    assert printed_for("table3", "german", "gcn", "fairvgnn", GERMAN).get("not_compared") is None
    for scope in (Scope(splits=3), Scope(quick=True)):
        assert printed_for("table3", "german", "gcn", "fairvgnn", scope)["not_compared"]


def test_a_method_that_is_not_there_is_said_so(tmp_path):
    cell = Cell(dataset="german", encoder="gcn", row="new", method="no-such")
    (row,) = module.run_cells([cell], GERMAN, tmp_path, workers=1)
    assert row.reason == "not available: there is no method 'no-such'"
    assert (row.mean("auc"), row.std("auc")) == (None, None)


def test_asked_for_what_is_finished_nothing_is_run(tmp_path):
    constant, plain = yardsticks("german", GERMAN)
    scope = Scope(datasets=("german",), seeds=2, quick=True)
    module.run_cells([constant], scope, tmp_path, workers=1)
    there, missing = module.run_cells([constant, plain], scope, tmp_path, finished=True)
    assert there.mean("accuracy") == pytest.approx(70)
    assert (missing.reason, missing.values) == ("not run (0 of 2 runs are there)", {})
    module.run_cells([plain], Scope(datasets=("german",), seeds=1, quick=True), tmp_path, workers=1)
    (first,) = module.run_cells([plain], scope, tmp_path, finished=True)
    assert (first.draws, first.lacks_runs, first.reason) == (((0, 1),), True, "")


def test_a_row_has_the_runs_up_to_the_first_that_is_missing(tmp_path):
    one, two, three = (Trial("german", "constant", None, {"answer": "majority"}, split=split) for split in (0, 1, 2))
    graph = GERMAN.graph("german")
    cell = Cell(dataset="german", encoder=None, row="majority answer", method="constant")
    results = {trial.id: run_trial(trial, graph) for trial in (one, three)}
    assert module._row(cell, [one, two, three], results).draws == ((0, 1),)


def test_a_row_survives_json(make_row):
    printed = printed_for("table3", "german", "gcn", "fairvgnn", GERMAN)["printed"]
    row = make_row("fairvgnn", auc=[70.0, 72.0], printed=printed, masked="Age", facts={"channel": "Age"})
    written = json.loads(json.dumps(row.to_dict()))
    again = CellResult.from_dict(written)
    assert again == row
    del written["masked"]
    assert CellResult.from_dict(written).cell.masked == "Age"  # a file of before
    assert (again.mean("auc"), again.std("auc")) == (pytest.approx(71), pytest.approx(1))


def test_a_row_of_earlier_runs_has_means_and_intervals(make_row):
    cell = make_row("fairvgnn").cell
    row = CellResult(cell, earlier={"auc": (0.7, 0.02), "f1": (None, None)}, earlier_runs=5, planned=20)
    again = CellResult.from_dict(json.loads(json.dumps(row.to_dict())))
    assert again == row
    assert (row.known, row.count, row.mean("auc"), row.std("auc"), row.mean("f1")) == (True, 5, 70.0, 2.0, None)
    whole = make_row("fairvgnn", auc=[60.0, 70.0, 65.0])
    known = CellResult(cell, earlier={"auc": (whole.mean("auc") / 100, whole.std("auc") / 100)}, earlier_runs=3)
    ends = [(each.low, each.high) for each in (known.estimate("auc"), whole.estimate("auc"))]
    assert ends[0] == pytest.approx(ends[1])


def test_one_undefined_run_makes_the_mean_undefined(make_row):
    row = make_row("a", auc=[70.0, 72.0])
    broken = CellResult(row.cell, row.draws, {"auc": (0.7, None)})
    assert broken.mean("auc") is None


def test_rows_of_two_processors_are_compared_without_pairs(make_row):
    fair = replace(make_row("a", auc=[70.0, 72.0, 71.0]), machine="one")
    plain = replace(make_row("b", auc=[69.0, 71.0, 70.1]), machine="one")
    pairs = change(fair, plain, "auc")
    apart = change(fair, replace(plain, machine="another"), "auc")
    assert pairs.mean == pytest.approx(apart.mean)
    assert pairs.low > 0  # seed by seed, each is about a point better
    assert apart.low < 0 < apart.high


def test_rows_of_older_files_are_of_the_files_processor(make_row, make_document, tmp_path):
    document = make_document("table3", [make_row("fairvgnn")])
    document = replace(document, versions={"processor": "Some CPU", "cpu_capability": "AVX2"})
    path = document.save(tmp_path)
    assert ArtefactResult.load(path).rows[0].machine == ""
    older = json.loads(path.read_text())
    del older["rows"][0]["machine"]
    path.write_text(json.dumps(older))
    assert ArtefactResult.load(path).rows[0].machine == "Some CPU, AVX2"


def test_wrong_names_are_all_listed():
    with pytest.raises(InputError) as caught:
        Scope(datasets=("germen",), encoders=("gat",), seeds=0)
    assert len(caught.value.problems) == 3
    assert "Did you mean 'german'?" in str(caught.value)


def test_yardsticks_are_the_majority_answer_and_mlp():
    assert [cell.row for cell in yardsticks("german", GERMAN)] == ["majority answer", "MLP"]


def test_time_grows_with_epochs_and_shrinks_with_workers():
    cells = table3.cells(GERMAN)
    one, two = (estimated_seconds(cells, GERMAN, workers=workers) for workers in (1, 2))
    assert one == pytest.approx(2 * two)
    assert one > 60
    assert seconds_of(Trial("bail", "fairvgnn", "sage")) > seconds_of(Trial("german", "fairvgnn", "sage"))
