"""One lock per folder: a second process is refused at once, and what a dead one locked is free."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

import fairview as fv
from fairview.locks import NAME, folder_lock

HOLDER = """
import sys, time
from fairview.locks import folder_lock
with folder_lock(sys.argv[1]):
    print("locked", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", HOLDER, tmp_path], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"locked\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no FIFOs")
def test_a_pipe_in_its_place_is_refused(tmp_path):
    os.mkfifo(tmp_path / NAME)
    with pytest.raises(fv.FairviewError) as caught, folder_lock(tmp_path):
        pass
    assert str(caught.value) == f"{tmp_path / NAME}: is not a file. Remove it."


def test_a_second_process_is_refused_at_once_with_the_first_ones_number(holder, tmp_path):
    with pytest.raises(fv.InputError) as caught, folder_lock(tmp_path):
        pass
    assert str(caught.value) == (
        f"{tmp_path}: process {holder.pid} is working in it. Wait for it, or use another folder."
    )


def test_the_lock_of_a_killed_process_is_taken_over(holder, tmp_path):
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    assert (tmp_path / NAME).exists()
    with folder_lock(tmp_path):
        assert (tmp_path / NAME).read_text() == str(os.getpid())
    assert not (tmp_path / NAME).exists()


def test_a_lock_is_taken_again_within_its_thread_and_removed_at_the_end(tmp_path):
    with folder_lock(tmp_path):
        with folder_lock(tmp_path / "."):
            pass
        assert (tmp_path / NAME).exists()
    assert list(tmp_path.iterdir()) == []


def test_an_error_inside_ends_the_lock(tmp_path):
    with pytest.raises(ZeroDivisionError), folder_lock(tmp_path):
        _ = 1 / 0
    assert list(tmp_path.iterdir()) == []


def test_another_thread_is_another_writer(tmp_path):
    refused = []

    def try_it():
        try:
            with folder_lock(tmp_path):
                pass
        except fv.InputError as error:
            refused.append(str(error))

    with folder_lock(tmp_path):
        thread = threading.Thread(target=try_it)
        thread.start()
        thread.join()
    assert len(refused) == 1


def test_a_lock_file_that_leads_elsewhere_is_not_followed(tmp_path):
    target = tmp_path / "elsewhere"
    target.write_text("precious")
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / NAME).symlink_to(target)
    with pytest.raises(fv.FairviewError, match="can't be written"), folder_lock(folder):
        pass
    assert target.read_text() == "precious"


def test_a_folder_that_can_not_be_made_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(fv.FairviewError, match="can't be written"), folder_lock(tmp_path / "file" / "run"):
        pass
