"""No command destroys what it reads, or what somebody else wrote."""

from __future__ import annotations

import csv
import os
import shutil
from pathlib import Path

import pytest

import fairview as fv

OWN = ("--label", "ok", "--sensitive", "sex")
TRAIN = ("train", *OWN, "--method", "logistic-regression", "--no-report")


def write_people(path: Path, *, rows: int = 80, ids: list[str] | None = None) -> Path:
    made = fv.synthetic_graph(rows, average_degree=4, seed=1)
    names = (ids or []) + [f"n{number}" for number in range(rows - len(ids or []))]
    with path.open("w", newline="", encoding="utf-8") as stream:
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(["id", "income", "sex", "ok"])
        for i, name in enumerate(names):
            table.writerow([name, f"{made.features[i, 0]:.4f}", "fm"[made.sensitive[i]], made.labels[i]])
    return path


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(files)}


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    home = tmp_path_factory.mktemp("trained")
    graph = fv.read_graph(write_people(home / "people.csv"), label="ok", sensitive="sex", split_seed=0)
    from fairview.runs.run import train_run

    train_run(fv.LogisticRegression(), graph, home / "run")
    return home


@pytest.fixture
def home(trained, tmp_path, monkeypatch) -> Path:
    """A folder to work in, with people.csv, links.csv and a run of people.csv."""
    folder = shutil.copytree(trained, tmp_path / "home")
    (folder / "links.csv").write_text("source,target\nn1,n2\nn2,n3\n")
    monkeypatch.chdir(folder)
    return folder


def unchanged(run, home: Path, *arguments: object) -> str:
    """What a command says that must change nothing."""
    before, listed = contents(home), sorted(map(str, home.rglob("*")))
    outcome = run(*arguments)
    assert (outcome.code, outcome.out) == (1, "")
    assert contents(home) == before
    assert sorted(map(str, home.rglob("*"))) == listed  # no temporary file, no folder
    return outcome.err


def read_ids(path: Path) -> list[str]:
    with path.open(newline="", encoding="utf-8") as stream:
        return [row["id"] for row in csv.DictReader(stream)]


# --- predict ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "out", ["people.csv", "./people.csv", "run/../people.csv", "soft.csv", "hard.csv", "links.csv"]
)
def test_predict_never_writes_over_its_tables(run, home, out):
    Path("soft.csv").symlink_to("people.csv")
    Path("hard.csv").hardlink_to("people.csv")
    command = ("predict", "run", "--nodes", "people.csv", "--edges", "links.csv", "--out", out)
    for more in ((), ("--force",)):
        assert unchanged(run, home, *command, *more) == (
            f"error: {Path(out)}: is an input of this command; --out can't replace it. Name another file.\n"
        )


def test_predict_never_writes_into_the_results_of_a_run(run, home):
    command = ("predict", "run", "--nodes", "people.csv", "--force", "--out")
    assert unchanged(run, home, *command, "run/predictions.csv") == (
        "error: run/predictions.csv: belongs to the results in its folder, which stay as run.json describes them. Name "
        "another file.\n"
    )
    assert unchanged(run, home, *command, "run/model.json") == (
        "error: run/model.json: is an input of this command; --out can't replace it. Name another file.\n"
    )
    assert run(*command, "run/new.csv").code == 0
    assert fv.verify("run").ok


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no FIFOs")
def test_predict_writes_over_no_folder_pipe_or_device(run, home):
    os.mkfifo("pipe")
    Path("elsewhere.csv").symlink_to("new.csv")
    command = ("predict", "run", "--nodes", "people.csv", "--force", "--out")
    assert unchanged(run, home, *command, "run") == "error: run: is a folder, not a file. Name a file in it.\n"
    assert unchanged(run, home, *command, "pipe") == "error: pipe: is a pipe (FIFO), not a file. Name a file.\n"
    device = Path(os.devnull).lstat()
    assert unchanged(run, home, *command, os.devnull) == "error: /dev/null: is a device, not a file. Name a file.\n"
    assert os.path.samestat(Path(os.devnull).lstat(), device)
    assert unchanged(run, home, *command, "/dev/stdout").startswith("error: /dev/stdout: is a symbolic link (to ")
    assert unchanged(run, home, *command, "elsewhere.csv") == (
        "error: elsewhere.csv: is a symbolic link (to new.csv), and links are neither followed nor replaced. Name the "
        "file itself.\n"
    )
    assert "people.csv is not a folder" in unchanged(run, home, *command, "people.csv/p.csv")


def test_a_foreign_table_needs_force_and_predictions_do_not(run, home):
    Path("notes.csv").write_text("id,remark\n1,mine\n")
    command = ("predict", "run", "--nodes", "people.csv", "--out")
    assert unchanged(run, home, *command, "notes.csv") == (
        "error: notes.csv: exists, and holds something else than fairview's predictions. Name another file, or pass "
        "--force to replace it.\n"
    )
    assert run(*command, "notes.csv", "--force").code == 0
    assert run(*command, "notes.csv").code == 0
    assert read_ids(Path("notes.csv")) == sorted(f"n{number}" for number in range(80))


def test_what_is_in_the_way_is_said_before_anything_is_read(run, home):
    command = ("predict", "no-such-run", "--nodes", "no-such-table.csv", "--out", "run")
    assert unchanged(run, home, *command) == "error: run: is a folder, not a file. Name a file in it.\n"


# --- ids --------------------------------------------------------------------------------------------------------------

ODD = ["-5", "'-5", "=cmd()", "+1", "@x", 'say "hi", you', "a\nb", " padded ", "NA", "007", "7"]


