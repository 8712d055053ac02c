"""What does a field of PyG's `Data` hold? An array, texts, a text, a truth value, or an error that names the field."""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fairview.errors import InputError, Problems, did_you_mean

if TYPE_CHECKING:
    from torch_geometric.data import Data


def values_of_edges(
    data: Data, given: str | npt.ArrayLike, parameter: str, what: str, problems: Problems
) -> npt.NDArray[Any] | None:
    """Values of the edges: themselves, or by the name of the attribute that holds them."""
    if not isinstance(given, str):
        return array_of(given, parameter)
    held = field(data, given)
    if held is None:
        problems.add(f"data: no attribute '{given}' with {what} of the edges.{did_you_mean(given, field_names(data))}")
        return None
    return array_of(held, given)


def array_of(values: Any, name: str) -> npt.NDArray[Any]:
    """A tensor, an array or a list as an array; messages call it by its name."""
    try:
        return np.asarray(values.detach().cpu().numpy() if hasattr(values, "detach") else values)
    except (TypeError, ValueError, NotImplementedError) as error:  # sparse or meta tensors, bfloat16, ragged lists
        raise InputError(f"data.{name}: can't be read as an array ({error}).") from None


def field(data: Data, name: str) -> Any:
    """None where there is none."""
    return data[name] if name in data else None  # noqa: SIM401 - Data.get is newer than the oldest PyG we take


def names_of(what: str, values: Any) -> tuple[str, ...] | None:
    """Texts, if they are given."""
    if values is None:
        return None
    if not isinstance(values, list | tuple | np.ndarray) or (isinstance(values, np.ndarray) and values.ndim != 1):
        raise InputError(f"data.{what}: expected a list of texts, got {reprlib.repr(values)}.")
    return tuple(map(str, values))


def text_field(data: Data, name: str, problems: Problems) -> str | None:
    """A text, if there is one."""
    value = field(data, name)
    if value is not None and not isinstance(value, str):
        problems.add(f"data.{name}: expected a text, got {reprlib.repr(value)}.")
        return None
    return value


def truth_field(data: Data, name: str) -> bool:
    """True or False, or a tensor or array of one of them; not there is False."""
    value = field(data, name)
    if value is None:
        return False
    array = array_of(value, name)
    if array.dtype.kind not in "biu" or array.size != 1 or array.item() not in (0, 1):
        raise InputError(f"data.{name}: expected True or False, got {reprlib.repr(value)}.")
    return bool(array.item())


def field_names(data: Data) -> list[str]:
    """What it has, by name."""
    return [str(key) for key in data.keys()]  # noqa: SIM118 - Data is no mapping
