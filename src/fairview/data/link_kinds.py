"""Of which kind is a link? One of a few names: friend or colleague, or how similar its ends are.

A pair of nodes has one kind, in both directions unless the links are directed. Kinds change nothing for a method that
does not ask for them (docs/adr/0032).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fairview.arrays import as_array
from fairview.errors import InputError, option, quoted
from fairview.groups import UNKNOWN, group_codes
from fairview.remedies import remedies

Codes = npt.NDArray[np.int16]
Keys = npt.NDArray[np.int64]

MOST_KINDS = 32
"""Each kind costs as much memory as all channels together; a column with more values is no kind."""


@dataclass(frozen=True, eq=False)
class LinkKinds:
    """The kind of each directed pair, as a code into names.

    Example:
        >>> kinds = LinkKinds(("friend", "colleague"), np.array([0, 1, 1], dtype=np.int16))
        >>> kinds.counts
        {'friend': 1, 'colleague': 2}
    """

    names: tuple[str, ...]
    codes: Codes  # (pairs,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(map(str, self.names)))
        check_number(len(self.names))
        if len({*self.names}) != len(self.names) or "" in self.names:
            raise InputError(f"link_kind: kinds need different names that are not empty, got {quoted(self.names)}.")
        codes = np.array(self.codes, dtype=np.int16)
        if codes.ndim != 1 or (len(codes) and not (codes.min() >= 0 and codes.max() < len(self.names))):
            raise InputError(f"link_kind: expected a code from 0 to {len(self.names) - 1} for each link.")
        codes.flags.writeable = False
        object.__setattr__(self, "codes", codes)

    def __reduce__(self) -> tuple[type[LinkKinds], tuple[tuple[str, ...], Codes]]:
        return LinkKinds, (self.names, self.codes)  # a copy's codes can't be changed either

    @property
    def counts(self) -> dict[str, int]:
        """How many pairs are of each kind."""
        return dict(zip(self.names, np.bincount(self.codes, minlength=len(self.names)).tolist(), strict=True))

    def at(self, places: npt.NDArray[np.bool_] | npt.NDArray[np.integer]) -> LinkKinds:
        """The kinds of some pairs, under the same names."""
        return LinkKinds(self.names, self.codes[places])

    def equals(self, other: LinkKinds | None) -> bool:
        """The same names, and the same kind for each pair."""
        return other is not None and self.names == other.names and np.array_equal(self.codes, other.codes)

    def named(self, names: Sequence[str]) -> LinkKinds:
        """The same with codes into other names.

        Raises:
            InputError: a link has a kind that is not among them.
        """
        found = [name for name, count in self.counts.items() if count]
        if unknown := [name for name in found if name not in names]:
            raise InputError(
                f"link_kind: kinds that the model was not fitted with: {quoted(unknown)}. Known: "
                f"{quoted(names, limit=MOST_KINDS)}. Correct them, or train again with such links."
            )
        places = np.array([names.index(name) if name in found else 0 for name in self.names], dtype=np.int16)
        return LinkKinds(tuple(names), places[self.codes] if len(self.codes) else self.codes)


def check_number(kinds: int, what: str = "link_kind") -> None:
    """Few enough to be kinds."""
    if kinds > MOST_KINDS:
        raise InputError(
            f"{what}: {kinds:,} different kinds of links; at most {MOST_KINDS}."
            + remedies("cut numbers into few bands", f"pass them as weights ({option('edge_weight')})")
        )


def kinds_of(values: npt.ArrayLike | LinkKinds, number: int) -> LinkKinds:
    """One kind per edge, from an array of shape (m,) or (m, 1) of texts or whole numbers; the names are sorted.

    Raises:
        InputError: other shapes or values, or kinds that are missing.

    Example:
        >>> kinds = kinds_of(["friend", "colleague", "friend"], 3)
        >>> kinds.names, kinds.codes.tolist()
        (('colleague', 'friend'), [1, 0, 1])
    """
    if isinstance(values, LinkKinds):
        given, shape = values, values.codes.shape
    else:
        array = as_array(values, "link_kind")
        array = array[:, 0] if array.shape == (number, 1) else array
        if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
            array = np.array(values, dtype=np.object_)  # in a list with texts, NumPy would turn NaN into the text 'nan'
        shape = array.shape
    if shape != (number,):
        raise InputError(f"link_kind: shape {shape}; expected ({number},), one kind for each edge.")
    if isinstance(values, LinkKinds):
        return given
    if array.dtype.kind == "f" and not (np.isnan(array) | (array == np.round(array))).all():
        raise InputError(f"link_kind: {array.dtype} values; a kind is a text or a whole number.")
    codes, names = group_codes(array, "link_kind")
    if missing := int((codes == UNKNOWN).sum()):
        raise InputError(
            f"link_kind: {missing:,} of {number:,} edges have no kind. Give them one, such as 'other', or leave them "
            "out."
        )
    return LinkKinds(names, codes)


def kinds_of_pairs(
    keys: Keys, kinds: LinkKinds, pairs: Keys, num_nodes: int, *, directed: bool, names: Sequence[str] | None = None
) -> LinkKinds:
    """The kind of each of the distinct `pairs`, ascending, from that of each of the `keys` that were given.

    Unless `directed`, a pair whose reverse alone was given has the kind of that.

    Args:
        keys: source * num_nodes + target of the pairs as given, some perhaps twice.
        kinds: of these.
        pairs: the distinct keys, and unless `directed` their reverses.
        num_nodes: how many nodes there are.
        directed: whether a pair and its reverse may differ.
        names: what messages call the nodes; their numbers by default.

    Raises:
        InputError: a link was given with two kinds.
    """
    if not directed:
        reverse = keys % num_nodes * num_nodes + keys // num_nodes
        keys, codes = np.concatenate([keys, reverse]), np.concatenate([kinds.codes, kinds.codes])
    else:
        codes = kinds.codes
    order = np.lexsort((codes, keys))
    ordered, codes = keys[order], codes[order]
    starts = np.searchsorted(ordered, pairs)
    ends = np.searchsorted(ordered, pairs, side="right")
    found = codes[starts] if len(pairs) else codes[:0]
    differ = np.flatnonzero(found != codes[ends - 1]) if len(pairs) else np.empty(0, dtype=np.intp)
    if len(differ):
        examples, name = [], str if names is None else names.__getitem__
        first = [k for k in differ.tolist() if directed or pairs[k] // num_nodes < pairs[k] % num_nodes]
        for k in first[:5]:
            source, target = divmod(int(pairs[k]), num_nodes)
            both = quoted([kinds.names[found[k]], kinds.names[codes[ends[k] - 1]]])
            examples.append(f"{name(source)} to {name(target)}: {both}")
        more = f" and {len(first) - 5:,} more" if len(first) > 5 else ""
        raise InputError(
            f"link_kind: {len(first):,} links were given with two kinds ({'; '.join(examples)}{more})."
            + remedies("give each link one kind, such as one that stands for both")
        )
    return LinkKinds(kinds.names, found)
