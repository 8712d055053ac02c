"""Where do the files of a dataset lie, and are they the right ones?"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fairview.data.datasets.entry import DataFile, Dataset
from fairview.data.tables.archives import read_bytes, read_zip_member, zip_members
from fairview.errors import DataNotFoundError, InputError, command, option, placeholder

DATA_VARIABLE = "FAIRVIEW_DATA"
"""Environment variable: a folder that is searched for the files of the known datasets."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """A file in a folder, or a member of an archive in it."""

    path: Path
    member: str | None = None

    def __str__(self) -> str:
        return f"{self.path}:{self.member}" if self.member else str(self.path)

    def read(self, *, limit: int) -> bytes:
        if self.member is None:
            return read_bytes(self.path, limit=limit)
        return read_zip_member(self.path, self.member, limit=limit)


@dataclass(frozen=True, kw_only=True)
class FoundFiles:
    """Which files of a dataset are at hand. Their content is checked when they are read, not before."""

    dataset: Dataset
    places: Mapping[str, Place]  # by the file's name
    folders: tuple[Path, ...]  # that were searched, in this order
    problems: tuple[str, ...] = ()  # of archives that could not be looked into

    @property
    def missing(self) -> tuple[DataFile, ...]:
        """Files without which the dataset can't be loaded."""
        return tuple(file for file in self.dataset.files if file.required and file.name not in self.places)

    @property
    def at_hand(self) -> bool:
        """All that is needed is there (or comes with the package)."""
        return not self.missing

    def __contains__(self, name: str) -> bool:
        return name in self.places

    def read(self, name: str) -> bytes:
        """The content of a file, its hash checked.

        Raises:
            InputError: the file is broken, too large, or another one of the same name.
        """
        file = next(file for file in self.dataset.files if file.name == name)
        place = self.places[name]
        content = place.read(limit=file.limit)
        sha256 = hashlib.sha256(content).hexdigest()
        if not sha256.startswith(file.sha256) and not _is_known_archive(file, place):
            expected = file.sha256 if len(file.sha256) == 64 else f"one that begins with {file.sha256}"
            raise InputError(
                f"{place}: not the file that {self.dataset.name} is made of: sha256 {sha256}, expected {expected}. "
                "Replace it, or move it away."
            )
        return content

    def sha256(self) -> dict[str, str]:
        """The hashes of the files, for the provenance; only the first digits where no more are known."""
        return {file.name: file.sha256 for file in self.dataset.files if file.name in self.places}

    def require(self) -> None:
        """Nothing happens if all is there; otherwise an error in one line, with what to put where."""
        missing = self.missing
        if not missing:
            return
        if self.problems:
            raise InputError(self.problems)
        raise DataNotFoundError(f"{self.dataset.name}: {self._absence(missing)}")

    def _absence(self, missing: tuple[DataFile, ...]) -> str:
        downloads = [download.name for download in self.dataset.downloads]
        wanted = []
        for file in missing:
            names = [*(archive for archive in file.archives if archive in downloads), file.name]
            known = "" if len(file.sha256) == 64 else f" (the file whose sha256 begins with {file.sha256})"
            wanted.append(" or ".join(names) + known)
        fetch, never = "", " It can't be downloaded."
        if self.dataset.fetchable:
            name = self.dataset.name
            run = f"run {command(f'datasets {name}', fetch=True)}"
            fetch, never = f", or {placeholder(python=f'call fv.fetch_dataset({name!r})', command_line=run)}", ""
        return (
            f"not at hand. Put {' and '.join(wanted)} into {self.folders[0]}, "
            f"or name the folder with {option('data_dir')} or {DATA_VARIABLE}{fetch}.{never}"
        )


def find_files(dataset: Dataset, data_dir: str | Path | None = None) -> FoundFiles:
    """Look for a dataset's files: in `data_dir`, in the folder that `FAIRVIEW_DATA` names, in the user's cache.

    In each folder: the archive (`bail.zip`), the unpacked folder (`bail/bail.csv`), the bare file (`bail.csv`).
    """
    folders = search_path(data_dir)
    places: dict[str, Place] = {}
    problems: dict[str, None] = {}
    for file in dataset.files:
        for folder in folders:
            place = _look_for(file, folder, problems)
            if place:
                places[file.name] = place
                break
    return FoundFiles(dataset=dataset, places=places, folders=folders, problems=tuple(problems))


def search_path(data_dir: str | Path | None = None) -> tuple[Path, ...]:
    """The folders that are searched, first things first."""
    named = [data_dir, os.environ.get(DATA_VARIABLE)]
    return (*(Path(folder).expanduser() for folder in named if folder), user_cache())


def user_cache() -> Path:
    """The user's own folder for downloads: `~/.cache/fairview`, or what the system says instead."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
        return Path(base) / "fairview" if base else Path.home() / "AppData" / "Local" / "fairview"
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "fairview"


def _is_known_archive(file: DataFile, place: Place) -> bool:
    """Where only the first digits of a hash are handed down, they may be those of the archive around the file."""
    if len(file.sha256) == 64 or place.member is None:
        return False
    return hashlib.sha256(read_bytes(place.path, limit=file.limit)).hexdigest().startswith(file.sha256)


def _look_for(file: DataFile, folder: Path, problems: dict[str, None]) -> Place | None:
    for archive in file.archives:
        path = folder / archive
        if not path.is_file():
            continue
        try:
            members = zip_members(path)
        except InputError as error:
            problems.update(dict.fromkeys(error.problems))
            continue
        for member in (f"{file.folder}/{file.name}", file.name):
            if member in members:
                return Place(path=path, member=member)
    for path in (folder / file.folder / file.name, folder / file.name):
        if path.is_file():
            return Place(path=path)
    return None
