"""`fairview paper` in its smoke version: two epochs on German."""

from __future__ import annotations

import json
import warnings

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PyG's import is not ours to judge
    import torch_geometric.nn  # noqa: F401

SMALL = ("--quick", "--encoders", "gcn", "--workers", 1)


def test_a_table_leaves_its_files_and_goes_on_where_it_was(run, tmp_path):
    command = ("paper", "table3", *SMALL, "--methods", "vanilla,fairvgnn", "--out", tmp_path)
    first = run(*command)
    assert first.code == 0, first.err
    assert "fairvgnn" in first.out
    assert "72.41±2.10" in first.out
    assert {"table3.md", "table3.csv", "table3.json", "paper.html"} <= {path.name for path in tmp_path.iterdir()}
    journal = (tmp_path / "trials" / "journal.jsonl").read_bytes()
    page = (tmp_path / "table3.md").read_text()
    assert "A smoke test" in page
    again = run(*command)
    assert (again.code, again.out) == (0, first.out)
    assert (tmp_path / "trials" / "journal.jsonl").read_bytes() == journal
    assert (tmp_path / "table3.md").read_text() == page
    results = run("paper", "results", "--out", tmp_path)
    assert results.code == 0, results.err
    assert (tmp_path / "results.md").read_text().startswith("# Results")
    assert (tmp_path / "results-tables.md").read_text().startswith("# The tables behind the results")
    assert "not run" in results.out
    assert run("paper", "results", "--out", tmp_path).code == 0  # both may be replaced: fairview wrote them


@pytest.mark.parametrize(("name", "rows"), [("table1", 7), ("fig3", 8), ("table2", 0)])
def test_json_is_one_document(run, tmp_path, name, rows):
    outcome = run("paper", name, *SMALL, "--out", tmp_path, "--format", "json")
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)
    (table,) = found["tables"]
    assert (table["name"], len(table["rows"]), found["short"]) == (name, rows, [])
    for row in table["rows"]:
        assert 0 <= row["mean"]["accuracy"] <= 1
        assert row["runs"] == 1


def test_several_splits_have_files_of_their_own(run, tmp_path):
    outcome = run("paper", "table3", *SMALL, "--methods", "fairvgnn", "--splits", 2, "--out", tmp_path)
    assert outcome.code == 0, outcome.err
    assert (tmp_path / "table3-2-splits.json").exists()
    assert not (tmp_path / "table3.json").exists()
    (fair,) = [
        row for row in json.loads((tmp_path / "table3-2-splits.json").read_text())["rows"] if row["row"] == "fairvgnn"
    ]
    assert fair["draws"] == [[1, 1], [2, 1]]


def test_a_narrower_call_leaves_the_other_rows_in_the_table(run, tmp_path):
    small = ("--quick", "--workers", 1, "--out", tmp_path)
    assert run("paper", "table3", *small, "--encoders", "gcn,gin", "--methods", "fairvgnn,edits").code == 0
    before = (tmp_path / "table3.json").read_bytes()
    assert run("paper", "table3", *small, "--encoders", "gcn", "--methods", "fairvgnn").code == 0
    assert (tmp_path / "table3.json").read_bytes() == before
    assert run("paper", "table3", *small, "--encoders", "gcn", "--methods", "nifty").code == 0
    rows = json.loads((tmp_path / "table3.json").read_text())["rows"]
    assert {(row["encoder"], row["row"]) for row in rows} >= {("gin", "edits"), ("gcn", "nifty"), ("gcn", "fairvgnn")}
    assert ("gin", "nifty") not in {(row["encoder"], row["row"]) for row in rows}  # neither asked for nor run


def test_results_are_not_replaced_by_a_smoke_test(run, tmp_path):
    real = ("paper", "table3", "--datasets", "german", "--methods", "edits", "--encoders", "gcn", "--out", tmp_path)
    assert run(*real, "--finished").code == 0
    before = (tmp_path / "table3.json").read_bytes()
    outcome = run(*real, "--quick")
    assert (outcome.code, "holds results of 5 seeds, which a smoke test would replace" in outcome.err) == (1, True)
    assert (tmp_path / "table3.json").read_bytes() == before


def test_calls_with_other_numbers_of_seeds_share_a_table(run, tmp_path):
    small = ("paper", "table3", *SMALL, "--out", tmp_path)
    assert run(*small, "--methods", "fairvgnn", "--seeds", 2).code == 0
    assert run(*small, "--methods", "edits", "--seeds", 1).code == 0
    document = json.loads((tmp_path / "table3.json").read_text())
    assert {row["row"]: len(row["draws"]) for row in document["rows"] if row["encoder"]} == {"edits": 1, "fairvgnn": 2}
    assert document["scope"]["seeds"] == 2
    outcome = run(*small, "--methods", "edits", "--seeds", 2, "--finished", "--format", "json")
    (row,) = [row for row in json.loads(outcome.out)["tables"][0]["rows"] if row["row"] == "edits"]
    assert (row["runs"], row["earlier"]) == (1, False)


