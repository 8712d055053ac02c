"""Which commands are there, and how do they end? Exit codes: 0 ok, 1 wrong input, 2 usage, 3 a check failed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Annotated, NoReturn

import typer

from fairview._version import __version__
from fairview.cli import (
    audit,
    check,
    compare,
    datasets,
    demo,
    env,
    evaluate,
    explain,
    paper,
    predict,
    propagate,
    report,
    speed,
    train,
    tune,
    verify,
)
from fairview.cli.advice import AdvisingCommand
from fairview.cli.output import never_fail_to_print, printable
from fairview.cli.streams import outlive_readers
from fairview.errors import FairviewError, InputError, for_command_line
from fairview.files import is_utf8
from fairview.log import shown_on_stderr

app = typer.Typer(
    name="fairview",
    help="Fair node classification on graphs: check your data, see what it leaks, train, and measure honestly.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Start with `fairview demo`. Every command has `--help` with examples, and `--format json` for scripts.",
)
app.command("demo")(demo.demo)
app.command("datasets")(datasets.datasets)
app.command("check")(check.check)
app.command("propagate")(propagate.propagate)
app.command("train")(train.train)
app.command("tune")(tune.tune)
app.command("predict")(predict.predict)
app.command("evaluate")(evaluate.evaluate)
app.command("audit")(audit.audit)
app.command("explain")(explain.explain)
app.command("compare")(compare.compare)
app.command("paper")(paper.paper)
app.command("report")(report.report)
app.command("verify")(verify.verify)
app.command("speed")(speed.speed)
app.command("env")(env.env)
for registered in app.registered_commands:
    registered.cls = AdvisingCommand


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fairview {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error (anywhere on the line).")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show notes on stderr as they arise (anywhere on the line).")
    ] = False,
) -> None:
    """Options before the command."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command line and exit with its code; errors are a message, not a traceback, unless `--debug` is given."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug, verbose = "--debug" in given, not {"--verbose", "-v"}.isdisjoint(given)
    given = [argument for argument in given if argument not in ("--debug", "--verbose", "-v")]
    outlive_readers()
    never_fail_to_print()
    try:
        _check_utf8(given)
        with shown_on_stderr() if verbose else nullcontext():
            code = app(given, standalone_mode=False)
    except Exception as error:
        if debug:
            raise
        sys.exit(_report(error))
    except KeyboardInterrupt:
        _say("interrupted.")
        sys.exit(130)
    sys.exit(code if isinstance(code, int) else 0)


def _check_utf8(arguments: Sequence[str]) -> None:
    """Refuse at once what no document could be written with: not after hours of training."""
    for argument in arguments:
        if not is_utf8(argument):
            raise InputError(f"{argument!a}: is not UTF-8. Rename the file, folder or column.")


def _report(error: Exception) -> int:
    """Say what went wrong, in the user's words; the exit code is returned."""
    if isinstance(error, FairviewError):
        _say(for_command_line(error))
        return 1
    if callable(show := getattr(error, "show", None)):  # a usage error: click's, or the copy of it in newer typers
        show()
        return int(getattr(error, "exit_code", 2))
    if isinstance(error, typer.Abort):
        _say("interrupted.")
        return 130
    if isinstance(error, OSError):
        _say(f"{error.filename or 'file system'}: {error.strerror or error}.")
        return 1
    if isinstance(error, MemoryError):
        _say("out of memory. Use fewer rows, or a machine with more memory.")
        return 1
    _say(
        f"this is a bug in fairview ({type(error).__name__}: {error}). Please report it with the output of "
        "`fairview env` and of the same command with --debug."
    )
    return 1


def _say(message: str) -> None:
    typer.echo(f"error: {printable(message)}", err=True)
