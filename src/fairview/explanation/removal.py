"""What happens when links are removed, without fitting again? The worst ones, as many at random, as many within groups.

Whatever an effect was made from, removal is the judge: if the links that are said to carry the gap do, then it is
smaller without them than without as many others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from fairview.data.adjacency import Adjacency
from fairview.data.graph import NodeGraph
from fairview.explanation.contrast import Contrast
from fairview.explanation.links import LinkList, Places, Reals
from fairview.explanation.score import Score
from fairview.groups import UNKNOWN
from fairview.metrics.evaluation import Evaluator
from fairview.undefined import Metric, Undefined, plain

Chosen = Literal["effect", "random", "within groups", "between groups"]
METRICS = ("statistical_parity_gap", "accuracy")


@dataclass(frozen=True)
class Measured:
    """The gap that is explained, and the metrics at the model's threshold."""

    gap: float
    statistical_parity_gap: Metric
    accuracy: Metric


@dataclass(frozen=True, kw_only=True)
class Removal:
    """Some links removed.

    Attributes:
        k: how many.
        chosen: those with the largest `effect`; drawn at `random`; drawn `within groups`, from the links that join two
            nodes of one group, or `between groups`.
        draws: of which the numbers are means.
        before: with all links.
        after: without these.
    """

    k: int
    chosen: Chosen
    draws: int
    before: Measured
    after: Measured

    def to_dict(self) -> dict[str, Any]:
        """For JSON: each number before and after."""
        values = {
            f"{name}_{when}": plain(getattr(measured, name))
            for name in ("gap", *METRICS)
            for when, measured in (("before", self.before), ("after", self.after))
        }
        return {"k": self.k, "chosen": self.chosen, "draws": self.draws} | values


class Trial:
    """Measures a score without some links.

    Args:
        score: of the model.
        links: of the graph.
        contrast: between the groups, whose gap is explained.
        graph: with labels and groups.
        logits: of every node, with all links.
        evaluated: the metrics are taken over the labelled nodes among these.
        threshold: of the model, on the score.
    """

    def __init__(
        self,
        score: Score,
        links: LinkList,
        contrast: Contrast,
        graph: NodeGraph,
        logits: Reals,
        evaluated: npt.NDArray[np.bool_],
        threshold: float,
    ) -> None:
        self.score, self.links, self.contrast, self.logits = score, links, contrast, logits
        self.rows = rows = np.flatnonzero(evaluated & graph.labelled)
        self.evaluator = Evaluator.from_codes(
            graph.labels[rows], codes=graph.sensitive[rows], groups=graph.groups, threshold=threshold
        )
        self.codes = graph.sensitive
        self.gap = contrast.gap(self.logits)

    def effect(self, gone: Places) -> float:
        """The gap with these links less the gap without them."""
        return self.gap - self.contrast.gap(self.score.logits(self.links.without(gone)))

    def measure(self, adjacency: Adjacency | None = None) -> Measured:
        """With these links; by default, those of the graph."""
        logits = self.logits if adjacency is None else self.score.logits(adjacency)
        found = self.evaluator(expit(logits[self.rows]))
        return Measured(self.contrast.gap(logits), found["statistical_parity_gap"], found["accuracy"])

    def removals(self, effects: Reals, sizes: Sequence[int], *, draws: int, seed: int) -> list[Removal]:
        """Each number of links, chosen in each way; a way that has not as many is left out."""
        before, found = self.measure(), []
        order = np.argsort(-effects, kind="stable")
        pools = self._pools()
        for k in sizes:
            after = self.measure(self.links.without(order[:k]))
            found.append(Removal(k=k, chosen="effect", draws=1, before=before, after=after))
            for place, (chosen, pool) in enumerate(pools.items()):
                if len(pool) < k:
                    continue
                random = np.random.default_rng([seed, place, k])
                drawn = [random.choice(pool, k, replace=False) for _ in range(draws)]
                measured = _mean([self.measure(self.links.without(each)) for each in drawn])
                found.append(Removal(k=k, chosen=chosen, draws=draws, before=before, after=measured))
        return found

    def _pools(self) -> dict[Chosen, Places]:
        """The links that are drawn from."""
        first, second = self.codes[self.links.source], self.codes[self.links.target]
        known = (first != UNKNOWN) & (second != UNKNOWN)
        same = first == second
        return {
            "random": np.arange(len(self.links)),
            "within groups": np.flatnonzero(known & same),
            "between groups": np.flatnonzero(known & ~same),
        }


def _mean(draws: Sequence[Measured]) -> Measured:
    """Of each number; undefined if one of them is."""
    return Measured(
        gap=float(np.mean([each.gap for each in draws])),
        statistical_parity_gap=_mean_metric([each.statistical_parity_gap for each in draws]),
        accuracy=_mean_metric([each.accuracy for each in draws]),
    )


def _mean_metric(values: Sequence[Metric]) -> Metric:
    known = [value for value in values if not isinstance(value, Undefined)]
    if len(known) == len(values):
        return float(np.mean(known))
    return next(value for value in values if isinstance(value, Undefined))
