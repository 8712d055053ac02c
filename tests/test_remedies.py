from __future__ import annotations

import pytest

import fairview as fv
from fairview.errors import InputError, Message, for_command_line, option
from fairview.offered import is_offered, offering
from fairview.remedies import only_with, remedies


def ways() -> str:
    return Message(
        "2 cells are empty."
        + remedies("fill them", only_with("drop", "drop the column"), f"pass {option('missing', 'mean')}")
    )


def test_ways_out_are_joined_with_or():
    assert ways() == "2 cells are empty. Fill them, drop the column, or pass missing='mean'."
    assert for_command_line(ways()) == "2 cells are empty. Fill them, drop the column, or pass --missing mean."


@pytest.mark.parametrize(
    ("lacking", "text"),
    [
        ({"missing"}, "2 cells are empty. Fill them, or drop the column."),
        ({"drop"}, "2 cells are empty. Fill them, or pass missing='mean'."),
        ({"drop", "missing"}, "2 cells are empty. Fill them."),
    ],
)
def test_a_way_out_that_the_reader_does_not_have_is_left_out(lacking, text):
    with offering(lambda name: name not in lacking):
        assert ways() == text
    assert "missing" in ways()


def test_no_way_out_is_no_sentence():
    with offering(lambda name: False):
        assert remedies(f"pass {option('missing')}") == ""


def test_what_is_not_offered_outside_is_not_offered_inside():
    with offering(lambda name: name != "drop"), offering(lambda name: name != "missing"):
        assert [is_offered(name) for name in ("drop", "missing", "edges")] == [False, False, True]
    assert is_offered("drop")


def test_an_option_outside_of_remedies_is_named_as_it_is():
    with offering(lambda name: False):
        error = InputError(f"{option('threshold')}: 2; expected less.")
    assert (str(error), for_command_line(error)) == ("threshold: 2; expected less.", "--threshold: 2; expected less.")


def test_the_offer_ends_with_an_error():
    with pytest.raises(ZeroDivisionError), offering(lambda name: False):
        raise ZeroDivisionError
    assert is_offered("drop")


def test_python_names_no_parameter_that_a_recipe_decides_on():
    people = {"id": ["a", "b", "c"], "age": [1, 2, 3], "sex": ["f", "m", "f"]}
    recipe = fv.read_graph(people, sensitive="sex").recipe
    holes = people | {"age": [1, None, 3]}
    with pytest.raises(InputError, match=r"Fill them, drop them, or pass missing='mean'\.$"):
        fv.read_graph(holes, sensitive="sex")
    with pytest.raises(InputError, match=r"Fill them, or drop them\.$"):
        fv.read_graph(holes, recipe=recipe)
