from __future__ import annotations

import polars as pl
import pytest

import fairview as fv
from fairview.data.hints import hints

N = 100


def found(values: list[float | None], **options: object) -> bool:
    people = pl.DataFrame({"age": range(N), "code": values, "sex": ["f", "m"] * (N // 2)}, strict=False)
    return any("'code'" in hint for hint in hints(fv.read_graph(people, sensitive="sex", **options)))


@pytest.mark.parametrize("scaling", ["standard", "minmax", "none"])
@pytest.mark.parametrize("codes", [[1, 2, 3], [101, 205, 999, 12345], [-1, 0, 7], list(range(10))])
def test_few_whole_numbers_may_be_codes(codes, scaling):
    assert found([codes[k % len(codes)] for k in range(N)], scaling=scaling)


@pytest.mark.parametrize("codes", [[0, 1], [5], [0.5, 1, 2], list(range(11)), [1.25, 2.5, 3.75]])
def test_two_values_many_values_and_fractions_are_numbers(codes):
    assert not found([codes[k % len(codes)] for k in range(N)])


@pytest.mark.parametrize("missing", ["mean", "indicator", "drop"])
def test_codes_beside_empty_cells(missing):
    assert found([None if k == 5 else k % 4 for k in range(N)], missing=missing)


def test_few_people_have_few_ages():
    people = pl.DataFrame({"age": [20, 30, 40, 50], "sex": ["f", "m", "f", "m"]})
    assert hints(fv.read_graph(people, sensitive="sex")) == []


def test_encoded_columns_and_graphs_without_a_table_get_no_hint():
    assert not found([k % 4 for k in range(N)], categorical=["code"])
    assert hints(fv.NodeGraph.from_arrays(features=[[k % 3] for k in range(N)], edges=[[], []])) == []


def test_several_columns_are_in_one_hint():
    people = pl.DataFrame({"a": [1, 2, 3] * 10, "b": [4, 5, 6] * 10, "sex": ["f", "m"] * 15})
    assert hints(fv.read_graph(people, sensitive="sex")) == [
        "columns 'a', 'b' hold few whole numbers; if they are codes, pass categorical=['a', 'b']"
    ]
