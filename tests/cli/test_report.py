from __future__ import annotations

import json
import webbrowser

import pytest

METRICS = {"test": {"auc": 0.7, "balanced_accuracy": 0.6, "statistical_parity_gap": 0.1, "nodes": 10, "groups": [
    {"group": "f", "nodes": 4, "positives": 2, "selection_rate": 0.5},
    {"group": "m", "nodes": 6, "positives": 3, "selection_rate": 0.6},
]}}  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    found = tmp_path / "run"
    found.mkdir()
    (found / "metrics.json").write_text(json.dumps(METRICS))
    return found


def test_the_path_is_printed(run, folder):
    outcome = run("report", folder)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == f"{folder / 'report.html'}\n"
    assert "0.7" in (folder / "report.html").read_text()


def test_json_names_the_report_and_the_charts(run, folder):
    outcome = run("report", folder, "--figures", "--format", "json")
    found = json.loads(outcome.out)
    assert found["report"] == str(folder / "report.html")
    assert str(folder / "figures" / "groups-rates.svg") in found["figures"]
    assert str(folder / "figures" / "groups-rates.png") in found["figures"]
    assert json.loads(run("report", folder, "--format", "json").out)["figures"] == []


def test_open_asks_the_browser(run, folder, monkeypatch):
    asked = []
    monkeypatch.setattr(webbrowser, "open", asked.append)
    assert run("report", folder, "--open").code == 0
    assert asked == [(folder / "report.html").resolve().as_uri()]


def test_nothing_to_report_is_an_error_that_says_what_was_looked_for(run, tmp_path):
    outcome = run("report", tmp_path)
    assert (outcome.code, outcome.out) == (1, "")
    assert "nothing to report" in outcome.err
    assert "audit.json" in outcome.err
    assert run("report", tmp_path / "none").code == 1
    assert not list(tmp_path.iterdir())


def test_a_hostile_document_is_a_message_not_a_traceback(run, folder):
    before = run("report", folder).code
    (folder / "audit.json").write_text('{"kind": "audit", "version": 1, "channels": "\\u001b[31mred"}')
    old = (folder / "report.html").read_bytes()
    outcome = run("report", folder)
    assert (before, outcome.code) == (0, 1)
    assert "Traceback" not in outcome.err
    assert "\x1b" not in outcome.err
    assert "audit.json: channels: input should be a valid array" in outcome.err
    assert (folder / "report.html").read_bytes() == old


def test_help_has_examples(run):
    assert "fairview report runs/german --open" in run("report", "--help").out


def test_a_card_is_written_beside_the_report(run, folder):
    outcome = run("report", folder, "--card")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == f"{folder / 'report.html'}\n{folder / 'README.md'}\n"
    assert json.loads(run("report", folder, "--card", "--format", "json").out)["card"] == str(folder / "README.md")
    assert json.loads(run("report", folder, "--format", "json").out)["card"] is None


def test_a_readme_of_somebodys_own_is_kept_and_nothing_is_written(run, folder):
    (folder / "README.md").write_text("mine")
    (folder / "report.html").unlink(missing_ok=True)
    outcome = run("report", folder, "--card")
    assert outcome.code == 1
    assert "README.md: was not written by fairview" in outcome.err
    assert (folder / "README.md").read_text() == "mine"
    assert not (folder / "report.html").exists()
