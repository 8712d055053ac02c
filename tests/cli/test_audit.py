from __future__ import annotations

import json

import numpy as np
import pytest

import fairview as fv
from fairview.leakage.graph_audit import audit

FAST = ("--permutations", 19, "--no-probes")


@pytest.fixture
def leaky(tmp_path):
    """Own tables with a planted leak, and a column that is the label; ids in the order of the nodes."""
    graph = fv.synthetic_graph(1500, seed=1)
    names = ("plain_1", "proxy_strong", "leak_strong")
    columns = {name: graph.features[:, graph.channel_index(name)] for name in names}
    lines = ["id,sex,ok,paid_back," + ",".join(names)]
    for i in range(1500):
        values = ",".join(f"{columns[name][i]:.6f}" for name in names)
        lines.append(f"{i:04},{'fm'[graph.sensitive[i]]},{graph.labels[i]},{graph.labels[i] * 2 + 1},{values}")
    nodes, edges = tmp_path / "people.csv", tmp_path / "links.csv"
    nodes.write_text("\n".join(lines) + "\n")
    pairs = np.stack([graph.adjacency.sources, graph.adjacency.indices], axis=1)
    edges.write_text("source,target\n" + "".join(f"{a:04},{b:04}\n" for a, b in pairs))
    return ("--nodes", nodes, "--edges", edges, "--label", "ok", "--sensitive", "sex")


def test_leaks_are_named_first_and_loudly(run, leaky):
    outcome = run("audit", *leaky, "--permutations", 99, "--no-probes")
    assert (outcome.code, outcome.err) == (0, "")
    first, second, third, *rest = outcome.out.splitlines()
    assert first == "Message passing reveals sex in 1 of 4 columns: leak_strong."
    assert second.startswith("Flagged, with the correlation with sex by hop: leak_strong (0.000 → 0.400 → ")
    assert third.startswith("LABEL LEAK: the label can be read off paid_back (AUC 1.0000) alone.")
    table = [line for line in rest if "FLAGGED" in line]
    assert len(table) == 1
    assert "leak_strong" in table[0]
    assert rest[-1] == (
        "rule: A column is flagged if it is harmless in the table but clearly tied to the sensitive attribute after "
        "message passing (permutation test with 99 shuffles, 5 % level, corrected for testing many columns and hops)."
    )


def test_json_is_all_that_is_on_standard_output_and_equals_the_audit(run):
    outcome = run("audit", "german", *FAST, "--operator", "mean", "--hops", 1, "--format", "json")
    assert (outcome.code, outcome.err) == (0, "")
    expected = audit(fv.load_dataset("german"), operator="mean", hops=1, permutations=19, probes=False).to_dict()
    assert json.loads(outcome.out) == json.loads(json.dumps(expected))


def test_german_in_a_table_with_probes(run):
    outcome = run("audit", "german", "--permutations", 19, "--hops", 1)
    assert outcome.code == 0, outcome.err
    assert outcome.out.splitlines()[0] == (
        "Message passing reveals Gender: from all columns together it can be guessed with AUC 0.99 after one hop, "
        "0.91 before."
    )
    for said in (
        "No single column is flagged.",
        "From all columns but its own, a linear model guesses Gender with AUC 0.9",
        "And 12 columns more; audit.json (or to_dict) has them all.",
        "80.48 % of the links join two nodes of the same group.",
        "the attribute itself",
        "How well Gender can be read",
        "nonlinear",
        "Pearson correlation; above 0: higher for 'Female'.",
    ):
        assert said in outcome.out


def test_out_holds_the_document_and_what_the_report_makes_of_it(run, tmp_path, monkeypatch):
    out = tmp_path / "new" / "audit"
    monkeypatch.setattr("fairview.report.write_report", lambda folder, **_: folder / "report.html")
    outcome = run("audit", "german", *FAST, "--out", out)
    assert outcome.code == 0, outcome.err
    document = json.loads((out / "audit.json").read_text())
    assert (document["kind"], document["permutations"]) == ("audit", 19)
    assert all(str(out / name) in outcome.out.replace("\n", "") for name in ("audit.json", "report.html"))


def test_a_run_is_audited_with_its_model(run, tmp_path):
    folder = tmp_path / "run"
    assert run("train", "german", "--method", "logistic-regression", "--out", folder).code == 0
    outcome = run("audit", folder, *FAST, "--format", "json")
    assert outcome.code == 0, outcome.err
    document = json.loads(outcome.out)
    assert document["graph"]["source"] == "german"
    assert document["model"]["method"] == "logistic-regression"
    assert json.loads((folder / "audit.json").read_text()) == document
    assert (folder / "report.html").read_text().startswith("<!")


def test_one_group_is_undefined_and_no_error(run, people, links):
    people.write_text(people.read_text().replace(",m,", ",f,"))
    given = ("--nodes", people, "--edges", links, "--label", "ok", "--sensitive", "sex")
    outcome = run("audit", *given, *FAST)
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("Leakage is undefined: sensitive attribute 'sex': only the group 'f' has nodes")
    document = json.loads(run("audit", *given, *FAST, "--format", "json").out)
    assert document["channels"][0]["correlation"] == [None, None, None]
    assert "leaking" in document["undefined"]


