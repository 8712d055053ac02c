"""`fairview tune`: the decision, its certificate and the frontier; JSON; errors; own tables from end to end."""

from __future__ import annotations

import csv
import json
import re
import warnings
from pathlib import Path

import pytest
from studies.graphs import crossed_graph

import fairview as fv
from fairview.cli.tune import _largest_gaps, _limits

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PyG's import is not ours to judge
    import torch_geometric.nn  # noqa: F401


@pytest.fixture(scope="module")
def home(tmp_path_factory, write_people) -> Path:
    """Tables of 1,000 people, and of 50 new ones."""
    folder = tmp_path_factory.mktemp("people")
    write_people(folder, old=1000, new=50)
    return folder


def own(home):
    return ("--nodes", home / "old.csv", "--label", "ok", "--sensitive", "sex", "--positive", "1")


QUICK = ("--methods", "logistic-regression", "--trials", "1")


@pytest.fixture(autouse=True)
def few_other_limits(monkeypatch):
    monkeypatch.setattr("fairview.tuning.decision.OTHER_LIMITS", (0.1, 0.2, 0.3))


def words(text):
    """As one line: the width of the terminal breaks sentences."""
    return re.sub(r"[\s│]+", " ", text)


def test_own_tables_from_a_limit_to_predictions_and_back(run, home, tmp_path):
    out = tmp_path / "tuned"
    tuned = run("tune", *own(home), "--max-gap", "0.25", *QUICK, "--out", out)
    assert tuned.code == 0, tuned.err
    text = words(tuned.out)
    assert "Certified with 95 % confidence" in text
    assert "It holds under these conditions:" in text
    document = json.loads((out / "tune.json").read_text())
    for sentence in document["conditions"]:
        assert words(sentence) in text
    assert "Frontier: nothing is more useful with a smaller gap" in text
    assert f"{out / 'run'}" in tuned.out.replace("\n", "")
    assert (out / "report.html").stat().st_size > 10_000

    predicted = run("predict", out / "run", "--nodes", home / "new.csv", "--out", tmp_path / "new.csv")
    assert predicted.code == 0, predicted.err
    threshold = document["chosen"]["threshold"]
    with (tmp_path / "new.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 50
    assert all(int(row["prediction"]) == (float(row["score"]) > threshold) for row in rows)
    assert len({row["prediction"] for row in rows}) == 2
    other = ("--nodes", home / "new.csv", "--out", tmp_path / "other.csv", "--threshold", "0.25", "--format", "json")
    predicted = run("predict", out, *other)
    note = f"the certificate in {out} is for the threshold {threshold:g}; it does not cover 0.25"
    assert (predicted.code, predicted.err) == (0, f"note: {note}\n")
    assert json.loads(predicted.out)["notes"][0] == note

    assert run("audit", out / "run", *own(home)).code == 0
    checked = run("verify", out, *own(home))
    assert (checked.code, checked.out) == (
        0,
        "note: run/audit.json: its correlations, probes and curves were not made again.\n"
        "ok: 17 files (the metrics and the certificate's counts made again from the data)\n",
    )
    other = run("verify", out, *own(home)[:3], "ok", "--sensitive", "sex", "--positive", "0")
    assert other.code == 3
    assert "certificate.json: it is of another graph than the one given." in other.out


def test_json_is_all_that_is_printed(run, home, tmp_path):
    found = run(
        "tune", *own(home), "--max-gap", "0.25", *QUICK, "--out", tmp_path / "a", "--format", "json", "--no-report"
    )
    document = json.loads(found.out)
    assert found.code == 0
    assert document["chosen"]["limits"][0]["limit"] == 0.25
    assert document == json.loads((tmp_path / "a" / "tune.json").read_text())
    assert not (tmp_path / "a" / "report.html").exists()


@pytest.mark.parametrize("format", ["json", "table"])
def test_a_refusal_has_exit_code_3_and_says_why_on_stderr(run, home, tmp_path, format):
    out = tmp_path / "out"
    found = run("tune", *own(home), "--max-gap", "0.02", *QUICK, "--out", out, "--format", format, "--no-report")
    assert found.code == 3
    assert found.err.startswith(
        "refused: No model could be certified. The surest candidate's statistical parity gap is "
    )
    assert not (out / "run").exists()
    if format == "json":
        document = json.loads(found.out)
        assert document["chosen"] is None
        assert found.err == f"refused: {document['refused']}\n"
    assert run("verify", out).code == 0


def test_without_a_limit_there_is_a_frontier_and_no_certificate(run, home, tmp_path):
    found = run("tune", *own(home), *QUICK, "--out", tmp_path / "out", "--no-report")
    assert found.code == 0
    assert "Frontier" in found.out
    assert "Certified" not in found.out
    assert "conditions" not in found.out


def test_a_gap_may_have_a_limit_of_its_own(run, home, tmp_path):
    gaps = ("--gap", "statistical_parity", "--gap", "equal_opportunity=0.5", "--max-gap", "0.25")
    found = run("tune", *own(home), *gaps, *QUICK, "--out", tmp_path / "out", "--format", "json", "--no-report")
    assert found.code == 0, found.err
    limits = json.loads(found.out)["limits"]
    assert limits == [{"gap": "statistical_parity", "limit": 0.25}, {"gap": "equal_opportunity", "limit": 0.5}]


def test_limits_are_read_as_the_library_takes_them():
    assert _limits(0.05, []) == {"max_gap": 0.05, "gaps": None}
    assert _limits(None, []) == {"max_gap": None, "gaps": None}
    assert _limits(0.05, ["equalized_odds"]) == {"max_gap": 0.05, "gaps": ["equalized_odds"]}
    assert _limits(None, ["equal_opportunity=0.03"]) == {"max_gap": {"equal_opportunity": 0.03}}


def test_a_limit_may_be_for_all_or_for_some_by_name():
    assert _largest_gaps([]) is None
    assert _largest_gaps(["0.05"]) == 0.05
    assert _largest_gaps(["race=0.05", "race & sex=0.1"]) == {"race": 0.05, "race & sex": 0.1}
    assert _limits({"race": 0.05}, []) == {"max_gap": {"race": 0.05}, "gaps": None}
    assert _limits({"race": 0.05}, ["equalized_odds"]) == {"max_gap": {"race": 0.05}, "gaps": ["equalized_odds"]}


@pytest.fixture(scope="module")
def crossed(tmp_path_factory) -> Path:
    """A table of 2,400 people with race and sex, three of race c."""
    made, path = crossed_graph(2400, seed=1), tmp_path_factory.mktemp("crossed") / "people.csv"
    race, sex = made.attributes
    lines = ["id,income,age,race,sex,ok"]
    for i in range(2400):
        x = made.features[i]
        of_race = "c" if i < 3 else race.groups[race.codes[i]]
        lines.append(f"{i},{x[:3].sum():.4f},{x[3:].sum():.4f},{of_race},{sex.groups[sex.codes[i]]},{made.labels[i]}")
    path.write_text("\n".join(lines) + "\n")
    return path


def two(path):
    return ("--nodes", path, "--label", "ok", "--sensitive", "race", "--sensitive", "sex", "--positive", "1")


def test_limits_by_attribute_from_the_command_line_to_the_certificate(run, crossed, tmp_path):
    limits = ("--max-gap", "sex=0.2", "--gap", "statistical_parity", "--gap", "equal_opportunity")
    found = run("tune", *two(crossed), *limits, *QUICK, "--out", tmp_path / "out", "--no-report")
    assert found.code == 0, found.err
    text = words(found.out)
    assert "It keeps statistical parity by sex within 20 points and equal opportunity by sex within 20 points" in text
    limits = json.loads((tmp_path / "out" / "tune.json").read_text())["limits"]
    assert limits == [
        {"gap": gap, "attribute": "sex", "limit": 0.2} for gap in ("statistical_parity", "equal_opportunity")
    ]


def test_small_groups_are_named_with_the_options_that_help(run, crossed, tmp_path):
    found = run("tune", *two(crossed), "--max-gap", "0.2", *QUICK, "--out", tmp_path / "out", "--no-report")
    assert found.code == 1
    text = words(found.err)
    assert "of 'c' can certify the statistical parity gap by race" in text
    assert (
        "of 'race=c & sex=m' can certify the statistical parity gap by race & sex, and a limit of 20 points needs at "
        "least 6, whatever the model. Give the val split more of them, merge groups, or set limits for each attribute, "
        "without their combinations: --max-gap race=0.2 --max-gap sex=0.2."
    ) in text
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--max-gap", "much"), "'much' is no number, and no NAME=LIMIT such as race=0.05."),
        (("--max-gap", "race=much"), "'race=much' is no number, and no NAME=LIMIT such as race=0.05."),
        (("--max-gap", "0.1", "--max-gap", "sex=0.2"), "give one limit for all, or one NAME=LIMIT for each name."),
        (("--max-gap", "0.1", "--max-gap", "0.2"), "give one limit for all, or one NAME=LIMIT for each name."),
        (("--max-gap", "sex=0.1", "--max-gap", "sex=0.2"), "'sex' is given two limits: give it one."),
        (("--max-gap", "=0.1"), "'=0.1' is no number, and no NAME=LIMIT such as race=0.05."),
    ],
)
def test_limits_that_are_none_or_too_many_have_exit_code_2(run, tmp_path, arguments, message):
    found = run("tune", "german", *arguments, "--out", tmp_path / "out")
    assert found.code == 2
    assert message in words(found.err)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--max-gap", "sex=0.1", "--gap", "equalized_odds=0.1"), "--gap equalized_odds=0.1: --max-gap has limits by "
         "name already; name the gap alone."),
        (("--max-gap", "sexx=0.1"), "--max-gap: 'sexx' is neither a sensitive attribute nor a gap. Did you mean "
         "'sex'?"),
    ],
)  # fmt: skip
def test_limits_by_name_that_name_nothing_are_refused(run, crossed, tmp_path, arguments, message):
    found = run("tune", *two(crossed), *arguments, "--out", tmp_path / "out")
    assert found.code == 1
    assert message in words(found.err)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--max-gap", "5"), "--max-gap: 5.0; expected a number between 0 and 1. Limits are fractions: 5 points "
         "are 0.05."),
        (("--max-gap", "nan"), "--max-gap: nan; expected a number between 0 and 1."),
        (("--gap", "statistical_paritiy"), "--gap: no gap 'statistical_paritiy' has a test. Did you mean "
         "'statistical_parity'?"),
        (("--gap", "equalized_odds=0.1", "--gap", "equalized_odds=0.2"), "--gap equalized_odds: it is given twice; "
         "give it once."),
        (("--gap", "equalized_odds", "--gap", "equalized_odds=0.2", "--max-gap", "0.1"), "--gap equalized_odds: it is "
         "given twice; give it once."),
        (("--gap", "equal_opportunity=x"), "--gap equal_opportunity=x: expected NAME or NAME=LIMIT, for example "
         "equal_opportunity=0.03."),
        (("--gap", "equal_opportunity=0.1", "--gap", "statistical_parity"), "--gap statistical_parity: it has no "
         "limit; give it one, or pass --max-gap."),
        (("--max-gap", "0.1", "--gap", "equal_opportunity=0.1"), "--max-gap 0.1: every --gap has a limit of its own. "
         "Name the gap that it is for, with --gap, or leave it out."),
        (("--confidence", "95"), "--confidence: 95.0; expected a number from 0.5 to 1, below 1. 95 % is 0.95."),
        (("--utility", "acuracy"), "--utility: no utility 'acuracy'. Did you mean 'accuracy'?"),
        (("--methods", "parrity"), "no method 'parrity'. Did you mean 'parity'?"),
        (("--methods", "group-thresholds"), "--methods: group thresholds needs each node's group at prediction, which "
         "is often not allowed. If it is, say so: --group-at-prediction."),
        (("--trials", "1", "--minutes", "1"), "give --trials or --minutes, not both."),
        (("--minutes", "0"), "--minutes: 0; expected a number above 0."),
    ],
)  # fmt: skip
def test_bad_input_has_exit_code_1_and_names_the_flag(run, tmp_path, arguments, message):
    found = run("tune", "german", *arguments, "--out", tmp_path / "out")
    assert (found.code, found.out) == (1, "")
    assert words(found.err).strip() == f"error: {message}"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("--max-gap", "much"),
        ("--population", "all"),
        ("--trials", "-1"),
        ("--workers", "0"),
        ("--seed", "-1"),
        ("--nope",),
    ],
)
def test_a_command_line_that_makes_no_sense_has_exit_code_2(run, tmp_path, arguments):
    found = run("tune", "german", *arguments, "--out", tmp_path / "out")
    assert found.code == 2
    assert found.out == ""


