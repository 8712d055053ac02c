"""Where does torch compute, and with how many threads?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from fairview.errors import InputError, in_one_line


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """So many threads inside, as before outside."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def check_device(name: str) -> None:
    """A device that torch knows, and that is there."""
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = in_one_line(error).rstrip(".")
        raise InputError(f"device: '{name}' can't be used here ({reason}). Use 'cpu', or another one.") from None
