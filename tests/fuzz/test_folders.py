"""Folders of runs, comparisons and tunings with one file spoilt: what reads them says so, and goes no further."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.fuzz.folders import spoilt, with_spoilt
from tests.fuzz.trial import CASES, outcome, try_many, unchanged

import fairview as fv
from fairview.report.folder import read_folder
from fairview.runs.evidence import audit_run
from fairview.runs.run import train_run
from fairview.tuning.folder import check_undecided

QUICK = {"epochs": 2, "hidden": 2}
COMPARED = {"methods": ["logistic-regression"], "plain": False, "seeds": 2, "workers": 1}
Reader = Callable[[Path], object]


def small(nodes: int) -> fv.NodeGraph:
    graph = fv.synthetic_graph(nodes, average_degree=4, label_bias=0.1, seed=2)
    return graph.with_splits(fv.stratified_splits(graph, repeats=1)[0])


@pytest.fixture(scope="module")
def graph() -> fv.NodeGraph:
    return small(60)


@pytest.fixture(scope="module")
def more() -> fv.NodeGraph:
    return small(600)


@pytest.fixture(scope="module")
def folders(graph, more, tmp_path_factory) -> dict[str, Path]:
    made = {name: tmp_path_factory.mktemp("fuzz") / name for name in ("run", "comparison", "tuning")}
    train_run(fv.Vanilla(**QUICK), graph, made["run"])
    audit_run(made["run"], graph, probes=False)
    fv.compare(graph, folder=made["comparison"], **COMPARED)
    tuning = fv.tune(more, max_gap=0.3, methods="logistic-regression", trials=2, folder=made["tuning"])
    assert tuning.refused is None
    return made


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def check(cases: int, folder: Path, names: list[str], readers: list[Reader]) -> None:
    """Each case goes to all readers; none changes anything, and those that go on do so in a copy."""

    def read(case: tuple[object, ...]) -> None:
        with with_spoilt(folder, case):
            for reader in readers:
                with unchanged(folder):
                    outcome(reader, folder)

    try_many(cases, spoilt(folder, names), read)


def in_a_copy(work: Reader) -> Reader:
    """Work that may write, on a copy of the folder."""

    def read(folder: Path) -> None:
        copy = folder.with_name("copy")
        shutil.copytree(folder, copy)
        try:
            work(copy)
        finally:
            shutil.rmtree(copy)

    return read


@pytest.mark.parametrize("cases", CASES)
def test_spoilt_run_folders_are_read_or_refused(cases, folders, graph):
    def resume(folder: Path) -> None:
        train_run(fv.Vanilla(**QUICK), graph, folder, resume=True)

    def predict(folder: Path) -> None:
        fv.load_model(folder).predict_proba(graph)

    readers = [fv.verify, lambda folder: fv.verify(folder, graph), read_folder, predict, in_a_copy(resume)]
    check(cases, folders["run"], files(folders["run"]), readers)


@pytest.mark.parametrize("cases", CASES)
def test_spoilt_comparisons_are_read_or_refused(cases, folders, graph):
    def resume(folder: Path) -> None:
        fv.compare(graph, folder=folder, **COMPARED)

    names = files(folders["comparison"])
    check(
        cases, folders["comparison"], names, [lambda folder: fv.verify(folder, graph), read_folder, in_a_copy(resume)]
    )


@pytest.fixture(scope="module")
def tuning_files(folders) -> list[str]:
    """Those of one of the trials stand for all."""
    names = files(folders["tuning"])
    return [name for name in names if not name.startswith("trials/") or name.startswith("trials/0000/")]


@pytest.mark.parametrize("cases", CASES)
def test_spoilt_tunings_are_read_or_refused(cases, folders, tuning_files):
    def resume(folder: Path) -> None:
        check_undecided(folder, 2, None)

    check(cases, folders["tuning"], tuning_files, [fv.verify, read_folder, resume])


@pytest.mark.parametrize("cases", CASES)
def test_spoilt_tunings_are_decided_again_or_refused(cases, folders, tuning_files, more):
    tenth = cases // 10  # the decision takes a tenth of a second
    check(tenth, folders["tuning"], tuning_files, [lambda folder: fv.verify(folder, more)])
