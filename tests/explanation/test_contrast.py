from __future__ import annotations

import numpy as np
import pytest

import fairview as fv
from fairview.explanation.contrast import widest_contrast

CODES = np.array([0, 0, 1, 2, -1], dtype=np.int16)
LOGITS = np.array([1.0, 3.0, 5.0, -4.0, 100.0])
EVERYONE = np.ones(5, dtype=bool)


def test_of_three_groups_the_two_furthest_apart_are_compared_the_higher_first() -> None:
    contrast = widest_contrast(LOGITS, CODES, ("a", "b", "c"), EVERYONE, "race")
    assert (contrast.groups, contrast.nodes) == (("b", "c"), (1, 1))
    assert contrast.gap(LOGITS) == 9
    assert contrast.weights.tolist() == [0, 0, 1, -1, 0]


def test_only_the_chosen_nodes_count() -> None:
    contrast = widest_contrast(LOGITS, CODES, ("a", "b", "c"), np.array([True, True, True, False, False]), "race")
    assert contrast.groups == ("b", "a")
    assert contrast.gap(LOGITS) == 3


def test_groups_without_any_difference_have_a_gap_of_zero() -> None:
    contrast = widest_contrast(np.zeros(5), CODES, ("a", "b", "c"), EVERYONE, "race")
    assert contrast.groups == ("a", "b")
    assert contrast.gap(np.zeros(5)) == 0


@pytest.mark.parametrize(
    ("chosen", "said"), [([0, 1], "only 'a' has nodes; two are needed."), ([4], "none is known; two are needed.")]
)
def test_fewer_than_two_groups_have_no_gap(chosen: list[int], said: str) -> None:
    rows = np.isin(np.arange(5), chosen)
    with pytest.raises(fv.InputError) as caught:
        widest_contrast(LOGITS, CODES, ("a", "b", "c"), rows, "race")
    assert str(caught.value) == f"explain: the gap is undefined: of the groups of 'race', {said}"
