"""Which nodes may a model learn from, which rank it, and which certify it? Divided at random, before any fit.

    train, and half of the nodes in no split     the loss and the penalties see them
    tuning         a part of `val`               epochs, settings, the order of the tests
    certification  the rest of `val`, and the other half of the nodes in no split
    test                                         nobody looks at it until the end

A method never sees labels or groups of the certification and test nodes: they are blank in the graph that it is given.
So a fitted model says nothing about which nodes certify it, and they are a random sample of all that it has not seen.

Statistical parity needs no labels: unlabelled nodes certify it too. They may differ from labelled ones, so that all
kinds (label 0, label 1, none) take part in the proportions of the whole graph, and no more than that.

With several sensitive attributes one division serves all of them. A node whose race is known and whose sex is not may
certify a limit by race: `Holdout.by` leaves out what an attribute does not know, which needs no further draw.
"""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from fairview.data.graph import NodeGraph
from fairview.errors import InputError, Problems, flag, placeholder
from fairview.groups import UNKNOWN
from fairview.methods.contract import grouped_nodes
from fairview.metrics.gap_test import Sample
from fairview.tuning.limits import CONDITIONS, Limit

Rows = npt.NDArray[np.intp]

TUNING_SHARE = 0.3
"""Of the val nodes: enough to rank models; the rest certifies."""

SPARE_SHARE = 0.5
"""Of the nodes in no split: these certify, the others are in the penalty."""


@dataclass(frozen=True, eq=False)
class Holdout:
    """A graph divided for tuning.

    Attributes:
        graph: as it was given.
        design: what methods are given: `val` holds the tuning nodes, `certify` is held out, labels and groups of
            held-out nodes are blank.
        tuning: rows of the tuning nodes.
        everybody: rows that certify statistical parity.
        labelled: rows that certify what needs labels.
        unseen: rows that no fit, penalty or ranking has seen: certification and test nodes.
    """

    graph: NodeGraph
    design: NodeGraph
    tuning: Rows
    everybody: Rows
    labelled: Rows
    unseen: Rows

    def by(self, attribute: str | None) -> Holdout:
        """The same division with one attribute alone, or with the combinations of all as if they were one.

        Args:
            attribute: its name; None where there is only one.
        """
        if attribute is None:
            return self
        graph, design = (each.attribute(attribute) for each in (self.graph, self.design))
        if graph.several:
            graph, design = (each.with_attributes([each.crossed]) for each in (graph, design))
        known = graph.sensitive != UNKNOWN
        rows = {
            name: each[known[each]] for name in ("everybody", "labelled", "unseen") for each in [getattr(self, name)]
        }
        return replace(self, graph=graph, design=design, **rows)

    @property
    def learning(self) -> Rows:
        """Nodes with a known group that a fit may see, and the tuning nodes."""
        return np.flatnonzero(grouped_nodes(self.design))

    def certifying(self, label: int | None) -> Rows:
        """The nodes that a test looks at: everybody, or those with a label."""
        return self.everybody if label is None else self.labelled[self.graph.labels[self.labelled] == label]

    @property
    def unlabelled_left_out(self) -> int:
        """Nodes without a label that no certification node stands for: none of them could be held out."""
        unlabelled = ~self.graph.labelled & grouped_nodes(self.graph)
        return 0 if unlabelled[self.everybody].any() else int(unlabelled.sum())

    def nodes(self) -> dict[str, int]:
        """How many nodes have which part."""
        train = self.design.split("train") & self.design.labelled
        penalty = grouped_nodes(self.design) & ~self.design.split("val")
        test = self.graph.splits.get("test", np.zeros(self.graph.num_nodes, dtype=np.bool_))
        parts = {"train": train, "penalty": penalty}
        counts = {name: int(mask.sum()) for name, mask in parts.items()}
        certification = len(np.union1d(self.everybody, self.labelled))
        return counts | {"tuning": len(self.tuning), "certification": certification, "test": int(test.sum())}

    def samples(self, positive: npt.NDArray[np.int64], label: int | None, population: str) -> list[Sample]:
        """The groups' samples, from the number of positive predictions in each; groups without a node are left out."""
        rows = self.certifying(label)
        sizes = np.bincount(self.graph.sensitive[rows], minlength=len(self.graph.groups))
        known: npt.NDArray[np.int64] | list[None] = [None] * len(sizes)
        if population == "graph" and label is None:  # how many unseen nodes have a label is not looked at
            known = np.bincount(self._known_unseen(), minlength=len(sizes))
        return [
            Sample(int(x), int(n), None if total is None else int(total))
            for x, n, total in zip(positive, sizes, known, strict=True)
            if n
        ]

    def _known_unseen(self) -> npt.NDArray[np.int16]:
        codes: npt.NDArray[np.int16] = self.graph.sensitive[self.unseen]
        return np.asarray(codes[codes != UNKNOWN])


