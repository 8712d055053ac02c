from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import fairview as fv
from fairview.errors import InputError
from fairview.files import read_at_most, read_regular
from fairview.locks import folder_lock

needs_fifos = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no FIFOs")


@needs_fifos
@pytest.mark.parametrize("argument", ["nodes", "edges"])
def test_a_fifo_without_a_writer_is_refused(tmp_path, argument):
    fifo, people = tmp_path / "fifo.csv", tmp_path / "people.csv"
    os.mkfifo(fifo)
    people.write_text("id,age\n1,2\n2,3\n")
    with pytest.raises(InputError) as caught:
        fv.read_graph(**{"nodes": people, argument: fifo})
    assert str(caught.value) == (
        f"{fifo}: is a pipe (FIFO) that nobody writes to. Start its writer first, or pass a file."
    )


@needs_fifos
def test_a_fifo_with_a_slow_writer_is_read_whole(tmp_path):
    fifo, content = tmp_path / "fifo", b"0123456789" * 100_000
    os.mkfifo(fifo)
    script = "import sys, time; f = open(sys.argv[1], 'wb', 0); time.sleep(0.2); f.write(b'0123456789' * 100_000)"
    writer = subprocess.Popen([sys.executable, "-c", script, str(fifo)])
    keeper = os.open(fifo, os.O_RDWR)  # a writer is there from the beginning

    def leave() -> None:
        writer.wait()
        os.close(keeper)

    threading.Thread(target=leave).start()
    assert read_at_most(fifo, 10**7) == content


def test_no_more_than_asked_for_is_read(tmp_path):
    (tmp_path / "file").write_bytes(b"abcdef")
    assert read_at_most(tmp_path / "file", 3) == b"abc"
    assert read_at_most(tmp_path / "file", 100) == b"abcdef"


def test_a_terminal_is_refused():
    terminal, other = os.openpty()
    try:
        path = os.ttyname(other)
        with pytest.raises(InputError, match=f"{path}: is a terminal, not a file."):
            read_at_most(path, 10)
    finally:
        os.close(terminal)
        os.close(other)


def test_a_folder_whose_name_is_not_utf8_is_refused_before_the_work(tmp_path):
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    with pytest.raises(InputError) as caught, folder_lock(folder):
        pass
    assert str(caught.value) == f"'{tmp_path}/caf\\udce9': the name of the file or folder is not UTF-8. Rename it."
    assert not folder.exists()


def test_a_table_whose_name_is_not_utf8_is_refused(tmp_path):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.csv"))
    path.write_text("id,age\n1,2\n")
    with pytest.raises(InputError, match=r"caf\\udce9.csv': the name of the file or folder is not UTF-8. Rename it."):
        fv.read_graph(path)


@needs_fifos
@pytest.mark.parametrize("kind", ["folder", "pipe", "device"])
def test_a_document_that_is_no_file_is_refused_at_once(tmp_path, kind):
    path = tmp_path / "run.json"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(InputError) as caught:
        read_regular(path)
    assert str(caught.value) == f"{path}: is not a file."


def test_a_document_that_is_too_large_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "run.json"
    with path.open("wb") as stream:
        stream.truncate(2**40)  # takes no room
    with pytest.raises(InputError) as caught:
        read_regular(path)
    assert str(caught.value) == f"{path}: has 1,099,511,627,776 bytes; expected at most 67,108,864."


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="the system has no /dev/zero")
def test_a_table_that_is_a_device_is_refused_at_once():
    with pytest.raises(InputError) as caught:
        fv.read_graph("/dev/zero", label="ok", sensitive="sex")
    assert str(caught.value) == "/dev/zero: is a device, not a file."
