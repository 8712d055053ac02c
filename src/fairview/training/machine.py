"""Where does torch compute, and with how many threads?"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from fairview.errors import InputError, in_one_line
from fairview.machine import available_cores


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """So many threads inside, as before outside."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def threads_of_machine() -> int:
    """What torch takes in a fresh process; not what the caller has set since, because sums are split among threads."""
    first = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return int(first) if first.isdecimal() and int(first) > 0 else available_cores()


def check_device(name: str) -> None:
    """A device that torch knows, and that is there."""
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = in_one_line(error).rstrip(".")
        raise InputError(f"device: '{name}' can't be used here ({reason}). Use 'cpu', or another one.") from None


@contextmanager
def memory_errors() -> Iterator[None]:
    """Torch says that memory ran out with a `RuntimeError`; inside, it is a `MemoryError` as everywhere in Python."""
    try:
        yield
    except RuntimeError as error:
        if not isinstance(error, torch.OutOfMemoryError) and "can't allocate memory" not in str(error):
            raise
        raise MemoryError(in_one_line(error)) from error
