"""`--link-kind` names a column of the edge table: check counts its kinds, and predictions find it by the recipe."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import fairview as fv

OWN = ("--label", "ok", "--sensitive", "sex")


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    """80 people, their links of two kinds: kin within a group, work anywhere."""
    folder = tmp_path_factory.mktemp("kinds")
    made = fv.synthetic_graph(80, average_degree=6, seed=1)
    people = ["id,income,age,sex,ok"] + [
        f"p{i},{made.features[i, 0]:.4f},{made.features[i, 5]:.4f},{'fm'[made.sensitive[i]]},{made.labels[i]}"
        for i in range(80)
    ]
    (folder / "people.csv").write_text("\n".join(people) + "\n")
    pairs = [(a, b) for a, b in zip(made.adjacency.sources, made.adjacency.indices, strict=True) if a < b]
    same = made.sensitive[made.adjacency.sources] == made.sensitive[made.adjacency.indices]
    same = same[made.adjacency.sources < made.adjacency.indices]
    rows = [f"p{a},p{b},{'kin' if one and a % 2 else 'work'}" for (a, b), one in zip(pairs, same, strict=True)]
    (folder / "links.csv").write_text("\n".join(["source,target,tie", *rows]) + "\n")
    return folder


def tables(home: Path) -> tuple[object, ...]:
    return "--nodes", home / "people.csv", "--edges", home / "links.csv", *OWN


def test_check_counts_the_links_of_each_kind(run, home):
    outcome = run("check", *tables(home), "--link-kind", "tie", "--format", "json")
    kinds = json.loads(outcome.out)["link_kinds"]
    assert [each["kind"] for each in kinds] == ["kin", "work"]
    assert kinds[0]["homophily"] == 1
    assert kinds[1]["homophily"] < 1
    table = run("check", *tables(home), "--link-kind", "tie").out
    assert "Kinds of links" in table
    assert "Kinds of links" not in run("check", *tables(home)).out


def test_a_propagated_folder_refuses_kinds(run, home, tmp_path):
    outcome = run("propagate", *tables(home), "--link-kind", "tie", "--out", tmp_path / "out")
    assert outcome.code == 1
    assert "link_kind: 'tie', but a propagated folder holds no kinds of links. Leave --link-kind out" in outcome.err
