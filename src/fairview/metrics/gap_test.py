r"""Is the gap between two groups' rates at most g? An exact test, from the counts of a random sample of each group.

Of n_a sampled nodes of group a, x_a are predicted positive; of n_b of group b, x_b. The hypothesis to be rejected is
that the gap is larger than g, so that a small p-value speaks for the limit. It has two sides, each with a p-value,
and both must be rejected; the p-value of the gap is the larger one:

    p_a - p_b > g      rejected if x_a is small beside x_b
    p_b - p_a > g      the same with the groups exchanged

For one side, tables (x_a, x_b) are put in order by the score statistic of Farrington and Manning (1990),

    T = (x_a/n_a - x_b/n_b - g) / se,     se from the most likely rates with p_a - p_b = g

and the p-value is the chance of a table that speaks for the limit at least as clearly as the observed one does:

    sup over π in C of P(T <= t | p_b = π, p_a = π + g)  +  γ

The supremum is over the rates that the data leave possible: C is an interval that holds the true π with probability
1 - γ (Berger and Boos, 1994). The set {T <= t} is made to grow with x_b and shrink with x_a; its chance then falls as
p_a grows and rises as p_b grows, so that no pair of rates with a gap above g can exceed the boundary. The test is
exact: P(p <= δ) <= δ for every pair of rates beyond the limit and every sample size. Only the supremum is computed
numerically, over a grid (`POINTS`) that is refined around its maximum.

The x are binomial if the sample comes from an endless population. If it is drawn without replacement from a known
number of nodes, they are hypergeometric, and less uncertain: `population` gives the numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, xlogy
from scipy.stats import beta, norm

from fairview.errors import InputError

NUISANCE = 0.0005
"""γ: how unlikely the common rate may be outside the interval that is searched; part of every p-value."""

POINTS = (17, 9)
"""Rates in the grid of the supremum, and in the finer one around its largest value."""

Array = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Sample:
    """Of one group: how many nodes were sampled, how many of them are predicted positive.

    Attributes:
        positive: x.
        nodes: n.
        population: N, of which the nodes were drawn without replacement; None for an endless one.
    """

    positive: int
    nodes: int
    population: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.positive <= self.nodes or self.nodes < 1:
            raise InputError(f"gap test: {self.positive} positive of {self.nodes} nodes is no sample of a group.")
        if self.population is not None and self.population < self.nodes:
            raise InputError(f"gap test: {self.nodes} nodes can't be drawn from {self.population}.")

    @property
    def rate(self) -> float:
        """x / n."""
        return self.positive / self.nodes


def gap_p_value(samples: Sequence[Sample], limit: float) -> float:
    """The p-value of "the largest gap between two groups is above the limit".

    With several groups every pair must pass, so that the p-value is the largest over the pairs.

    Example:
        >>> round(gap_p_value([Sample(300, 1000), Sample(310, 1000)], 0.05), 3)
        0.027
        >>> gap_p_value([Sample(300, 1000), Sample(310, 1000)], 0.03) < 0.05
        False
    """
    if len(samples) < 2:
        raise InputError("gap test: at least two groups are needed.")
    if not 0 < limit < 1:
        raise InputError(f"gap test: limit {limit}; expected a number between 0 and 1.")
    return max(max(_one_side(a, b, limit), _one_side(b, a, limit)) for a, b in combinations(samples, 2))


def gap_upper_bound(samples: Sequence[Sample], confidence: float) -> float:
    """The smallest limit that the test confirms with this confidence, to a tenth of a point; 1 if there is none.

    Example:
        >>> round(gap_upper_bound([Sample(300, 1000), Sample(310, 1000)], 0.95), 3)
        0.045
    """
    steps, level = 1000, 1 - confidence

    def confirmed(step: int) -> bool:
        return step >= steps or (step > 0 and gap_p_value(samples, step / steps) <= level)

    first = int(steps * largest_gap(samples))  # the test never confirms less than what was observed
    near = next((s for s in range(first + 1, steps) if approximate_p_value(samples, s / steps) <= level), steps)
    while near > first and confirmed(near - 1):
        near -= 1
    while not confirmed(near):
        near += 1
    return near / steps


def approximate_p_value(samples: Sequence[Sample], limit: float) -> float:
    """What `gap_p_value` is close to on large samples: Φ of the score statistic, without the search for the supremum.

    Example:
        >>> round(approximate_p_value([Sample(300, 1000), Sample(310, 1000)], 0.05), 3)
        0.026
    """
    scores = [
        float(score_statistic(one.positive, other.positive, one.nodes, other.nodes, limit))
        for pair in combinations(samples, 2)
        for one, other in (pair, pair[::-1])
    ]
    return float(norm.cdf(max(scores)))


def largest_gap(samples: Sequence[Sample]) -> float:
    """The largest observed difference between two groups' rates."""
    rates = [sample.rate for sample in samples]
    return max(rates) - min(rates)


