"""How do results look in a notebook? Small pieces of HTML: a titled block, a table, names with values, a list.

Every text is escaped, so that a name from the data can't become markup. There are no colours of our own, only a
translucent grey for lines, so that light and dark themes both work; styles are inline, because front ends drop others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import islice

LONGEST_TEXT = 60
MOST_ROWS = 15
MOST_ITEMS = 5

_LINE = "1px solid rgba(128, 128, 128, 0.4)"
_CELL = "padding: 0.15em 0.8em 0.15em 0"
_PROSE = "margin: 0.3em 0; text-align: left; overflow-wrap: anywhere"


def text(value: object, *, longest: int = LONGEST_TEXT) -> str:
    """A value as escaped text; floats have three digits, None is a dash, and endless texts are cut.

    Example:
        >>> text("<b>age</b>"), text(0.70004), text(12000), text(None)
        ('&lt;b&gt;age&lt;/b&gt;', '0.700', '12,000', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, float):
        value = f"{value:.3f}"
    elif isinstance(value, int) and not isinstance(value, bool):
        value = f"{value:,}"
    shown = str(value)
    return escape(shown if len(shown) <= longest else shown[: longest - 1] + "…")


def block(title: str, *parts: str) -> str:
    """A titled block of pieces; empty ones are left out."""
    head = f'<p style="{_PROSE}"><strong>{text(title, longest=200)}</strong></p>'
    return "\n".join(['<div class="fairview" style="overflow-x: auto">', head, *filter(None, parts), "</div>"])


def paragraph(sentence: str) -> str:
    """A sentence; nothing for an empty one."""
    return sentence and f'<p style="{_PROSE}">{text(sentence, longest=600)}</p>'


def facts(values: Mapping[str, object]) -> str:
    """Names and their values.

    Example:
        >>> facts({"nodes": 1000}).count("<dt")
        1
    """
    pairs = "".join(
        f'<dt style="float: none; width: auto; margin: 0; padding: 0; font-weight: normal; opacity: 0.75">'
        f'{text(name)}</dt><dd style="margin: 0; padding: 0">{text(value, longest=400)}</dd>'
        for name, value in values.items()
    )
    grid = "display: grid; grid-template-columns: max-content 1fr; gap: 0.1em 1em"
    return f'<dl style="{_PROSE}; {grid}">{pairs}</dl>'


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, caption: str, most: int = MOST_ROWS) -> str:
    """A table whose first column names the rows; numbers are aligned to the right, and long ones are cut.

    Example:
        >>> "and 1 more" in table(["group", "nodes"], [["f", 310], ["m", 690]], caption="Groups", most=1)
        True
        >>> table(["group"], [], caption="Groups")
        ''
    """
    listed = [list(row) for row in rows]
    if not listed:
        return ""
    numeric = [place > 0 and all(_is_number(row[place]) for row in listed) for place in range(len(columns))]
    align = [f"text-align: {'right' if number else 'left'}" for number in numeric]
    head = "".join(
        f'<th scope="col" style="{_CELL}; {align[place]}; border-bottom: {_LINE}">{text(column)}</th>'
        for place, column in enumerate(columns)
    )
    body = ""
    for first, *others in listed[:most]:
        cells = "".join(
            f'<td style="{_CELL}; {align[place]}">{text(cell)}</td>' for place, cell in enumerate(others, 1)
        )
        name = f'<th scope="row" style="{_CELL}; {align[0]}; font-weight: normal">{text(first)}</th>'
        body += f"<tr>{name}{cells}</tr>\n"
    if len(listed) > most:
        more = f"and {len(listed) - most:,} more"
        body += f'<tr><td colspan="{len(columns)}" style="{_CELL}; text-align: left">{more}</td></tr>\n'
    above = "caption-side: top; text-align: left; padding: 0.2em 0"
    return (
        '<table style="border-collapse: collapse; margin: 0.4em 0">\n'
        f'<caption style="{above}">{text(caption, longest=400)}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>"
    )


def notes(sentences: Sequence[str], *, most: int = MOST_ITEMS) -> str:
    """A list of sentences; nothing for none.

    Example:
        >>> notes(["a", "b", "c"], most=2).count("<li>"), "and 1 more" in notes(["a", "b", "c"], most=2)
        (3, True)
    """
    if not sentences:
        return ""
    items = [text(sentence, longest=400) for sentence in islice(sentences, most)]
    items += [f"and {len(sentences) - most:,} more"] if len(sentences) > most else []
    listed = "".join(f"<li>{item}</li>" for item in items)
    return f'<ul style="{_PROSE}; padding-left: 1.4em">{listed}</ul>'


def interval(low: float | None, high: float | None) -> str | None:
    """Both ends, for a cell.

    Example:
        >>> interval(0.1, 0.25), interval(None, None)
        ('0.100 to 0.250', None)
    """
    return None if low is None or high is None else f"{low:.3f} to {high:.3f}"


def _is_number(cell: object) -> bool:
    return cell is None or isinstance(cell, (int, float)) or (isinstance(cell, str) and cell.lstrip("+-")[:1].isdigit())
