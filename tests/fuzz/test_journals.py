"""Journals of comparisons and tunings, also such as someone would write who knows how a line is checked."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from tests.fuzz.damage import bytes_of, document_of, json_of, lines_of
from tests.fuzz.trial import CASES, outcome, try_many

import fairview as fv
from fairview.study.journal import decode, encode
from fairview.tuning.folder import begin
from fairview.tuning.holdout import hold_out
from fairview.tuning.trials import load_trial

ASKED: dict[str, Any] = {"methods": ["logistic-regression"], "plain": False, "seeds": 2, "workers": 1}
TUNED: dict[str, Any] = {"max_gap": 0.3, "methods": "logistic-regression", "trials": 2}


@st.composite
def forged(draw: st.DrawFn, whole: bytes) -> bytes:
    """A journal of which one or two lines hold other values and a checksum that fits, or are elsewhere."""
    entries = [decode(line) for line in whole.splitlines(keepends=True)]
    for _ in range(draw(st.integers(1, 2))):
        place = draw(st.integers(0, len(entries) - 1))
        kind = draw(st.sampled_from(("values", "values", "values", "repeat", "remove", "move")))
        if kind == "values":
            made = draw(document_of(entries[place]))
            entries[place] = made if isinstance(made, dict) else {"x": made}
        elif kind == "repeat":
            entries.insert(draw(st.integers(0, len(entries))), entries[place])
        elif kind == "move":
            entries.insert(draw(st.integers(0, len(entries) - 1)), entries.pop(place))
        elif len(entries) > 1:
            del entries[place]
    return b"".join(map(encode, entries)) + draw(st.sampled_from((b"", b"", b'{"entry": ', b"\n")))


@pytest.fixture(scope="module")
def small() -> fv.NodeGraph:
    graph = fv.synthetic_graph(60, average_degree=4, seed=2)
    return graph.with_splits(fv.stratified_splits(graph, repeats=1)[0])


@pytest.mark.parametrize("cases", CASES)
def test_damaged_and_forged_journals_are_gone_on_with_or_refused(cases, small, tmp_path):
    folder, whole = tmp_path / "whole", tmp_path / "case"
    fv.compare(small, folder=folder, **ASKED)
    content = (folder / "journal.jsonl").read_bytes()
    results = (folder / "results.csv").read_bytes().splitlines()

    def read(journal: bytes) -> None:
        shutil.rmtree(whole, ignore_errors=True)
        shutil.copytree(folder, whole)
        (whole / "journal.jsonl").write_bytes(journal)
        made = outcome(lambda _: fv.compare(small, folder=whole, **ASKED), None)
        if isinstance(made, fv.FairviewError):
            assert (whole / "journal.jsonl").read_bytes() == journal, "a journal that is refused stays as it is"
        else:
            assert len((whole / "results.csv").read_bytes().splitlines()) == len(results)
        outcome(fv.verify, whole)

    try_many(cases, lines_of(content) | forged(content), read)


@pytest.fixture(scope="module")
def tuned(tmp_path_factory) -> tuple[fv.NodeGraph, Path]:
    graph = fv.synthetic_graph(600, average_degree=4, label_bias=0.1, seed=2)
    graph = graph.with_splits(fv.stratified_splits(graph, repeats=1)[0])
    folder = tmp_path_factory.mktemp("journal") / "tuning"
    assert fv.tune(graph, folder=folder, **TUNED).refused is None
    return graph, folder


def test_a_tuning_takes_nothing_from_a_damaged_journal(tuned, tmp_path):
    """optuna's journal is for its dashboard: it is written anew, whatever stands in it."""
    graph, folder = tuned
    told = json.loads((folder / "tune.json").read_bytes())
    for number, content in enumerate((b"", b"null", b"[" * 10_000, b"\xff\xfe", b'{"op_code": 4, "x": {}}\n' * 9)):
        copy = Path(shutil.copytree(folder, tmp_path / str(number)))
        for name in ("tune.json", "files.json"):  # as if it was stopped before it decided
            (copy / name).unlink()
        (copy / "journal.log").write_bytes(content)
        again = fv.tune(graph, folder=copy, resume=True, **TUNED).document
        assert {name: again[name] for name in ("chosen", "frontier", "metrics")} == {
            name: told[name] for name in ("chosen", "frontier", "metrics")
        }


@st.composite
def trials_spoilt(draw: st.DrawFn, folder: Path) -> tuple[str, bytes]:
    """One file of the first trial, or the study, with other values or damaged bytes."""
    name = draw(st.sampled_from(("trials/0000/trial.json", "trials/0000/scores.npy", "study.json")))
    content = (folder / name).read_bytes()
    if name.endswith(".npy"):
        return name, draw(bytes_of(content, encodings=False))
    return name, draw(json_of(json.loads(content)))


@pytest.mark.parametrize("cases", CASES)
def test_spoilt_trials_of_a_tuning_are_fitted_again_or_refused(cases, tuned, tmp_path):

    graph, folder = tuned
    copy = Path(shutil.copytree(folder, tmp_path / "case"))
    holdout = hold_out(graph, seed=1)
    about = json.loads((folder / "trials/0000/trial.json").read_bytes())
    study = json.loads((folder / "study.json").read_bytes())

    def read(case: tuple[str, bytes]) -> None:
        name, content = case
        (copy / name).write_bytes(content)
        try:
            if name == "study.json":
                begin(copy, {key: value for key, value in study.items() if key not in ("kind", "version")}, resume=True)
            else:
                load_trial(copy / "trials/0000", about["method"], about["settings"], holdout)
        finally:
            assert (copy / name).read_bytes() == content
            (copy / name).write_bytes((folder / name).read_bytes())

    try_many(cases, trials_spoilt(folder), read)
