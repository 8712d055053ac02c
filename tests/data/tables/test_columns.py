from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import polars as pl
import pytest

from fairview.data.tables.cells import Table
from fairview.data.tables.columns import ColumnReader, Place, as_texts
from fairview.errors import Problems

DAY = datetime.date(2020, 1, 31)


def reader(values: object, *, missing_values: tuple[str, ...] = ()) -> ColumnReader:
    return ColumnReader(Table("t.csv", pl.DataFrame({"c": values})), Place(None), Problems(), missing_values)


def problem(of: ColumnReader) -> str:
    with pytest.raises(ValueError) as caught:
        of.problems.raise_if_any()
    return str(caught.value)


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([1, None, 2**63 - 1], ["1", None, "9223372036854775807"]),
        ([1.0, -0.5, float("nan"), None], ["1", "-0.5", None, None]),
        ([2.5, float("inf")], ["2.5", "inf"]),
        ([True, None, False], ["true", None, "false"]),
        (["007", "NA", None], ["007", "NA", None]),
        (pl.Series(["b", "a"], dtype=pl.Categorical), ["b", "a"]),
        (pl.Series(["b", "a"], dtype=pl.Enum(["b", "a"])), ["b", "a"]),
        ([Decimal("1.50")], ["1.50"]),
        ([DAY], ["2020-01-31"]),
        ([None, None], [None, None]),
    ],
)
def test_texts_of_every_kind_of_column(values, texts):
    found = as_texts(pl.Series(values))
    assert found is not None
    assert found.to_list() == texts


@pytest.mark.parametrize("values", [[[1]], [{"a": 1}], [b"x"], [datetime.timedelta(1)], [object()]])
def test_what_has_no_text_is_a_problem_and_not_a_crash(values):
    assert as_texts(pl.Series(values)) is None
    of = reader(values)
    assert of.texts("c") is None
    assert problem(of).endswith("values; expected texts or numbers.")


def test_texts_lose_blanks_around_them_and_the_named_ones_are_missing():
    found = reader([" a ", "", "  ", "NA", "nan"], missing_values=("NA",)).texts("c")
    assert found is not None
    assert found.to_list() == ["a", None, None, None, "nan"]


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        (["1", " 2.5 ", "", "-1e3", "+4", ".5"], [1, 2.5, np.nan, -1000, 4, 0.5]),
        ([1, None, 3], [1, np.nan, 3]),
        ([1.5, float("nan"), None], [1.5, np.nan, np.nan]),
        ([True, False, None], [1, 0, np.nan]),
        ([Decimal("1.5"), None], [1.5, np.nan]),
        (pl.Series(["1", "2"], dtype=pl.Categorical), [1, 2]),
        ([None, None], [np.nan, np.nan]),
        (pl.Series([2**64 - 1], dtype=pl.UInt64), [2.0**64]),
    ],
)
def test_numbers_of_every_kind_of_column(values, numbers):
    of = reader(values)
    np.testing.assert_array_equal(of.numbers(["c"])[:, 0], numbers)
    assert not of.problems


@pytest.mark.parametrize("values", [[DAY], [[1]], [{"a": 1}], [b"1"], [object()], [datetime.timedelta(1)]])
def test_what_is_no_number_is_a_problem_and_not_a_crash(values):
    of = reader(values)
    of.numbers(["c"])
    assert "t.csv: column 'c': holds " in problem(of)
    assert "values, not numbers. Turn them into numbers, or drop the column." in problem(of)


def test_the_largest_float32_is_allowed_and_the_next_is_not():
    largest = float(np.finfo(np.float32).max)
    assert reader([largest, -largest]).numbers(["c"])[:, 0].tolist() == [largest, -largest]
    of = reader([1.0, largest * 1.001])
    of.numbers(["c"])
    assert "1 of 2 values are infinite or beyond float32 (row 1, counted from 0; first: 3.40622" in problem(of)


def test_five_places_are_shown_and_the_rest_is_counted():
    rows = np.arange(1200)
    assert Place(None)(rows) == "rows 0, 1, 2, 3, 4 and 1,195 more, counted from 0"
    assert Place([f"p{row}" for row in rows])(rows[:3]) == "ids p0, p1, p2"
    assert Place(["x"])(rows[:1]) == "id x"


def test_the_frame_is_not_changed():
    frame = pl.DataFrame({"a": ["1", " 2", ""], "b": [1.0, float("nan"), None]})
    before = frame.clone()
    of = ColumnReader(Table("t", frame), Place(None), Problems(), ("1",))
    for column in frame.columns:
        of.texts(column)
        of.numbers(column)
    assert frame.equals(before)
