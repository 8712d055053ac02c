"""The command line: one file per command. `main` is what the `fairview` script calls."""

from fairview.cli.main import main

__all__ = ["main"]
