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


def test_a_kind_without_edges_is_refused_by_its_flag(run, home):
    outcome = run("check", "--nodes", home / "people.csv", *OWN, "--link-kind", "tie")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == "error: --link-kind: there is no table of edges with the column; pass --edges.\n"


@pytest.mark.parametrize("option", [("--link-kind", "tie"), ("--edges", "links.csv"), ("--split-seed", 0)])
def test_a_known_dataset_refuses_options_of_own_tables(run, tmp_path, option):
    outcome = run("train", "german", *option, "--out", tmp_path / "out")
    assert (outcome.code, outcome.out) == (1, "")
    said = "for own tables (--nodes) only; a known dataset is read as it is."
    assert outcome.err == f"error: {option[0]}: {said}\n"
    assert not (tmp_path / "out").exists()


def test_a_propagated_folder_refuses_kinds(run, home, tmp_path):
    outcome = run("propagate", *tables(home), "--link-kind", "tie", "--out", tmp_path / "out")
    assert outcome.code == 1
    assert "link_kind: 'tie', but a propagated folder holds no kinds of links. Leave --link-kind out" in outcome.err


QUICK = ("--set", "epochs=3", "--set", "hidden=3", "--set", "views=2", "--split-seed", 0)


@pytest.fixture(scope="module")
def trained(home, tmp_path_factory) -> Path:
    """A run of FairVGNN with the kinds of the table, with its report."""
    from fairview.cli.main import main

    out = tmp_path_factory.mktemp("runs") / "kinds"
    command = ["train", *tables(home), "--link-kind", "tie", "--set", "link_kinds=given", *QUICK, "--out", out]
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in command])
    assert ended.value.code in (0, None)
    return out


def test_train_predict_evaluate_and_verify_find_the_column_by_themselves(run, home, trained, tmp_path):
    new = ("--nodes", home / "people.csv", "--edges", home / "links.csv")
    assert run("predict", trained, *new, "--out", tmp_path / "scores.csv").code == 0
    assert run("evaluate", trained, *new).code == 0
    assert run("verify", trained).code == 0
    kinds = json.loads((trained / "run.json").read_text())["link_kinds"]
    assert list(kinds) == ["kin", "work", "itself"]
    assert all({*kind} == {"weight", "keep_probability"} for kind in kinds.values())


def test_new_kinds_are_refused_by_name(run, home, trained, tmp_path):
    (tmp_path / "links.csv").write_text((home / "links.csv").read_text().replace(",kin", ",club"))
    outcome = run("predict", trained, "--nodes", home / "people.csv", "--edges", tmp_path / "links.csv")
    assert outcome.code == 1
    assert "links.csv: column 'tie': new values: 'club'" in outcome.err
    assert "Known: 'kin', 'work'." in outcome.err


def test_the_report_shows_the_kinds(trained):
    text = (trained / "report.html").read_text()
    assert "Kinds of links" in text
    assert "how much each kind of links counts" in text


def test_explain_tells_how_much_of_the_gap_comes_over_each_kind(run, home, trained, tmp_path):
    given, out = (trained, *tables(home), "--link-kind", "tie"), tmp_path / "explained"
    outcome = run("explain", *given, "--out", out)
    assert (outcome.code, outcome.err) == (0, "")
    assert "Largest parts by kind of links: " in outcome.out
    table = outcome.out[outcome.out.index("Parts of the gap by kind of links") :].splitlines()
    assert [line.split()[0] for line in table[4:7]] == ["kin", "work", "itself"]
    document = json.loads((out / "explanation.json").read_text())
    first, shown = document["links"][0], outcome.out[outcome.out.index("Links that widen") :].splitlines()
    assert shown[2].split() == ["source", "target", "groups", "kind", "effect"]
    assert shown[4].split()[:2] == [first["source"], first["target"]]
    assert shown[4].split()[-2] == first["kind"]
    assert document["exact"]
    assert [row["kind"] for row in document["kinds"]] == ["kin", "work", "itself"]
    assert sum(row["links"] for row in document["kinds"]) == document["num_links"]
    assert sum(row["gap"] for row in document["kinds"]) == pytest.approx(document["gap"])
    assert "Parts of the gap by kind of links" in (out / "report.html").read_text()
    assert run("verify", out).code == 0
    again = run("explain", *given, "--out", tmp_path / "again", "--format", "json")
    assert json.loads(again.out) == document
    without = run("explain", trained, *tables(home), "--out", tmp_path / "without")
    assert without.code == 1
    assert "its model was trained on another graph than the one given. That one had --link-kind tie." in without.err


