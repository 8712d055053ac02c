"""Limits: what is read, and what is refused, word for word."""

from __future__ import annotations

import math
import re

import pytest

import fairview as fv
from fairview.errors import for_command_line
from fairview.tuning.limits import Limit, check_confidence, check_utility, read_limits

FRACTIONS = " Limits are fractions: 5 points are 0.05."


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (5, FRACTIONS),
        (5.0, FRACTIONS),
        (1, FRACTIONS),
        (100, FRACTIONS),
        (101, ""),
        (0, ""),
        (-0.05, ""),
        (math.nan, ""),
        (math.inf, ""),
        (True, ""),
        ("0.05", ""),
        ([0.05], ""),
    ],
)
def test_a_limit_out_of_range_is_refused_and_points_are_recognised(value, hint):
    with pytest.raises(fv.InputError) as caught:
        read_limits(value, None)
    assert str(caught.value) == f"max_gap: {value!r}; expected a number between 0 and 1.{hint}"
    assert for_command_line(caught.value) == f"--max-gap: {value!r}; expected a number between 0 and 1.{hint}"


def test_an_unknown_gap_is_refused_with_what_was_meant():
    with pytest.raises(fv.InputError) as caught:
        read_limits(0.05, ["statistical_paritiy", "treatment"])
    assert caught.value.problems == (
        "gap: no gap 'statistical_paritiy' has a test. Did you mean 'statistical_parity'?",
        "gap: no gap 'treatment' has a test. Known: statistical_parity, equal_opportunity, equalized_odds.",
    )


def test_a_mapping_without_a_gap_is_refused():
    message = "max_gap: names no gap; expected at least one, such as 'statistical_parity'."
    with pytest.raises(fv.InputError, match=re.escape(message)):
        read_limits({}, None)


def test_a_mapping_and_other_gaps_are_refused():
    with pytest.raises(fv.InputError) as caught:
        read_limits({"equal_opportunity": 0.1}, ["statistical_parity"])
    assert str(caught.value) == (
        "max_gap: names ['equal_opportunity'], but gaps names ['statistical_parity']; give one of the two."
    )


def test_without_gaps_a_limit_is_for_statistical_parity():
    assert read_limits(0.05, None) == (Limit("statistical_parity", 0.05),)
    assert read_limits(None, None) == (Limit("statistical_parity", None),)


def test_a_mapping_has_a_limit_for_each_gap():
    limits = {"equal_opportunity": 0.1, "statistical_parity": 0.02}
    expected = (Limit("equal_opportunity", 0.1), Limit("statistical_parity", 0.02))
    assert read_limits(limits, None) == expected
    assert read_limits(limits, ["statistical_parity", "equal_opportunity"]) == expected


def test_a_gap_that_is_named_twice_counts_once():
    assert read_limits(0.1, ["equalized_odds", "equalized_odds"]) == (Limit("equalized_odds", 0.1),)
    assert read_limits(0.1, "equalized_odds") == (Limit("equalized_odds", 0.1),)


@pytest.mark.parametrize(
    ("value", "hint"),
    [(95, " 95 % is 0.95."), (0.3, ""), (1, ""), (1.0, ""), (math.nan, ""), ("0.95", ""), (0.49, "")],
)
def test_a_confidence_out_of_range_is_refused(value, hint):
    with pytest.raises(fv.InputError) as caught:
        check_confidence(value)
    assert str(caught.value) == f"confidence: {value!r}; expected a number from 0.5 to 1, below 1.{hint}"


@pytest.mark.parametrize("value", [0.5, 0.9, 0.95, 0.999])
def test_a_confidence_from_one_half_on_is_taken(value):
    check_confidence(value)


def test_an_unknown_utility_is_refused_with_what_was_meant():
    with pytest.raises(fv.InputError) as caught:
        check_utility("acuracy")
    assert str(caught.value) == "utility: no utility 'acuracy'. Did you mean 'accuracy'?"


def test_all_problems_of_a_request_are_said_at_once(few):
    with pytest.raises(fv.InputError) as caught:
        fv.tune(
            few,
            max_gap=5,
            gaps=["statistical_parity", "equal_oportunity"],
            confidence=95,
            utility="accurate",
            methods=["constant", "group-thresholds", "parrity"],
            encoders="gcnn",
            trials=-1,
            minutes=-2.0,
            workers=0,
            population="all",
            seed=-1,
        )
    assert caught.value.problems == (
        "max_gap: 5; expected a number between 0 and 1. Limits are fractions: 5 points are 0.05.",
        "gap: no gap 'equal_oportunity' has a test. Did you mean 'equal_opportunity'?",
        "confidence: 95; expected a number from 0.5 to 1, below 1. 95 % is 0.95.",
        "utility: no utility 'accurate'. Did you mean 'accuracy'?",
        "population: 'all'; expected 'new' or 'graph'.",
        "give trials or minutes, not both.",
        "trials: -1; expected a whole number, at least 0.",
        "seed: -1; expected a whole number, at least 0 and below 2**64.",
        "minutes: -2; expected a number above 0.",
        "workers: 0; expected a whole number, at least 1.",
        "no encoder 'gcnn'. Did you mean 'gcn'?",
        "methods: majority answer declares no search_space, so that there is nothing to try. Give its class one, a "
        "dictionary from parameters to values, or leave it out.",
        "methods: group thresholds needs each node's group at prediction, which is often not allowed. If it is, say "
        "so: group_at_prediction=True.",
        "no method 'parrity'. Did you mean 'parity'?",
    )


def test_a_request_that_leaves_nothing_to_try_is_refused(few):
    for wrong, message in [
        ({"methods": []}, "methods: none are named; expected at least one, such as 'parity'."),
        (
            {"methods": "logistic-regression", "trials": 0},
            "trials: 0; without the method 'parity' there is nothing to try.",
        ),
        ({"trials": 2.5}, "trials: 2.5; expected a whole number, at least 0."),
        ({"seed": 1.5}, "seed: 1.5; expected a whole number, at least 0 and below 2**64."),
    ]:
        with pytest.raises(fv.InputError) as caught:
            fv.tune(few, max_gap=0.1, **wrong)
        assert str(caught.value) == message


@pytest.mark.parametrize("gaps", ["race", ["equal_opportunity", "race"]])
def test_an_attribute_in_place_of_a_gap_is_told_how_to_limit_it(gaps):
    with pytest.raises(fv.InputError) as caught:
        read_limits(0.1, gaps, ["race", "sex", "race & sex"])
    said = "'race' is a sensitive attribute, and no gap; limit it with"
    assert str(caught.value) == f"gap: {said} max_gap={{'race': 0.05}}."
    assert for_command_line(caught.value) == f"--gap: {said} --max-gap race=0.05."
