"""`--propagated DIR`, command by command."""

from __future__ import annotations

import json
import shutil

import numpy as np
import polars as pl
import pytest

import fairview as fv
from fairview.methods.evaluate import evaluate


@pytest.fixture(scope="module")
def folder(propagated):
    return propagated().folder


@pytest.fixture
def trained(run, folder, tmp_path):
    """A run on 1,000 of 1,500 nodes."""
    quick = ("--set", "epochs=3", "--set", "views=2", "--rows", 1000, "--no-report")
    assert run("train", "--propagated", folder, *quick, "--out", tmp_path / "run").code == 0
    return tmp_path / "run"


def metrics_of(path):
    return json.loads((path / "metrics.json").read_text())


# --- train ------------------------------------------------------------------------------------------------------------


def test_a_run_from_a_folder_is_the_run_from_the_tables(run, folder, own_tables, tmp_path):
    quick = ("--set", "epochs=3", "--set", "views=2", "--no-report")
    tables = ("--nodes", own_tables.nodes, "--edges", own_tables.edges, "--label", "ok", "--sensitive", "sex")
    assert run("train", "--propagated", folder, *quick, "--out", tmp_path / "a").code == 0
    assert run("train", *tables, *quick, "--out", tmp_path / "b").code == 0
    for name in ("metrics.json", "predictions.csv", "history.jsonl", "model.safetensors"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name


def test_metrics_of_a_sample_are_those_of_all_labelled_nodes(trained, folder, own_tables):
    model, graph = fv.load_model(trained), own_tables.graph()
    for split in ("val", "test"):
        told, again = metrics_of(trained)[split], evaluate(model, graph, split=split).to_dict()
        assert told["groups"] == again["groups"]
        assert told["auc"] == pytest.approx(again["auc"], abs=1e-9)
    assert len((trained / "predictions.csv").read_text().splitlines()) == 1001


def test_a_run_names_its_folder(trained, folder):
    record = json.loads((trained / "run.json").read_text())
    known = fv.open_propagated(folder)
    assert record["data"]["propagated"] == {
        "sha256": known.sha256, "nodes": 1500, "rows": 1000, "metrics_of": "all nodes",
    }  # fmt: skip
    assert record["data"]["source"] == "people.parquet"
    assert record["data"]["files"] == known.facts.inputs | {"manifest.json": known.sha256}
    note = (
        "Trained on 1,000 of the folder's 1,500 nodes; predictions.csv holds these. The metrics are those of all "
        "labelled nodes."
    )
    assert note in record["notes"]
    assert any(text.startswith("1,000 of 1,500 nodes were loaded: ") for text in record["data"]["notes"])


def test_a_finished_run_is_shown_again_and_another_sample_is_another_run(run, trained, folder):
    again = ("train", "--propagated", folder, "--set", "epochs=3", "--set", "views=2", "--no-report", "--out", trained)
    assert run(*again, "--rows", 1000, "--resume").code == 0
    assert "with other settings or data" in run(*again, "--rows", 1100, "--resume").err


def test_seeds_and_report(run, folder, tmp_path):
    quick = ("--set", "epochs=2", "--method", "vanilla", "--rows", 1000)
    outcome = run("train", "--propagated", folder, *quick, "--seeds", 2, "--out", tmp_path / "s", "--format", "json")
    assert outcome.code == 0, outcome.err
    assert (tmp_path / "s" / "report.html").exists()
    document = json.loads((tmp_path / "s" / "seed-1" / "audit.json").read_text())
    assert document["graph"]["nodes"] == 1500
    assert "The model was audited on 1,000 of the folder's 1,500 nodes." in document["model"]["notes"]
    assert document["model"]["theorem2"]["reason"] == "χ is about single links, and a propagated folder holds none."
    assert run("verify", tmp_path / "s", "--propagated", folder).code == 0


def test_gin_from_a_folder_of_sums(run, propagated, tmp_path):
    arguments = ("--encoder", "gin", "--set", "epochs=2", "--set", "views=2", "--rows", 1000, "--no-report")
    outcome = run("train", "--propagated", propagated("sum").folder, *arguments, "--out", tmp_path / "a")
    assert outcome.code == 0, outcome.err


def test_many_nodes_give_the_adversary_a_sample(run, folder, tmp_path, monkeypatch):
    monkeypatch.setattr("fairview.cli.folders.MANY_ROWS", 1000)
    quick = ("--propagated", folder, "--set", "epochs=2", "--set", "views=2", "--no-report")
    outcome = run("train", *quick, "--out", tmp_path / "a")
    note = "note: on 1,500 nodes the adversary sees 2,048 of them in each step"
    assert outcome.err == f"{note} (--set adversary_sample=none: all of them).\n"
    assert json.loads((tmp_path / "a" / "run.json").read_text())["parameters"]["adversary_sample"] == 2048
    assert run("train", *quick, "--set", "adversary_sample=none", "--out", tmp_path / "b").err == ""
    assert json.loads((tmp_path / "b" / "run.json").read_text())["parameters"]["adversary_sample"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--encoder", "sage"), "propagated folder: it holds no links, so that it can't give the adjacency matrix."),
        (("--encoder", "gin"), "Make such a folder with `fairview propagate --operator sum`."),
        (("--method", "nifty"), "A folder serves fairvgnn, vanilla, masking and fairgnn with the encoders gcn, gin"),
        (("--method", "parity"), "Set hops=0, or basis='raw' with operator='gcn'"),
        (("--label", "ok"), "--propagated: the folder was made from tables that were read; leave out --label."),
        (("--split-seed", 3, "--drop", "a"), "leave out --drop, --split-seed."),
    ],
)
def test_train_refuses_what_a_folder_can_t_give(run, folder, tmp_path, arguments, message):
    outcome = run("train", "--propagated", folder, *arguments, "--no-report", "--out", tmp_path / "a")
    assert outcome.code == 1
    assert message in outcome.err
    assert not (tmp_path / "a" / "run.json").exists()


