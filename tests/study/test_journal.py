from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from fairview.errors import FairviewError, InputError
from fairview.study import journal as journal_module
from fairview.study.journal import Journal, decode, encode

ENTRIES = [{"trial": "a", "auc": 0.1 + 0.2}, {"trial": "ü", "undefined": {"f1": "no positives"}}, {"trial": "c"}]


@pytest.fixture
def path(tmp_path) -> Path:
    """A journal with three entries."""
    with Journal.open(tmp_path / "deep" / "journal.jsonl", identity={"study_seed": 0}) as journal:
        for entry in ENTRIES:
            journal.append(entry)
    return journal.path


def reopened(path: Path, **identity: object) -> tuple[list[dict], bool]:
    with Journal.open(path, identity=identity or {"study_seed": 0}) as journal:
        return [entry for _, entry in journal.entries], journal.torn


def test_what_was_appended_is_there_when_it_is_opened_again_to_the_last_bit(path):
    assert reopened(path) == (ENTRIES, False)


def test_entries_know_their_line(path):
    with Journal.open(path, identity={"study_seed": 0}) as journal:
        assert [number for number, _ in journal.entries] == [2, 3, 4]


def test_a_line_is_what_the_encoder_writes_or_nothing():
    line = encode({"b": 1, "a": [1.5, None]})
    assert decode(line) == {"a": [1.5, None], "b": 1}
    for wrong in (
        line[:-1],
        line + b" ",
        line.replace(b"1.5", b"1.6"),
        b"\n",
        b"[]\n",
        b"{}\n",
        b"\xff\n",
        b"[" * 9999,
    ):
        assert decode(wrong) is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no FIFOs")
def test_a_pipe_in_its_place_is_refused_and_not_waited_for(tmp_path):
    path = tmp_path / "journal.jsonl"
    os.mkfifo(path)
    for opened in (Journal.open, Journal.read):
        with pytest.raises(InputError) as caught:
            opened(path, identity={})
        assert str(caught.value) == f"{path}: is not a file."


def test_not_a_number_never_gets_in(path):
    with Journal.open(path, identity={"study_seed": 0}) as journal, pytest.raises(ValueError, match="JSON compliant"):
        journal.append({"auc": float("nan")})
    assert reopened(path) == (ENTRIES, False)


def test_cut_anywhere_the_whole_lines_are_kept_and_writing_goes_on(path, monkeypatch):
    monkeypatch.setattr(journal_module.os, "fsync", lambda _: None)  # hundreds of them take a while
    versions = journal_module.result_versions()
    monkeypatch.setattr(journal_module, "result_versions", lambda: versions)
    whole = path.read_bytes()
    ends = [at + 1 for at, byte in enumerate(whole) if byte == ord("\n")]
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        kept = sum(end <= length for end in ends)
        with Journal.open(path, identity={"study_seed": 0}) as journal:
            assert len(journal.entries) == max(kept - 1, 0)
            assert journal.torn == (length not in (0, *ends))
            for entry in ENTRIES[len(journal.entries) :]:
                journal.append(entry)
        assert path.read_bytes() == whole


def test_any_changed_byte_before_the_last_line_is_an_error_that_names_the_line(path):
    whole = path.read_bytes()
    starts = [0] + [at + 1 for at, byte in enumerate(whole) if byte == ord("\n")]
    for at in range(0, starts[3], 7):
        changed = bytearray(whole)
        changed[at] ^= 1
        path.write_bytes(bytes(changed))
        line = sum(start <= at for start in starts)
        with pytest.raises(InputError, match=rf"journal.jsonl: line {line} is damaged\. Restore the file"):
            reopened(path)
        assert path.read_bytes() == bytes(changed), "a refused file is left as it is"


def test_a_damaged_last_line_is_cut_like_a_torn_one(path):
    whole = path.read_bytes()
    path.write_bytes(whole[:-10] + b"x" + whole[-9:])
    assert reopened(path) == (ENTRIES[:2], True)


def test_another_study_is_refused_with_the_difference(path):
    with pytest.raises(InputError, match=r"belongs to another study \(study_seed 0 there, 7 now\)"):
        reopened(path, study_seed=7)


def test_other_versions_are_another_study(path, monkeypatch):
    monkeypatch.setattr(journal_module, "result_versions", lambda: {"torch": "9.9"})
    with pytest.raises(InputError, match=r"versions fairview .* there, torch 9\.9 now"):
        reopened(path)


@pytest.mark.parametrize("content", [b"my notes", b"my notes\n", b'{"entry": {"a": 1}}\n', encode({"a": 1})])
def test_a_file_that_is_no_journal_is_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "journal.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"line 1 is damaged|not a journal of fairview"):
        reopened(path)
    assert path.read_bytes() == content


def test_two_writers_at_a_time_are_one_too_many(path):
    pytest.importorskip("fcntl")
    with (
        Journal.open(path, identity={"study_seed": 0}),
        pytest.raises(InputError, match="another process is writing to it"),
    ):
        reopened(path)
    assert reopened(path) == (ENTRIES, False), "the lock ends with the journal"


def test_on_a_full_disk_nothing_half_written_is_left(path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    whole = path.read_bytes()
    with Journal.open(path, identity={"study_seed": 0}) as journal:
        monkeypatch.setattr(journal_module.os, "fsync", full)
        with pytest.raises(FairviewError, match=r"journal.jsonl: can't be written \(No space left on device\)"):
            journal.append({"trial": "d"})
    assert path.read_bytes() == whole


def test_a_folder_that_is_a_file_is_said_so(tmp_path):
    (tmp_path / "a").write_text("")
    with pytest.raises(FairviewError, match="can't be written"):
        Journal.open(tmp_path / "a" / "journal.jsonl", identity={})


def test_reading_needs_no_lock_no_file_and_changes_nothing(tmp_path):
    path = tmp_path / "a" / "journal.jsonl"
    assert Journal.read(path, identity={"study_seed": 0}).entries == []
    assert not path.parent.exists()
    with Journal.open(path, identity={"study_seed": 0}) as journal:
        journal.append({"a": 1})
        path.write_bytes(path.read_bytes() + b'{"entry": {"a"')  # another process is at it
        before = path.read_bytes()
        assert Journal.read(path, identity={"study_seed": 0}).entries == [(2, {"a": 1})]
        assert path.read_bytes() == before
