"""Errors of `predict` and `evaluate` recommend only options that these commands have."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest
import typer.main

import fairview as fv
from fairview.cli.main import app

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PyG's import is not ours to judge
    import torch_geometric.nn  # noqa: F401

PEOPLE = ["id,age,job,sex,ok"] + [f"p{i},{20 + i},{'ab'[i % 2]},{'fm'[i // 2 % 2]},{i // 3 % 2}" for i in range(24)]
NEW = "id,age,job,sex,ok\nq1,20,a,f,0\nq2,30,b,m,1\nq3,40,a,f,1\n"
LINKS = "source,target,hours\nq1,q2,1\nq2,q3,2\n"
BAD = {  # what is wrong -> nodes, edges, model
    "an empty cell": (NEW.replace("20", ""), LINKS, "error"),
    "an empty column": (re.sub(r",\d\d,", ",,", NEW), LINKS, "error"),
    "text among numbers": (NEW.replace("20", "old"), LINKS, "error"),
    "a text that means missing": (NEW.replace("20", "NA"), LINKS, "error"),
    "text only": (re.sub(r",\d\d,", ",old,", NEW), LINKS, "error"),
    "beyond float32": (NEW.replace("20", "1e300"), LINKS, "error"),
    "a new category": (NEW.replace(",a,", ",c,"), LINKS, "error"),
    "a new group": (NEW.replace(",m,", ",x,"), LINKS, "error"),
    "a new label": (NEW.replace(",0\n", ",2\n"), LINKS, "error"),
    "a column that is missing": (NEW.replace("age", "years"), LINKS, "error"),
    "no ids": (NEW.replace("id,", "name,"), LINKS, "error"),
    "ids twice": (NEW.replace("q2", "q1"), LINKS, "error"),
    "a long cell": (NEW.replace(",a,", f",{'a' * 1001},"), LINKS, "error"),
    "another separator": (NEW.replace(",", ";"), LINKS, "error"),
    "another encoding": (NEW.encode("utf-16"), LINKS, "error"),
    "no header": (NEW.replace("id,age,job,sex,ok\n", ""), LINKS, "error"),
    "no edges": (NEW, None, "error"),
    "edges to strangers": (NEW, LINKS + "q1,zoe,3\n", "error"),
    "weights that disagree": (NEW, LINKS + "q2,q1,7\n", "weighted"),
    "no weights": (NEW, LINKS.replace("hours", "days"), "weighted"),
    "edges beside a similarity rule": (NEW, LINKS, "similar"),
    "nobody stays": (re.sub(r",\d\d,", ",,", NEW), LINKS, "dropping"),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("advice")
    (folder / "people.csv").write_text("\n".join(PEOPLE) + "\n")
    links = "\n".join(["source,target,hours", *(f"p{i},p{i + 1},1" for i in range(23))]) + "\n"
    (folder / "links.csv").write_text(links)
    for name, edges, how in (
        ("error", folder / "links.csv", {}),
        ("dropping", folder / "links.csv", {"missing": "drop"}),
        ("weighted", folder / "links.csv", {"edge_weight": "hours"}),
        ("similar", None, {}),
    ):
        graph = fv.read_graph(
            folder / "people.csv", edges, label="ok", sensitive="sex", categorical=["job"], split_seed=0, **how
        )
        fv.Constant().fit(graph).save(folder / name)
    return folder


def flags_of(command: str) -> set[str]:
    params = typer.main.get_command(app).commands[command].params
    return {name for param in params for name in param.opts}


def named_flags(text: str) -> set[str]:
    return {*re.findall(r"--[a-z][a-z-]*", text)}


@pytest.mark.parametrize("command", ["predict", "evaluate"])
@pytest.mark.parametrize("what", BAD)
def test_a_command_recommends_only_what_it_has(run, home, tmp_path, command, what):
    nodes, edges, model = BAD[what]
    path = tmp_path / "new.csv"
    path.write_bytes(nodes if isinstance(nodes, bytes) else nodes.encode())
    arguments = ["--nodes", path]
    if edges is not None:
        (tmp_path / "links.csv").write_text(edges)
        arguments += ["--edges", tmp_path / "links.csv"]
    if command == "predict":
        arguments += ["--out", tmp_path / "p.csv"]
    outcome = run(command, home / model, *arguments)
    assert outcome.code == 1, outcome.out
    assert named_flags(outcome.err) <= flags_of(command)
    for word in ("drop the column", "leave the column out", "one-hot"):
        assert word not in outcome.err


def test_training_recommends_what_it_has(run, home, tmp_path):
    """The same tables name these options where they are options: the test above can fail."""
    named: set[str] = set()
    for nodes, _, _ in BAD.values():
        path = tmp_path / "new.csv"
        path.write_bytes(nodes if isinstance(nodes, bytes) else nodes.encode())
        outcome = run("check", "--nodes", path, "--label", "ok", "--sensitive", "sex", "--categorical", "job")
        named |= named_flags(outcome.err)
    assert {"--missing", "--drop", "--missing-value", "--categorical", "--positive"} <= named <= flags_of("check")


def test_predict_offers_what_it_has(run, home, tmp_path):
    (tmp_path / "new.csv").write_text(NEW)
    (tmp_path / "links.csv").write_text(LINKS + "q1,zoe,3\n")
    arguments = ("--nodes", tmp_path / "new.csv", "--edges", tmp_path / "links.csv", "--out", tmp_path / "p.csv")
    outcome = run("predict", home / "error", *arguments)
    assert named_flags(outcome.err) == {"--context", "--drop-unknown"}
    outcome = run("check", *arguments[:4], "--label", "ok", "--sensitive", "sex", "--categorical", "job")
    assert named_flags(outcome.err) == {"--drop-unknown"}  # nobody is known before the training
