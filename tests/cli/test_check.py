from __future__ import annotations

import gzip
import json

import polars as pl
import pytest

import fairview as fv

ROLES = ("--label", "ok", "--sensitive", "sex")


def test_a_sound_graph_is_described(run, people, links):
    outcome = run("check", "--nodes", people, "--edges", links, *ROLES)
    assert (outcome.code, outcome.err) == (0, "")
    for said in (
        "people.csv",
        "3 undirected, average degree 1.5, largest 2, 0 nodes without one, 1 components",
        "1: age",
        "1 (positive) 2, 0 2",
        "sex, not a channel",
        "0.00 % of the edges join the same group",
        "3 edges given in one direction only, made symmetric",
        "Groups by sex",
    ):
        assert said in outcome.out


def test_json_is_all_that_is_on_standard_output_and_equals_the_summary(run, people, links):
    outcome = run("check", "--nodes", people, "--edges", links, *ROLES, "--format", "json")
    assert (outcome.code, outcome.err) == (0, "")
    assert json.loads(outcome.out) == fv.summarise(fv.read_graph(people, links, label="ok", sensitive="sex"))


def test_undefined_values_are_null_in_json(run, people, tmp_path):
    (tmp_path / "none.csv").write_text("source,target\n")
    outcome = run("check", "--nodes", people, "--edges", tmp_path / "none.csv", *ROLES, "--format", "json")
    facts = json.loads(outcome.out)
    assert facts["homophily"] is None
    assert "homophily" in facts["undefined"]
    table = run("check", "--nodes", people, "--edges", tmp_path / "none.csv", *ROLES).out
    assert "no edge joins two nodes whose sensitive group is known" in table


def test_every_problem_at_once_on_standard_error(run, people, links):
    people.write_text("id,age,sex,ok\n1,x,f,0\n2,,m,2\n3,40,f,1\n")
    outcome = run("check", "--nodes", people, "--edges", links, *ROLES, "--drop", "aeg", "--format", "json")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == (
        "error: 4 problems:\n"
        "  - people.csv: column 'ok': the labels are '0', '1', '2'. Say which is positive, for example --positive 1. "
        "If one means that the label is not known, pass --unlabelled 2.\n"
        "  - people.csv: no column 'aeg'. Did you mean 'age'?\n"
        "  - people.csv: column 'age': 1 of 3 cells are not numbers, the first is 'x' (id 1). Clean them, leave the "
        "column out (--drop age), or one-hot encode it (--categorical age).\n"
        "  - links.csv: 1 of 3 edges point to ids that people.csv does not have ('4'). Add these nodes, or pass "
        "--drop-unknown.\n"
    )


PEOPLE = "key;age;job;sex;grade;part\n1;20;a;f;bad;train\n2;NA;b;m;good;train\n3;40;a;f;good;val\n4;50;b;m;bad;test\n"


