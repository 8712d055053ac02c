from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

import pytest

import fairview as fv
from fairview.atomic import write_atomic, write_json


def test_text_and_bytes_are_written_whole_and_folders_are_made(tmp_path):
    path = tmp_path / "new" / "folder" / "a.txt"
    write_atomic(path, "grün\n")
    assert path.read_bytes() == "grün\n".encode()
    write_atomic(str(path), b"\x00\xff")
    assert path.read_bytes() == b"\x00\xff"
    assert [other.name for other in path.parent.iterdir()] == ["a.txt"]


def test_the_file_can_be_read_by_whom_the_umask_allows(tmp_path):
    before = os.umask(0o027)
    try:
        write_atomic(tmp_path / "a", b"")
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
def test_when_it_fails_the_old_file_stays_and_nothing_is_left_beside_it(tmp_path, monkeypatch, call):
    path = tmp_path / "a"
    path.write_text("old")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    if call == "replace":
        monkeypatch.setattr(Path, "replace", full)
    elif call == "fsync":
        monkeypatch.setattr(os, "fsync", full)
    else:
        monkeypatch.setattr(tempfile, "mkstemp", full)
    with pytest.raises(fv.FairviewError) as caught:
        write_atomic(path, "new")
    assert str(caught.value) == f"{path}: can't be written (No space left on device)."
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_interruption_leaves_nothing_either(tmp_path, monkeypatch):
    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomic(tmp_path / "a", "new")
    assert list(tmp_path.iterdir()) == []


def test_where_no_file_can_be(tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    with pytest.raises(fv.FairviewError, match=r"/file/a: can't be written \((Not a directory|File exists)\)\.$"):
        write_atomic(tmp_path / "file" / "a", "new")
    with pytest.raises(fv.InputError, match=r"/folder: is a folder, not a file\. Name a file in it\.$"):
        write_atomic(tmp_path / "folder", "new")
    assert list((tmp_path / "folder").iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_read_only(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(fv.FairviewError, match=r"a: can't be written \(Permission denied\)\.$"):
        write_atomic(tmp_path / "a", "new")


def test_json_is_written_whole_and_has_no_not_a_number(tmp_path):
    write_json(tmp_path / "a.json", {"grün": [1, None]})
    assert (tmp_path / "a.json").read_text(encoding="utf-8") == '{\n  "grün": [\n    1,\n    null\n  ]\n}\n'
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json(tmp_path / "a.json", {"a": float("nan")})
    assert (tmp_path / "a.json").read_text(encoding="utf-8").startswith('{\n  "grün"')
