"""Several attributes make combinations of their groups, in a fixed order, whatever the nodes are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairview as fv
from fairview.attributes import Attribute, intersection


def attribute(name: str, codes: list[int], groups: tuple[str, ...]) -> Attribute:
    return Attribute(name, np.array(codes, dtype=np.int16), groups)


@given(st.lists(st.tuples(st.integers(-1, 1), st.integers(-1, 2), st.integers(-1, 1)), min_size=1, max_size=30))
def test_a_combination_is_named_after_its_groups_and_unknown_where_one_is(rows: list[tuple[int, int, int]]) -> None:
    groups = [("f", "m"), ("a", "b", "c"), ("no", "yes")]
    columns = [list(column) for column in zip(*rows, strict=True)]
    parts = [attribute(name, codes, names) for name, codes, names in zip("stu", columns, groups, strict=True)]
    together = intersection(parts)
    assert len(together.groups) == len({*together.groups}) == 12
    for row, code in zip(rows, together.codes.tolist(), strict=True):
        if -1 in row:
            assert code == -1
        else:
            expected = " & ".join(f"{name}={names[k]}" for name, names, k in zip("stu", groups, row, strict=True))
            assert together.groups[code] == expected


def test_one_attribute_stays_what_it_is() -> None:
    sex = attribute("sex", [0, 1], ("f", "m"))
    assert intersection([sex]) is sex


def test_names_that_occur_twice_are_refused() -> None:
    sex = attribute("sex", [0, 1], ("f", "m"))
    with pytest.raises(fv.InputError, match=r"the attributes' names must differ; repeated: sex\."):
        intersection([sex, sex])


def test_too_many_combinations_are_refused_with_their_numbers() -> None:
    parts = [attribute(name, [0], tuple(map(str, range(20)))) for name in "ab"]
    assert len(intersection(parts).groups) == 400
    with pytest.raises(fv.InputError) as caught:
        intersection([*parts, attribute("c", [0], ("0", "1"))])
    assert str(caught.value) == (
        "sensitive: 800 groups together ('a' 20, 'b' 20, 'c' 2), more than 400. Merge groups, or name fewer attributes."
    )


def test_hiding_and_picking_nodes() -> None:
    sex = attribute("sex", [0, 1, -1], ("f", "m"))
    assert sex.hidden(np.array([True, False, False])).codes.tolist() == [-1, 1, -1]
    assert sex.at(np.array([2, 1])).codes.tolist() == [-1, 1]
    assert sex.unknown == 1


def test_too_many_combinations_are_refused_however_many():
    parts = [attribute(f"a{number}", [0], tuple(map(str, range(2**13)))) for number in range(5)]
    with pytest.raises(fv.InputError, match="groups together"):
        intersection(parts)


def test_no_attribute_makes_no_groups():
    with pytest.raises(fv.InputError, match="sensitive: names no attribute"):
        intersection([])
