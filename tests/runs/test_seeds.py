from __future__ import annotations

from pathlib import Path

import pytest

import fairview as fv
from fairview.runs import seeds as seeds_module
from fairview.runs.run import train_run
from fairview.runs.seeds import train_seeds


def make(seed: int) -> fv.FairVGNN:
    return fv.FairVGNN(epochs=3, hidden=3, views=2, seed=seed)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.fixture
def one_core(monkeypatch):
    monkeypatch.setattr(seeds_module, "available_cores", lambda: 1)


def test_seed_3_alone_is_seed_3_of_several(graph, tmp_path, one_core):
    done: list[int] = []
    found = train_seeds(make, graph, tmp_path / "all", seeds=range(1, 4), done=done.append)
    train_run(make(3), graph, tmp_path / "alone")
    assert contents(tmp_path / "all" / "seed-3") == contents(tmp_path / "alone")
    assert (
        contents(tmp_path / "all" / "seed-2")["model.safetensors"] != contents(tmp_path / "alone")["model.safetensors"]
    )
    assert [Path(run["run"]).name for run in found] == ["seed-1", "seed-2", "seed-3"]
    assert done == [1, 2, 3]


def test_side_by_side_in_processes_the_bits_are_the_same(graph, tmp_path, monkeypatch, one_core):
    train_seeds(make, graph, tmp_path / "one", seeds=range(1, 3))
    monkeypatch.setattr(seeds_module, "available_cores", lambda: 2)
    done: list[int] = []
    found = train_seeds(make, graph, tmp_path / "many", seeds=range(1, 3), done=done.append)
    for name in ("seed-1", "seed-2"):
        assert contents(tmp_path / "one" / name) == contents(tmp_path / "many" / name)
    assert [Path(run["run"]).name for run in found] == ["seed-1", "seed-2"]
    assert sorted(done) == [1, 2]


def test_ctrl_c_begins_no_further_seed_and_the_rest_can_be_trained_later(graph, tmp_path, one_core):
    def stop(progress, _):
        if progress.epochs == 2 and (tmp_path / "a" / "seed-1" / "run.json").exists():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_seeds(make, graph, tmp_path / "a", seeds=range(1, 4), notice=stop)
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["seed-1", "seed-2"]
    assert (tmp_path / "a" / "seed-2" / "checkpoint.safetensors").exists()
    train_seeds(make, graph, tmp_path / "a", seeds=range(1, 4), resume=True)
    train_seeds(make, graph, tmp_path / "whole", seeds=range(1, 4))
    for name in ("seed-1", "seed-2", "seed-3"):
        assert contents(tmp_path / "a" / name) == contents(tmp_path / "whole" / name)


def test_resumed_only_what_is_missing_is_trained(graph, tmp_path, one_core):
    train_seeds(make, graph, tmp_path, seeds=range(1, 2))
    trained: list[int] = []
    train_seeds(
        make,
        graph,
        tmp_path,
        seeds=range(1, 4),
        resume=True,
        notice=lambda progress, _: trained.append(progress.epochs),
    )
    assert trained == [1, 2, 3] * 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["seed-1", "seed-2", "seed-3"]
