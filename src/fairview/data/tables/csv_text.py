"""What do these bytes say? Text in an encoding becomes a frame of cells, or an error with its line and a remedy.

The structure is checked before polars sees it: polars fills short rows and renames duplicate columns in silence.
"""

from __future__ import annotations

import codecs
import io

import numpy as np
import polars as pl

from fairview.arguments import shortened
from fairview.data.tables.header import check_columns, check_header
from fairview.errors import InputError, in_one_line, option, shown

_IS_IT_RIGHT = f"Is {option('encoding')} right?"
_SEPARATORS = {",": "','", ";": "';'", "\t": "a tab", "|": "'|'"}


def decode(data: bytes, name: str, encoding: str = "utf-8") -> bytes:
    """The text as UTF-8 with Unix line ends and no byte order mark; a wrong encoding is an error with its place."""
    try:
        codec = codecs.lookup(encoding).name
    except (LookupError, ValueError):
        raise InputError(
            f"{name}: unknown encoding '{shown(encoding)}'. Usual ones: utf-8, latin-1, cp1252, utf-16."
        ) from None
    if codec == "utf-8":
        data = data.removeprefix(codecs.BOM_UTF8)
        if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            raise InputError(f"{name}: is UTF-16, not UTF-8. Save it as UTF-8, or pass {option('encoding', 'utf-16')}.")
    elif codec.startswith(("utf-16", "utf-32")) and b"\0" not in data:  # every line end has one
        raise InputError(f"{name}: is not {codec}. Leave {option('encoding')} out, or say what it is.")
    try:
        text = data.decode(codec)
        text.encode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        remedy = f"Save it as UTF-8, or pass {option('encoding', 'latin-1')}." if codec == "utf-8" else _IS_IT_RIGHT
        byte = error.object[error.start]
        raise InputError(f"{name}: line {line}: byte 0x{byte:02x} is not {codec}. {remedy}") from None
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise InputError(f"{name}: line {line}: half a character (a lone surrogate). {_IS_IT_RIGHT}") from None
    except (LookupError, TypeError, ValueError):
        raise InputError(f"{name}: '{encoding}' is not a text encoding.") from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InputError(
            f"{name}: line {line}: a NUL byte. Is it UTF-16? Pass {option('encoding', 'utf-16')}, or clean the file."
        )
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").encode()


def parse_csv(
    text: bytes, name: str, separator: str, *, header: bool = True, quotes: bool = True, first_line: int = 1
) -> pl.DataFrame:
    """Every cell as text, empty ones null. Rows of another length than the first are errors with their lines.

    `text` is what `decode` gives, `first_line` the number that its first line has in the file called `name`.
    """
    if len(separator) != 1 or not separator.isascii() or separator in '"\n\r\0':
        raise InputError(f"{name}: {option('separator')} must be one plain character, got {shortened(separator)}.")
    first_line += len(text) - len(text.lstrip(b"\n"))
    text = text.strip(b"\n") + b"\n"
    rows, columns = _check_structure(text, name, separator, header=header, quotes=quotes, first_line=first_line)
    quote = '"' if quotes else None
    try:
        frame = pl.read_csv(
            io.BytesIO(text), has_header=False, separator=separator, quote_char=quote, infer_schema=False
        )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise InputError(f"{name}: can't be read as CSV ({in_one_line(error)}).") from None
    if frame.shape != (rows, columns):
        raise InputError(f"{name}: can't be read as CSV ({rows:,} lines gave {frame.height:,} rows).")
    if header:
        names = [cell or "" for cell in frame.row(0)]
        check_header(names, name)
        frame = frame.slice(1)
        frame.columns = names
    return frame


def _check_structure(
    text: bytes, name: str, separator: str, *, header: bool, quotes: bool, first_line: int
) -> tuple[int, int]:
    """Quotes that close, and rows as long as the first; in a few passes over the bytes, whatever the size.

    Returns how many rows there are, the header among them, and how many cells each has.
    """
    data = np.frombuffer(text, dtype=np.uint8)
    ends, cuts = data == ord("\n"), data == ord(separator)
    line_ends = np.flatnonzero(ends)

    def line_of(place: int) -> int:
        return int(np.searchsorted(line_ends, place)) + first_line

    if quotes and b'"' in text:
        marks = data == ord('"')
        inside = np.bitwise_xor.accumulate(marks)  # after an odd number of quotes
        if inside[-1]:
            per_line = np.add.reduceat(marks.astype(np.int64), np.concatenate([[0], line_ends[:-1] + 1]))
            line = int(np.flatnonzero(per_line % 2)[0]) + first_line
            raise InputError(f"{name}: line {line}: a quote is opened and never closed. Close it, or double it inside.")
        opening, closing = np.flatnonzero(marks & inside), np.flatnonzero(marks & ~inside)
        border = (ord("\n"), ord(separator), ord('"'))
        before_is_fine = (opening == 0) | np.isin(data[np.maximum(opening - 1, 0)], border)
        stray = np.concatenate([opening[~before_is_fine], closing[~np.isin(data[closing + 1], border)]])
        if len(stray):
            raise InputError(
                f"{name}: line {line_of(stray.min())}: a quote inside a cell, or text after a closing one. "
                "Put the whole cell in quotes, and double those inside."
            )
        ends, cuts = ends & ~inside, cuts & ~inside
    row_ends = np.flatnonzero(ends)
    check_columns(int(np.count_nonzero(cuts[: row_ends[0]])) + 1, name)
    cells = np.diff(np.searchsorted(np.flatnonzero(cuts), row_ends), prepend=0) + 1
    what = "header" if header else "first line"
    if cells[0] == 1:
        first = text[: row_ends[0]].decode()
        other = next((sign for sign in _SEPARATORS if sign != separator and sign in first), None)
        if other is not None:
            raise InputError(
                f"{name}: one column only, and its {what} contains {_SEPARATORS[other]}. "
                f"Pass {option('separator', other)}."
            )
    odd = np.flatnonzero(cells != cells[0])
    if len(odd):
        starts = row_ends[odd - 1] + 1  # the first row is never odd
        blank = [not text[start : row_ends[k]].strip() for start, k in zip(starts[:5], odd[:5], strict=True)]
        places = [
            f"line {line_of(start)} {'is blank' if nothing else f'has {cells[k]}'}"
            for start, k, nothing in zip(starts[:5], odd[:5], blank, strict=True)
        ]
        remedy = "Remove blank lines." if all(blank) else "A separator inside a cell needs quotes around the cell."
        more = f" and {len(odd) - 5:,} more" if len(odd) > 5 else ""
        raise InputError(
            f"{name}: {len(odd):,} of {len(cells) - header:,} rows are longer or shorter than the {what}'s {cells[0]} "
            f"cells ({', '.join(places)}{more}). {remedy}"
        )
    return len(cells), int(cells[0])
