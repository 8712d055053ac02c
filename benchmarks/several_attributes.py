"""Does a certificate for several attributes keep its promise? Counted: how often a certified model breaks any limit.

python -m benchmarks.several_attributes                 the table of docs/guarantee.md: 300 draws
python -m benchmarks.several_attributes --draws 50

Each draw is a new graph of a population with two sensitive attributes (`crossed_graph` of studies/graphs.py), whose
groups and combinations differ. A path of Parity models is fitted, and the rule of `fairview.tune` is asked for limits
of 8, 12 and 16 points: for race, sex and their combinations at once, and for race and sex alone. The truth is the gap
among 20,000 fresh nodes. Approximate p-values decide where they are more than a factor of five away from the level.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from studies.graphs import crossed_graph

import fairview as fv
from fairview.attributes import Attribute
from fairview.tuning.choice import Candidates, Scored
from fairview.tuning.holdout import hold_out
from fairview.tuning.limits import Limit, names_of_attributes, read_limits

LIMITS = (0.08, 0.12, 0.16)
LEVELS = (0.05, 0.1)
WEIGHTS = (0.0, 3.0, 30.0)
POPULATION = {"together": 0.5, "race": 0.3, "sex": 0.2}
NODES = 2_000
ASKED = {"all": slice(None), "each": slice(2)}
"""Whose limits, among race, sex, and both together."""


@dataclass(frozen=True)
class Count:
    """What came of one limit at one level in one draw.

    Attributes:
        asked: `all` limits, or those for `each` attribute alone.
        limit: of all gaps.
        level: δ.
        certified: whether a model was.
        broken: whether one of the limits that it is certified for is broken.
        combinations: the true gap between combinations, 0 without a model.
    """

    asked: str
    limit: float
    level: float
    certified: bool
    broken: bool
    combinations: float


def counts_of(draw: int, fresh: fv.NodeGraph) -> Iterator[Count]:
    """All limits and levels of one draw."""
    graph = crossed_graph(NODES, **POPULATION, seed=draw)
    splits = fv.stratified_splits(graph, repeats=1, train=0.2, val=0.6, test=0.2, seed=draw)[0]
    holdout = hold_out(graph.with_splits(splits), seed=draw)
    models = fv.Parity(hops=0).path(holdout.design, WEIGHTS)
    scores = [np.asarray(model.predict_proba(graph)[:, 1], dtype=np.float64) for model in models]
    scored = [Scored(each, 0.5, 0.5) for each in scores]
    fresh_scores = [model.predict_proba(fresh)[:, 1] for model in models]
    attributes = {each.name: each for each in (*fresh.attributes, fresh.crossed)}
    every = read_limits(None, None, names_of_attributes(graph))
    candidates = Candidates(scored, holdout, utility="balanced_accuracy", limits=every, population="new")
    for asked, which in ASKED.items():
        for value in LIMITS:
            limits = [Limit(each.gap, value, each.attribute) for each in every[which]]
            for level in LEVELS:
                chosen = candidates.choose(limits, 1 - level, exact=False).chosen
                gaps = dict.fromkeys(attributes, 0.0)
                if chosen is not None:
                    said = fresh_scores[candidates.trials[chosen]] > candidates.thresholds[chosen]
                    gaps = {name: true_gap(said, each) for name, each in attributes.items()}
                broken = any(gaps[str(limit.attribute)] > value for limit in limits)
                yield Count(asked, value, level, chosen is not None, broken, gaps["race & sex"])


def true_gap(said: Any, attribute: Attribute) -> float:
    """The largest difference between two groups' shares of yes."""
    return float(np.ptp([said[attribute.codes == code].mean() for code in range(len(attribute.groups))]))


def counted(draws: int) -> list[Count]:
    """Of so many graphs."""
    fresh = crossed_graph(20_000, **POPULATION, seed=10_000)
    return [count for draw in range(draws) for count in counts_of(draw, fresh)]


def table(counts: list[Count]) -> str:
    """Percent of the draws."""
    lines = [
        "| limits | points | δ | refused | a limit broken | combinations apart by more |",
        "|---|---|---|---|---|---|",
    ]
    for asked in ASKED:
        for limit in LIMITS:
            for level in LEVELS:
                rows = [c for c in counts if (c.asked, c.limit, c.level) == (asked, limit, level)]
                shares = (
                    np.mean([not c.certified for c in rows]),
                    np.mean([c.broken for c in rows]),
                    np.mean([c.combinations > limit for c in rows]),
                )
                words = {"all": "race, sex, combinations", "each": "race, sex"}[asked]
                cells = " | ".join(f"{100 * share:.1f}" for share in shares)
                lines.append(f"| {words} | {100 * limit:g} | {level:g} | {cells} |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=300)
    print(table(counted(parser.parse_args().draws)))
