"""How do arrays get into work files? Their bytes one after the other; a full disk is named, with the file."""

from __future__ import annotations

from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt


def append(stream: BinaryIO, array: npt.NDArray[Any]) -> None:
    """Write the array's bytes. `ndarray.tofile` does the same, but says of a full disk only that bytes are missing.

    Raises:
        OSError: it can't be written; with the reason and the file.

    Example:
        >>> import io
        >>> stream = io.BytesIO()
        >>> append(stream, np.array([[1, 2], [3, 4]], dtype=np.int8)[:, 1])
        >>> stream.getvalue()
        b'\\x02\\x04'
    """
    try:
        stream.write(np.ascontiguousarray(array).data)
    except OSError as error:
        raise OSError(error.errno, error.strerror, stream.name) from error
