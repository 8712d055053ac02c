"""Which Parity models are worth a look? Columns that rank well without a penalty, then paths of penalties."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any, Literal

from fairview.data.stored_links import StoredLinks
from fairview.methods.parity import Parity
from fairview.tuning.holdout import Holdout
from fairview.tuning.limits import Limit, limited_attributes
from fairview.tuning.trials import Trial, finished

BASES: tuple[Literal["splines", "raw"], ...] = ("splines", "raw")
HOPS, L2 = (0, 2), (0.001, 0.01, 0.05, 0.2)
WEIGHTS = (1.0, 3.0, 10.0, 30.0, 100.0)
PENALTIES = ("energy", "threshold")

STEPS = len(BASES) * len(HOPS) * len(L2) + len(HOPS) * len(PENALTIES)
"""Steps of progress."""


def parity_path(
    holdout: Holdout, limits: Sequence[Limit], *, seed: int, advance: Callable[[int], None]
) -> Iterator[Trial]:
    """For each number of hops the plain model with the best AUC on the tuning nodes, then its paths of weights.

    Hops are not chosen by the AUC: what ranks best without a penalty need not be the most useful under one.

    Args:
        holdout: the division of the nodes.
        limits: whose gaps the penalties hold down.
        seed: of models with random weights.
        advance: told of each step.
    """
    weights = list(dict.fromkeys(f"{limit.gap}_weight" for limit in limits))
    limited = limited_attributes(limits, holdout.graph)
    between: dict[str, Any] = {} if limited is None else {"penalise": limited}
    zero: dict[str, Any] = dict.fromkeys(
        ("statistical_parity_weight", "equal_opportunity_weight", "equalized_odds_weight"), 0.0
    )
    tried = (0,) if isinstance(holdout.graph.adjacency, StoredLinks) else HOPS  # splines propagate along links only
    prepared = {basis: Parity(basis=basis, hops=max(tried), seed=seed).prepare(holdout.design) for basis in BASES}
    plain: list[Trial] = []
    for basis, hops, l2 in product(BASES, tried, L2):
        start = time.perf_counter()
        settings: dict[str, Any] = {"basis": basis, "hops": hops, "l2": l2} | between
        model = Parity(**settings, seed=seed, **zero).fit(holdout.design, prepared=prepared[basis])
        settings |= dict.fromkeys(weights, 0.0)
        seconds = time.perf_counter() - start
        plain.append(finished(model, "parity", settings, holdout, seconds, prepared=prepared[basis]))
        advance(1)
    for hops in tried:
        of_hops = [trial for trial in plain if trial.settings["hops"] == hops]
        best = max(of_hops, key=lambda trial: trial.auc(holdout.graph.labels, holdout.tuning))
        yield best
        columns = prepared[best.settings["basis"]]
        for penalty in PENALTIES:
            start = time.perf_counter()
            model = Parity(**best.model.get_params() | {"penalty": penalty})
            path = model.path(holdout.design, WEIGHTS, of=weights, prepared=columns)
            for weight, fitted in zip(WEIGHTS, path, strict=True):
                settings = dict(best.settings) | dict.fromkeys(weights, weight) | {"penalty": penalty}
                seconds = (time.perf_counter() - start) / len(WEIGHTS)
                yield finished(fitted, "parity", settings, holdout, seconds, prepared=columns)
            advance(1)
