"""Is the exact test exact? Ten thousand random tables against the enumeration of all tables of their size.

python -m benchmarks.guarantee test

For random sizes of two groups, limits and levels, the chance that a gap just beyond the limit is confirmed is added up
over every table, at a fine grid of rates. The test may exceed its level nowhere; 0.2 points are allowed for the grid of
its supremum, and the largest excess is printed.
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.stats import binom

from fairview.metrics.gap_test import Sample, approximate_p_value, gap_p_value

TABLES = 10_000
ALLOWED = 0.002


def excess(n_a: int, n_b: int, limit: float, level: float) -> tuple[float, float]:
    """The largest chance of confirming a gap beyond the limit, minus the level: exact test, approximation.

    Both sides are looked at, with 60 rates each.
    """
    samples = [[(Sample(a, n_a), Sample(b, n_b)) for b in range(n_b + 1)] for a in range(n_a + 1)]
    exact = np.array([[gap_p_value(pair, limit) <= level for pair in row] for row in samples])
    rough = np.array([[approximate_p_value(pair, limit) <= level for pair in row] for row in samples])
    rates = np.linspace(0, 1 - limit - 1e-9, 60)
    largest = [0.0, 0.0]
    for low in rates:
        for a, b in ((low + limit, low), (low, low + limit)):
            weights = np.outer(binom.pmf(np.arange(n_a + 1), n_a, a), binom.pmf(np.arange(n_b + 1), n_b, b))
            for place, confirmed in enumerate((exact, rough)):
                largest[place] = max(largest[place], float(weights[confirmed].sum()))
    return largest[0] - level, largest[1] - level


def main() -> None:
    """Print the largest excess; exit code 3 if it is above what is allowed."""
    draw = np.random.default_rng(0)
    done, settings = 0, 0
    worst, worst_rough = -1.0, -1.0
    while done < TABLES:
        n_a, n_b = (int(n) for n in draw.integers(2, 26, size=2))
        limit, level = float(draw.uniform(0.02, 0.6)), float(draw.choice([0.01, 0.05, 0.1]))
        exact, rough = excess(n_a, n_b, limit, level)
        worst, worst_rough = max(worst, exact), max(worst_rough, rough)
        done, settings = done + (n_a + 1) * (n_b + 1), settings + 1
    print(f"{done:,} tables of {settings} sizes, limits and levels")
    print(f"exact test: at most {100 * worst:+.3f} points above its level")
    print(f"Φ of the score statistic alone: at most {100 * worst_rough:+.2f} points above")
    sys.exit(3 if worst > ALLOWED else 0)
