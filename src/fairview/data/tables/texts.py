"""How is a value written? One text for one value, whether it comes from CSV, Parquet, pandas or polars.

A CSV file only has texts: pandas writes 2 beside a missing cell as `2.0`, true as `True` and midnight as a plain date,
polars writes `2`, `true` and `2020-01-31T00:00:00.000000`. Categories, groups and labels must not depend on that. If
all cells of a column are numbers, they are compared as numbers, and so are truth values and dates (docs/adr/0018).
Anything else, `007` among it, is compared as the text that it is. Ids are not touched here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

import polars as pl

Writer = Callable[[str], str]

_NUMBER = re.compile(r"-?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|-?inf", re.ASCII)  # no leading zeros
_WHOLE = re.compile(r"-?[0-9]+")
TRUTH = {"true": 1.0, "True": 1.0, "TRUE": 1.0, "false": 0.0, "False": 0.0, "FALSE": 0.0}
_DAY, _TIME = r"(?P<day>\d{4}-\d\d-\d\d)", r"(?P<time>\d\d:\d\d)(?P<seconds>:\d\d)?(?:\.(?P<fraction>\d+))?"
_MOMENT = re.compile(rf"{_DAY}(?:[ T]{_TIME}(?P<zone>Z|[+-]\d\d:?\d\d)?)?", re.ASCII)
_LARGEST_WHOLE = 2**64  # whole numbers of a frame are below it
_EXACT = 2**53  # whole numbers below it are exact as floats


def write_number(text: str) -> str:
    """A whole number with its digits, any other as the shortest text that is the same float64.

    Example:
        >>> [write_number(text) for text in ("2.0", "1e3", "-0", "0.10", "1E-7", "1e16")]
        ['2', '1000', '0', '0.1', '1e-07', '10000000000000000']
    """
    if _WHOLE.fullmatch(text):
        return "0" if text == "-0" else text
    value = float(text)
    return str(int(value)) if abs(value) < _LARGEST_WHOLE and value.is_integer() else repr(value)


def write_moment(text: str) -> str:
    """A date, with the time of day unless it is midnight; in UTC if it has a time zone.

    Example:
        >>> write_moment("2020-01-31T00:00:00.000000"), write_moment("2020-01-31T01:00+02:00")
        ('2020-01-31', '2020-01-30 23:00:00+00:00')
    """
    parts = _MOMENT.fullmatch(text)
    if parts is None or parts["time"] is None:
        return text
    day, time, zone = parts["day"], parts["time"] + (parts["seconds"] or ":00"), parts["zone"]
    if zone is not None:
        sign, digits = (-1 if zone[0] == "-" else 1), zone[1:].replace(":", "") or "0000"
        ahead = sign * timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
        try:
            day, time = str(datetime.fromisoformat(f"{day} {time}") - ahead).split(" ")
        except (ValueError, OverflowError):  # no such day
            return text
    fraction = (parts["fraction"] or "").rstrip("0")
    moment = f"{day} {time}" + (f".{fraction}" if fraction else "") + ("" if zone is None else "+00:00")
    return moment.removesuffix(" 00:00:00")


def writer(texts: Iterable[str]) -> Writer | None:
    """How values of this kind are written: all numbers, all truth values or all dates; None if they are plain texts.

    Example:
        >>> writer(["2", "2.0"]) is write_number, writer(["2", "007"]), writer([])
        (True, None, None)
    """
    listed = list(texts)
    if not listed:
        return None
    if all(map(_NUMBER.fullmatch, listed)):
        return write_number
    if all(text in TRUTH for text in listed):
        return str.lower
    return write_moment if all(map(_MOMENT.fullmatch, listed)) else None


def same_value(texts: Iterable[str], values: Sequence[str]) -> dict[str, str]:
    """Which of the known values each text is: the same text or, where all of these are of one kind, the same value.

    Example:
        >>> same_value(["2.0", "1", "01"], ["1", "2"])
        {'2.0': '2', '1': '1'}
        >>> same_value(["2.0", "1", "01"], ["01", "1", "x"])
        {'1': '1', '01': '01'}
    """
    known, write = set(values), writer(values)
    written = {write(value): value for value in values} if write else {}
    if len(written) < len(known):  # 1 and 1.0 are two of them, in a model of version 0.1.0
        write = None
    found = {}
    for text in texts:
        if text in known:
            found[text] = text
        elif write is not None and writer([text]) is write and write(text) in written:
            found[text] = written[write(text)]
    return found


def is_number_among(texts: pl.Series, values: Iterable[str]) -> pl.Series:
    """Where a text is the same number as one of the values.

    Example:
        >>> is_number_among(pl.Series(["-9.0", "-09", "x"]), ["-9", "NA"]).to_list()
        [True, False, False]
    """
    numbers = [float(value) for value in values if _NUMBER.fullmatch(value)]
    numbers = [number for number in numbers if abs(number) < _EXACT]
    if not numbers:
        return pl.Series([False]).new_from_index(0, len(texts))
    same = texts.cast(pl.Float64, strict=False).is_in(numbers).fill_null(value=False)
    return same & texts.str.contains(f"^(?:{_NUMBER.pattern})$")
