"""Can these values be read as an array, exactly as they are?"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fairview.errors import InputError


def as_array(values: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    """The values as an array; what NumPy can't read, and what it would misread, is an error."""
    if np.ma.is_masked(values):
        raise InputError(f"{name}: some values are masked, and would be used all the same; leave those nodes out.")
    try:
        return np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:  # ragged rows; a tensor that is not on the CPU
        raise InputError(f"{name}: can't be read as an array ({error}).") from None
