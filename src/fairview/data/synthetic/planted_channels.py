"""Which features have a given correlation with the sensitive attribute, before and after one hop of propagation?

Write S = D^-1/2 (A + I) D^-1/2 for the propagation (D: degrees with the self-loop) and z for the standardised sensitive
attribute. A channel is a mix of three directions of unit variance, each with no part in the others,

    x = p z + γ b + δ e,    p² + γ² + δ² = 1,

where b is what S z varies within the groups, and e is white noise. Both have mean 0 in every group, so the correlation
of x with z is p, exactly. S is symmetric, so <S b, z> = <b, S z> > 0: a part of b that nobody sees in x turns into z
when it is propagated. γ > 0 raises the correlation after the hop, γ < 0 lowers it, and the noise, which averages out,
does nothing to it but shrink the variance. γ is found on the drawn graph with the drawn noise, so the dial is met to
rounding, not in expectation only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fairview.data.adjacency import Adjacency
from fairview.errors import InputError, Problems

FloatArray = npt.NDArray[np.float32]
Moments = npt.NDArray[np.float64]

_CHUNK = 1 << 13  # rows whose intermediate results stay in the processor's cache


@dataclass(frozen=True)
class Channel:
    """A feature channel to be planted in a synthetic graph.

    Correlations are with the code of the group (0 for the first group, 1 for the second). With more than two groups
    they are correlation ratios η, the root of the share of the variance that lies between the groups, never negative.

    Attributes:
        name: name of the channel.
        before: its correlation with the sensitive attribute as it is.
        after: its correlation after one hop, D^-1/2 (A + I) D^-1/2; None: what the graph makes of `before` and noise.
        label_weight: its weight in the score that the labels come from.
    """

    name: str
    before: float = 0.0
    after: float | None = None
    label_weight: float = 1.0

    def __post_init__(self) -> None:
        problems = Problems()
        for which, value in (("before", self.before), ("after", self.after)):
            if value is not None and not -1 <= value <= 1:
                problems.add(f"channel '{self.name}': {which} is {value}; a correlation lies between -1 and 1.")
        if not math.isfinite(self.label_weight):
            problems.add(f"channel '{self.name}': label_weight is {self.label_weight}; it must be a finite number.")
        problems.raise_if_any()


def planted_channels(
    channels: Sequence[Channel], adjacency: Adjacency, sensitive: npt.NDArray[np.integer], *, rng: np.random.Generator
) -> FloatArray:
    """Features of mean 0 and variance 1, shape (n, d), that have the correlations that `channels` ask for.

    The links are symmetric; `sensitive` has the group of each node, codes from 0, and every group has a node.

    Raises:
        InputError: a correlation after the hop is out of reach on this graph; says what can be reached.

    Example:
        >>> square, _ = Adjacency.from_pairs([0, 1, 2, 3], [1, 2, 3, 0], num_nodes=6)
        >>> group = np.array([0, 0, 0, 1, 1, 1])
        >>> features = planted_channels([Channel("half", before=0.5)], square, group, rng=np.random.default_rng(0))
        >>> round(float(np.corrcoef(features[:, 0], group)[0, 1]), 6)
        0.5
    """
    groups = _Groups(sensitive)
    propagate = _propagation(adjacency)
    # float32 throughout: a million nodes fit the cache then, and a correlation is still right to about 1e-6.
    moved_levels = propagate(groups.of_each_node(groups.levels))  # S z
    hidden = moved_levels - groups.of_each_node(groups.means(moved_levels))
    spread = math.sqrt(float(hidden @ hidden) / len(hidden))
    has_hidden = spread > 1e-5  # else S z is constant in each group, as it is without edges, and there is no b
    hidden *= np.float32(1 / spread if has_hidden else 0)

    noise = _Noise.draw(len(channels), hidden, groups, rng)
    mixes = np.empty((3, len(channels)))
    moved = [moved_levels]
    problems = Problems()
    for column, channel in enumerate(channels):
        mixes[:, column] = channel.before, 0.0, math.sqrt(1 - channel.before**2)
        if channel.after is None:
            continue
        if len(moved) == 1:
            moved.append(propagate(hidden))
        correlation = _correlation_of_mix([*moved, propagate(noise.column(column))], groups)
        with problems.collecting():
            mixes[:, column] = _calibrate(channel, channel.after, correlation, groups, may_hide=has_hidden)
    problems.raise_if_any()
    return noise.mixed(mixes)


class _Groups:
    """The sensitive attribute: codes, shape (n,), sizes, and evenly spaced levels with mean 0 and variance 1 (z)."""

    def __init__(self, codes: npt.NDArray[np.integer]) -> None:
        self.codes = codes
        self.sizes = np.bincount(codes)
        self.number = len(self.sizes)
        self.shares = self.sizes / len(codes)
        levels = np.arange(self.number) - np.arange(self.number) @ self.shares
        self.levels: Moments = levels / np.sqrt(levels**2 @ self.shares)

    def means(self, values: FloatArray) -> Moments:
        return np.bincount(self.codes, weights=values, minlength=self.number) / self.sizes

    def of_each_node(self, per_group: Moments) -> FloatArray:
        return np.asarray(per_group.astype(np.float32)[self.codes])


@dataclass(frozen=True)
class _Noise:
    """White noise with its parts along the groups and along b taken out: not yet from the array, but known."""

    raw: FloatArray  # (n, d)
    hidden: FloatArray  # b
    groups: _Groups
    along: Moments  # (groups + 1, d): mean in each group, then the part of b
    scale: Moments  # (d,): makes the rest have variance 1

    @classmethod
    def draw(cls, count: int, hidden: FloatArray, groups: _Groups, rng: np.random.Generator) -> _Noise:
        raw = rng.standard_normal((len(hidden), count), dtype=np.float32)
        along, squares = np.zeros((groups.number + 1, count)), np.zeros(count)
        for start in range(0, len(hidden), _CHUNK):  # short sums in float32, added up in float64
            rows = slice(start, start + _CHUNK)
            along += _directions(hidden[rows], groups.codes[rows], groups.number).T @ raw[rows]
            squares += np.einsum("nc,nc->c", raw[rows], raw[rows])
        weights = np.append(groups.sizes, len(hidden))[:, None]  # the squared lengths of the directions
        along /= weights
        rest = squares - (weights * along**2).sum(axis=0)
        return cls(raw, hidden, groups, along, np.sqrt(len(hidden) / rest))

    def column(self, number: int) -> FloatArray:
        """One column e, cleaned."""
        values = self.raw[:, number] - self.groups.of_each_node(self.along[:-1, number])
        values -= np.float32(self.along[-1, number]) * self.hidden
        values *= np.float32(self.scale[number])
        return values

    def mixed(self, mixes: Moments) -> FloatArray:
        """p z + γ b + δ e for each column of mixes (p, γ, δ); overwrites the noise, of which there may be much."""
        scale = self.scale * mixes[2]
        parts = np.vstack([self.groups.levels[:, None] * mixes[0], mixes[1]]) - self.along * scale
        for start in range(0, len(self.hidden), _CHUNK):
            rows = slice(start, start + _CHUNK)
            directions = _directions(self.hidden[rows], self.groups.codes[rows], self.groups.number)
            self.raw[rows] *= scale.astype(np.float32)
            self.raw[rows] += directions @ parts.astype(np.float32)
        return self.raw


def _directions(hidden: FloatArray, codes: npt.NDArray[np.integer], num_groups: int) -> FloatArray:
    """A column of zeros and ones for each group, then b: orthogonal to each other."""
    columns = np.empty((len(hidden), num_groups + 1), dtype=np.float32)
    for group in range(num_groups):
        columns[:, group] = codes == group
    columns[:, -1] = hidden
    return columns


def _propagation(adjacency: Adjacency) -> Callable[[FloatArray], FloatArray]:
    """v -> D^-1/2 (A + I) D^-1/2 v."""
    ones = np.ones(adjacency.num_pairs, dtype=np.float32)
    shape = (adjacency.num_nodes, adjacency.num_nodes)
    # Both index arrays of one type, or scipy copies the long one into the wider type.
    indptr = adjacency.indptr.astype(np.int32) if adjacency.num_pairs < 2**31 else adjacency.indptr
    links = sparse.csr_array((ones, adjacency.indices, indptr), shape=shape)
    scale = (1 / np.sqrt(adjacency.degree + 1)).astype(np.float32)

    def propagate(values: FloatArray) -> FloatArray:
        scaled = values * scale
        moved: FloatArray = links @ scaled
        moved += scaled
        moved *= scale
        return moved

    return propagate


def _correlation_of_mix(parts: Sequence[FloatArray], groups: _Groups) -> Callable[[Moments], Moments]:
    """The correlation of Σ_k mix_k parts_k with the groups, as a function of the mix, shape (3,) or (3, many).

    With B the covariance of the parts' group means and Q that of the parts, η = sqrt(mix B mix / mix Q mix); with two
    groups, the sign is that of the second group's mean minus the first's, which makes it the correlation.
    """
    means = np.array([groups.means(part) for part in parts])
    overall = means @ groups.shares
    means -= overall[:, None]
    between = (means * groups.shares) @ means.T
    products = np.array([[float(one @ other) for other in parts] for one in parts])
    total = products / len(groups.codes) - np.outer(overall, overall)

    def correlation(mix: Moments) -> Moments:
        explained = np.einsum("k...,kl,l...->...", mix, between, mix)
        variance = np.einsum("k...,kl,l...->...", mix, total, mix)
        ratio = np.sqrt(np.clip(explained / np.maximum(variance, 1e-30), 0, 1))
        sign = np.sign((means[:, 1] - means[:, 0]) @ mix) if groups.number == 2 else 1.0
        return np.asarray(sign * ratio)

    return correlation


def _calibrate(
    channel: Channel, after: float, correlation: Callable[[Moments], Moments], groups: _Groups, *, may_hide: bool
) -> Moments:
    """The mix (p, γ, δ) with the most noise in it whose correlation after the hop is `after`."""
    room = math.sqrt(1 - channel.before**2)

    def mix(angle: Moments) -> Moments:
        return np.stack([np.full_like(angle, channel.before), room * np.sin(angle), room * np.cos(angle)])

    widest = math.pi / 2 if may_hide else 0.0
    angles = np.linspace(-widest, widest, 4001)
    reached = correlation(mix(angles))
    above = reached >= after
    crossings = np.flatnonzero(above[1:] != above[:-1])
    if len(crossings) == 0:
        # η never crosses 0, and meets it only where all group means meet: the nearest will do if chance explains it.
        nearest = int(np.argmin(np.abs(reached - after)))
        chance = math.sqrt((groups.number - 1) / len(groups.codes)) if groups.number > 2 else 1e-5
        if abs(reached[nearest] - after) <= chance:
            return mix(angles[nearest])
        raise InputError(
            f"channel '{channel.name}': a correlation of {after:g} after one hop is out of reach with "
            f"{channel.before:g} before it; on this graph it can be {reached.min():z.3f} to {reached.max():z.3f}. "
            "Ask for one in this range, or for after=None, or change before, homophily or average_degree."
        )
    start = crossings[np.argmin(np.abs(angles[crossings] + angles[crossings + 1]))]
    low, high = angles[start], angles[start + 1]
    for _ in range(50):
        middle = np.asarray((low + high) / 2)
        if (correlation(mix(middle)) >= after) == above[start]:
            low = middle
        else:
            high = middle
    return mix(np.asarray(low))
