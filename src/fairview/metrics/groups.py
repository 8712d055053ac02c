"""Who belongs to which sensitive group? Any array of values becomes codes and names; None and NaN are unknown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fairview.errors import InputError

UNKNOWN = -1
"""Code of a node whose group is not known."""

Codes = npt.NDArray[np.int16]

_MOST_GROUPS = 1000


def group_codes(values: npt.ArrayLike) -> tuple[Codes, tuple[str, ...]]:
    """Codes into the distinct values, which are sorted: numbers by size, texts by their characters.

    Raises:
        InputError: more than 1,000 distinct values; that is a quantity, not a group.

    Example:
        >>> codes, names = group_codes(["m", None, "f", "m"])
        >>> codes.tolist(), names
        ([1, -1, 0, 1], ('f', 'm'))
    """
    array = np.asarray(values)
    if array.ndim != 1:
        raise InputError(f"sensitive: shape {array.shape}; expected one value per node.")
    if array.dtype.kind not in "biuOUSTf":
        raise InputError(f"sensitive: values of type {array.dtype} can't name groups; use numbers or texts.")
    known = _known(array)
    if array.dtype.kind == "O":
        names, inverse = _unique_objects(array[known])
    else:
        kinds, inverse = np.unique(array[known], return_inverse=True)
        names = tuple(map(_name, kinds.tolist()))
    if len(names) > _MOST_GROUPS:
        raise InputError(f"sensitive: {len(names):,} distinct values; that is a quantity. Bin it into groups first.")
    codes = np.full(len(array), UNKNOWN, dtype=np.int16)
    codes[known] = inverse
    return codes, names


def _known(array: npt.NDArray[np.generic]) -> npt.NDArray[np.bool_]:
    if array.dtype.kind == "f":
        return ~np.isnan(array)  # type: ignore[no-any-return]
    if array.dtype.kind == "O":
        return np.array([_is_known(value) for value in array], dtype=np.bool_).reshape(len(array))
    return np.ones(len(array), dtype=np.bool_)


def _is_known(value: object) -> bool:
    """False for None, NaN and pandas' NA, none of which equals itself."""
    try:
        return value is not None and bool(value == value)
    except TypeError:
        return False


def _unique_objects(values: npt.NDArray[np.object_]) -> tuple[tuple[str, ...], npt.NDArray[np.int64]]:
    """The distinct names in order, and each value's place among them; 1 and 1.0 are one name, 1 and '1' too."""
    kinds = sorted(set(values.tolist()), key=_by_value)
    names = tuple(dict.fromkeys(map(_name, kinds)))
    place = {name: code for code, name in enumerate(names)}
    return names, np.array([place[_name(value)] for value in values.tolist()], dtype=np.int64)


def _by_value(value: object) -> tuple[int, float, str]:
    return (0, float(value), "") if isinstance(value, (bool, int, float)) else (1, 0.0, str(value))


def _name(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def checked_codes(codes: npt.ArrayLike, names: Sequence[str], length: int) -> Codes:
    """Codes that were made elsewhere, with every one of them in its range."""
    array = np.asarray(codes)
    if array.shape != (length,) or array.dtype.kind not in "iu":
        raise InputError(f"sensitive: expected {length:,} integer codes, got {array.dtype} with shape {array.shape}.")
    if length and (array.min() < UNKNOWN or array.max() >= len(names)):
        raise InputError(f"sensitive: codes must lie between -1 (unknown) and {len(names) - 1}.")
    return array.astype(np.int16)
