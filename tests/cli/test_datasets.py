from __future__ import annotations

import json

import pytest

import fairview as fv


@pytest.fixture(autouse=True)
def nothing_at_hand(tmp_path, monkeypatch):
    monkeypatch.delenv("FAIRVIEW_DATA", raising=False)
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))


def test_all_are_listed_with_licence_harms_and_whether_at_hand(run):
    outcome = run("datasets")
    assert (outcome.code, outcome.err) == (0, "")
    for name in fv.dataset_names():
        assert name in outcome.out
    assert "yes, bundled" in outcome.out
    assert "CC BY 4.0" in outcome.out
    assert "  ! " in outcome.out


def test_json_lists_them_too(run):
    entries = json.loads(run("datasets", "--format", "json").out)
    assert [entry["name"] for entry in entries] == list(fv.dataset_names())
    by_name = {entry["name"]: entry for entry in entries}
    assert by_name["german"]["at_hand"] is True
    assert by_name["bail"]["at_hand"] is False
    assert by_name["bail"]["missing"]
    assert all(entry["licence"] and entry["harms"] for entry in entries)


def test_one_of_them(run):
    outcome = run("datasets", "german")
    assert outcome.code == 0
    assert "22,242 as the papers count" in outcome.out
    assert "Hofmann" in outcome.out
    assert json.loads(run("datasets", "german", "--format", "json").out)["nodes"] == 1000


def test_a_mistyped_name(run):
    outcome = run("datasets", "germen")
    assert (outcome.code, outcome.out) == (1, "")
    assert "Did you mean 'german'?" in outcome.err


def test_a_folder_of_ones_own_is_searched(run, tmp_path):
    entry = json.loads(run("datasets", "bail", "--data-dir", tmp_path, "--format", "json").out)
    assert str(tmp_path) in entry["searched"]


def test_fetching_without_a_network_says_what_to_put_where(run, monkeypatch, tmp_path):
    def no_network(*_arguments: object, **_options: object) -> None:
        raise OSError("no network in tests")

    monkeypatch.setattr("socket.create_connection", no_network)
    monkeypatch.setattr("socket.getaddrinfo", no_network)
    outcome = run("datasets", "bail", "--fetch", "--data-dir", tmp_path)
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith("error: bail")
    assert "bail.zip" in outcome.err


def test_what_can_not_be_fetched_says_so(run):
    outcome = run("datasets", "credit-large", "--fetch")
    assert outcome.code == 1
    assert "credit-large" in outcome.err
