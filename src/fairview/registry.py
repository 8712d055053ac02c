"""Which metrics, datasets, methods and figures are there? Four registries of one kind, open to other packages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import metadata
from typing import Protocol, TypeVar

from fairview.errors import FairviewError, InputError, did_you_mean


class Entry(Protocol):
    """What a registry holds: anything with a name."""

    @property
    def name(self) -> str:
        """The name that it is asked for by."""
        ...


E = TypeVar("E", bound=Entry)


class Registry(Mapping[str, E]):
    """Entries by name, in the order of the tables: the built-in ones, those that packages announce, those added since.

    A package announces an entry by an entry point of the registry's group. It is imported when the registry is first
    asked for a name that is not built in, or for all names; one that can't be imported is an error that names it.

    Args:
        kind: what an entry is called in messages.
        entry_type: what an entry must be an instance of.
        group: of the entry points, such as `fairview.methods`.
        entries: the built-in ones.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True)
        ... class Colour:
        ...     name: str
        >>> colours = Registry("colour", Colour, "example.colours", [Colour("red"), Colour("green")])
        >>> with colours.added(Colour("blue")):
        ...     list(colours)
        ['red', 'green', 'blue']
        >>> colours["gren"]
        Traceback (most recent call last):
        ...
        fairview.errors.InputError: no colour 'gren'. Did you mean 'green'?
    """

    def __init__(self, kind: str, entry_type: type[E], group: str, entries: Iterable[E] = ()) -> None:
        self.kind, self.group = kind, group
        self._type = entry_type
        self._entries: dict[str, E] = {}
        self._announced = False
        for entry in entries:
            self.register(entry)
        self.built_in = tuple(self._entries)

    def register(self, entry: E) -> E:
        """Add an entry.

        Raises:
            InputError: it is not an entry of this registry, or its name is taken.
        """
        if not isinstance(entry, self._type):
            raise InputError(f"{self.kind}: expected a {self._type.__name__}, got {type(entry).__name__}.")
        if entry.name in self._entries:
            raise InputError(f"{self.kind} '{entry.name}': the name is taken.")
        self._entries[entry.name] = entry
        return entry

    @contextmanager
    def added(self, entry: E) -> Iterator[E]:
        """Have an entry inside a `with` block only; made for tests and notebooks."""
        self.register(entry)
        try:
            yield entry
        finally:
            del self._entries[entry.name]

    def __getitem__(self, name: str) -> E:
        if name not in self:
            raise InputError(f"no {self.kind} '{name}'.{did_you_mean(str(name), list(self))}")
        return self._entries[name]

    def get(self, name: object, default: E | None = None) -> E | None:  # type: ignore[override]
        """The entry, or the default where there is none."""
        return self._entries[str(name)] if name in self else default

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        if name not in self._entries:
            self._load_announced()
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        self._load_announced()
        return iter(tuple(self._entries))

    def __len__(self) -> int:
        self._load_announced()
        return len(self._entries)

    def _load_announced(self) -> None:
        if self._announced:
            return
        self._announced = True
        for point in metadata.entry_points(group=self.group):
            try:
                entry = point.load()
            except Exception as error:
                package = point.dist.name if point.dist is not None else "a package"
                raise FairviewError(
                    f"{package} announces the {self.kind} '{point.name}', which can't be imported ({error}). "
                    "Update that package, or uninstall it."
                ) from error
            self.register(entry)
