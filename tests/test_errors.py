"""Errors say everything at once, and are what a caller would catch."""

from __future__ import annotations

import pytest

from fairview.errors import DataNotFoundError, FairviewError, InputError, Problems, did_you_mean, some


def test_every_error_is_a_fairview_error_and_its_natural_builtin() -> None:
    assert issubclass(InputError, FairviewError)
    assert issubclass(InputError, ValueError)
    assert issubclass(DataNotFoundError, FairviewError)
    assert issubclass(DataNotFoundError, LookupError)
    assert str(DataNotFoundError("put 'x' there")) == "put 'x' there"


def test_one_problem_is_its_own_message_and_several_are_a_list() -> None:
    assert str(InputError("a")) == str(InputError(["a"])) == "a"
    assert InputError("a").problems == ("a",)
    two = InputError(problem for problem in ("a", "b"))
    assert str(two) == "2 problems:\n  - a\n  - b"
    assert two.problems == ("a", "b")


def test_problems_are_collected_in_order_without_repetition() -> None:
    problems = Problems()
    assert not problems
    problems.raise_if_any()
    problems.add("b")
    problems.absorb(InputError(["a", "b"]))
    assert problems
    with pytest.raises(InputError) as raised:
        problems.raise_if_any()
    assert raised.value.problems == ("b", "a")


@pytest.mark.parametrize(
    ("name", "known", "sentence"),
    [
        ("germen", ["german", "bail"], " Did you mean 'german'?"),
        ("GERMAN", ["german", "bail"], " Did you mean 'german'?"),
        ("zzz", ["german", "bail"], " Known: german, bail."),
        ("zzz", [], ""),
        (
            "zzz",
            [f"channel {k}" for k in range(14)],
            " Known: " + ", ".join(f"channel {k}" for k in range(12)) + " and 2 more.",
        ),
    ],
)
def test_a_mistyped_name_gets_the_nearest_or_the_list(name: str, known: list[str], sentence: str) -> None:
    assert did_you_mean(name, known) == sentence


def test_long_lists_are_cut_with_the_number_of_the_rest() -> None:
    assert some([]) == ""
    assert some(range(5)) == "0, 1, 2, 3, 4"
    assert some(range(6)) == "0, 1, 2, 3, 4 and 1 more"
    assert some(range(5000)) == "0, 1, 2, 3, 4 and 4,995 more"
    assert some((name for name in "ab"), limit=1) == "a and 1 more"
