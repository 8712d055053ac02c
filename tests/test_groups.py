"""Any array of values becomes groups with names; what is not known is not a group."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairview.errors import InputError
from fairview.groups import UNKNOWN, checked_codes, group_codes

NAN = float("nan")


def objects(*values: object) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


CASES: dict[str, tuple[object, list[int], tuple[str, ...]]] = {
    "texts in the order of their characters": (["m", "f", "m"], [1, 0, 1], ("f", "m")),
    "texts that look like numbers stay texts": (np.array(["10", "9"]), [0, 1], ("10", "9")),
    "numbers by size": ([10, 9, -1], [2, 1, 0], ("-1", "9", "10")),
    "numbers by size among objects": (objects(10, 9, None, -1), [2, 1, -1, 0], ("-1", "9", "10")),
    "numbers before texts": (objects("a", 2, 1), [2, 1, 0], ("1", "2", "a")),
    "whole floats are named like integers": ([1.0, 0.0, NAN], [1, 0, -1], ("0", "1")),
    "other floats keep their digits": (np.array([0.1, 0.5], dtype=np.float32), [0, 1], ("0.1", "0.5")),
    "booleans": (np.array([True, False]), [1, 0], ("False", "True")),
    "booleans with a gap": (objects(True, None, False), [1, -1, 0], ("False", "True")),
    "1, 1.0 and '1' are one group": (objects(1, 1.0, "1", np.int8(1), np.float32(1)), [0] * 5, ("1",)),
    "True is not 1": (objects(True, 1, np.bool_(True)), [1, 0, 1], ("1", "True")),
    "a list with NaN among texts": (["m", NAN, "f"], [1, -1, 0], ("f", "m")),
    "a tuple with None among texts": (("m", None, "f"), [1, -1, 0], ("f", "m")),
    "a list of texts and numbers": (["m", 1, 2.0], [2, 0, 1], ("1", "2", "m")),
    "the text 'nan' is a text": (np.array(["nan", "m"]), [1, 0], ("m", "nan")),
    "the empty text is a text": (["", "m"], [0, 1], ("", "m")),
    "bytes": (np.array([b"m", b"f"]), [1, 0], ("f", "m")),
    "NumPy's variable texts": (np.array(["m", "f"], dtype=np.dtypes.StringDType()), [1, 0], ("f", "m")),
    "NumPy's variable texts with a gap": (
        np.array(["m", None], dtype=np.dtypes.StringDType(na_object=None)),
        [0, -1],
        ("m",),
    ),
    "pandas texts": (pd.Series(["m", None, "f"]), [1, -1, 0], ("f", "m")),
    "pandas nullable integers": (pd.Series([1, None, 0], dtype="Int64"), [1, -1, 0], ("0", "1")),
    "pandas nullable booleans": (pd.Series([True, None, False], dtype="boolean"), [1, -1, 0], ("False", "True")),
    "pandas categories": (pd.Series(["m", None, "f"], dtype="category"), [1, -1, 0], ("f", "m")),
    "pandas NA and NaT": (objects(pd.NA, "f", pd.NaT, NAN, None), [-1, 0, -1, -1, -1], ("f",)),
    "polars with a gap": (pl.Series(["m", None, "f"]), [1, -1, 0], ("f", "m")),
    "polars integers with a gap": (pl.Series([1, None, 0]), [1, -1, 0], ("0", "1")),
    "numbers of any kind": (objects(Fraction(1, 2), 10**400, Decimal(3)), [0, 1, 2], ("1/2", str(10**400), "3")),
    "nobody": ([], [], ()),
    "nobody known": ([None, None], [-1, -1], ()),
}


@pytest.mark.parametrize("case", CASES)
def test_values_become_these_groups(case: str) -> None:
    values, codes, names = CASES[case]
    found, found_names = group_codes(values)  # type: ignore[arg-type]
    assert (found.tolist(), found_names) == (codes, names)
    assert all(type(name) is str for name in found_names)
    assert found.dtype == np.int16


def test_a_quantity_is_not_a_group() -> None:
    assert len(group_codes(np.arange(1000))[1]) == 1000
    with pytest.raises(InputError) as refused:
        group_codes(np.arange(1001) / 7)
    assert str(refused.value) == "sensitive: 1,001 distinct values; that is a quantity. Bin it into groups first."


def test_an_array_is_not_the_name_of_a_group() -> None:
    with pytest.raises(InputError) as refused:
        group_codes(objects(np.ones(2), 1))
    assert str(refused.value) == "sensitive: a value of type ndarray can't name a group."


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([0.0, 1.0, -2.0, 0.5, NAN, float("inf")]),
    st.sampled_from(["0", "1", "True", "a", "", "nan"]),
    st.sampled_from([np.int64(1), np.float32(1), np.float64(0.5), np.bool_(True), b"a", pd.NA]),
)


@given(st.lists(VALUES, max_size=12), st.randoms(use_true_random=False))
def test_the_order_of_the_nodes_changes_neither_names_nor_membership(values: list[object], random: object) -> None:
    codes, names = group_codes(objects(*values))
    assert len(set(names)) == len(names)
    order = list(range(len(values)))
    random.shuffle(order)  # type: ignore[attr-defined]
    again, same_names = group_codes(objects(*(values[k] for k in order)))
    assert same_names == names
    assert again.tolist() == codes[order].tolist()


@given(st.lists(st.sampled_from([0, 1, 2, 5, -7]), max_size=20))
def test_all_containers_of_integers_agree(values: list[int]) -> None:
    codes, names = group_codes(np.array(values, dtype=np.int64))
    for same in (values, objects(*values), np.array(values, dtype=np.float32), list(map(float, values))):
        other, other_names = group_codes(same)
        assert (other.tolist(), other_names) == (codes.tolist(), names)
    assert [None if code == UNKNOWN else int(names[code]) for code in codes] == values


def test_codes_made_elsewhere_are_copied() -> None:
    codes = np.array([0, -1, 1], dtype=np.int16)
    kept = checked_codes(codes, ("f", "m"), 3)
    codes[0] = 1
    assert kept.tolist() == [0, -1, 1]