def test_rows_of_an_earlier_call_are_shown_and_called_so(run, tmp_path):
    past = tmp_path / "past"
    past.mkdir()
    header = "dataset,encoder,block,row,method,metric,runs,mean,std"
    (past / "table3.csv").write_text(f"{header}\ngerman,gcn,,edits,edits,auc,5,68.98,8.47\n")
    asked = ("paper", "table3", "--datasets", "german", "--encoders", "gcn", "--methods", "edits", "--finished")
    outcome = run(*asked, "--earlier", past, "--out", tmp_path / "now", "--format", "json")
    assert outcome.code == 0, outcome.err
    (row,) = [row for row in json.loads(outcome.out)["tables"][0]["rows"] if row["row"] == "edits"]
    assert (row["runs"], row["earlier"], round(row["mean"]["auc"], 4)) == (5, True, 0.6898)
    assert "| 5, earlier |" in (tmp_path / "now" / "table3.md").read_text()
    assert run("paper", "results", "--earlier", past, "--out", tmp_path / "now").code == 1


def test_check_needs_something_to_check(run, tmp_path):
    outcome = run("paper", "table3", "--splits", 2, "--finished", "--check", "--datasets", "german", "--out", tmp_path)
    assert (outcome.code, "--check: nothing here is compared" in outcome.err) == (1, True)


@pytest.mark.parametrize(
    "request_", [("table3", "--methods", "masking"), ("table3", "--methods", ","), ("table4", "--encoders", "mlp")]
)
def test_a_request_that_no_row_answers_is_said(run, tmp_path, request_):
    outcome = run("paper", *request_, "--datasets", "german", "--out", tmp_path)
    assert outcome.code == 1
    assert "it has no row for what was asked" in outcome.err


def test_the_results_page_takes_no_choice(run, tmp_path):
    for change in (("--quick",), ("--datasets", "german"), ("--encoders", "gcn"), ("--check",)):
        outcome = run("paper", "results", "--out", tmp_path, *change)
        assert (outcome.code, "takes no other option" in outcome.err) == (1, True)


def test_check_ends_with_3_when_a_row_is_worse(run, tmp_path, monkeypatch):
    monkeypatch.setattr("fairview.paper.verdicts.falls_short", lambda row: row.cell.row == "fairvgnn")
    outcome = run("paper", "table3", *SMALL, "--methods", "fairvgnn", "--out", tmp_path, "--check")
    assert outcome.code == 3
    assert "fell short of the paper: table3 german gcn fairvgnn" in outcome.err


def test_long_work_says_so_before_it_begins(run, tmp_path, monkeypatch):
    def stop(*_args, **_more):
        raise KeyboardInterrupt

    monkeypatch.setattr("fairview.paper.artefacts.run_cells", stop)
    outcome = run("paper", "table3", "--datasets", "german", "--workers", 1, "--out", tmp_path)
    assert outcome.code == 130
    assert "this takes about " in outcome.err
    assert "the same command goes on" in outcome.err


def test_a_dataset_that_was_asked_for_must_be_there(run, tmp_path, monkeypatch):
    monkeypatch.delenv("FAIRVIEW_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    outcome = run("paper", "table2", "--datasets", "german,bail", "--out", tmp_path)
    assert (outcome.code, "bail" in outcome.err) == (1, True)
    outcome = run("paper", "table2", "--out", tmp_path)  # not asked for by name: left out, and said so
    assert outcome.code == 0
    assert "- Not run: bail, its files are not at hand." in (tmp_path / "table2.md").read_text()


def test_wrong_requests(run, tmp_path):
    assert run("paper", "table7").code == 2
    assert run("paper", "table1", "--splits", 0).code == 2
    outcome = run("paper", "table1", "--datasets", "germen", "--encoders", "gat", "--out", tmp_path)
    assert outcome.code == 1
    assert "2 problems" in outcome.err
    outcome = run("paper", "table3", "--methods", "fairgn", "--out", tmp_path)
    assert (outcome.code, "--methods fairgn: unknown" in outcome.err) == (1, True)
    outcome = run("paper", "results", "--out", tmp_path / "empty")
    assert (outcome.code, "no table3.json" in outcome.err) == (1, True)
