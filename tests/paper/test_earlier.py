"""Rows whose runs are not kept: read from the CSV of an earlier call, shown with their number, never silently."""

from __future__ import annotations

import pytest

from fairview.errors import InputError
from fairview.paper import pages, table3
from fairview.paper.artefacts import ArtefactResult, run_artefact
from fairview.paper.cells import CellResult
from fairview.paper.earlier import filled, key, read_earlier
from fairview.paper.scope import Scope


@pytest.fixture
def written(make_row, make_document, tmp_path):
    rows = [make_row("fairvgnn", auc=[70.0, 72.0]), make_row("vanilla", encoder="gin", auc=[60.0])]
    path = tmp_path / "table3.csv"
    path.write_text(pages.tidy(make_document("table3", rows)))
    return rows, path


def test_a_row_comes_back_with_its_mean_deviation_and_number_of_runs(written):
    (first, second), path = written
    found = read_earlier(path)
    assert list(found) == [key(first.cell), key(second.cell)]
    again = found[key(first.cell)]
    assert (again.mean("auc"), again.std("auc"), again.earlier_runs) == (pytest.approx(71), pytest.approx(1), 2)
    assert again.values == {}


def test_rows_with_runs_stay_as_they_are(written, make_row):
    (_, second), path = written
    lacking = CellResult(second.cell, reason="not run")
    rows = filled([make_row("fairvgnn", auc=[50.0]), lacking], read_earlier(path))
    assert (rows[0].mean("auc"), rows[0].earlier) == (50.0, {})
    assert (rows[1].mean("auc"), rows[1].reason, rows[1].earlier_runs) == (pytest.approx(60), "", 1)


def test_a_table_says_which_rows_are_earlier_ones(written, make_document):
    (first, _), path = written
    (row,) = filled([CellResult(first.cell, reason="not run")], read_earlier(path))
    document = make_document("table3", [row])
    assert "| 2, earlier |" in pages.markdown(document)
    assert "*Earlier* rows" in pages.markdown(document)
    assert ",earlier" in pages.tidy(document).splitlines()[1]


def test_earlier_rows_stay_in_the_document(tmp_path):
    scope = Scope(datasets=("german",), encoders=("gcn",), methods=("fairvgnn",), seeds=1)
    header = "dataset,encoder,block,row,method,metric,runs,mean,std"
    (tmp_path / "past").mkdir()
    (tmp_path / "past" / "table3.csv").write_text(f"{header}\ngerman,gcn,,fairvgnn,fairvgnn,auc,5,72.5,1.5\n")
    run_artefact("table3", scope, tmp_path, finished=True, earlier=tmp_path / "past")
    run_artefact("table3", scope, tmp_path, finished=True)
    (row,) = [row for row in ArtefactResult.load(tmp_path / "table3.json").rows if row.cell.row == "fairvgnn"]
    assert (row.mean("auc"), row.count) == (72.5, 5)


def test_rows_of_a_document_keep_their_runs(make_row, make_document, tmp_path):
    scope = Scope(datasets=("german",), encoders=("gcn",), methods=("fairvgnn",), seeds=1)
    past = tmp_path / "past"
    past.mkdir()
    settings = table3.settings("fairvgnn", "german", "gcn")
    rows = [make_row("fairvgnn", auc=[70.0, 72.0], not_compared="then", settings=settings)]
    document = make_document("table3", rows)
    document.save(past)
    (past / "table3.csv").write_text(pages.tidy(document))
    run_artefact("table3", scope, tmp_path, finished=True, earlier=past)
    run_artefact("table3", scope, tmp_path, finished=True)
    (row,) = [row for row in ArtefactResult.load(tmp_path / "table3.json").rows if row.cell.row == "fairvgnn"]
    assert (row.draws, row.values["auc"], row.earlier) == (((0, 1), (0, 2)), (0.7, 0.72), {})
    assert (row.cell.printed["auc"].mean, row.cell.not_compared) == (72.41, "")  # the cell is the one of today


def test_a_row_of_other_settings_is_not_taken(make_row):
    now, then = make_row("fairvgnn", settings={"epochs": 200}), make_row("fairvgnn", settings={"epochs": 9})
    lacking = CellResult(now.cell, reason="not run")
    assert filled([lacking], {key(then.cell): then}) == [lacking]


def test_of_two_rows_with_runs_the_one_with_more_counts(make_row):
    short, long = make_row("fairvgnn", auc=[70.0]), make_row("fairvgnn", auc=[60.0, 62.0])
    assert filled([short], {key(long.cell): long})[0].count == 2
    assert filled([long], {key(short.cell): short})[0].count == 2


def test_a_missing_file_has_no_rows_and_another_one_is_refused(tmp_path):
    assert read_earlier(tmp_path / "table9.csv") == {}
    (tmp_path / "table1.csv").write_text("id,score\n1,0.5\n")
    with pytest.raises(InputError, match=r"table1\.csv: is not a table that `fairview paper` wrote"):
        read_earlier(tmp_path / "table1.csv")
