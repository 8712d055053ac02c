from __future__ import annotations

import csv
import io

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairview.csv_cells import csv_cell, may_be_written_as, spreadsheet_safe, spreadsheet_safe_ids
from fairview.errors import InputError, for_command_line

ODD = [
    "=1+1", "-5", "'-5", "+1", "@SUM(A1)", "\tx", "\r=1", "a\nb", "a\r\nb", 'say "hi", you', '"', '""', "'", ",",
    " a", "a ", " ", "NA", "null", "None", "nan", "007", "7", "1e5", "#x", "a;b", "grün", "\u2028", "\x0b", "\\n",
]  # fmt: skip


def read_back(ids: list[str]) -> list[str]:
    text = "id,score\n" + "".join(f"{csv_cell(name)},0.5\n" for name in ids)
    return [row[0] for row in csv.reader(io.StringIO(text, newline=""), strict=True)][1:]


def test_ids_come_back_exactly():
    assert read_back(ODD) == ODD


def test_polars_reads_the_same_ids():
    text = "id,score\n" + "".join(f"{csv_cell(name)},0.5\n" for name in ODD)
    assert pl.read_csv(text.encode(), infer_schema=False)["id"].to_list() == ODD


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=1))
def test_any_text_comes_back_exactly(ids):
    assert read_back(ids) == ids


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@SUM(A1)", "\tx", "\r=1", "\n=1", "＝1"])
def test_the_safe_variant_has_a_quote_before_what_a_spreadsheet_takes_for_a_formula(text):
    assert spreadsheet_safe(text) == f"'{text}"


@pytest.mark.parametrize("text", ["a", "1-1", "'-5", "", " x", "007"])
def test_the_safe_variant_leaves_other_texts_alone(text):
    assert spreadsheet_safe(text) == text


def test_ids_that_would_become_one_are_refused():
    assert spreadsheet_safe_ids(["-5", "5"]) == ["'-5", "5"]
    with pytest.raises(InputError) as caught:
        spreadsheet_safe_ids(["-5", "'-5", "a"])
    assert str(caught.value) == (
        "spreadsheet_safe=True: the ids '-5', ''-5' would be written alike, with a quote before what a spreadsheet "
        "takes for a formula. Leave the option out: ids are then written exactly."
    )
    assert for_command_line(caught.value).startswith("--spreadsheet-safe: the ids ")


def test_both_ways_to_write_an_id_are_known_again():
    assert may_be_written_as("-5", "-5")
    assert may_be_written_as("'-5", "-5")
    assert not may_be_written_as("'5", "5")
    assert not may_be_written_as("-5", "'-5")
