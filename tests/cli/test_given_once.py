from __future__ import annotations

import json
import os

import pytest
import typer.main

from fairview.cli.main import app


def plain(text: str) -> str:
    """The words of a message, without the frame around it."""
    return " ".join(text.replace("│", " ").split())


@pytest.mark.parametrize("twice", [["--label=ok", "--label=ok"], ["--directed", "--directed"], ["--format=json"] * 3])
def test_any_option_given_twice_is_a_usage_error(run, people, twice):
    done = run("check", "--nodes", people, "--label", "ok", "--sensitive", "sex", *twice)
    name = twice[0].split("=")[0]
    assert done.code == 2
    assert f"{name} is given {'3 times' if len(twice) > 2 or name == '--label' else 'twice'}: give it once." in plain(
        done.err
    )


def test_every_command_counts_its_options():
    for name, command in typer.main.get_command(app).commands.items():
        for param in command.params:
            if param.param_type_name == "option" and not param.multiple and not param.is_eager:
                flag = max(param.opts, key=len)
                given = [flag] if param.is_flag else [flag, "1"]
                with pytest.raises(typer.BadParameter, match=f"^{flag} is given twice:") as caught:
                    command.make_context(name, [*given, *given])
                assert caught.value.exit_code == 2


def test_options_that_collect_may_be_repeated(run, people):
    done = run("check", "--nodes", people, "--label", "ok", "--sensitive", "sex", "--drop", "age", "--drop", "age")
    assert done.code == 1
    assert "no feature columns are left" in done.err


@pytest.mark.parametrize("option", ["--out", "--nodes", "--label"])
def test_an_argument_that_is_not_utf8_is_refused_at_the_start(run, people, option):
    name = os.fsdecode(b"caf\xe9")
    done = run("train", "--nodes", people, "--label", "ok", "--sensitive", "sex", option, name)
    assert done.code == 1
    assert done.err == "error: 'caf\\udce9': is not UTF-8. Rename the file, folder or column.\n"


@pytest.mark.parametrize("option", ["--out", "--nodes", "--edges", "--encoding"])
def test_an_empty_value_is_a_usage_error_and_no_path_to_this_folder(run, people, tmp_path, monkeypatch, option):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    required = [] if option == "--nodes" else ["--nodes", people]
    done = run("train", *required, "--label", "ok", "--sensitive", "sex", option, "")
    assert done.code == 2
    assert f"{option} is empty: give a value." in plain(done.err)
    assert sorted(tmp_path.iterdir()) == before


def test_an_empty_run_folder_is_a_usage_error(run, people):
    done = run("predict", "", "--nodes", people)
    assert done.code == 2
    assert "run is empty: give a value." in plain(done.err)


def test_five_people_train_with_a_warning(run, tmp_path):
    people = tmp_path / "five.csv"
    people.write_text("id,age,sex,ok\n1,20,f,0\n2,30,m,1\n3,40,f,1\n4,50,m,0\n5,60,f,1\n")
    done = run(
        "train", "--nodes", people, "--label", "ok", "--sensitive", "sex", "--neighbours", 2, "--method", "vanilla",
        "--set", "epochs=2", "--no-report", "--out", tmp_path / "run", "--format", "json",
    )  # fmt: skip
    assert done.code == 0
    warning = "Only 5 labelled nodes: the numbers say little about anybody else."
    assert f"warning: {warning}\n" in done.err
    assert warning in done.out
    assert warning in (tmp_path / "run" / "run.json").read_text()


def test_seeds_below_five_are_said_beside_their_spread(run, tmp_path):
    done = run(
        "train", "german", "--method", "constant", "--seeds", 2, "--no-report", "--out", tmp_path / "run",
        "--format", "json",
    )  # fmt: skip
    assert done.code == 0
    assert "± rests on 2 seeds only: use 5 or more." in json.loads(done.out)["notes"]
