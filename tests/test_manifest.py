"""Hashes of a folder's files: what is recorded, what is noticed, what a kill in between leaves."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairview as fv
from fairview import manifest

ENTRIES = st.dictionaries(st.text(max_size=8), st.integers() | st.text(max_size=8) | st.none(), max_size=4)


@given(ENTRIES)
def test_a_sealed_document_reads_back_and_no_edit_of_it_does(document):
    document.pop("sha256", None)
    text = manifest.sealed(document)
    assert manifest.unsealed(text.encode(), "x") == document | {"sha256": json.loads(text)["sha256"]}
    changed = json.loads(text) | {"added": 1}
    with pytest.raises(fv.InputError, match="does not match its own sha256"):
        manifest.unsealed(json.dumps(changed).encode(), "x")


def test_a_file_is_recorded_after_it_was_written(tmp_path):
    manifest.write_recorded(tmp_path / "audit.json", "{}")
    assert manifest.recorded(tmp_path) == {"audit.json": manifest.file_sha256(tmp_path / "audit.json")}
    assert manifest.mismatches(tmp_path) == ([], ["files.json", "audit.json"])


def test_a_kill_between_file_and_record_leaves_a_file_that_is_not_recorded(tmp_path, monkeypatch):
    manifest.write_recorded(tmp_path / "audit.json", "{}")

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(manifest, "record", killed)
    with pytest.raises(KeyboardInterrupt):
        manifest.write_recorded(tmp_path / "audit.json", '{"other": 1}')
    with pytest.raises(fv.InputError, match=r"audit\.json: is not recorded in files\.json"):
        manifest.check_recorded(tmp_path / "audit.json", (tmp_path / "audit.json").read_bytes())
    problems, _ = manifest.mismatches(tmp_path)
    assert problems == ["audit.json: is not recorded in files.json: it was not finished, or is another's."]


def test_a_changed_and_a_missing_file_are_told_apart(tmp_path):
    for name in ("audit.json", "report.html"):
        manifest.write_recorded(tmp_path / name, "{}")
    (tmp_path / "audit.json").write_text("{ }")
    (tmp_path / "report.html").unlink()
    assert manifest.mismatches(tmp_path)[0] == [
        "audit.json: does not match its sha256 in files.json; it is damaged or changed.",
        "report.html: is missing, although files.json records it.",
    ]


def test_what_is_put_beside_a_record_is_left_alone(tmp_path):
    manifest.write_recorded(tmp_path / "audit.json", "{}")
    (tmp_path / "notes.txt").write_text("mine")
    manifest.check_recorded(tmp_path / "notes.txt", b"mine")
    assert manifest.mismatches(tmp_path)[0] == []


def test_a_folder_without_a_record_is_not_checked(tmp_path):
    (tmp_path / "run.json").write_text('{"method": "vanilla"}')  # as version 0.1.0 wrote it
    assert manifest.recorded(tmp_path) is None
    manifest.check_recorded(tmp_path / "metrics.json", b"anything")
    manifest.write_recorded(tmp_path / "audit.json", "{}")
    assert not (tmp_path / "files.json").exists()


@pytest.mark.parametrize("name", ["../out", "/etc/passwd", "", "a\0b"])
def test_a_record_that_leads_out_of_its_folder_is_refused(tmp_path, name):
    text = manifest.sealed({"kind": "files", "version": 1, "files": {name: "0"}})
    (tmp_path / "files.json").write_text(text)
    with pytest.raises(fv.InputError, match="names a file outside its folder"):
        manifest.recorded(tmp_path)


@pytest.mark.parametrize("content", [b"", b"[]", b"null", b"[" * 100_000, b"\xff", b"{}", b'{"files": 7}'])
def test_a_damaged_record_is_an_error_that_names_it(tmp_path, content):
    (tmp_path / "files.json").write_bytes(content)
    with pytest.raises(fv.InputError, match=r"files\.json: "):
        manifest.recorded(tmp_path)


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path):
    import os

    manifest.write_recorded(tmp_path / "audit.json", "{}")
    (tmp_path / "audit.json").unlink()
    os.mkfifo(tmp_path / "audit.json")
    assert manifest.mismatches(tmp_path)[0] == ["audit.json: is missing, although files.json records it."]