def hold_out(graph: NodeGraph, *, seed: int) -> Holdout:
    """Divide a graph with splits.

    Raises:
        InputError: there are no nodes that could certify anything.
    """
    draw = np.random.default_rng([seed, 29])
    known = grouped_nodes(graph)
    val = np.flatnonzero(graph.split("val") & graph.labelled)
    tuning_mask = np.zeros(graph.num_nodes, dtype=np.bool_)
    tuning_mask[val[_share(graph, val, TUNING_SHARE, draw)]] = True
    spare = np.flatnonzero(known & ~np.any(list(graph.splits.values()), axis=0))
    certify = (graph.split("val") & ~tuning_mask) & known
    certify[spare[_share(graph, spare, SPARE_SHARE, draw)]] = True
    held_out = {name: mask for name, mask in graph.splits.items() if name not in ("train", "val")}
    blank = certify | (graph.split("val") & ~tuning_mask) | np.any([*held_out.values(), certify], axis=0)
    design = graph.hiding_groups(blank).replace(
        labels=np.where(blank, UNKNOWN, graph.labels),
        splits={"train": graph.split("train"), "val": tuning_mask, "certify": blank & ~_any(held_out, graph)}
        | held_out,
    )
    candidates = np.flatnonzero(certify)
    return Holdout(
        graph=graph,
        design=design,
        tuning=np.flatnonzero(tuning_mask),
        everybody=_in_proportion(graph, candidates, draw),
        labelled=candidates[graph.labelled[candidates]],
        unseen=np.flatnonzero(certify | (_any(held_out, graph) & known)),
    )


def check_certifiable(
    holdout: Holdout, limits: tuple[Limit, ...], *, level: float = 0.05, population: str = "new"
) -> None:
    """Both labels need nodes that rank, and every group needs nodes that certify each limit.

    Args:
        holdout: the division of the nodes.
        limits: what is asked for.
        level: δ of the tests.
        population: that they speak of.
    """
    labels = np.unique(holdout.graph.labels[holdout.tuning])
    if len(labels) < 2:
        raise InputError(
            f"tune: {TUNING_SHARE:.0%} of the val split rank the models, and these {len(holdout.tuning):,} nodes don't "
            "have both labels. Give the val split more nodes."
        )
    for limit in limits:
        if limit.attribute is None:
            _check_each_group(holdout, limit)
    by_attribute = [limit for limit in limits if limit.attribute is not None]
    if by_attribute:
        _check_each_combination(holdout, by_attribute, level, population)


def _check_each_group(holdout: Holdout, limit: Limit) -> None:
    for label in CONDITIONS[limit.gap]:
        for name, size in _certifying_sizes(holdout, label).items():
            if not size:
                raise InputError(
                    f"tune: no node{_WHICH[label]} of group '{name}' is left to certify the {limit.words}. Give the "
                    "val split more nodes of that group."
                )


_WHICH = {None: "", 1: " with a positive label", 0: " with a negative label"}


def _certifying_sizes(holdout: Holdout, label: int | None) -> dict[str, int]:
    """How many nodes of each group certify; groups that the graph has no node of are left out."""
    graph = holdout.graph
    found = np.bincount(graph.sensitive[holdout.certifying(label)], minlength=len(graph.groups)).tolist()
    return {name: size for (name, all_of), size in zip(graph.group_sizes.items(), found, strict=True) if all_of}