def test_one_source_of_data(run, folder, tmp_path):
    assert run("train", "german", "--propagated", folder).err == "error: give either 'german' or --propagated.\n"
    assert run("train").err == "error: give a known dataset, --nodes or --propagated.\n"
    message = "error: --rows 1000: it is about --propagated, which is not given.\n"
    assert run("train", "german", "--rows", 1000).err == message
    message = "no propagated folder: it has no manifest.json. Make one with `fairview propagate`."
    assert message in run("train", "--propagated", tmp_path).err


# --- predict ----------------------------------------------------------------------------------------------------------


def test_predict_streams_to_parquet(run, trained, folder, own_tables, tmp_path):
    out = tmp_path / "scores.parquet"
    outcome = run("predict", trained, "--propagated", folder, "--out", out, "--format", "json")
    assert (outcome.code, outcome.err) == (0, "")
    document, rows = json.loads(outcome.out), pl.read_parquet(out)
    assert (document["nodes"], document["edges"], document["positive"]) == (1500, 4500, int(rows["prediction"].sum()))
    expected = fv.load_model(trained).predict_proba(own_tables.graph())[:, 1]
    assert np.abs(rows["score"].to_numpy() - expected).max() < 1e-6


def test_new_people_are_propagated_like_the_run(run, trained, own_tables, tmp_path):
    people = pl.read_parquet(own_tables.nodes).tail(300).drop("ok", "sex")
    people.write_csv(tmp_path / "new.csv")
    tables = ("--nodes", tmp_path / "new.csv", "--edges", own_tables.edges, "--drop-unknown")
    assert run("propagate", *tables, "--like", trained, "--out", tmp_path / "new").code == 0
    assert run("predict", trained, "--propagated", tmp_path / "new", "--out", tmp_path / "a.csv").code == 0
    assert run("predict", trained, *tables, "--out", tmp_path / "b.csv").code == 0
    one, other = (pl.read_csv(tmp_path / name) for name in ("a.csv", "b.csv"))
    assert one["id"].equals(other["id"])
    assert float((one["score"] - other["score"]).abs().max()) < 1e-6


def test_people_that_were_scaled_otherwise_are_refused(run, trained, own_tables, tmp_path):
    pl.read_parquet(own_tables.nodes).tail(300).write_csv(tmp_path / "new.csv")
    tables = ("--nodes", tmp_path / "new.csv", "--edges", own_tables.edges, "--drop-unknown", "--label", "ok")
    assert run("propagate", *tables, "--sensitive", "sex", "--out", tmp_path / "new").code == 0
    outcome = run("predict", trained, "--propagated", tmp_path / "new", "--out", tmp_path / "s.parquet")
    assert outcome.code == 1
    assert "Propagate it with `fairview propagate --like RUN`" in outcome.err
    assert not (tmp_path / "s.parquet").exists()


def test_the_operator_must_be_the_model_s(run, trained, propagated, tmp_path):
    outcome = run("predict", trained, "--propagated", propagated("sum").folder, "--out", tmp_path / "s.parquet")
    assert outcome.code == 1
    assert "made with the operator 'sum' and 1 self-loops per node, and 'gcn' with 1 is needed" in outcome.err


def test_predict_wants_one_source(run, trained, folder, own_tables):
    assert run("predict", trained).err == "error: give --nodes or --propagated.\n"
    outcome = run("predict", trained, "--propagated", folder, "--nodes", own_tables.nodes)
    message = "the folder holds nodes and links; leave out --nodes."
    assert outcome.err == f"error: --propagated: {message}\n"


