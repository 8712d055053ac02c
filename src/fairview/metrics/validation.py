"""Are these labels, predictions and scores what they must be? Checked once, at the door."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fairview.arrays import as_array
from fairview.errors import InputError, some


def binary(values: npt.ArrayLike, name: str) -> npt.NDArray[np.int8]:
    """A list of 0 and 1 (or False and True); anything else is an error, not a guess."""
    array = as_array(values, name)
    if array.ndim != 1:
        raise InputError(f"{name}: shape {array.shape}; expected one value per node.")
    if array.dtype.kind not in "biuf":
        if array.size:
            raise InputError(f"{name}: values of type {array.dtype}; expected 0 and 1.")
        array = array.astype(np.int8)
    if not ((array == 0) | (array == 1)).all():
        others = sorted({str(value) for value in array.tolist()} - {"0", "1", "0.0", "1.0"})
        raise InputError(
            f"{name}: expected 0 and 1 only, found {some(others)}. "
            "Make the positive class 1, the other 0, and leave unlabelled nodes out."
        )
    return array.astype(np.int8)


def finite_scores(values: npt.ArrayLike, length: int) -> npt.NDArray[Any]:
    """One finite number per node; a column (n, 1) is not guessed at, nor are two columns of probabilities.

    Integers stay integers: beyond 2^53 a float would tie scores that differ.
    """
    array = as_array(values, "scores")
    if array.ndim != 1:
        hint = " Pass the positive class only: scores[:, 1]." if array.ndim == 2 and array.shape[1] == 2 else ""
        raise InputError(f"scores: shape {array.shape}; expected ({length},).{hint}")
    if len(array) != length:
        raise InputError(f"scores: {len(array):,} values for {length:,} labels.")
    if array.dtype.kind not in "biuf":
        raise InputError(f"scores: values of type {array.dtype}; expected numbers.")
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        raise InputError(f"scores: {len(bad):,} of {length:,} are NaN or infinite (rows {some(bad)}).")
    return array
