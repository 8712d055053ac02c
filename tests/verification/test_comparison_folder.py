"""A comparison: the journal's lines, and every number of its tables made again from them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import fairview as fv
from fairview.manifest import sealed
from fairview.report import write_report
from fairview.study.journal import decode, encode

FILES = ("files.json", "journal.jsonl", "results.csv", "study.json", "summary.json", "timings.csv")


def test_an_untouched_comparison_is_ok(copied, many):
    found = fv.verify(copied("comparison"), many)
    assert (found.ok, found.problems, found.checked) == (True, (), FILES)


@pytest.mark.parametrize("name", FILES[1:])
def test_one_changed_byte_is_noticed_with_the_files_name(copied, name):
    path = copied("comparison") / name
    path.write_bytes(path.read_bytes().replace(b"1", b"2", 1))
    assert fv.verify(path.parent).problems == (
        f"{name}: does not match its sha256 in files.json; it is damaged or changed.",
    )


@pytest.mark.parametrize("part", ["mean", "std", "low", "high", "rank"])
def test_a_number_that_the_journal_does_not_give_is_noticed_although_the_hashes_fit(copied, edit, reseal, part):
    folder = copied("comparison")

    def change(document):
        row = document["rows"][-1]
        name = next(iter(row[part]))
        row[part][name] = 0.123 if part != "rank" else 1.5

    edit(folder / "summary.json", change)
    reseal(folder)
    (problem,) = fv.verify(folder).problems
    assert problem.startswith("summary.json: row '")
    assert problem.endswith(f"': {part} is not what the journal gives.")


def test_a_result_that_the_journal_does_not_give_is_noticed(copied, reseal):
    folder = copied("comparison")
    path = folder / "results.csv"
    path.write_text(path.read_text().replace("0.", "0.9", 1))
    reseal(folder)
    assert fv.verify(folder).problems == ("results.csv: is not what the journal gives.",)


def test_a_trial_that_was_left_out_is_noticed(copied, reseal):
    folder = copied("comparison")
    path = folder / "journal.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    reseal(folder)
    assert "results.csv: is not what the journal gives." in fv.verify(folder).problems


def test_a_damaged_line_is_noticed(copied, reseal):
    folder = copied("comparison")
    path = folder / "journal.jsonl"
    path.write_bytes(path.read_bytes().replace(b"auc", b"acu", 1))
    reseal(folder)
    assert fv.verify(folder).problems == (f"{path}: line 2 is damaged.",)


def test_a_line_of_other_data_is_noticed(copied, reseal):
    folder = copied("comparison")
    path = folder / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[1] = encode(decode(lines[1]) | {"data": "0" * 64})
    path.write_bytes(b"".join(lines))
    reseal(folder)
    assert fv.verify(folder).problems == (f"{path}: line 2 is of another trial, or of other data.",)


def test_a_graph_without_splits_is_divided_as_compare_did(many, tmp_path):
    bare = many.replace(splits={})
    fv.compare(bare, methods=["constant"], plain=False, seeds=1, folder=tmp_path, workers=1)
    found = fv.verify(tmp_path, bare)
    assert (found.ok, found.notes) == (
        True,
        ("a comparison keeps no predictions: the metrics of its trials can't be made again.",),
    )


def test_a_record_that_lacks_a_file_is_noticed(copied):
    folder = copied("comparison")
    document = json.loads((folder / "files.json").read_text())
    del document["files"]["summary.json"]
    (folder / "files.json").write_text(sealed(document))
    assert fv.verify(folder).problems == ("files.json: does not record summary.json.",)


@pytest.mark.parametrize("change", [{"kind": "run"}, {"version": 2}, {"version": None}])
def test_a_record_of_another_kind_or_version_is_refused(copied, change):
    folder = copied("comparison")
    document = json.loads((folder / "files.json").read_text())
    (folder / "files.json").write_text(sealed(document | change))
    assert fv.verify(folder).problems == (
        f"{folder / 'files.json'}: is not the record of a folder, or of a newer version of fairview.",
    )


def test_a_summary_that_does_not_name_its_graph_is_noticed(copied, edit, reseal, many):
    folder = copied("comparison")
    edit(folder / "summary.json", lambda document: document["graph"].pop("sha256"))
    reseal(folder)
    assert "summary.json: the comparison is of another graph than the one given." in fv.verify(folder, many).problems


def test_counts_of_another_graph_are_noticed_although_the_hashes_fit(copied, edit, reseal, many):
    folder = copied("comparison")
    edit(folder / "summary.json", lambda document: document["graph"]["groups"].update(a=7))
    reseal(folder)
    assert fv.verify(folder, many).problems == ("summary.json: 'groups' is not that of the graph.",)


def test_a_forged_mean_out_of_range_is_refused_by_report(copied, edit, reseal):
    folder = copied("comparison")
    edit(folder / "summary.json", lambda document: document["rows"][-1]["mean"].update(auc=7.0))
    reseal(folder)
    with pytest.raises(fv.InputError, match=r"summary.json: rows.3: value error, auc: expected a number from 0 to 1"):
        write_report(folder)


def test_rows_that_were_not_asked_for_are_noticed(copied, edit, reseal):
    folder = copied("comparison")
    edit(folder / "study.json", lambda document: document["rows"][-1]["settings"].update(epochs=500))
    reseal(folder)
    assert fv.verify(folder).problems == ("study.json: its rows are not those of summary.json.",)


def test_another_graph_is_noticed(copied):
    found = fv.verify(copied("comparison"), fv.synthetic_graph(50, seed=1))
    assert found.problems == ("summary.json: the comparison is of another graph than the one given.",)


def test_a_comparison_of_the_first_version_is_ok_and_says_what_could_not_be_checked():
    found = fv.verify(Path(__file__).parents[1] / "report" / "folders-of-0.1.0" / "comparison")
    assert (found.ok, found.problems) == (True, ())
    assert found.notes == (
        "files.json: there is none: the comparison is unfinished, or of version 0.1.0.",
        "summary.json: its rows can't be compared with the journal's trials.",
    )


def test_an_extended_comparison_that_is_not_finished_is_not_ok(copied, edit):
    folder = copied("comparison")
    (folder / "files.json").unlink()  # as the extension does first
    edit(folder / "study.json", lambda document: document.update(seeds=5))
    found = fv.verify(folder)
    assert found.problems == (
        "summary.json: this comparison is unfinished: it was extended, and the numbers are those before the extension.",
    )
    assert found.notes == ("files.json: there is none: the comparison is unfinished, or of version 0.1.0.",)
    (folder / "summary.json").unlink()
    assert fv.verify(folder).problems == ("summary.json: is missing: the comparison is unfinished.",)


def test_a_name_of_a_method_never_becomes_code(copied, reseal, tmp_path, monkeypatch):
    (tmp_path / "evil.py").write_text("raise SystemExit('run')")
    monkeypatch.syspath_prepend(tmp_path)
    folder = copied("comparison")
    for name in ("summary.json", "study.json"):
        text = (folder / name).read_text().replace('"logistic-regression"', '"evil:Evil"')
        (folder / name).write_text(text)
    reseal(folder)
    assert fv.verify(folder).problems == ("summary.json: its rows are not those of the journal's trials.",)
    assert json.loads((folder / "study.json").read_text())["methods"]
