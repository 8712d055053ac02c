"""Reading a folder: what there is, what is missing, and what is wrong."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from fairview.errors import InputError
from fairview.report.folder import read_folder


def test_a_run_an_audit_seeds_and_a_comparison_are_recognised(made, tmp_path):
    run = read_folder(made.run(tmp_path / "run"))
    assert (len(run.runs), run.title, len(run.runs[0].history)) == (1, "german", 60)
    assert run.audit is not None
    assert run.audit.model is not None
    audit = read_folder(made.write(tmp_path / "audit", audit=made.audit()))
    assert (audit.runs, audit.audit is None) == ((), False)
    for seed in (1, 2, 10):
        made.write(tmp_path / "seeds" / f"seed-{seed}", run=made.record(seed), metrics=made.metrics())
    assert [run.name for run in read_folder(tmp_path / "seeds").runs] == ["seed 1", "seed 2", "seed 10"]
    compared = read_folder(made.write(tmp_path / "study", summary=made.summary()))
    assert compared.comparison is not None
    assert len(compared.comparison.rows) == 4


def test_an_empty_folder_is_told_what_was_looked_for(tmp_path):
    with pytest.raises(InputError) as caught:
        read_folder(tmp_path)
    for name in ("nothing to report", "metrics.json", "seed-*", "audit.json", "summary.json"):
        assert name in str(caught.value)
    with pytest.raises(InputError, match="no such folder"):
        read_folder(tmp_path / "nowhere")


@pytest.mark.parametrize("missing", ["run", "history", "audit"])
def test_optional_documents_may_be_missing(made, tmp_path, missing):
    read_folder(made.run(tmp_path, **{missing: None}))


@pytest.mark.parametrize("key", ["graph", "channels", "probe", "homophily", "model", "rule", "notes"])
def test_an_audit_may_lack_any_part(made, tmp_path, key):
    audit = made.audit()
    del audit[key]
    assert read_folder(made.write(tmp_path, audit=audit)).audit is not None


WRONG = {
    "not JSON": "{",
    "empty": "",
    "a list": "[]",
    "a number": "7",
    "another kind": '{"kind": "model", "version": 1}',
    "a later version": '{"kind": "audit", "version": 2}',
    "text for a number": '{"kind": "audit", "version": 1, "homophily": "high"}',
    "not a number": '{"kind": "audit", "version": 1, "homophily": NaN}',
    "infinite": '{"kind": "audit", "version": 1, "homophily": 1e999}',
    "true for a number": '{"kind": "audit", "version": 1, "homophily": true}',
    "an endless number": '{"kind": "audit", "version": 1, "hops": ' + "9" * 10_000 + "}",
    "deep nesting": '{"kind": "audit", "version": 1, "x": ' + "[" * 100_000,
    "half a surrogate": '{"kind": "audit", "version": 1, "rule": "\\ud800"}',
    "negative count": '{"kind": "audit", "version": 1, "graph": {"nodes": -1}}',
    "no correlations": '{"kind": "audit", "version": 1, "channels": [{"name": "a", "correlation": []}]}',
    "uneven hops": '{"kind": "audit", "version": 1, "channels": [{"name": "a", "correlation": [0]}, '
    '{"name": "b", "correlation": [0, 1]}]}',
    "uneven bins": '{"kind": "audit", "version": 1, "model": {"scores": [{"group": "a", "edges": [], "counts": []}]}}',
    "a point of three": '{"kind": "audit", "version": 1, "model": {"roc": [{"group": "a", "points": [[0, 1, 2]]}]}}',
}


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_document_is_one_clear_error(tmp_path, text):
    (tmp_path / "audit.json").write_text(text)
    with pytest.raises(InputError, match=r"audit\.json: .*remove it|audit\.json"):
        read_folder(tmp_path)


def test_bytes_that_are_no_text_are_an_error(tmp_path):
    (tmp_path / "metrics.json").write_bytes(b"\xff\xfe{\x00")
    with pytest.raises(InputError, match=r"metrics\.json"):
        read_folder(tmp_path)


def test_documents_with_and_without_a_schema_version_are_read_and_later_ones_refused(made, tmp_path):
    plain = made.metrics()
    for place, head in enumerate(({}, {"kind": "metrics", "version": 2})):
        record = made.record() | head | {"kind": "run"}
        folder = made.write(tmp_path / str(place), metrics=head | plain, run=record)
        assert list(read_folder(folder).runs[0].metrics) == ["val", "test"]
    with pytest.raises(InputError, match=r"metrics\.json: document: .*version 3; expected metrics, 2"):
        read_folder(made.run(tmp_path / "later", metrics=plain | {"kind": "metrics", "version": 3}))
    with pytest.raises(InputError, match=r"run\.json: version: input should be 1 or 2"):
        read_folder(made.write(tmp_path / "run", run=made.record() | {"version": 3}))


def test_the_error_names_the_line_of_the_history(made, tmp_path):
    with pytest.raises(InputError, match=r"history\.jsonl: line 2: epoch: field required"):
        read_folder(made.run(tmp_path, history='{"epoch": 1}\n{"loss": {}}\n'))


def test_many_problems_are_counted_not_listed(made, tmp_path):
    audit = made.audit()
    for channel in audit["channels"]:
        channel["leaking"] = "maybe"
    with pytest.raises(InputError) as caught:
        read_folder(made.write(tmp_path, audit=audit))
    assert len(caught.value.problems) == 7
    assert "22 problems more" in str(caught.value)


def test_a_pipe_or_a_folder_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "audit.json")
    with pytest.raises(InputError, match="is not a file"):
        read_folder(tmp_path)


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    with Path(tmp_path / "audit.json").open("wb") as stream:
        stream.truncate(65 * 2**20)
    with pytest.raises(InputError, match="expected at most"):
        read_folder(tmp_path)


def test_rates_may_be_plain_or_with_intervals(made, tmp_path):
    content = read_folder(made.run(tmp_path))
    plain, rich = content.runs[0].test.groups[0].selection_rate, content.audit.model.groups[0].selection_rate
    assert (plain.value, plain.low) == (0.8, None)
    assert rich.low < rich.value < rich.high


def test_names_are_made_printable_once(made, tmp_path):
    audit = made.audit(names=["a\x00b", "\u202eabc", "x" * 5000])
    names = [channel.name for channel in read_folder(made.write(tmp_path, audit=audit)).audit.channels]
    assert names[:2] == ["a\\u0000b", "\\u202eabc"]
    assert len(names[2]) == 500


def test_reading_does_not_depend_on_the_order_of_keys(made, tmp_path):
    audit = made.audit()
    turned = dict(reversed(audit.items()))
    first = read_folder(made.write(tmp_path / "a", audit=audit)).audit
    assert read_folder(made.write(tmp_path / "b", audit=json.loads(json.dumps(turned)))).audit == first


TIMINGS = """trial,dataset,method,encoder,variant,split,seed,seconds,peak_memory_mb
a,german,constant,,,0,1,0.5,300.0
b,german,fairvgnn,gcn,,0,1,10.0,410.0
c,german,fairvgnn,gcn,,0,2,20.0,400.0
d,german,fairvgnn,gin,,0,1,99.0,999.0
"""


def test_what_a_comparison_cost_is_joined_by_method_and_encoder(made, tmp_path):
    summary = made.summary(["Constant", "FairVGNN · GCN", "Other · GCN"])
    summary["rows"][0]["encoder"] = None
    for row in summary["rows"]:
        del row["seconds"], row["memory_mb"]
    (made.write(tmp_path, summary=summary) / "timings.csv").write_text(TIMINGS)
    rows = read_folder(tmp_path).comparison.rows
    assert [(row.seconds, row.memory_mb) for row in rows] == [(0.5, 300.0), (15.0, 410.0), (None, None)]


@pytest.mark.parametrize(
    "text", ["a,b\n1,2\n", "\xff", TIMINGS + "e,german,x\n", TIMINGS.replace("0.5", "nan"), TIMINGS + '"' + "x" * 10**6]
)
def test_wrong_timings_are_one_error(made, tmp_path, text):
    (made.write(tmp_path, summary=made.summary()) / "timings.csv").write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match=r"timings\.csv: is no table of method, encoder, seconds"):
        read_folder(tmp_path)


def test_documents_about_different_graphs_are_not_mixed(made, tmp_path):
    audit = made.audit()
    audit["graph"]["sha256"] = "1234" * 16
    with pytest.raises(InputError, match=r"about different graphs \(seed 1: run\.json, seed 1: audit\.json\)"):
        read_folder(made.run(tmp_path, audit=audit))
