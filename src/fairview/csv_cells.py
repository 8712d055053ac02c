"""How is a text written into a CSV file? Exactly; with a quote before formulas only for whoever asks for it.

A spreadsheet takes a cell that begins with `=`, `+`, `-` or `@` for a formula. A quote before it stops that, and
changes the text: `-5` becomes `'-5`, which may be another id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fairview.errors import InputError, option, quoted

FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What a formula may begin with; some spreadsheets skip blanks, and read wide signs like plain ones."""


def csv_cell(text: str) -> str:
    """A cell that every reader of CSV gives back as it is.

    Example:
        >>> csv_cell("-5"), csv_cell("a, b"), csv_cell(" a")
        ('-5', '"a, b"', '" a"')
    """
    needs_quotes = any(sign in text for sign in ',"\n\r') or text != text.strip()
    return '"' + text.replace('"', '""') + '"' if needs_quotes else text


def spreadsheet_safe(text: str) -> str:
    """With a quote before what a spreadsheet would take for a formula.

    Example:
        >>> spreadsheet_safe("=1+1"), spreadsheet_safe("1+1")
        ("'=1+1", '1+1')
    """
    return f"'{text}" if text.startswith(FORMULA_SIGNS) else text


def spreadsheet_safe_ids(ids: Sequence[str]) -> list[str]:
    """Every id with a quote where it needs one.

    Raises:
        InputError: two ids would then be the same.
    """
    safe = [spreadsheet_safe(name) for name in ids]
    counts = Counter(safe)
    if len(counts) < len(safe):
        alike = [name for name, text in zip(ids, safe, strict=True) if counts[text] > 1]
        raise InputError(
            f"{option('spreadsheet_safe', True)}: the ids {quoted(alike, limit=4)} would be written alike, with a "
            "quote before what a spreadsheet takes for a formula. Leave the option out: ids are then written exactly."
        )
    return safe


def may_be_written_as(told: str, text: str) -> bool:
    """Whether a cell is this text: exactly, or with the quote that earlier versions of fairview put before it.

    Example:
        >>> may_be_written_as("-5", "-5"), may_be_written_as("'-5", "-5"), may_be_written_as("'5", "5")
        (True, True, False)
    """
    return told in (text, spreadsheet_safe(text))
