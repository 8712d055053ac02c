from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import fairview as fv

MAIN = importlib.import_module("fairview.cli.main")  # `fairview.cli.main` is the function
COMMANDS = ("demo", "datasets", "check", "train", "predict", "audit", "compare", "paper", "report", "speed", "env")


def test_version(run):
    outcome = run("--version")
    assert (outcome.code, outcome.out) == (0, f"fairview {fv.__version__}\n")


@pytest.mark.parametrize("arguments", [("--help",), ("-h",)])
def test_help_names_every_command(run, arguments):
    outcome = run(*arguments)
    assert outcome.code == 0
    assert all(command in outcome.out for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(run, command):
    outcome = run(command, "--help")
    assert outcome.code == 0
    assert f"fairview {command}" in outcome.out.replace("\n", " ")
    assert "Examples" in outcome.out
    assert "--format" in outcome.out


def test_no_command_shows_the_help_and_is_a_usage_error(run):
    outcome = run()
    assert outcome.code == 2
    assert "demo" in outcome.out + outcome.err


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("chek",), "check"),
        (("check",), "--nodes"),
        (("check", "--nodes", "a.csv", "--label", "y"), "--sensitive"),
        (("check", "--nodez", "a.csv"), "--nodes"),
        (("check", "--nodes", "a", "--label", "y", "--sensitive", "s", "--scaling", "x"), "minmax"),
        (("check", "--nodes", "a", "--label", "y", "--sensitive", "s", "--missing", "x"), "indicator"),
        (("check", "--nodes", "a", "--label", "y", "--sensitive", "s", "--neighbours", "0"), "neighbours"),
        (("check", "--nodes", "a", "--label", "y", "--sensitive", "s", "--split-seed", "-1"), "split"),
        (("env", "--format", "xml"), "json"),
        (("env", "surplus"), "surplus"),
    ],
)
def test_wrong_usage_is_exit_code_2_and_no_bug(run, arguments, hint):
    outcome = run(*arguments)
    assert outcome.code == 2
    assert hint in outcome.err
    assert "bug" not in outcome.err
    assert outcome.out == ""


def test_wrong_input_is_exit_code_1_with_a_message(run, tmp_path):
    outcome = run("check", "--nodes", tmp_path / "no.csv", "--label", "y", "--sensitive", "s")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == f"error: {tmp_path / 'no.csv'}: no such file.\n"


@pytest.mark.parametrize("place", [0, 1, 3])
def test_debug_shows_the_traceback_wherever_it_stands(tmp_path, place):
    arguments = ["check", "--nodes", str(tmp_path / "no.csv"), "--label", "y", "--sensitive", "s"]
    with pytest.raises(fv.InputError, match="no such file"):
        MAIN.main([*arguments[:place], "--debug", *arguments[place:]])


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (KeyboardInterrupt(), 130, "error: interrupted.\n"),
        (MemoryError(), 1, "error: out of memory. Use fewer rows, or a machine with more memory.\n"),
        (OSError(28, "No space left on device", "a.csv"), 1, "error: a.csv: No space left on device.\n"),
        (fv.DataNotFoundError("bail: not at hand."), 1, "error: bail: not at hand.\n"),
        (
            ZeroDivisionError("division by zero"),
            1,
            "error: this is a bug in fairview (ZeroDivisionError: division by zero). Please report it with the output "
            "of `fairview env` and of the same command with --debug.\n",
        ),
    ],
)
def test_how_other_errors_end(run, monkeypatch, error, code, message):
    def fail(*_arguments: object, **_options: object) -> None:
        raise error

    monkeypatch.setattr(MAIN, "app", fail)
    outcome = run("env")
    assert (outcome.code, outcome.err) == (code, message)


def test_control_characters_of_the_data_do_not_reach_the_terminal(run, tmp_path):
    path = tmp_path / "n.csv"
    path.write_text("id,age,sex,ok\n1,\x1b[2J,f,0\n2,1,m,1\n")
    assert "\x1b" not in run("check", "--nodes", path, "--label", "ok", "--sensitive", "sex").err
    esc = "\x1b[31m[red]f"
    rows = [f"{i},{i},{'m' if i % 2 else esc},{i // 2 % 2}" for i in range(40)]
    path.write_text("\n".join(["id,age,sex,ok", *rows]) + "\n")
    outcome = run("check", "--nodes", path, "--label", "ok", "--sensitive", "sex")
    assert outcome.code == 0
    assert "\\x1b[31m[red]f" in outcome.out
    assert "\x1b" not in outcome.out


HEAVY = ("torch", "polars", "scipy", "sklearn", "pydantic", "torch_geometric")


@pytest.mark.parametrize("arguments", [["--help"], ["check", "--help"], ["--version"]])
def test_help_imports_nothing_heavy(arguments):
    code = (
        "import sys\n"
        "from fairview.cli.main import main\n"
        "try:\n"
        f"    main({arguments})\n"
        "except SystemExit as end:\n"
        "    assert end.code == 0, end.code\n"
        f"print('LOADED', [name for name in {HEAVY} if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split("LOADED")[1]
    allowed = "['pydantic']" if "pydantic" in loaded else "[]"  # newer typers use it themselves
    assert loaded.strip() == allowed


def test_letters_that_the_terminal_lacks_are_no_error(people):
    people.write_text(people.read_text().replace(",m,", ",mâle,"))
    script = "from fairview.cli import main; main()"
    command = [sys.executable, "-c", script, "check", "--nodes", people, "--label", "ok", "--sensitive", "sex"]
    ascii_only = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    done = subprocess.run(command, capture_output=True, env=ascii_only, check=False)
    assert done.returncode == 0, done.stderr
    assert b"m\\xe2le" in done.stdout
    done = subprocess.run([*command, "--format", "json"], capture_output=True, env=ascii_only, check=True)
    assert b"m\\u00e2le" in done.stdout