def test_a_model_that_needs_groups_asks_for_them(run, own_tables, tmp_path):
    fv.GroupThresholds().fit(own_tables.graph()).save(tmp_path / "run")
    pl.read_parquet(own_tables.nodes).drop("sex", "ok").write_csv(tmp_path / "new.csv")
    tables = ("--nodes", tmp_path / "new.csv", "--edges", own_tables.edges)
    assert run("propagate", *tables, "--like", tmp_path / "run", "--out", tmp_path / "new").code == 0
    outcome = run("predict", tmp_path / "run", "--propagated", tmp_path / "new", "--out", tmp_path / "s.parquet")
    assert outcome.code == 1
    assert "the model needs each node's sensitive group ('sex'), and the folder holds none." in outcome.err


# --- audit, tune, verify ----------------------------------------------------------------------------------------------


def test_audit_of_a_folder(run, folder, tmp_path):
    outcome = run("audit", "--propagated", folder, "--no-probes", "--out", tmp_path / "a")
    assert outcome.code == 0
    assert "undefined: leaking: the permutation test needs the links themselves" in outcome.out
    assert (tmp_path / "a" / "report.html").exists()
    document = json.loads((tmp_path / "a" / "audit.json").read_text())
    assert document["graph"]["sha256"] == fv.open_propagated(folder).sha256


def test_audit_of_a_run_on_a_folder(run, trained, folder):
    outcome = run("audit", trained, "--propagated", folder, "--no-probes", "--format", "json")
    assert outcome.code == 0, outcome.err
    document = json.loads(outcome.out)
    assert document["graph"]["nodes"] == 1500
    assert document["graph"]["sha256"] == json.loads((trained / "run.json").read_text())["data"]["sha256"]


def test_audit_refuses_what_needs_links(run, folder):
    message = "error: --hidden: it needs the links themselves, and a propagated folder holds none; leave it out.\n"
    assert run("audit", "--propagated", folder, "--hidden", "age").err == message
    assert "the folder was made with 'gcn'" in run("audit", "--propagated", folder, "--operator", "mean").err


def test_another_folder_than_the_run_s_is_refused(run, trained, propagated):
    outcome = run("audit", trained, "--propagated", propagated("sum").folder)
    assert outcome.code == 1
    assert "it was made from another propagated folder than" in outcome.err


def test_tune_certifies_from_a_uniform_sample(run, folder, tmp_path):
    options = ("--max-gap", 0.45, "--methods", "parity", "--rows", 1200, "--no-report")
    outcome = run("tune", "--propagated", folder, *options, "--out", tmp_path / "t", "--format", "json")
    assert outcome.code == 0, outcome.err
    certificate = json.loads((tmp_path / "t" / "run" / "certificate.json").read_text())
    assert certificate["propagated_sha256"] == fv.open_propagated(folder).sha256
    condition = (
        "This graph is 1,200 of the 1,500 nodes of a propagated folder, drawn uniformly. It speaks of the others as of "
        "new nodes."
    )
    assert condition in certificate["conditions"]
    assert {trial["settings"]["hops"] for trial in json.loads(outcome.out)["frontier"]} == {0}
    checked = run("verify", tmp_path / "t", "--propagated", folder)
    assert checked.code == 0, checked.out
    assert "the metrics and the certificate's counts made again from the data" in checked.out


def test_tune_speaks_of_all_nodes_only_if_all_are_loaded(run, folder, tmp_path):
    options = ("--max-gap", 0.45, "--rows", 1200, "--population", "graph")
    outcome = run("tune", "--propagated", folder, *options, "--out", tmp_path / "t")
    message = (
        "error: --population: 'graph' counts all nodes; 1,200 of 1,500 were loaded. Use 'new', or load all of them "
        "(--rows 1500).\n"
    )
    assert (outcome.code, outcome.err) == (1, message)


def test_verify_makes_the_metrics_of_a_sample_again(run, trained, folder):
    outcome = run("verify", trained, "--propagated", folder)
    assert outcome.code == 0
    assert "the metrics made again from the data" in outcome.out


def test_verify_of_a_folder(run, folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    assert run("verify", copy).out.endswith("(counts and moments made again from the parts)\n")
    part = copy / "part-00000.parquet"
    part.write_bytes(part.read_bytes()[:-1] + b"x")
    outcome = run("verify", copy)
    assert outcome.code == 3
    assert outcome.out.startswith("part-00000.parquet: does not match its sha256 in manifest.json")
    assert "NOT ok" in outcome.out
