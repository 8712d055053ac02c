"""How is a file replaced so that nobody ever sees half of it? Written beside, flushed to disk, renamed."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from fairview.errors import FairviewError


def write_atomic(path: str | Path, content: bytes | str) -> None:
    """Write a file whole or not at all; on failure the old one is untouched and nothing is left beside it.

    Raises:
        FairviewError: the folder can't be written to, or the disk is full.
    """
    path = Path(path)
    data = content.encode() if isinstance(content, str) else content
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(path)
    except OSError as error:
        raise FairviewError(f"{path}: can't be written ({error.strerror or error}).") from None
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def write_json(path: str | Path, document: Any, *, indent: int = 2) -> None:
    """Write a JSON file whole or not at all; a number that JSON lacks (NaN, infinity) is a `ValueError`."""
    write_atomic(path, as_text(document, indent=indent))


def as_text(document: Any, *, indent: int = 2) -> str:
    """A JSON document as it is written to a file."""
    return json.dumps(document, indent=indent, ensure_ascii=False, allow_nan=False) + "\n"


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
