"""`fairview env`: versions and machine, for bug reports."""

from __future__ import annotations

import platform
import sys
from importlib import metadata
from typing import Any

from fairview._version import __version__
from fairview.cli.output import Format, FormatOption, print_facts, print_json
from fairview.machine import describe_machine

_PACKAGES = ("numpy", "scipy", "polars", "pydantic", "scikit-learn", "torch", "torch_geometric", "typer", "rich")


def env(format: FormatOption = Format.TABLE) -> None:
    """Show versions and machine, for bug reports.

    Examples:

        fairview env

        fairview env --format json
    """
    facts = describe_environment()
    if format is Format.JSON:
        print_json(facts)
        return
    lines = {name: value for name, value in facts.items() if name != "packages"} | facts["packages"]
    print_facts("Environment", {name: "-" if value is None else value for name, value in lines.items()})


def describe_environment() -> dict[str, Any]:
    """Versions, machine and the folders that are searched for data."""
    from fairview.data.datasets.files import search_path

    return {
        "fairview": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        **describe_machine(),
        "executable": sys.executable,
        "data_folders": [str(folder) for folder in search_path()],
        "packages": {name: _version(name) for name in _PACKAGES},
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
