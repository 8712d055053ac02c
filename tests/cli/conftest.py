from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import fairview as fv
from fairview.cli.main import main


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Run a command line in this process."""

    def run_main(*arguments: object) -> Outcome:
        with pytest.raises(SystemExit) as caught:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Outcome(int(caught.value.code or 0), out, err)

    return run_main


@pytest.fixture(scope="session")
def write_people() -> Callable[..., None]:
    """Writes tables of so many people with numbers, a group and a label, `old.csv` and `new.csv` for example."""

    def write(folder: Path, **rows: int) -> None:
        for seed, (name, count) in enumerate(rows.items(), start=1):
            made = fv.synthetic_graph(count, average_degree=4, seed=seed)
            lines = ["id,income,age,sex,ok"]
            for i, (x, group, label) in enumerate(zip(made.features, made.sensitive, made.labels, strict=True)):
                lines.append(f"{name}{i},{x[0]:.4f},{x[5]:.4f},{'fm'[group]},{label}")
            (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")

    return write


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text("id,age,sex,ok\n1,20,f,0\n2,30,m,1\n3,40,f,1\n4,50,m,0\n")
    return path


@pytest.fixture
def links(tmp_path: Path) -> Path:
    path = tmp_path / "links.csv"
    path.write_text("source,target\n1,2\n2,3\n3,4\n")
    return path
