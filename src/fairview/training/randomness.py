"""Where does randomness come from? Named streams of one seed, so that no use of it disturbs another."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import torch


class Streams:
    """Independent generators by name: evaluation never disturbs training, and seed 3 alone is seed 3 in a sweep.

    Example:
        >>> torch.rand(1, generator=Streams(3)["mask"]) == torch.rand(1, generator=Streams(3)["mask"])
        tensor([True])
        >>> Streams(3).seed("init") == Streams(3).seed("mask")
        False
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._generators: dict[str, torch.Generator] = {}

    def seed(self, name: str) -> int:
        """A seed of its own for each name."""
        digest = hashlib.sha256(f"{self._seed}/{name}".encode()).digest()
        return int.from_bytes(digest[:8], "big") >> 1

    def __getitem__(self, name: str) -> torch.Generator:
        if name not in self._generators:
            self._generators[name] = torch.Generator().manual_seed(self.seed(name))
        return self._generators[name]

    def state(self) -> dict[str, torch.Tensor]:
        return {name: generator.get_state() for name, generator in sorted(self._generators.items())}

    def load_state(self, state: dict[str, torch.Tensor]) -> None:
        """Go back to a state; a stream that had not been used by then starts anew."""
        for name in self._generators.keys() - state.keys():
            self[name].manual_seed(self.seed(name))
        for name, value in state.items():
            self[name].set_state(value)


@contextmanager
def isolated_randomness(seed: int) -> Iterator[None]:
    """For modules of the user's that draw from the global stream: seeded inside, untouched outside."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(Streams(seed).seed("global"))
        yield
