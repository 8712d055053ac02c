"""How do results look? Aligned tables on a terminal, or one JSON document and nothing else on standard output."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairview.errors import for_command_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from fairview.metrics.evaluation import Evaluation

_PLAIN_WIDTH = 140  # for pipes and files, where nobody has a window


class Format(StrEnum):
    """How to print."""

    TABLE = "table"
    JSON = "json"


FormatOption = Annotated[Format, typer.Option("--format", help="A table to read, or JSON for scripts.")]


def console() -> Console:
    """Standard output, as wide as the terminal."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=False, width=None if sys.stdout.isatty() else _PLAIN_WIDTH)


def never_fail_to_print() -> None:
    """A terminal that can't show a letter of the user's data gets a code in its place, not an error."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure") and not _is_unicode(stream):
            stream.reconfigure(errors="backslashreplace")


def printable(text: str) -> str:
    r"""With flags in place of Python's parameters, and control characters as codes.

    Names from the data can't move the cursor or change colours.

    Example:
        >>> printable("group \x1b[31mred")
        'group \\x1b[31mred'
    """
    return re.sub(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", lambda found: f"\\x{ord(found[0]):02x}", for_command_line(text))


def print_json(document: Any) -> None:
    """One JSON document, its messages with flags; not-a-number can't get into it."""
    typer.echo(json.dumps(_with_flags(document), indent=2, ensure_ascii=not _is_unicode(sys.stdout), allow_nan=False))


def _is_unicode(stream: Any) -> bool:
    return (getattr(stream, "encoding", None) or "").lower().replace("_", "-") in ("utf-8", "utf8")


def _with_flags(document: Any) -> Any:
    if isinstance(document, Mapping):
        return {name: _with_flags(value) for name, value in document.items()}
    if isinstance(document, (list, tuple)):
        return [_with_flags(value) for value in document]
    return for_command_line(document) if isinstance(document, str) else document


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], *, caption: str = "") -> None:
    """A table and an empty line. Columns of numbers are aligned to the right; names are printed as they are."""
    from rich import box
    from rich.table import Table

    table = Table(
        title=_cell(title), caption=_cell(caption) if caption else None, title_justify="left", caption_justify="left",
        box=box.SIMPLE_HEAD, title_style="bold", pad_edge=False,
    )  # fmt: skip
    listed = [list(row) for row in rows]
    for place, column in enumerate(columns):
        numeric = bool(listed) and all(isinstance(row[place], (int, float)) or _is_number(row[place]) for row in listed)
        table.add_column(_cell(column), justify="right" if numeric else "left", overflow="fold")
    for row in listed:
        table.add_row(*map(_cell, row))
    console().print(table)
    if caption:
        console().print()


def print_facts(title: str, facts: Mapping[str, object]) -> None:
    """Names and values below each other."""
    from rich.table import Table

    table = Table(
        title=_cell(title), title_justify="left", title_style="bold", box=None, show_header=False, pad_edge=False
    )
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(_cell(name), _cell(value))
    console().print(table)
    console().print()


def _cell(value: object) -> Text:
    from rich.text import Text

    return Text(f"{value:,}" if isinstance(value, int) else printable(value if isinstance(value, str) else str(value)))


def percent(value: object) -> str:
    """A fraction in percent; an undefined one says so.

    Example:
        >>> percent(0.70004), percent(None)
        ('70.00', 'undefined')
    """
    return f"{100 * value:.2f}" if isinstance(value, (int, float)) else "undefined"


def decimal(value: float | None, digits: int = 3) -> str:
    """A number; a dash where there is none.

    Example:
        >>> decimal(-0.0001), decimal(None)
        ('0.000', '-')
    """
    return "-" if value is None else f"{value:z.{digits}f}"


def metric_columns() -> dict[str, str]:
    """The metrics of tables with little room, and their short names; odds, the larger of two gaps, say little more."""
    from fairview.metrics.registry import METRICS

    return {name: entry.short for name, entry in METRICS.items() if entry.in_tables}


def print_metrics(title: str, rows: Mapping[str, Evaluation | Mapping[str, Any]]) -> None:
    """Models below each other, metrics side by side, in percent; below it why a value is undefined.

    A row is an evaluation, or one as `metrics.json` has it.
    """
    from fairview.metrics.evaluation import Evaluation
    from fairview.metrics.registry import METRICS

    documents = {name: row.to_dict() if isinstance(row, Evaluation) else row for name, row in rows.items()}
    cells = [[name, *(with_interval(document, metric) for metric in METRICS)] for name, document in documents.items()]
    reasons = {
        f"{name}: {METRICS[metric].short} is undefined: {reason}.": None
        for name, document in documents.items()
        for metric, reason in document.get("undefined", {}).items()
        if metric in METRICS
    }
    reasons |= {
        f"{name}: {METRICS[metric].short} has no interval: {reason}.": None
        for name, document in documents.items()
        for metric, reason in document.get("intervals", {}).get("undefined", {}).items()
        if metric in METRICS and metric not in document.get("undefined", {})
    }
    caption = "Percent, 95 % intervals over nodes below. Gaps: 0 means equal. FPR: 100 means it always says yes."
    columns = ["", *(entry.short for entry in METRICS.values())]
    print_table(title, columns, cells, caption="\n".join([caption, *reasons]))


def with_interval(document: Mapping[str, Any], metric: str) -> str:
    """A metric in percent, its interval below if there is one."""
    value, interval = percent(document.get(metric)), document.get("intervals", {}).get(metric)
    return value if interval is None else f"{value}\n{100 * interval['low']:.1f}-{100 * interval['high']:.1f}"


def _is_number(cell: object) -> bool:
    text = str(cell).split("\n", maxsplit=1)[0].replace(",", "").rstrip(" %")
    return text in ("undefined", "-") or text.replace(".", "", 1).replace("-", "", 1).isdigit()
