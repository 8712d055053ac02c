"""Where does a graph come from, and what happened to the data on the way?"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from fairview.data.adjacency import Rebuilt
from fairview.errors import Message
from fairview.log import note


@dataclass(frozen=True, kw_only=True)
class Provenance(Rebuilt):
    """Where a graph comes from, and what happened to the data on the way."""

    source: str
    sha256: Mapping[str, str] = field(default_factory=dict)  # file -> hash
    notes: tuple[str, ...] = ()  # what was dropped or changed, in words
    paths: tuple[Path, ...] = field(default=(), repr=False, compare=False)  # of the files read: never written over

    def __post_init__(self) -> None:
        object.__setattr__(self, "sha256", MappingProxyType(dict(self.sha256)))
        object.__setattr__(self, "notes", tuple(map(Message, self.notes)))

    def noting(self, *notes: str) -> Provenance:
        """The same with more notes."""
        for text in notes:
            note(text)
        return dataclasses.replace(self, notes=self.notes + notes)
