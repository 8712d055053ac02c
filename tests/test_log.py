from __future__ import annotations

import logging
import subprocess
import sys

import polars as pl
import pytest

import fairview as fv
from fairview.cli.main import main
from fairview.log import LOGGER, note, shown_on_stderr, warn

PEOPLE = pl.DataFrame(
    {"id": ["a", "b", "c"], "age": [20, 30, 40], "one": [1, 1, 1], "sex": ["f", "m", "f"], "ok": [0, 1, 1]}
)
LINKS = pl.DataFrame({"source": ["a", "b", "b"], "target": ["b", "a", "b"]})


def test_notes_on_the_data_are_logged_as_they_arise(caplog):
    with caplog.at_level(logging.INFO, logger="fairview"):
        graph = fv.read_graph(PEOPLE, LINKS, label="ok", sensitive="sex")
        logged = [(record.levelname, record.getMessage()) for record in caplog.records]
        assert logged == [("INFO", text) for text in graph.provenance.notes]
        assert ("INFO", "constant channels: 'one'") in logged
        caplog.clear()
        graph.noting("100 % changed by hand")
        assert [record.getMessage() for record in caplog.records] == ["100 % changed by hand"]


def test_what_a_method_has_to_say_is_logged_after_fitting(graph, caplog):
    with caplog.at_level(logging.INFO, logger="fairview"):
        model = fv.EDITS(epochs=1).fit(graph)
    assert model.notes_
    assert [record.getMessage() for record in caplog.records][-len(model.notes_) :] == list(model.notes_)


def test_an_interrupted_fit_is_a_warning(graph, caplog):
    def interrupt(progress, network):
        if progress.epochs == 2:
            raise KeyboardInterrupt

    fv.Vanilla(epochs=5).fit(graph, watch=interrupt)
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
        "Vanilla: interrupted after 2 of 5 epochs."
    ]


def test_nothing_is_printed_until_somebody_listens(capsys):
    code = "from fairview.log import note, warn; note('a'); warn('b')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_the_log_on_stderr_ends_with_its_block(capsys):
    with shown_on_stderr():
        note("column \x1b[31mred")
        warn("it failed")
    note("afterwards")
    assert capsys.readouterr() == ("", "note: column \\x1b[31mred\nwarning: it failed\n")
    assert LOGGER.level == logging.NOTSET


@pytest.mark.parametrize("flag", ["-v", "--verbose"])
def test_the_command_line_shows_the_log_on_request_only(tmp_path, capsys, flag):
    many = pl.concat([PEOPLE] * 20).with_columns(id=pl.arange(60), age=pl.arange(60))
    many.write_csv(tmp_path / "people.csv")
    command = [
        "check",
        "--nodes",
        str(tmp_path / "people.csv"),
        "--label",
        "ok",
        "--sensitive",
        "sex",
        "--format",
        "json",
    ]
    printed = []
    for arguments in (command, [*command, flag], [flag, *command]):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 0
        printed.append(capsys.readouterr())
    quiet, after, before = printed
    assert quiet.out == after.out == before.out
    assert quiet.err == ""
    assert after.err == before.err
    assert "note: constant channels: 'one'\n" in after.err
