from __future__ import annotations

import json

import pytest

import fairview as fv


@pytest.fixture
def german(run, tmp_path):
    folder = tmp_path / "german"
    given = ("--method", "vanilla", "--set", "epochs=30", "--no-report")
    assert run("train", "german", *given, "--out", folder).code == 0
    return folder


def test_a_run_is_explained_in_words_and_tables_and_its_report_shows_it(run, german):
    outcome = run("explain", german, "--top", 3)
    assert (outcome.code, outcome.err) == (0, "")
    first, second, third, *rest = outcome.out.splitlines()
    assert first.startswith("The mean logit of '")
    assert second.endswith("of 21,742 links widen this gap.")
    assert third.startswith("Without the ")
    for said in (
        "What removing links does",
        "Links that widen the gap most",
        "Nodes whose links widen it most",
        "Parts of the gap by channel",
        "note: The score is linear in the links' operator",
    ):
        assert any(line.startswith(said) for line in rest), said
    assert "And 24 more; explanation.json has all channels." in " ".join(outcome.out.split())
    titles = [rest.index(line) for line in rest if line.startswith(("What removing", "Links that", "Nodes", "Parts"))]
    assert len(titles) == 4
    assert all(not rest[place - 1].strip() for place in titles)
    page = (german / "report.html").read_text()
    assert 'id="explanation"' in page
    assert "Which links carry the gap?" in page
    assert run("verify", german).code == 0


def test_json_is_the_file_and_what_python_says(run, german):
    outcome = run("explain", german, "--top", 2, "--format", "json")
    assert (outcome.code, outcome.err) == (0, "")
    document = json.loads(outcome.out)
    assert json.loads((german / "explanation.json").read_text()) == document
    found = fv.explain(fv.load_model(german), fv.load_dataset("german"), top=2)
    assert json.loads(json.dumps(found.to_dict())) == document
    assert len(document["links"]) == len(document["nodes"]) == 2


def test_options_of_own_tables_are_refused_for_a_run_on_a_known_dataset(run, german):
    outcome = run("explain", german, "--link-kind", "tie")
    assert (outcome.code, outcome.out) == (1, "")
    assert "--link-kind: for own tables (--nodes) only; a known dataset is read as it is." in outcome.err
    assert not (german / "explanation.json").exists()


def test_another_folder_leaves_the_run_as_it_is(run, german, tmp_path):
    out = tmp_path / "explained"
    outcome = run("explain", german, "--out", out, "--of", "test")
    assert outcome.code == 0, outcome.err
    assert not (german / "explanation.json").exists()
    assert json.loads((out / "explanation.json").read_text())["split"] == "test"
    assert "An explanation alone says nothing of fairness." in (out / "report.html").read_text()
    assert run("verify", out).code == 0
    assert run("report", out).code == 0


def test_a_damaged_explanation_is_noticed(run, german):
    assert run("explain", german).code == 0
    path = german / "explanation.json"
    path.write_text(path.read_text().replace('"gap": ', '"gap": 1', 1))
    outcome = run("verify", german)
    assert outcome.code == 3
    assert "explanation.json: does not match its sha256 in run.json" in outcome.out
    assert run("report", german).code == 1


def test_a_run_on_own_tables_needs_them_again(run, own_tables, tmp_path):
    given = ("--nodes", own_tables.nodes, "--edges", own_tables.edges, "--label", "ok", "--sensitive", "sex")
    folder = tmp_path / "own"
    train = ("--method", "parity", "--set", "hops=1", "--no-report", "--out", folder)
    assert run("train", *given, *train).code == 0
    outcome = run("explain", folder, *given, "--top", 1)
    assert outcome.code == 0, outcome.err
    assert "n0" in outcome.out
    refused = run("explain", folder)
    assert refused.code == 1
    assert "it was trained on own tables; give them again with --nodes and the other options." in refused.err
    other = run("explain", folder, *given, "--drop", "plain_1")
    assert (other.code, other.err) == (
        1,
        f"error: {folder}: its model was trained on another graph than the one given.\n",
    )


