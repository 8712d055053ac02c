"""What has been looked at, and what was wrong? Collected while a folder is checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from fairview.errors import FairviewError, InputError
from fairview.manifest import holder_of, mismatches, recorded


@dataclass
class Findings:
    """Problems and names of files, with the place of a folder inside the one that is checked before them.

    Attributes:
        place: such as `run/`; empty for the folder itself.
        problems: what is wrong.
        checked: what was looked at.
        recounted: whether a certificate's counts were made again from the data.
        recomputed: whether metrics were computed again from the predictions and the data.
        notes: what could not be checked.
    """

    place: str = ""
    problems: list[str] = field(default_factory=list)
    checked: list[str] = field(default_factory=list)
    recounted: bool = False
    recomputed: bool = False
    notes: list[str] = field(default_factory=list)

    def add(self, problems: Iterable[str]) -> None:
        self.problems += [f"{self.place}{problem}" for problem in problems]

    def looked_at(self, names: Iterable[str]) -> None:
        self.checked += [name for each in names if (name := f"{self.place}{each}") not in self.checked]

    def check_hashes(self, folder: Path, instead: Iterable[str] = ()) -> list[str]:
        """Compare what the folder records with what is there; without a record, `instead` is what was looked at."""
        problems, checked = mismatches(folder)
        self.add(problems)
        self.looked_at(checked or instead)
        return problems

    def require_recorded(self, folder: Path, names: Iterable[str]) -> None:
        """A record that lacks one of these files was changed."""
        holder, known = holder_of(folder).name, recorded(folder)
        if known is not None:
            self.add(f"{holder}: does not record {name}." for name in names if name not in known)

    def note(self, text: str) -> None:
        self.notes.append(f"{self.place}{text}")

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Inside, an error of fairview is a problem that was found."""
        try:
            yield
        except InputError as error:
            self.problems += map(str, error.problems)
        except FairviewError as error:
            self.problems.append(str(error))

    def inside(self, folder: str) -> Findings:
        """The same collection, for a folder inside this one."""
        return Findings(f"{self.place}{folder}/", self.problems, self.checked, notes=self.notes)

    def absorb(self, inner: Findings) -> None:
        """What a folder inside has found out besides."""
        self.recounted |= inner.recounted
        self.recomputed |= inner.recomputed