@pytest.mark.parametrize(("source", "asked"), [("bands", ()), ("groups", ("--group-at-prediction",))])
def test_explain_finds_kinds_that_the_model_makes_itself(run, home, tmp_path, source, asked):
    folder = tmp_path / "run"
    command = ("train", *tables(home), "--set", f"link_kinds={source}", *asked, *QUICK, "--no-report", "--out", folder)
    assert run(*command).code == 0
    outcome = run("explain", folder, *tables(home), "--format", "json")
    assert outcome.code == 0, outcome.err
    document = json.loads(outcome.out)
    assert document["exact"]
    assert [row["kind"] for row in document["kinds"]] == list(
        json.loads((folder / "run.json").read_text())["link_kinds"]
    )
    assert run("verify", folder, *tables(home)).code == 0


def test_groups_need_the_flag(run, home, tmp_path):
    command = ("train", *tables(home), "--set", "link_kinds=groups", *QUICK, "--no-report", "--out", tmp_path / "a")
    refused = run(*command)
    assert refused.code == 1
    assert "say so: --group-at-prediction." in refused.err
    outcome = run(*command, "--group-at-prediction", "--format", "json")
    assert outcome.code == 0
    assert json.loads(outcome.out)["group_at_prediction"] is True
    new = home / "people.csv"
    without = tmp_path / "without.csv"
    without.write_text("\n".join(",".join(line.split(",")[:3]) for line in new.read_text().splitlines()) + "\n")
    answer = run("predict", tmp_path / "a", "--nodes", without, "--edges", home / "links.csv")
    assert answer.code == 1
    assert "the model needs each node's sensitive group" in answer.err


def test_messages_name_no_flag_that_is_not_there(run, home, tmp_path):
    outcome = run("train", *tables(home), "--set", "link_kinds=given", *QUICK, "--no-report", "--out", tmp_path / "a")
    assert outcome.code == 1
    assert "with --link-kind, or take bands of similarity: link_kinds='bands'." in outcome.err


def test_known_nodes_around_new_ones_have_no_group_and_the_message_says_so(run, home, tmp_path):
    command = ("train", *tables(home), "--set", "link_kinds=groups", "--group-at-prediction", *QUICK, "--no-report")
    assert run(*command, "--out", tmp_path / "a").code == 0
    header, *rows = (home / "people.csv").read_text().splitlines()
    new, known = tmp_path / "new.csv", tmp_path / "known.csv"
    new.write_text("\n".join([header, *rows[:20]]) + "\n")
    known.write_text("\n".join([header, *rows[20:]]) + "\n")
    given = ("--nodes", new, "--edges", home / "links.csv", "--context", known)
    outcome = run("predict", tmp_path / "a", *given, "--out", tmp_path / "scores.csv")
    assert outcome.code == 1
    assert "needs the group ('sex') of every node with links" in outcome.err
    assert "(--context) is not read: put them among the nodes." in outcome.err


def test_a_method_that_always_needs_the_groups_takes_the_flag(run, home, tmp_path):
    command = ("train", *tables(home), "--method", "group-thresholds", "--no-report", "--out", tmp_path / "a")
    outcome = run(*command, "--group-at-prediction")
    assert outcome.code == 0, outcome.err


def test_a_comparison_without_fairvgnn_takes_the_flag_too(run, home, tmp_path):
    command = ("compare", *tables(home), "--methods", "vanilla", "--set", "vanilla.epochs=2", "--splits", 1)
    outcome = run(*command, "--group-at-prediction", "--no-report", "--out", tmp_path / "a")
    assert outcome.code == 0, outcome.err
