"""Who belongs to which sensitive group? Any array of values becomes codes and names; None and NaN are unknown."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real

import numpy as np
import numpy.typing as npt

from fairview.arrays import as_array
from fairview.errors import InputError, some

UNKNOWN = -1
"""Code of a node whose group is not known."""

Codes = npt.NDArray[np.int16]

_MOST_GROUPS = 1000


def group_codes(values: npt.ArrayLike, name: str = "sensitive") -> tuple[Codes, tuple[str, ...]]:
    """Codes into the distinct values, which are sorted: numbers by size, texts by their characters.

    Raises:
        InputError: more than 1,000 distinct values; that is a quantity, not a group.

    Example:
        >>> codes, names = group_codes(["m", None, "f", "m"])
        >>> codes.tolist(), names
        ([1, -1, 0, 1], ('f', 'm'))
    """
    array = as_array(values, name)
    if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
        array = np.array(values, dtype=np.object_)  # in a list with texts, NumPy would turn NaN into the text 'nan'
    if array.ndim != 1:
        raise InputError(f"{name}: shape {array.shape}; expected one value per node.")
    if array.dtype.kind not in "biuOUSTf":
        raise InputError(f"{name}: values of type {array.dtype} can't name groups; use numbers or texts.")
    if array.dtype.kind in "OST":
        return _object_codes(array.astype(np.object_), name)
    known = ~np.isnan(array) if array.dtype.kind == "f" else np.ones(len(array), dtype=np.bool_)
    kinds, places = np.unique(array[known], return_inverse=True)
    return _coded(known, places, tuple(map(_name, kinds)), name)


def _object_codes(array: npt.NDArray[np.object_], what: str) -> tuple[Codes, tuple[str, ...]]:
    """Values with one name are one group: 1, 1.0 and '1' are, and are not True."""
    values = array.tolist()
    known = np.fromiter(map(_is_known, values), dtype=np.bool_, count=len(values))
    named = [_name(value) for value, is_known in zip(values, known, strict=True) if is_known]
    keys = {(_by_value(value), name) for value, name in zip(array[known].tolist(), named, strict=True)}
    names = tuple(dict.fromkeys(name for _, name in sorted(keys)))
    place = {name: code for code, name in enumerate(names)}
    return _coded(known, np.array([place[name] for name in named], dtype=np.int64), names, what)


def _coded(
    known: npt.NDArray[np.bool_], places: npt.NDArray[np.int64], names: tuple[str, ...], what: str
) -> tuple[Codes, tuple[str, ...]]:
    if len(names) > _MOST_GROUPS:
        raise InputError(f"{what}: {len(names):,} distinct values; that is a quantity. Bin it into groups first.")
    codes = np.full(len(known), UNKNOWN, dtype=np.int16)
    codes[known] = places
    return codes, names


def _is_known(value: object) -> bool:
    """False for None, NaN and pandas' NA, none of which equals itself."""
    if value is None or isinstance(value, str):
        return value is not None
    try:
        return bool(value == value)
    except TypeError:
        return False
    except ValueError:  # an array
        raise InputError(f"sensitive: a value of type {type(value).__name__} can't name a group.") from None


def _by_value(value: object) -> tuple[int, Real | int, str]:
    return (0, value, "") if isinstance(value, Real) else (1, 0, _name(value))


def _name(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    if isinstance(value, (float, np.floating)):
        return str(int(value)) if float(value).is_integer() else str(value)
    return str(value)


def checked_codes(codes: npt.ArrayLike, names: Sequence[str], length: int) -> Codes:
    """Codes that were made elsewhere, with every one of them in its range."""
    array = as_array(codes, "sensitive")
    if array.shape != (length,) or array.dtype.kind not in "iu":
        raise InputError(f"sensitive: expected {length:,} integer codes, got {array.dtype} with shape {array.shape}.")
    if len(set(names)) != len(names):
        raise InputError(f"sensitive: the groups' names must differ, got {some(names)}.")
    if length and (array.min() < UNKNOWN or array.max() >= len(names)):
        raise InputError(f"sensitive: codes must lie between -1 (unknown) and {len(names) - 1}.")
    return array.astype(np.int16)