def _check_each_combination(holdout: Holdout, limits: list[Limit], level: float, population: str) -> None:
    """With several attributes groups multiply, and the smallest decides: all that are too small are told beforehand."""
    problems = Problems()
    graph = holdout.graph
    views = {name: holdout.by(name) for name in dict.fromkeys(limit.attribute for limit in limits)}
    for limit in limits:
        for label in CONDITIONS[limit.gap]:
            finite = population == "graph" and label is None  # a few may be nearly all of them
            least = 1 if finite else fewest_nodes(limit.limit, level)
            for name, size in _certifying_sizes(views[limit.attribute], label).items():
                if size >= least:
                    continue
                nodes = f"{size:,} node{'s' if size != 1 else ''}{_WHICH[label]}" if size else f"no node{_WHICH[label]}"
                asked = "" if limit.limit is None else f" of {100 * limit.limit:g} points"
                remedy = "or merge groups"
                if limit.attribute == graph.sensitive_name and limit.limit is not None:
                    alone = _alone(graph, limit)
                    remedy = f"merge groups, or set limits for each attribute, without their combinations: {alone}"
                problems.add(
                    f"tune: {nodes} of '{name}' can certify the {limit.words}, and a limit{asked} needs at least "
                    f"{least:,}, whatever the model. Give the val split more of them, {remedy}."
                )
    problems.raise_if_any()


def _alone(graph: NodeGraph, limit: Limit) -> str:
    limits = {each.name: limit.limit for each in graph.attributes}
    return placeholder(
        python=f"max_gap={limits}",
        command_line=" ".join(f"{flag('max_gap')} {shlex.quote(f'{name}={value}')}" for name, value in limits.items()),
    )


def fewest_nodes(limit: float | None, level: float) -> int:
    """Nodes of a group without which no table passes, even if the other group's rate were known exactly.

    Of n nodes without a yes the rate may be as large as 1 - δ^(1/n) or as small as 0: both must be within the limit g
    of the other rate, so that 1 - δ^(1/n) <= 2 g.

    Example:
        >>> fewest_nodes(0.05, level=0.05), fewest_nodes(0.2, level=0.05)
        (29, 6)
    """
    if limit is None or 2 * limit >= 1:
        return 1
    return max(1, math.ceil(math.log(level) / math.log(1 - 2 * limit)))


def _any(masks: dict[str, npt.NDArray[np.bool_]], graph: NodeGraph) -> npt.NDArray[np.bool_]:
    none = np.zeros(graph.num_nodes, dtype=np.bool_)
    return np.asarray(np.any([none, *masks.values()], axis=0))


def _share(graph: NodeGraph, rows: Rows, share: float, draw: np.random.Generator) -> npt.NDArray[np.bool_]:
    """A random share of some rows, about the same of every label and group."""
    shuffled = draw.permutation(len(rows))
    order = shuffled[np.lexsort((graph.sensitive[rows[shuffled]], graph.labels[rows[shuffled]]))]
    taken = np.zeros(len(rows), dtype=np.bool_)
    taken[order] = np.diff(np.floor(np.arange(len(rows) + 1) * share + draw.random())) > 0
    return taken


def _in_proportion(graph: NodeGraph, rows: Rows, draw: np.random.Generator) -> Rows:
    """As many of them as have the whole graph's mix of label 0, label 1 and no label."""
    known = grouped_nodes(graph)
    kinds = {label: rows[graph.labels[rows] == label] for label in (UNKNOWN, 0, 1)}
    totals = {label: int(((graph.labels == label) & known).sum()) for label in kinds}
    if not len(kinds[UNKNOWN]):
        totals[UNKNOWN] = 0  # the certificate then says that it does not speak of them
    scale = min((max(len(kinds[label]), 0.5) / total for label, total in totals.items() if total), default=0.0)
    chosen = [draw.permutation(kinds[label])[: round(scale * total)] for label, total in totals.items()]
    return np.sort(np.concatenate(chosen))
