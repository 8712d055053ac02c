"""`predictions.csv`, as `verify` reads it back."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from tests.fuzz.damage import bytes_of
from tests.fuzz.trial import CASES, try_many, unchanged

import fairview as fv
from fairview.verification.predictions import read_predictions

SOUND = b'id,score,prediction\n007,0.25,0\n7,0.75,1\n"a, b",1e-05,0\n"x\ny",1,1\n'
CELLS = (
    "0",
    "1",
    "0.5",
    "-1",
    "2",
    "nan",
    "inf",
    "1_0",
    " 1",
    "",
    "١",
    "0x1",
    "1e-400",
    "9" * 400,
    "=1",
    "a" * 200_000,
)


@st.composite
def cells(draw: st.DrawFn) -> bytes:
    """The table with one to three cells replaced."""
    rows = [["id", "score", "prediction"], ["007", "0.25", "0"], ["7", "0.75", "1"]]
    for _ in range(draw(st.integers(1, 3))):
        row = rows[draw(st.integers(0, len(rows) - 1))]
        row[draw(st.integers(0, 2))] = draw(st.sampled_from(CELLS))
    return "\n".join(map(",".join, rows)).encode()


@pytest.mark.parametrize("cases", CASES)
def test_damaged_predictions_are_read_or_refused(cases, tmp_path):
    path = tmp_path / "predictions.csv"

    def read(content: bytes) -> None:
        path.write_bytes(content)
        with unchanged(tmp_path):
            found = read_predictions(path)
        assert len(found.ids) == len({*found.ids}) == len(found.scores) == len(found.positive)
        assert ((found.scores >= 0) & (found.scores <= 1)).all()

    try_many(cases, bytes_of(SOUND) | cells() | st.binary(max_size=40), read)


def test_a_folder_in_its_place_is_refused(tmp_path):
    with pytest.raises(fv.InputError, match="is not a file"):
        read_predictions(tmp_path)