def test_names_from_the_data_can_not_change_the_terminal(run, people, links):
    people.write_text(people.read_text().replace("age", "a\x1b[31mge"))
    outcome = run("audit", "--nodes", people, "--edges", links, "--label", "ok", "--sensitive", "sex", *FAST)
    assert outcome.code == 0, outcome.err
    assert "\x1b" not in outcome.out


def test_a_hidden_column_is_no_feature_and_its_finding_is_in_words_table_and_json(run, leaky):
    nodes = leaky[1]
    degree = fv.synthetic_graph(1500, seed=1).adjacency.degree
    first, *rows = nodes.read_text().splitlines()
    nodes.write_text(
        "\n".join([f"{first},friends", *(f"{row},{n}" for row, n in zip(rows, degree, strict=True))]) + "\n"
    )
    outcome = run("audit", *leaky, *FAST, "--hidden", "friends")
    assert outcome.code == 0, outcome.err
    assert "THE GRAPH KNOWS A HIDDEN COLUMN: friends (R² " in outcome.out  # it is the number of links
    assert "How well hidden columns can be read" in outcome.out
    assert "KNOWN TO THE LINKS" in outcome.out
    document = json.loads(
        run("audit", *leaky, *FAST, "--hidden", "paid_back", "--drop", "friends", "--format", "json").out
    )
    assert [channel["name"] for channel in document["channels"]] == ["plain_1", "proxy_strong", "leak_strong"]
    (column,) = document["hidden"]
    assert (column["name"], column["kind"], column["measure"], column["nodes"]) == (
        "paid_back", "two values", "AUC", 1500
    )  # fmt: skip
    for part in ("from_channels", "from_graph", "difference"):
        assert set(column[part]) == {"score", "low", "high"}


def test_a_column_that_a_dataset_leaves_out_can_be_asked_for(run):
    outcome = run("audit", "german", *FAST, "--hidden", "PurposeOfLoan", "--hidden", "OtherLoansAtStore")
    assert outcome.code == 0, outcome.err
    assert "undefined: hidden 'OtherLoansAtStore': it is constant: all its values are the same" in outcome.out
    assert "PurposeOfLoan" in outcome.out


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ("leak_stron", "people.csv: no column 'leak_stron'. Did you mean 'leak_strong'?"),
        ("ok", "hidden: 'ok' is the label; to read it from the graph is what a model is for."),
        ("sex", "hidden: 'sex' is the sensitive attribute; the probes say how well it can be read."),
    ],
)
def test_a_column_that_can_not_be_hidden_is_explained(run, leaky, column, said):
    outcome = run("audit", *leaky, *FAST, "--hidden", column)
    assert outcome.code == 1
    assert said in outcome.err.replace("\n", " ")


def test_a_chosen_feature_can_not_be_hidden(run, leaky):
    outcome = run("audit", *leaky, *FAST, "--hidden", "plain_1", "--feature", "plain_1", "--feature", "leak_strong")
    assert outcome.code == 1
    assert "people.csv: column 'plain_1' is both chosen and dropped." in outcome.err


def test_a_channel_of_a_dataset_can_not_be_hidden(run):
    outcome = run("audit", "german", *FAST, "--hidden", "Age")
    assert outcome.code == 1
    assert "hidden: 'Age' is a channel, and every model sees it. Drop it to ask what the links know." in outcome.err


def test_quick_shuffles_can_be_asked_for(run, leaky):
    outcome = run("audit", *leaky, "--permutations", 99, "--no-probes", "--shuffling", "quick")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.splitlines()[0] == "Message passing reveals sex in 1 of 4 columns: leak_strong."
    assert "note: quick shuffles: in the 10 shuffles that were propagated for comparison, no correlation" in outcome.out
    assert "(permutation test with 99 quick shuffles, 5 % level, " in outcome.out.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((), 1, "give a known dataset, a run folder, --nodes, or --propagated."),
        (("german", "--nodes", "x.csv"), 1, "give a known dataset, a run folder, --nodes, or --propagated."),
        (("--nodes", "x.csv"), 1, "own tables need --label and --sensitive."),
        (("germen",), 1, "Did you mean 'german'?"),
        (("german", "--operator", "max"), 2, "mean"),
        (("german", "--hops", "0"), 2, "hops"),
        (("german", "--permutations", "3"), 2, "permutations"),
        (("german", "--shuffling", "fast"), 2, "quick"),
    ],
)
def test_wrong_use_is_explained(run, arguments, code, said):
    outcome = run("audit", *arguments)
    assert outcome.code == code
    assert said in outcome.err


def test_help_has_examples(run):
    outcome = run("audit", "--help")
    assert outcome.code == 0
    assert "fairview audit german" in outcome.out
    assert "fairview audit runs/german" in outcome.out


def test_a_folder_of_seeds_is_not_taken_for_a_dataset(run, tmp_path):
    (tmp_path / "seed-1").mkdir()
    outcome = run("audit", tmp_path)
    assert outcome.code == 1
    assert "holds several runs; audit one of them, such as" in outcome.err.replace("\n", " ")


def test_a_folder_without_a_finished_run_is_not_taken_for_a_dataset(run, people, tmp_path):
    (tmp_path / "begun").mkdir()
    tables = ("--nodes", people, "--label", "ok", "--sensitive", "sex")
    for arguments in ((), tables):
        outcome = run("audit", tmp_path / "begun", *arguments)
        assert (outcome.code, outcome.out) == (1, "")
        assert outcome.err == f"error: {tmp_path / 'begun'}: holds no finished run (there is no run.json).\n"
