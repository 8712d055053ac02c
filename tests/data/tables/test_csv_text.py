from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairview.data.tables.csv_text import decode, parse_csv
from fairview.errors import InputError

# --- CSV --------------------------------------------------------------------------------------------------------------


def test_every_cell_is_text_and_only_the_empty_one_is_null():
    frame = parse_csv(b"a,b,c\n007,NA,\n1e5, x ,nan\n", "t.csv", ",")
    assert frame.rows() == [("007", "NA", None), ("1e5", " x ", "nan")]


def test_quoted_cells_keep_separators_line_ends_and_quotes():
    frame = parse_csv(b'"na,me","li\nne"\n"a,b","c\nd"\n"say ""hi""",""""\n', "t.csv", ",")
    assert frame.columns == ["na,me", "li\nne"]
    assert frame.rows() == [("a,b", "c\nd"), ('say "hi"', '"')]


cells = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=6)


@given(st.integers(1, 4).flatmap(lambda width: st.lists(st.lists(cells, min_size=width, max_size=width), min_size=1)))
def test_what_is_quoted_is_read_back_exactly(rows):
    width = len(rows[0])
    header = [f"c{place}" for place in range(width)]
    lines = [",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in [header, *rows]]
    frame = parse_csv("\n".join(lines).encode(), "t.csv", ",")
    assert [[cell or "" for cell in row] for row in frame.rows()] == rows


def test_lines_of_quoted_line_ends_and_of_blank_lines_above_are_counted():
    with pytest.raises(InputError, match=r"\(line 6 has 1\)"):
        parse_csv(b'\n\na,b\n"x\ny",1\nonly\n', "t.csv", ",")


def test_a_blank_line_is_named():
    with pytest.raises(InputError, match=r"1 of 3 rows .* \(line 3 is blank\)\. Remove blank lines\.$"):
        parse_csv(b"a,b\n1,2\n\n3,4\n", "t.csv", ",")


def test_many_odd_rows_are_counted_and_five_are_shown():
    with pytest.raises(InputError, match=r"9 of 9 rows .*line 6 has 1 and 4 more\)"):
        parse_csv(b"a,b\n" + b"1\n" * 9, "t.csv", ",")


@pytest.mark.parametrize("separator", ["", "ab", '"', "\n", "\r", "\0", "é"])
def test_a_separator_is_one_plain_character(separator):
    with pytest.raises(InputError, match=r"^t\.csv: separator must be one plain character, got "):
        parse_csv(b"a,b\n1,2\n", "t.csv", separator)


# --- encodings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252"])
def test_usual_encodings(encoding):
    assert decode("id,größe\r\n1,2\r".encode(encoding), "t.csv", encoding) == "id,größe\n1,2\n".encode()


@pytest.mark.parametrize("encoding", ["", "uft-8", "a\0b", "\udcff"])
def test_unknown_encodings(encoding):
    with pytest.raises(InputError, match=r"Usual ones: utf-8, latin-1, cp1252, utf-16\.$"):
        decode(b"a", "t.csv", encoding)


@pytest.mark.parametrize("encoding", ["hex", "rot13", "zlib", "undefined"])
def test_codecs_that_give_no_text(encoding):
    with pytest.raises(InputError, match=f"^t.csv: '{encoding}' is not a text encoding\\.$"):
        decode(b"a,b", "t.csv", encoding)


def test_half_a_character_is_an_error_with_its_line():
    with pytest.raises(InputError, match=r"^t\.csv: line 2: half a character"):
        decode(b"a\n\\ud800", "t.csv", "unicode_escape")
