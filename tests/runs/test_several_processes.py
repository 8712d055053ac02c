"""What do the processes of a run say to each other?"""

from __future__ import annotations

import json

import pytest

import fairview as fv
from fairview.propagation.shards import training_shard
from fairview.runs import several_processes
from fairview.runs.run import train_run
from fairview.runs.several_processes import follow_run, leading


@pytest.fixture
def share(propagated):
    return training_shard(propagated(), rank=0, processes=2)


@pytest.fixture
def told(monkeypatch) -> list[bytes]:
    messages: list[bytes] = []
    monkeypatch.setattr(several_processes, "tell", messages.append)
    return messages


def test_the_others_are_told_to_begin_with_the_checkpoint(share, told, propagated, tmp_path):
    checkpoint = tmp_path / "checkpoint.safetensors"
    with leading(share) as begin:
        begin("an identity", checkpoint)
        checkpoint.write_bytes(b"two\nlines")
    with leading(share) as begin:
        begin("an identity", checkpoint)
    about, content = told[1].split(b"\n", 1)
    assert json.loads(about) == {
        "identity": "an identity", "sha256": propagated().graph().sha256, "folder": propagated().sha256,
    }  # fmt: skip
    assert content == b"two\nlines"
    assert told[0] == about + b"\n"


def test_the_others_are_told_if_a_run_is_refused(share, told, tmp_path):
    (tmp_path / "checkpoint.safetensors").write_bytes(b"of an earlier run")
    with pytest.raises(fv.InputError, match="holds an unfinished run"):
        train_run(fv.Vanilla(epochs=2), share, tmp_path)
    assert told == [b""]


def test_one_process_tells_nobody(propagated, told, tmp_path):
    with leading(propagated().graph()) as begin:
        begin("an identity", tmp_path / "checkpoint.safetensors")
    assert told == []


def test_another_process_does_nothing_if_the_first_one_never_begins(share, monkeypatch):
    monkeypatch.setattr(several_processes, "hear", lambda: b"")
    model = fv.Vanilla(epochs=2)
    follow_run([model, model], share)
    assert not hasattr(model, "history_")


def test_another_folder_than_that_of_the_first_process_is_refused(share, monkeypatch):
    message = json.dumps({"identity": "", "sha256": "", "folder": "another"}).encode() + b"\n"
    monkeypatch.setattr(several_processes, "hear", lambda: message)
    with pytest.raises(fv.InputError) as caught:
        follow_run([fv.Vanilla(epochs=2)], share)
    assert str(caught.value) == (
        "propagated folder: another one than that of the first process. Give all machines the same."
    )