def test_one_of_several_attributes_can_be_asked_about(run, tmp_path):
    made = fv.synthetic_graph(200, seed=1)
    lines = ["id,x,race,sex,ok"]
    lines += [
        f"{i},{made.features[i, 0]:.4f},{'ab'[made.sensitive[i]]},{'fm'[i % 2]},{made.labels[i]}" for i in range(200)
    ]
    nodes, edges = tmp_path / "people.csv", tmp_path / "links.csv"
    nodes.write_text("\n".join(lines) + "\n")
    pairs = zip(made.adjacency.sources, made.adjacency.indices, strict=True)
    edges.write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in pairs))
    given = ("--nodes", nodes, "--edges", edges, "--label", "ok", "--sensitive", "race", "--sensitive", "sex")
    folder = tmp_path / "two"
    trained = run("train", *given, "--method", "vanilla", "--set", "epochs=5", "--no-report", "--out", folder)
    assert trained.code == 0, trained.err
    found = {}
    for name in ("race", "sex", None):
        asked = () if name is None else ("--attribute", name)
        outcome = run("explain", folder, *given, *asked, "--format", "json")
        assert outcome.code == 0, outcome.err
        found[name] = json.loads(outcome.out)
    assert set(found["race"]["groups"]) == {"a", "b"}
    assert set(found["sex"]["groups"]) == {"f", "m"}
    assert found[None]["gap"] >= max(found["race"]["gap"], found["sex"]["gap"]) / 2
    wrong = run("explain", folder, *given, "--attribute", "rac")
    assert (wrong.code, wrong.err) == (1, "error: no sensitive attribute 'rac'. Did you mean 'race'?\n")


def test_a_file_in_place_of_a_run_is_named_as_no_run(run, tmp_path):
    table = tmp_path / "people.csv"
    table.write_text("id\n")
    outcome = run("explain", table)
    assert (outcome.code, "is it the folder of a finished run?" in outcome.err) == (1, True), outcome.err
    assert "--out" not in outcome.err


def test_a_run_on_a_propagated_folder_has_no_links(run, propagated, tmp_path):
    folder = tmp_path / "run"
    given = ("--propagated", propagated().folder, "--method", "vanilla", "--set", "epochs=2", "--no-report")
    assert run("train", *given, "--out", folder).code == 0
    outcome = run("explain", folder)
    assert outcome.code == 1
    assert f"{folder}: it was trained on a propagated folder, which holds no links." in outcome.err


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("logistic-regression", "error: explain: 'logistic-regression' looks at no links"),
        ("parity", None),
    ],
)
def test_a_model_without_links_is_refused_and_nothing_is_written(run, tmp_path, method, said):
    folder = tmp_path / "run"
    assert run("train", "german", "--method", method, "--no-report", "--out", folder).code == 0
    outcome = run("explain", folder)
    assert (outcome.code == 0) is (said is None)
    assert (folder / "explanation.json").exists() is (said is None)
    if said:
        assert outcome.err.startswith(said)


def test_what_is_no_run_is_refused(run, tmp_path):
    assert run("explain", tmp_path).code == 1
    assert run("explain").code == 2
    outcome = run("explain", tmp_path / "none")
    assert (outcome.code, outcome.out) == (1, "")


def test_a_foreign_file_is_not_replaced(run, german):
    (german / "explanation.json").write_text("mine")
    outcome = run("explain", german)
    assert outcome.code == 1
    assert "was not written by fairview" in outcome.err
    assert (german / "explanation.json").read_text() == "mine"
    assert run("explain", german, "--force").code == 0


def test_several_runs_and_refusals_are_named(run, tmp_path):
    folder = tmp_path / "seeds"
    given = ("--method", "vanilla", "--set", "epochs=2", "--seeds", 2, "--no-report")
    assert run("train", "german", *given, "--out", folder).code == 0
    outcome = run("explain", folder)
    assert outcome.code == 1
    assert "holds several runs; name one of them" in outcome.err