def test_ids_come_out_exactly_as_they_went_in(run, home):
    write_people(Path("odd.csv"), ids=ODD)
    assert run("predict", "run", "--nodes", "odd.csv", "--out", "p.csv").code == 0
    assert sorted(read_ids(Path("p.csv"))) == sorted(read_ids(Path("odd.csv")))
    assert run(*TRAIN, "--nodes", "odd.csv", "--out", "odd-run").code == 0
    assert sorted(read_ids(Path("odd-run/predictions.csv"))) == sorted(read_ids(Path("odd.csv")))
    assert run("verify", "odd-run", "--nodes", "odd.csv", *OWN).code == 0


def test_the_safe_variant_has_a_quote_before_formulas_and_refuses_ids_that_would_be_alike(run, home):
    command = ("predict", "run", "--nodes", "odd.csv", "--out", "p.csv", "--spreadsheet-safe")
    write_people(Path("odd.csv"), ids=ODD)
    assert unchanged(run, home, *command) == (
        "error: --spreadsheet-safe: the ids ''-5', '-5' would be written alike, with a quote before what a spreadsheet "
        "takes for a formula. Leave the option out: ids are then written exactly.\n"
    )
    write_people(Path("odd.csv"), ids=[name for name in ODD if name != "'-5"])
    assert run(*command).code == 0
    ids = set(read_ids(Path("p.csv")))
    assert {"'-5", "'=cmd()", "'+1", "'@x", 'say "hi", you', "007"} <= ids
    assert "-5" not in ids
    assert "--spreadsheet-safe" in run("predict", "--help").out


# --- folders ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["metrics.json", "model.json", "predictions.csv", "run.json", "report.html"])
def test_train_never_writes_over_its_table(run, home, name):
    shutil.move("people.csv", name)
    shutil.rmtree("run")
    for out in (".", "../home", home / "link"):
        for more in ((), ("--force",)):
            if out == home / "link" and not out.exists():
                out.symlink_to(".")
            place, message = Path(out) / name, unchanged(run, home, *TRAIN, "--nodes", name, "--out", out, *more)
            expected = "is an input of this command; --out can't replace it. Name another folder."
            assert message == f"error: {place}: {expected}\n"


def test_train_with_seeds_looks_into_every_folder(run, home):
    Path("out/seed-2").mkdir(parents=True)
    Path("out/seed-2/metrics.json").write_text('{"mine": 1}')
    command = (*TRAIN, "--nodes", "people.csv", "--seeds", "2", "--out", "out")
    assert unchanged(run, home, *command) == (
        "error: out/seed-2/metrics.json: exists, and was not written by fairview. Move it away, or pass --force to "
        "replace it.\n"
    )
    assert run(*command, "--force").code == 0
    assert fv.verify("out").ok


COMMANDS = {
    "train": (TRAIN, "metrics.json"),
    "tune": (("tune", *OWN, "--methods", "logistic-regression", "--no-report"), "tune.json"),
    "compare": (
        ("compare", *OWN, "--methods", "constant", "--no-plain", "--seeds", "1", "--no-report"),
        "summary.json",
    ),
    "audit": (("audit", *OWN, "--no-probes", "--permutations", "19"), "audit.json"),
}


@pytest.mark.parametrize(("command", "name"), COMMANDS.values(), ids=COMMANDS)
def test_a_foreign_file_in_the_folder_is_kept(run, home, command, name):
    Path("out").mkdir()
    Path("out", name).write_text('{"mine": 1}')
    assert unchanged(run, home, *command, "--nodes", "people.csv", "--out", "out") == (
        f"error: out/{name}: exists, and was not written by fairview. Move it away, or pass --force to replace it.\n"
    )
    assert unchanged(run, home, *command, "--nodes", "people.csv", "--out", "people.csv") == (
        "error: people.csv: is an input of this command; --out can't replace it. Name another folder.\n"
    )
    assert unchanged(run, home, *command, "--nodes", "people.csv", "--out", "links.csv") == (
        "error: links.csv: is not a folder. Name another --out.\n"
    )


def test_audit_with_force_replaces_a_foreign_file(run, home):
    Path("out").mkdir()
    Path("out/audit.json").write_text('{"mine": 1}')
    command, _ = COMMANDS["audit"]
    assert run(*command, "--nodes", "people.csv", "--out", "out", "--force").code == 0
    assert '"kind": "audit"' in Path("out/audit.json").read_text()


def test_other_files_in_the_folder_stay(run, home):
    assert run(*TRAIN, "--nodes", "people.csv", "--out", ".").code == 0
    assert read_ids(Path("people.csv"))[0] == "n0"
    assert Path("links.csv").exists()


def test_a_report_of_ones_own_is_kept(run, home):
    Path("run/report.html").write_text("<h1>mine</h1>")
    assert unchanged(run, home, "report", "run") == (
        "error: run/report.html: exists, and was not written by fairview. Move it away, or pass --force to replace "
        "it.\n"
    )
    assert run("report", "run", "--force").code == 0
    assert run("report", "run").code == 0


def test_demo_and_paper_say_at_once_what_is_in_the_way(run, home):
    Path("out").mkdir()
    Path("out/tune.json").write_text("{}")
    Path("out/table2.md").write_text("# My table")
    Path("out/paper.html").write_text("mine")
    assert "out/tune.json: exists, and was not written by fairview." in unchanged(run, home, "demo", "--out", "out")
    command = ("paper", "table2", "--datasets", "german", "--out", "out")
    message = unchanged(run, home, *command)
    assert [line.split(":")[0] for line in message.splitlines()[1:]] == ["  - out/table2.md", "  - out/paper.html"]
    assert run(*command, "--force").code == 0
    assert run(*command).code == 0
    assert Path("out/table2.md").read_text().startswith("# Table 2")
