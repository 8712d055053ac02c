"""Which candidate is certified, and which of those is the most useful? A sequence of exact tests, fixed in advance.

A candidate is a model with a threshold. The nodes that models were fitted and ranked on say how likely each candidate
is to pass its test, and how useful it is. From that a sequence is made that promises the most: its candidates grow more
useful and less sure, and none is so unsure that it spoils the chances of those behind it. The certification nodes have
no part in it. Then each candidate of the sequence is tested on them at the full level δ = 1 - confidence, until the
first fails.

Whatever the sequence, the chance that any candidate beyond the limit passes is at most δ: the first such candidate must
pass its own test before a later one is looked at. So the most useful of those that passed may be taken, and usefulness
may even be measured on the certification nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

from fairview.metrics.gap_test import (
    Sample,
    approximate_p_value,
    gap_p_value,
    gap_upper_bound,
    largest_gap,
    score_statistic,
)
from fairview.tuning.counts import Cells, cells_of, positive_counts, utility_of
from fairview.tuning.holdout import Holdout
from fairview.tuning.limits import Condition, Limit

MORE = 10
"""Further candidates behind the sequence: tested only if all of it passed, they cost nothing."""

LEAST_GAIN = 0.5
"""Of what the most useful candidate gains over the majority answer; less useful ones are not worth a certificate."""

POWER = 0.8
"""How likely a certificate should be with the number of nodes that a refusal names."""

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Scored:
    """The scores of a fitted model, one for every node, and its AUC on the tuning nodes and on all val nodes."""

    scores: Array
    tuning_auc: float
    val_auc: float


@dataclass(frozen=True)
class Tested:
    """What the certification nodes say about one candidate and one limit.

    Attributes:
        limit: what was asked for.
        estimate: the observed gap.
        p_value: of "the gap is above the limit".
        samples: of each group, for each condition of the gap.
    """

    limit: Limit
    estimate: float
    p_value: float
    samples: tuple[tuple[Sample, ...], ...]

    @property
    def nodes(self) -> int:
        """How many nodes the test looked at."""
        return sum(sample.nodes for samples in self.samples for sample in samples)

    def upper_bound(self, confidence: float) -> float:
        """The smallest limit that this candidate alone would be certified for."""
        return max(gap_upper_bound(samples, confidence) for samples in self.samples)


@dataclass(frozen=True)
class Choice:
    """What the rule says for some limits.

    Attributes:
        sequence: the candidates in the order of their tests; those behind the first failure were not tested.
        tested: of each tested candidate, the test of each limit.
        certified: the candidates that passed.
        chosen: the most useful of those; None is a refusal.
    """

    sequence: tuple[int, ...] = ()
    tested: tuple[tuple[Tested, ...], ...] = ()
    certified: tuple[int, ...] = ()
    chosen: int | None = None


class Candidates:
    """Models with thresholds, counted once on the nodes that rank, test and judge them.

    Args:
        models: scores by trial.
        holdout: the division of the nodes.
        utility: what is to be large.
        limits: the gaps that matter.
        population: `new` or `graph`, see `fairview.tune`.
    """

    def __init__(
        self, models: Sequence[Scored], holdout: Holdout, *, utility: str, limits: Sequence[Limit], population: str
    ) -> None:
        self.holdout, self.utility, self.population = holdout, utility, population
        self.conditions = tuple(dict.fromkeys(each for limit in limits for each in limit.conditions))
        self.by = {name: holdout.by(name) for name in dict.fromkeys(attribute for attribute, _ in self.conditions)}
        graph = holdout.graph
        val = np.flatnonzero(graph.split("val") & graph.labelled)
        trials, thresholds, tuning, judged = [], [], [], []
        expected: dict[Condition, list[Array]] = {each: [] for each in self.conditions}
        positive: dict[Condition, list[npt.NDArray[np.int64]]] = {each: [] for each in self.conditions}
        on_all_val: dict[Condition, list[Array]] = {each: [] for each in self.conditions}
        for number, model in enumerate(models):
            levels = candidate_thresholds(model.scores[holdout.learning])
            on_tuning, on_val = (cells_of(model.scores, graph, rows, levels) for rows in (holdout.tuning, val))
            for name, each in self.by.items():
                on_learning = cells_of(model.scores, each.design, each.learning, levels)
                of_val = on_val if name is None else cells_of(model.scores, each.graph, val, levels)
                for label in (label for attribute, label in self.conditions if attribute == name):
                    expected[name, label].append(_rates(on_learning, label))
                    on_all_val[name, label].append(_rates(of_val, label))
                    found = cells_of(model.scores, each.graph, each.certifying(label), levels)
                    positive[name, label].append(positive_counts(found, label)[0])
            if utility == "auc":
                tuning.append(np.full(len(levels), model.tuning_auc))
                judged.append(np.full(len(levels), model.val_auc))
            else:
                tuning.append(utility_of(on_tuning, utility))
                judged.append(utility_of(on_val, utility))
            trials.append(np.full(len(levels), number))
            thresholds.append(levels)
        self.trials, self.thresholds = np.concatenate(trials), np.concatenate(thresholds)
        self.tuning_utility, self.val_utility = np.concatenate(tuning), np.concatenate(judged)
        self.expected_rates = {condition: np.concatenate(each) for condition, each in expected.items()}
        self.val_rates = {condition: np.concatenate(each) for condition, each in on_all_val.items()}
        self.positive = {condition: np.concatenate(each) for condition, each in positive.items()}

    def __len__(self) -> int:
        return len(self.trials)

    @cached_property
    def majority_utility(self) -> float:
        """Of the answer that most tuning labels have, for everybody."""
        labels = self.holdout.graph.labels[self.holdout.tuning]
        share = float(np.mean(labels == 1)) if len(labels) else 0.5
        return {
            "balanced_accuracy": 0.5,
            "auc": 0.5,
            "accuracy": max(share, 1 - share),
            "f1": 2 * share / (1 + share) if share >= 0.5 else 0.0,
        }[self.utility]

    def test(self, candidate: int, limit: Limit, *, near: float | None = None) -> Tested:
        """The test on the certification nodes.

        Args:
            candidate: which.
            limit: of which gap.
            near: a level; where the approximate p-value is far from it on either side, it is taken in place of the
                exact one. Only the report's look at other limits does so, never a certificate.
        """
        samples = tuple(self._samples(candidate, condition) for condition in limit.conditions)
        if limit.limit is None:
            p_value = np.nan
        else:
            p_value = max(approximate_p_value(each, limit.limit) for each in samples) if near else 0.0
            if near is None or near / 5 < p_value < 5 * near:
                p_value = max(gap_p_value(each, limit.limit) for each in samples)
        return Tested(limit, max(map(largest_gap, samples)), p_value, samples)

    def _samples(self, candidate: int, condition: Condition) -> tuple[Sample, ...]:
        attribute, label = condition
        return tuple(self.by[attribute].samples(self.positive[condition][candidate], label, self.population))

    def chance_to_pass(self, limits: Sequence[Limit], level: float) -> Array:
        """How likely each candidate is to be certified, from its rates on the learning nodes.

        The observed difference on the certification nodes is about normal around the one on the learning nodes, with
        the errors of both; it passes if it keeps a distance of z standard errors to either side's limit.
        """
        chance = np.ones(len(self))
        for limit in limits:
            bound = float(limit.limit or 0.0)
            for condition in limit.conditions:
                rates = self.expected_rates[condition]
                seen, tested = self._sizes(condition)
                for a, b in combinations(np.flatnonzero(tested), 2):
                    spread = rates[:, [a, b]] * (1 - rates[:, [a, b]])
                    spread = np.maximum(spread, 1 / (4 * np.maximum(seen[[a, b]], 1)))  # no rate is known to be 0 or 1
                    error = np.sqrt((spread / tested[[a, b]]).sum(axis=1))
                    both = np.sqrt(error**2 + (spread / np.maximum(seen[[a, b]], 1)).sum(axis=1))
                    reach = bound - norm.ppf(1 - level) * error
                    difference = rates[:, a] - rates[:, b]
                    passes = norm.cdf((reach - difference) / both) - norm.cdf((-reach - difference) / both)
                    chance = np.minimum(chance, np.where(np.isnan(passes), 0.0, np.maximum(passes, 0.0)))
        return chance

    def _sizes(self, condition: Condition) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Nodes of each group that the expected rates rest on, and that certify."""
        attribute, label = condition
        holdout = self.by[attribute]
        graph, design, learning = holdout.graph, holdout.design, holdout.learning
        rows = learning if label is None else learning[design.labels[learning] == label]
        count = len(graph.groups)
        certify = graph.sensitive[holdout.certifying(label)]
        return np.bincount(design.sensitive[rows], minlength=count), np.bincount(certify, minlength=count)

    def sequence(self, limits: Sequence[Limit], level: float) -> tuple[int, ...]:
        """The candidates to test, in order.

        Of all sequences in which usefulness grows, the one with the largest expected usefulness if the tests were
        independent: V(i) = max over more useful j of P(j) (u(j) - u(i) + V(j)), from the majority answer on.
        """
        useful = self.worthwhile
        if not len(useful):
            return ()
        chance, utility = self.chance_to_pass(limits, level)[useful], self.tuning_utility[useful]
        order = np.lexsort((chance, utility))
        chance, utility = chance[order], utility[order]
        gain, following = np.zeros(len(order) + 1), np.full(len(order) + 1, -1)
        from_utility = np.append(utility, self.majority_utility)  # the last place: nothing has passed yet
        for place in [*range(len(order) - 2, -1, -1), len(order)]:
            later = np.arange(0 if place == len(order) else place + 1, len(order))
            promise = chance[later] * (utility[later] - from_utility[place] + gain[later])
            best = int(np.argmax(promise))
            if promise[best] > 0:
                gain[place], following[place] = promise[best], later[best]
        steps, place = [], int(following[-1])
        while place >= 0:
            steps.append(place)
            place = int(following[place])
        if not steps:
            steps = [int(np.argmax(chance))]
        near = [int(place) for place in np.argsort(-utility, kind="stable") if chance[place] >= 0.5][:MORE]
        near = sorted(set(near) - set(steps), key=lambda place: -chance[place])
        return tuple(int(useful[order[place]]) for place in [*steps, *near])

    @cached_property
    def worthwhile(self) -> npt.NDArray[np.intp]:
        """The candidates that are useful enough to be worth a certificate."""
        best = np.nanmax(self.tuning_utility)
        least = self.majority_utility + LEAST_GAIN * (best - self.majority_utility)
        return np.flatnonzero((self.tuning_utility >= least) & (best > self.majority_utility))

    def choose(self, limits: Sequence[Limit], confidence: float, *, exact: bool = True) -> Choice:
        """Test the sequence until the first failure, and take the most useful candidate that passed."""
        level = 1 - confidence
        sequence = self.sequence(limits, level)
        tested: list[tuple[Tested, ...]] = []
        certified: list[int] = []
        for candidate in sequence:
            tested.append(tuple(self.test(candidate, limit, near=None if exact else level) for limit in limits))
            if max(test.p_value for test in tested[-1]) > level:
                break
            certified.append(candidate)
        chosen = max(certified, key=lambda candidate: self.val_utility[candidate], default=None)
        return Choice(sequence, tuple(tested), tuple(certified), chosen)

    def nodes_needed(self, tests: Sequence[Tested], confidence: float) -> int | None:
        """About how many certification nodes would certify this candidate, if its gap is what it looks like."""
        wanted = norm.ppf(confidence) + norm.ppf(POWER)
        factor = 1.0
        for test in tests:
            for samples in test.samples:
                for a, b in combinations(samples, 2):
                    for one, other in ((a, b), (b, a)):
                        z = -float(
                            score_statistic(
                                one.positive, other.positive, one.nodes, other.nodes, float(test.limit.limit or 0)
                            )
                        )
                        if z <= 0:
                            return None
                        factor = max(factor, (wanted / z) ** 2)
        return int(np.ceil(factor * max(test.nodes for test in tests)))