def _one_side(a: Sample, b: Sample, limit: float) -> float:
    """The p-value of "p_a - p_b is above the limit"."""
    (a_low, a_high), (b_low, b_high) = (_interval(sample, NUISANCE / 2) for sample in (a, b))
    if a_low - limit > b_high:  # all likely rates are beyond the limit
        return 1.0
    if a_high - limit < b_low:  # none are
        return NUISANCE
    low, high = max(b_low, a_low - limit, 0.0), min(b_high, a_high - limit, 1 - limit)
    of_a, of_b = _likely_counts(a, low + limit, high + limit), _likely_counts(b, low, high)
    most = _most(a, b, of_b, limit)
    largest = 0.0
    for size in POINTS:
        rates = np.linspace(low, high, size)
        chances = _chance(a, b, rates, limit, of_a, of_b, most)
        place = int(np.argmax(chances))
        largest = max(largest, float(chances[place]))
        low, high = rates[max(place - 1, 0)], rates[min(place + 1, size - 1)]
    return min(1.0, largest + NUISANCE)


def _chance(a: Sample, b: Sample, rates: Array, limit: float, of_a: Counts, of_b: Counts, most: Counts) -> Array:
    """P(T <= t) with group b's rate as given and group a's at the limit above it; a value for each rate.

    Args:
        a: the group whose rate is larger under the hypothesis.
        b: the other one.
        rates: of group b.
        limit: between the two.
        of_a: counts of group a that are not next to impossible.
        of_b: the same of group b.
        most: for each count of group b, the largest count of group a with T <= t.
    """
    below = _chances(b, of_b, rates)
    above = _chances(a, of_a, rates + limit, beyond=(b, rates, limit))
    columns = np.clip(most - of_a[0], -1, len(of_a) - 1)
    cumulative = np.cumsum(above, axis=1)
    reached = np.where(columns >= 0, cumulative[:, np.maximum(columns, 0)], 0.0)
    return np.asarray((below * reached).sum(axis=1))


def _likely_counts(sample: Sample, low: float, high: float) -> Counts:
    """The counts that are not next to impossible for a rate between two others; what lies outside adds up to 1e-14."""
    n = sample.nodes
    margin = 2 / sample.population if sample.population else 0.0
    low, high = max(low - margin, 0.0), min(high + margin, 1.0)
    widest = min(max(low, 0.5), high)  # the rate with the largest variance
    spread = 8 * np.sqrt(n * widest * (1 - widest)) + 16
    return np.arange(int(max(0, np.floor(n * low - spread))), int(min(n, np.ceil(n * high + spread))) + 1)


