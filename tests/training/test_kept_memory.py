import ctypes
import subprocess
import sys

import pytest

from fairview.training import kept_memory as memory
from fairview.training.kept_memory import memory_kept

PAGE_FAULTS = """
import resource, sys
import numpy as np
from contextlib import nullcontext
from fairview.training.kept_memory import memory_kept

with memory_kept() if sys.argv[1] == "kept" else nullcontext():
    for _ in range(3):
        np.ones(8_000_000)  # 64 MB
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        np.ones(8_000_000)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def page_faults(how: str) -> int:
    found = subprocess.run([sys.executable, "-c", PAGE_FAULTS, how], capture_output=True, text=True, check=True)
    return int(found.stdout)


@pytest.mark.skipif(memory._glibc() is None, reason="the C library is not glibc")
def test_large_blocks_are_used_again_instead_of_being_mapped_anew() -> None:
    assert page_faults("kept") < page_faults("given back") / 10


def test_nested_uses_end_with_the_outermost(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[int, int]] = []

    class Library:
        def mallopt(self, name: int, value: int) -> int:
            calls.append((name, value))
            return 1

        def malloc_trim(self, _: int) -> int:
            calls.append((0, 0))
            return 1

    monkeypatch.setattr(memory, "_glibc", Library)
    with memory_kept(), memory_kept():
        pass
    assert calls == [(-4, 0), (-1, -1), (-4, 65_536), (-1, 131_072), (0, 0)]


def test_without_glibc_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    with memory_kept():
        assert memory._glibc() is None
