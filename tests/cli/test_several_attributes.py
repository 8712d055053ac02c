"""Two sensitive attributes on the command line: check, train, predict and evaluate on a table of one's own."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

import fairview as fv


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """People whose label hangs on the combination of two attributes, not on either."""
    folder, draw, n = tmp_path_factory.mktemp("several"), np.random.default_rng(0), 400
    race, sex = draw.integers(0, 2, n), draw.integers(0, 2, n)
    income = 2.0 * (race ^ sex) + draw.normal(size=n)
    people = pl.DataFrame(
        {
            "id": [f"p{i}" for i in range(n)],
            "income": income,
            "race": np.array(["black", "white"])[race],
            "sex": np.array(["f", "m"])[sex],
            "ok": (income + draw.normal(size=n) > 1).astype(int),
        }
    )
    people.write_csv(folder / "people.csv")
    ends = draw.integers(0, n, (2, 1200))
    links = pl.DataFrame({"source": [f"p{i}" for i in ends[0]], "target": [f"p{i}" for i in ends[1]]})
    links.filter(pl.col("source") != pl.col("target")).write_csv(folder / "links.csv")
    return ["--nodes", folder / "people.csv", "--edges", folder / "links.csv"]


BOTH = ["--label", "ok", "--sensitive", "race", "--sensitive", "sex"]


def test_check_shows_the_groups_of_each_and_their_combinations(run, tables):
    done = run("check", *tables, *BOTH)
    assert done.code == 0
    assert [line.strip() for line in done.out.splitlines() if line.startswith("Groups by")] == [
        "Groups by race",
        "Groups by sex",
        "Groups by race & sex",
    ]
    facts = json.loads(run("check", *tables, *BOTH, "--format", "json").out)
    assert list(facts["attributes"]) == ["race", "sex"]
    assert facts["channels"] == ["income"]


def test_train_predict_and_evaluate(run, tables, tmp_path):
    out = tmp_path / "run"
    done = run(
        "train", *tables, *BOTH, "--method", "logistic-regression", "--no-report", "--out", out, "--format", "json"
    )
    assert done.code == 0
    test = json.loads(done.out)["metrics"]["test"]
    assert list(test["attributes"]) == ["race", "sex", "race & sex"]
    gaps = {name: part["statistical_parity_gap"] for name, part in test["attributes"].items()}
    assert test["statistical_parity_gap"] == max(gaps.values()) == gaps["race & sex"] > 0.4
    assert max(gaps["race"], gaps["sex"]) < 0.2

    done = run("predict", out, *tables, "--out", tmp_path / "scores.csv")
    assert done.code == 0
    done = run("evaluate", out, *tables)
    assert done.code == 0
    assert "Gaps by attribute" in done.out
    assert "Groups of people.csv by race & sex" in done.out
    document = json.loads(run("evaluate", out, *tables, "--format", "json").out)
    assert list(document["metrics"]["new"]["attributes"]) == ["race", "sex", "race & sex"]


def test_several_seeds_have_means_for_each_attribute(run, tables, tmp_path):
    given = ["train", *tables, *BOTH, "--method", "vanilla", "--set", "epochs=3", "--seeds", "2", "--no-report"]
    done = run(*given, "--out", tmp_path / "runs", "--format", "json")
    assert done.code == 0
    attributes = json.loads(done.out)["metrics"]["test"]["attributes"]
    runs = json.loads(done.out)["metrics"]["test"]["runs"]
    gaps = [run["attributes"]["sex"]["statistical_parity_gap"] for run in runs]
    assert attributes["sex"]["mean"]["statistical_parity_gap"] == pytest.approx(np.mean(gaps))


def test_the_table_of_train_names_every_attribute(run, tables, tmp_path):
    done = run("train", *tables, *BOTH, "--method", "constant", "--no-report", "--out", tmp_path / "run")
    lines = done.out.splitlines()
    start = lines.index(next(line for line in lines if line.startswith("Gaps by attribute")))
    assert sum("race & sex" in line for line in lines[start:]) == 2


def test_an_unknown_column_is_told_with_its_likeness(run, tables):
    done = run("check", *tables, "--label", "ok", "--sensitive", "rase", "--sensitive", "sex")
    assert done.code == 1
    assert "no column 'rase'. Did you mean 'race'?" in done.err


# --- propagated folders -----------------------------------------------------------------------------------------------


@pytest.fixture
def folder(run, tables, tmp_path):
    out = tmp_path / "folder"
    done = run("propagate", *tables, *BOTH, "--hops", 1, "--split-seed", 0, "--out", out)
    assert done.code == 0, done.err
    assert [line.split()[0] for line in done.out.splitlines() if line.startswith(("race ", "sex "))] == [
        "race",
        "sex",
        "race",  # & sex
    ]
    return out


def test_propagate_tells_the_groups_of_each_attribute(run, tables, folder):
    again = run("propagate", *tables, *BOTH, "--hops", 1, "--split-seed", 0, "--out", folder, "--format", "json")
    document = json.loads(again.out)
    assert list(document["attributes"]) == ["race", "sex"]
    assert list(document["attributes"]["sex"]) == ["f", "m"]
    assert sum(document["groups"].values()) == sum(document["attributes"]["race"].values()) == 400


def test_the_audit_of_a_folder_has_a_section_for_each_attribute(run, folder, tmp_path):
    pytest.importorskip("altair")
    done = run("audit", "--propagated", folder, "--out", tmp_path / "audit")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert [line for line, below in pairwise(lines) if below and set(below) == {"="}] == ["race", "sex", "race & sex"]
    assert lines[0].startswith("Leakage in single columns is undefined: the permutation test needs the links")
    undefined = [line for line in lines if line.startswith("undefined: ")]
    assert len(undefined) == len(set(undefined)) == 4  # the same for each attribute, and said once
    assert (tmp_path / "audit" / "report.html").exists()
    document = json.loads((tmp_path / "audit" / "audit.json").read_text())
    assert document["graph"]["sha256"] == fv.open_propagated(folder).sha256
    assert list(document["attributes"]) == ["race", "sex"]
    assert run("verify", folder).code == 0


def test_a_run_from_a_folder_is_the_run_from_the_tables(run, tables, folder, tmp_path):
    quick = ("--set", "epochs=3", "--set", "views=2", "--no-report")
    assert run("train", "--propagated", folder, *quick, "--out", tmp_path / "a").code == 0
    assert run("train", *tables, *BOTH, "--split-seed", 0, *quick, "--out", tmp_path / "b").code == 0
    for name in ("metrics.json", "predictions.csv", "history.jsonl", "model.safetensors"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name
    metrics = json.loads((tmp_path / "a" / "metrics.json").read_text())
    assert list(metrics["test"]["attributes"]) == ["race", "sex", "race & sex"]
    verified = run("verify", tmp_path / "a", "--propagated", folder)
    assert verified.code == 0
    assert "the metrics made again from the data" in verified.out


def test_tune_on_a_folder_limits_attributes_by_name(run, folder, tmp_path):
    limits = ("--max-gap", "race=0.4", "--max-gap", "sex=0.4", "--methods", "parity", "--no-report")
    done = run("tune", "--propagated", folder, *limits, "--out", tmp_path / "t")
    assert done.code == 0, done.err
    certificate = json.loads((tmp_path / "t" / "run" / "certificate.json").read_text())
    assert [limit["attribute"] for limit in certificate["limits"]] == ["race", "sex"]
    assert certificate["propagated_sha256"] == fv.open_propagated(folder).sha256
    checked = run("verify", tmp_path / "t", "--propagated", folder)
    assert checked.code == 0, checked.out
    assert "the metrics and the certificate's counts made again from the data" in checked.out


def test_tune_on_a_folder_limits_combinations_too(run, folder, tmp_path):
    done = run("tune", "--propagated", folder, "--max-gap", 0.01, "--methods", "parity", "--out", tmp_path / "t")
    assert done.code == 1
    assert "of 'race=black & sex=f' can certify the statistical parity gap by race & sex" in done.err
    assert "--max-gap race=0.01 --max-gap sex=0.01" in done.err


def test_thresholds_for_each_combination_predict_a_folder_of_new_people(run, tables, folder, tmp_path):
    trained = ("--method", "group-thresholds", "--no-report", "--out", tmp_path / "run")
    assert run("train", "--propagated", folder, *trained).code == 0
    assert run("propagate", *tables, "--like", tmp_path / "run", "--out", tmp_path / "new").code == 0
    done = run("predict", tmp_path / "run", "--propagated", tmp_path / "new", "--out", tmp_path / "scores.csv")
    assert done.code == 0, done.err
    scores = pl.read_csv(tmp_path / "scores.csv")
    assert scores.equals(pl.read_csv(tmp_path / "run" / "predictions.csv"))
    people = pl.read_csv(tables[1]).drop("sex")
    people.write_csv(tmp_path / "without.csv")
    given = ("--nodes", tmp_path / "without.csv", *tables[2:], "--like", tmp_path / "run")
    assert run("propagate", *given, "--out", tmp_path / "blind").code == 0
    refused = run("predict", tmp_path / "run", "--propagated", tmp_path / "blind", "--out", tmp_path / "no.csv")
    assert refused.code == 1
    assert "the model needs each node's sensitive group ('race & sex'), and the folder holds none." in refused.err


# --- audits -----------------------------------------------------------------------------------------------------------


def test_the_audit_has_a_section_for_each_attribute_and_one_for_their_combinations(run, tables, tmp_path):
    pytest.importorskip("altair")
    done = run("audit", *tables, *BOTH, "--permutations", 19, "--no-probes", "--out", tmp_path / "audit")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    heads = [line for line, below in pairwise(lines) if below and set(below) == {"="}]
    assert heads == ["race", "sex", "race & sex"]
    titles = [line.strip() for line in lines if line.startswith(("Correlation with", "Groups by"))]
    assert titles == [
        f"{title} {name}{more}"
        for name in heads
        for title, more in (("Correlation with", " by hop (gcn)"), ("Groups by", ""))
    ]
    assert "all channels, hops and attributes." in " ".join(done.out.split())
    assert lines[0].endswith("what all columns reveal together was not measured.")
    assert len([line for line in lines if line.startswith("rule: ")]) == 1
    shown = [line.strip() for line in done.out.splitlines()]
    parts = [shown.index(name) for name in ("race", "sex", "race & sex")]
    assert all(not shown[place - 1] for place in parts)
    assert all(first or second for first, second in pairwise(shown))
    assert (tmp_path / "audit" / "report.html").exists()
    document = json.loads((tmp_path / "audit" / "audit.json").read_text())
    assert list(document["attributes"]) == ["race", "sex"]


def test_combinations_without_people_are_named_below_the_audits_table(run, tables, tmp_path):
    nodes = pl.read_csv(tables[1])
    rare = pl.Series("race", [*nodes["race"][:-1], "other"])
    nodes.with_columns(rare).write_csv(tmp_path / "people.csv")
    done = run("audit", "--nodes", tmp_path / "people.csv", *tables[2:], *BOTH, "--permutations", 19, "--no-probes")
    assert done.code == 0, done.err
    missing = "race=other & sex=m" if nodes["sex"][-1] == "f" else "race=other & sex=f"
    assert f"Without nodes: {missing}." in " ".join(done.out.split())
    assert "homophily of group 'race=other" not in done.out


def test_check_says_which_attribute_has_one_group_only(run, tables, tmp_path):
    pl.read_csv(tables[1]).with_columns(pl.lit("f").alias("sex")).write_csv(tmp_path / "people.csv")
    done = run("check", "--nodes", tmp_path / "people.csv", *tables[2:], *BOTH)
    assert done.code == 3
    assert "no model can be trained: 'sex': one group only ('f'); at least two are needed to compare." in done.err


def test_the_column_that_new_tables_lack_is_named(run, tables, tmp_path):
    trained = run("train", *tables, *BOTH, "--method", "group-thresholds", "--out", tmp_path / "run")
    assert trained.code == 0, trained.err
    pl.read_csv(tables[1]).drop("sex").write_csv(tmp_path / "people.csv")
    new = ["--nodes", tmp_path / "people.csv", *tables[2:]]
    for command in (["evaluate"], ["predict", "--out", tmp_path / "predictions.csv"]):
        done = run(command[0], tmp_path / "run", *new, *command[1:])
        assert done.code == 1
        assert "column 'sex' is missing or empty" in done.err


def test_gaps_and_attributes_are_not_mixed(run, tables):
    done = run("tune", *tables, *BOTH, "--max-gap", "race=0.1", "--max-gap", "equal_opportunity=0.1")
    assert done.code == 1
    assert "and the gap apart: --max-gap race=0.05 --gap equal_opportunity." in done.err


def test_a_known_dataset_has_its_own_sensitive_attribute(run, tmp_path):
    done = run("train", "german", "--sensitive", "Age", "--sensitive", "Gender", "--out", tmp_path / "run")
    assert done.code == 1
    assert "--sensitive: for own tables (--nodes) only; a known dataset is read as it is." in done.err