def _most(a: Sample, b: Sample, values: Counts, limit: float) -> Counts:
    """For each count of group b, the largest count of group a with T <= t; -1 if there is none."""
    observed = score_statistic(np.array([a.positive]), np.array([b.positive]), a.nodes, b.nodes, limit)[0]
    edge = observed + 1e-9 * (1 + abs(observed))  # the observed table itself is always counted
    low, high = np.full(len(values), -1), np.full(len(values), a.nodes)
    while (wide := high - low > 0).any():
        middle = np.where(wide, (low + high + 1) // 2, np.maximum(low, 0))
        within = score_statistic(middle, values, a.nodes, b.nodes, limit) <= edge
        low, high = np.where(wide & within, middle, low), np.where(wide & ~within, middle - 1, high)
    growing: Counts = np.maximum.accumulate(low)
    return growing


def score_statistic(x_a: npt.ArrayLike, x_b: npt.ArrayLike, n_a: int, n_b: int, limit: float) -> Array:
    """T of each table: the root of the likelihood equation in the closed form of Miettinen and Nurminen (1985).

    On large samples Φ(T) is close to the p-value of one side, without the search for the supremum.
    """
    x_a, x_b = np.asarray(x_a, dtype=np.float64), np.asarray(x_b, dtype=np.float64)
    total, events = n_a + n_b, x_a + x_b
    c2 = ((n_a + 2 * n_b) * limit - total - events) / (3 * total)
    c1 = ((n_b * limit - total - 2 * x_b) * limit + events) / (3 * total)
    c0 = x_b * limit * (1 - limit) / (2 * total)
    q = c2**3 - 1.5 * c1 * c2 + c0
    root = np.where(q >= 0, 1.0, -1.0) * np.sqrt(np.maximum(c2**2 - c1, 0.0))
    cosine = np.divide(q, root**3, out=np.ones_like(q), where=root != 0)
    angle = (np.pi + np.arccos(np.clip(cosine, -1.0, 1.0))) / 3
    rate = np.clip(2 * root * np.cos(angle) - c2, 0.0, 1 - limit)
    variance = rate * (1 - rate) / n_b + (rate + limit) * (1 - rate - limit) / n_a
    return np.asarray((x_a / n_a - x_b / n_b - limit) / np.sqrt(np.maximum(variance, 1e-300)))


def _chances(sample: Sample, values: Counts, rates: Array, beyond: tuple[Sample, Array, float] | None = None) -> Array:
    """The chance of each count, a row for each rate: binomial, or hypergeometric with a population.

    Args:
        sample: of the group.
        values: the counts.
        rates: of its population; with `beyond`, they were moved above those of another group.
        beyond: the other group, its rates, and the limit: in a finite population the first count beyond it is meant.
    """
    n, total = sample.nodes, sample.population
    if total is None:
        p = np.clip(rates, 0.0, 1.0)[:, None]
        return np.asarray(np.exp(_log_choose(n, values) + xlogy(values, p) + xlogy(n - values, 1 - p)))
    if beyond is None:
        marked = np.rint(rates * total)
    else:
        other, other_rates, limit = beyond
        other_rates = np.rint(other_rates * other.population) / other.population if other.population else other_rates
        marked = np.floor(total * (other_rates + limit) + 1e-9) + 1
    marked = np.clip(marked, 0, total)[:, None]
    possible = (values <= marked) & (n - values <= total - marked)
    log = _log_choose(marked, np.minimum(values, marked)) - _log_choose(total, n)
    log = log + _log_choose(total - marked, np.minimum(n - values, total - marked))
    return np.where(possible, np.exp(log), 0.0)


def _interval(sample: Sample, level: float) -> tuple[float, float]:
    """Clopper and Pearson's interval for a rate; for a finite population it is wider than need be.

    There it also holds the rates on either side of it, so that no count between two rates is left out.
    """
    x, n = sample.positive, sample.nodes
    between = 2 / sample.population if sample.population else 0.0
    low = float(beta.ppf(level / 2, x, n - x + 1)) if x else 0.0
    high = float(beta.ppf(1 - level / 2, x + 1, n - x)) if x < n else 1.0
    return low - between, high + between


def _log_choose(n: npt.ArrayLike, k: npt.ArrayLike) -> Array:
    n, k = np.asarray(n, dtype=np.float64), np.asarray(k, dtype=np.float64)
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))