def test_a_dataset_or_tables_are_needed(run, tmp_path):
    for arguments in ((), ("german", "--nodes", "people.csv")):
        found = run("tune", *arguments, "--out", tmp_path / "out")
        assert (found.code, found.err.strip()) == (1, "error: give a known dataset, --nodes or --propagated.")


def test_a_second_look_and_going_on_are_told_apart(run, home, tmp_path):
    out = ("--out", tmp_path / "out", "--no-report")
    assert run("tune", *own(home), "--max-gap", "0.25", *QUICK, *out).code == 0
    again = run("tune", *own(home), "--max-gap", "0.25", *QUICK, *out)
    assert again.code == 1
    assert "Go on with --resume, or use another --out." in words(again.err)
    other = run("tune", *own(home), "--max-gap", "0.2", *QUICK, *out, "--resume")
    assert other.code == 1
    assert "holds a search with other limits. Use another --out; a second look" in words(other.err)
    assert run("tune", *own(home), "--max-gap", "0.25", *QUICK, *out, "--resume").code == 0


def test_an_interruption_says_how_to_go_on(run, home, tmp_path, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(fv.LogisticRegression, "fit", stop)
    found = run("tune", *own(home), *QUICK, "--out", tmp_path / "out")
    assert found.code == 130
    assert f"interrupted: finished models are kept; go on with --resume --out {tmp_path / 'out'}" in found.err


def test_methods_that_need_the_group_are_marked(run, home, tmp_path):
    arguments = ("--methods", "group-thresholds", "--trials", "1", "--group-at-prediction", "--max-gap", "0.3")
    found = run("tune", *own(home), *arguments, "--out", tmp_path / "out", "--no-report")
    assert found.code == 0, found.err
    assert "† needs each node's group at prediction." in words(found.out)


def test_help_has_examples(run):
    found = run("tune", "--help")
    assert found.code == 0
    assert "fairview tune german --max-gap 0.15 --out tuned/german" in words(found.out)
    assert "Exit code 3" in words(found.out)
