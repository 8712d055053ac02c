"""Which sensitive attributes are there, and which groups do several of them make together?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt

from fairview.errors import InputError, repeated, some
from fairview.groups import UNKNOWN, Codes

MOST_CROSSED = 400
"""Groups that attributes may make together: a gap between more of them is a gap between handfuls of people."""


@dataclass(frozen=True, eq=False)
class Attribute:
    """One sensitive attribute of all nodes.

    Attributes:
        name: such as `race`.
        codes: shape (n,), codes into `groups`, -1 where the value is not known.
        groups: names of its groups.
        channels: the channels that hold it, if it is among the features.

    Example:
        >>> Attribute("sex", np.array([0, 1, -1, 0], dtype=np.int16), ("f", "m")).sizes
        {'f': 2, 'm': 1}
    """

    name: str
    codes: Codes
    groups: tuple[str, ...]
    channels: tuple[str, ...] = ()

    @property
    def sizes(self) -> dict[str, int]:
        """How many nodes each group has; those of unknown group are not counted."""
        counts = np.bincount(self.codes[self.codes != UNKNOWN], minlength=len(self.groups))
        return dict(zip(self.groups, counts.tolist(), strict=True))

    @property
    def unknown(self) -> int:
        """How many nodes have no known value."""
        return int((self.codes == UNKNOWN).sum())

    def at(self, rows: npt.NDArray[np.integer] | npt.NDArray[np.bool_] | slice) -> Attribute:
        """The attribute of some nodes, in the order of `rows`."""
        return replace(self, codes=self.codes[rows])

    def among(self, channels: Sequence[str]) -> Attribute:
        """The attribute of a graph that has these channels alone."""
        return replace(self, channels=tuple(name for name in self.channels if name in channels))

    def hidden(self, where: npt.NDArray[np.bool_]) -> Attribute:
        """The same, but not known where the mask says so."""
        return replace(self, codes=np.where(where, UNKNOWN, self.codes).astype(np.int16))


def group_columns(names: Sequence[str]) -> tuple[str, ...]:
    """What columns with the groups of these attributes are called in the tables that fairview writes.

    Example:
        >>> group_columns(["race"]), group_columns(["race", "sex"])
        (('sensitive',), ('sensitive:race', 'sensitive:sex'))
    """
    return ("sensitive",) if len(names) == 1 else tuple(f"sensitive:{name}" for name in names)


def each_and_together(attributes: Sequence[Attribute]) -> tuple[Attribute, ...]:
    """Each attribute, and of several, as the last, what they make together."""
    return tuple(attributes) if len(attributes) < 2 else (*attributes, intersection(attributes))


def intersection(attributes: Sequence[Attribute]) -> Attribute:
    """What several attributes make together: every combination of their groups, and unknown where one is unknown.

    Example:
        >>> sex = Attribute("sex", np.array([0, 1, 1], dtype=np.int16), ("f", "m"))
        >>> old = Attribute("old", np.array([0, 0, -1], dtype=np.int16), ("no", "yes"))
        >>> both = intersection([sex, old])
        >>> both.name, both.groups, both.codes.tolist()
        ('sex & old', ('sex=f & old=no', 'sex=f & old=yes', 'sex=m & old=no', 'sex=m & old=yes'), [0, 2, -1])
    """
    if not attributes:
        raise InputError("sensitive: names no attribute; expected at least one.")
    if len(attributes) == 1:
        return attributes[0]
    names = [attribute.name for attribute in attributes]
    if twice := repeated(names):
        raise InputError(f"sensitive: the attributes' names must differ; repeated: {some(sorted(twice))}.")
    number = prod(len(attribute.groups) for attribute in attributes)
    if number > MOST_CROSSED:
        parts = ", ".join(f"'{attribute.name}' {len(attribute.groups)}" for attribute in attributes)
        raise InputError(
            f"sensitive: {number:,} groups together ({parts}), more than {MOST_CROSSED}. Merge groups, or name fewer "
            "attributes."
        )
    codes = np.zeros(len(attributes[0].codes), dtype=np.int64)
    known = np.ones(len(codes), dtype=np.bool_)
    for attribute in attributes:
        codes = codes * max(len(attribute.groups), 1) + attribute.codes
        known &= attribute.codes != UNKNOWN
    cells = product(*(attribute.groups for attribute in attributes))
    return Attribute(
        name=" & ".join(names),
        codes=np.where(known, codes, UNKNOWN).astype(np.int16),
        groups=tuple(" & ".join(f"{name}={group}" for name, group in zip(names, cell, strict=True)) for cell in cells),
        channels=tuple(dict.fromkeys(channel for attribute in attributes for channel in attribute.channels)),
    )
