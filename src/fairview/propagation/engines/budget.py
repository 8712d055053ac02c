"""Is there enough memory and disk for a propagation? Said before the work, not after hours of it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from fairview.errors import InputError, option

_BASE = 1_200_000_000
"""Bytes for Python, its packages, DuckDB's buffers and the blocks that are worked on."""
_REAL = 8
_MOST_NODES = 2**31 - 1
"""A link is a key of 63 bits, and a column number one of 31."""


@dataclass(frozen=True)
class Budget:
    """What a propagation of this size needs.

    Attributes:
        nodes: how many.
        links: at most so many, as given.
        channels: how many.
        hops: how many.
        directed: False doubles the links.
        weighted: whether links have weights.
    """

    nodes: int
    links: int
    channels: int
    hops: int
    directed: bool
    weighted: bool

    @property
    def pairs(self) -> int:
        return self.links if self.directed else 2 * self.links

    def width(self, memory: int) -> int:
        """How many channels are held at a time.

        Raises:
            InputError: not even one, or there are more nodes than can be numbered.
        """
        if self.nodes > _MOST_NODES:
            raise InputError(
                f"nodes: {self.nodes:,}; this engine can number {_MOST_NODES:,}. Pass {option('engine', 'spark')}."
            )
        fixed = _BASE + self.nodes * (_REAL + 8 + 4)  # degrees, ids, and labels, groups and splits
        width = (memory - fixed) // (self.nodes * _REAL) if self.nodes else self.channels
        if width < 1:
            needed = fixed + self.nodes * _REAL
            raise InputError(
                f"memory: {self.nodes:,} nodes need at least {_words(needed)} to hold one channel; {_words(memory)} "
                f"are allowed. Pass {option('memory', f'{-(-needed // 10**9)}GB')} or more."
            )
        return int(min(width, max(self.channels, 1)))

    @property
    def disk(self) -> int:
        """Bytes of work files and parts at the worst moment."""
        keys = self.pairs * (8 + 8 * self.weighted)
        blocks = self.pairs * (4 + 4 * self.weighted) + self.nodes * 8
        encoded = self.nodes * self.channels * _REAL
        hops = encoded * (self.hops + 1)
        parts = self.nodes * (self.channels * (self.hops + 1) * 4 + 16)
        return max(encoded + keys + blocks, encoded + blocks + hops, hops + parts)

    def check_disk(self, folder: Path) -> None:
        """Enough room must be left where the folder is.

        Raises:
            InputError: there is not.
        """
        free = shutil.disk_usage(folder).free
        if free < self.disk:
            raise InputError(
                f"{folder}: the work needs about {_words(self.disk)} of disk, and {_words(free)} are free. Make room, "
                f"or use another {option('folder')}."
            )


def _words(size: int) -> str:
    return f"{size / 10**9:,.1f} GB" if size >= 10**8 else f"{size / 10**6:,.1f} MB"