def test_every_option_reaches_the_reader(run, tmp_path):
    nodes, edges = tmp_path / "n.csv.gz", tmp_path / "e.txt"
    nodes.write_bytes(gzip.compress(PEOPLE.encode("latin-1")))
    edges.write_text("w,u,v\n1,1,2\n1,1,2\n1,2,9\n")
    outcome = run(
        "check", "--nodes", nodes, "--edges", edges, "--label", "grade", "--positive", "good", "--sensitive", "sex",
        "--id", "key", "--source", "u", "--target", "v", "--separator", ";", "--encoding", "latin-1",
        "--categorical", "job", "--sensitive-as-feature", "--split", "part", "--scaling", "minmax",
        "--scale-on", "train", "--missing", "indicator", "--missing-value", "NA", "--directed", "--drop-unknown",
        "--format", "json",
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    facts = json.loads(outcome.out)
    graph = fv.read_graph(
        nodes, edges, label="grade", positive="good", sensitive="sex", id="key", source="u", target="v", separator=";",
        encoding="latin-1", categorical=["job"], sensitive_as_feature=True, split="part", scaling="minmax",
        scale_on="train", missing="indicator", missing_values=["NA"], directed=True, drop_unknown=True,
    )  # fmt: skip
    assert facts["graph_sha256"] == graph.sha256
    assert facts["channels"] == ["age", "job=a", "job=b", "sex", "age_missing"]
    assert (facts["directed"], facts["edges"], facts["sensitive_channels"]) == (True, 1, ["sex"])
    assert facts["splits"]["train"]["nodes"] == 2


def test_features_chosen_and_dropped_by_name(run, people):
    people.write_text("id,a,b,c,sex,ok\n1,1,2,3,f,0\n2,4,5,6,m,1\n")
    chosen = run("check", "--nodes", people, *ROLES, "--feature", "a", "--feature", "c", "--format", "json")
    assert json.loads(chosen.out)["channels"] == ["a", "c"]
    dropped = run("check", "--nodes", people, *ROLES, "--drop", "a", "--drop", "c", "--format", "json")
    assert json.loads(dropped.out)["channels"] == ["b"]


def test_tabs_as_separator_can_be_typed(run, people):
    people.write_text(people.read_text().replace(",", "\t"))
    assert run("check", "--nodes", people, *ROLES, "--separator", "\\t").code == 0
    assert run("check", "--nodes", people, *ROLES).err == (
        "error: people.csv: one column only, and its header contains a tab. Pass --separator '\\t'.\n"
    )


def test_similarity_graphs(run, people):
    rows = "".join(f"{k},{k},{'fm'[k % 2]},{k % 2}\n" for k in range(30))
    people.write_text("id,age,sex,ok\n" + rows)
    usual = json.loads(run("check", "--nodes", people, *ROLES, "--format", "json").out)
    three = json.loads(run("check", "--nodes", people, *ROLES, "--neighbours", "3", "--format", "json").out)
    close = json.loads(run("check", "--nodes", people, *ROLES, "--threshold", "0.99", "--format", "json").out)
    assert usual["edges"] > three["edges"] > 0
    assert close["edges"] == 29  # each with the next ones, equally far away
    assert close["notes"] == ["no edges given: linked by similarity (above 0.99 of the largest similarity)"]


@pytest.mark.parametrize(
    "options",
    [
        ("--edges", "links.csv", "--neighbours", "3"),
        ("--edges", "links.csv", "--threshold", "0.5"),
        ("--neighbours", "3", "--threshold", "0.5"),
    ],
)
def test_links_come_from_one_source(run, people, options):
    outcome = run("check", "--nodes", people, *ROLES, *options)
    assert outcome.code == 1
    assert outcome.err == (
        "error: --neighbours and --threshold say how to link nodes without --edges; give at most one of all.\n"
    )


@pytest.mark.parametrize("threshold", ["0", "1.5", "-1", "nan", "inf"])
def test_thresholds_lie_between_0_and_1(run, people, threshold):
    outcome = run("check", "--nodes", people, *ROLES, "--threshold", threshold)
    assert outcome.code == 1
    assert "--threshold" in outcome.err
    assert "must be above 0, and at most 1." in outcome.err


def test_parquet(run, tmp_path, people, links):
    pl.read_csv(people).write_parquet(tmp_path / "n.parquet")
    pl.read_csv(links).write_parquet(tmp_path / "e.parquet")
    outcome = run(
        "check", "--nodes", tmp_path / "n.parquet", "--edges", tmp_path / "e.parquet", *ROLES, "--format", "json"
    )
    plain = run("check", "--nodes", people, "--edges", links, *ROLES, "--format", "json")
    assert json.loads(outcome.out)["graph_sha256"] == json.loads(plain.out)["graph_sha256"]


def test_names_from_the_data_are_no_markup(run, people):
    people.write_text(people.read_text().replace(",m,", ",[bold]m[/bold],").replace("age", "[link=x]age"))
    outcome = run("check", "--nodes", people, *ROLES)
    assert outcome.code == 0
    assert "[bold]m[/bold]" in outcome.out
    assert "[link=x]age" in outcome.out


def test_a_class_called_unlabelled(run, people):
    people.write_text(people.read_text().replace(",0\n", ",unlabelled\n").replace(",1\n", ",good\n"))
    outcome = run("check", "--nodes", people, *ROLES, "--positive", "good")
    assert outcome.code == 0
    assert "good (positive) 2, unlabelled 2" in outcome.out


# --- can it be trained on? --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ("1,20,f,0\n2,30,f,1\n3,40,f,1\n4,50,f,0\n", "one group only ('f'); at least two are needed to compare"),
        ("1,20,f,1\n2,30,m,1\n3,40,f,1\n4,50,m,1\n", "all 4 labels are '1'; both classes are needed"),
        ("1,20,f,0\n2,30,m,1\n", "2 labelled nodes are too few to divide into train, val and test"),
    ],
)
def test_tables_that_no_model_can_be_trained_on_exit_with_3(run, people, rows, reason):
    people.write_text("id,age,sex,ok\n" + rows)
    outcome = run("check", "--nodes", people, *ROLES, "--format", "json")
    facts = json.loads(outcome.out)
    assert (outcome.code, outcome.err) == (3, f"no model can be trained: {reason}.\n")
    assert (facts["trainable"], facts["reasons"]) == (False, [reason])
    table = run("check", "--nodes", people, *ROLES)
    assert (table.code, table.err) == (3, outcome.err)
    assert "Groups by sex" in table.out


def test_a_group_name_can_not_write_to_the_terminal(run, people):
    people.write_text(people.read_text().replace(",f,", ",\x1b[2J,").replace(",m,", ",\x1b[2J,"))
    outcome = run("check", "--nodes", people, *ROLES)
    assert outcome.code == 3
    assert "\x1b" not in outcome.err


def test_columns_that_may_be_codes_come_with_the_flags(run, people):
    rows = "".join(f"{k},{20 + k},{k % 4},{k % 3},{'fm'[k % 2]},{k % 5 // 2 % 2}\n" for k in range(40))
    people.write_text("id,age,region,job title,sex,ok\n" + rows)
    hint = (
        "columns 'region', 'job title' hold few whole numbers; if they are codes, pass "
        "--categorical region --categorical 'job title'"
    )
    outcome = run("check", "--nodes", people, *ROLES, "--format", "json")
    facts = json.loads(outcome.out)
    assert (outcome.code, facts["trainable"], facts["reasons"], facts["hints"]) == (0, True, [], [hint])
    assert "--categorical region" in run("check", "--nodes", people, *ROLES).out
    encoded = run("check", "--nodes", people, *ROLES, "--categorical", "region", "--categorical", "job title",
                  "--format", "json")  # fmt: skip
    assert json.loads(encoded.out)["hints"] == []


def test_a_label_that_means_not_known(run, people):
    people.write_text(people.read_text().replace("4,50,m,0", "4,50,m,9"))
    assert "If one means that the label is not known, pass --unlabelled 9." in run(
        "check", "--nodes", people, *ROLES).err  # fmt: skip
    outcome = run("check", "--nodes", people, *ROLES, "--unlabelled", "9", "--format", "json")
    assert json.loads(outcome.out)["labels"] == {"positive": 2, "negative": 1, "unlabelled": 1}