def _rates(cells: Cells, label: int | None) -> Array:
    """The share of positive predictions, (thresholds, groups); NaN for a group without nodes."""
    yes, nodes = positive_counts(cells, label)
    return np.asarray(np.divide(yes, nodes, out=np.full(yes.shape, np.nan), where=nodes > 0))


def candidate_thresholds(scores: Array) -> Array:
    """One half, and thresholds that 5, 10, ..., 95 % of the nodes lie above; ascending, below 1.

    They lie halfway between two scores, so that no node changes sides because of rounding on another machine.

    Example:
        >>> candidate_thresholds(np.linspace(0, 1, 101))[:3].round(3).tolist()
        [0.055, 0.105, 0.155]
    """
    values = np.unique(scores)
    if len(values) < 2:
        return np.array([0.5])
    places = np.searchsorted(values, np.quantile(scores, np.arange(1, 20) / 20, method="lower"))
    places = np.minimum(places, len(values) - 2)
    levels = np.unique(np.append((values[places] + values[places + 1]) / 2, 0.5))
    return np.asarray(levels[(levels >= 0) & (levels < 1)])


def knee(utility: Array, gap: Array) -> int:
    """The candidate furthest above the line from the smallest gap to the largest utility, both on a scale of 0 to 1.

    Example:
        >>> knee(np.array([0.5, 0.68, 0.7]), np.array([0.0, 0.02, 0.2]))
        1
    """
    ends = [int(np.lexsort((-utility, gap))[0]), int(np.lexsort((gap, -utility))[0])]
    spread = [max(float(np.ptp(values[ends])), 1e-12) for values in (utility, gap)]
    rise = (utility - utility[ends[0]]) / spread[0]
    run = (gap - gap[ends[0]]) / spread[1]
    between = (gap >= gap[ends[0]]) & (gap <= gap[ends[1]])
    return int(np.argmax(np.where(between, rise - run, -np.inf)))


def as_json(test: Tested, confidence: float) -> dict[str, Any]:
    """A test as in `tune.json` and `certificate.json`."""
    return {
        **test.limit.to_dict(),
        "estimate": test.estimate,
        "upper_bound": test.upper_bound(confidence),
        "p_value": None if test.limit.limit is None else test.p_value,
        "confidence": confidence,
        "nodes": test.nodes,
    }
