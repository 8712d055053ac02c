"""Which nodes may a model learn from, which rank it, and which certify it? Divided at random, before any fit.

    train, and half of the nodes in no split     the loss and the penalties see them
    tuning         a part of `val`               epochs, settings, the order of the tests
    certification  the rest of `val`, and the other half of the nodes in no split
    test                                         nobody looks at it until the end

A method never sees labels or groups of the certification and test nodes: they are blank in the graph that it is given.
So a fitted model says nothing about which nodes certify it, and they are a random sample of all that it has not seen.

Statistical parity needs no labels: unlabelled nodes certify it too. They may differ from labelled ones, so that all
kinds (label 0, label 1, none) take part in the proportions of the whole graph, and no more than that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fairview.data.graph import NodeGraph
from fairview.errors import InputError
from fairview.groups import UNKNOWN
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

    @property
    def learning(self) -> Rows:
        """Nodes with a known group that a fit may see, and the tuning nodes."""
        return np.flatnonzero(self.design.sensitive != UNKNOWN)

    def certifying(self, label: int | None) -> Rows:
        """The nodes that a test looks at: everybody, or those with a label."""
        return self.everybody if label is None else self.labelled[self.graph.labels[self.labelled] == label]

    @property
    def unlabelled_left_out(self) -> int:
        """Nodes without a label that no certification node stands for: none of them could be held out."""
        unlabelled = ~self.graph.labelled & (self.graph.sensitive != UNKNOWN)
        return 0 if unlabelled[self.everybody].any() else int(unlabelled.sum())

    def nodes(self) -> dict[str, int]:
        """How many nodes have which part."""
        train = self.design.split("train") & self.design.labelled
        penalty = (self.design.sensitive != UNKNOWN) & ~self.design.split("val")
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
    known = graph.sensitive != UNKNOWN
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


def check_certifiable(holdout: Holdout, limits: tuple[Limit, ...]) -> None:
    """Both labels need nodes that rank, and every group needs nodes that certify each limit."""
    labels = np.unique(holdout.graph.labels[holdout.tuning])
    if len(labels) < 2:
        raise InputError(
            f"tune: {TUNING_SHARE:.0%} of the val split rank the models, and these {len(holdout.tuning):,} nodes don't "
            "have both labels. Give the val split more nodes."
        )
    groups = [code for code, size in enumerate(holdout.graph.group_sizes.values()) if size]
    for limit in limits:
        for label in CONDITIONS[limit.gap]:
            codes = holdout.graph.sensitive[holdout.certifying(label)]
            for code in groups:
                if not (codes == code).any():
                    which = {None: "", 1: " with a positive label", 0: " with a negative label"}[label]
                    raise InputError(
                        f"tune: no node{which} of group '{holdout.graph.groups[code]}' is left to certify the "
                        f"{limit.words}. Give the val split more nodes of that group."
                    )


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
    known = graph.sensitive != UNKNOWN
    kinds = {label: rows[graph.labels[rows] == label] for label in (UNKNOWN, 0, 1)}
    totals = {label: int(((graph.labels == label) & known).sum()) for label in kinds}
    if not len(kinds[UNKNOWN]):
        totals[UNKNOWN] = 0  # the certificate then says that it does not speak of them
    scale = min((max(len(kinds[label]), 0.5) / total for label, total in totals.items() if total), default=0.0)
    chosen = [draw.permutation(kinds[label])[: round(scale * total)] for label, total in totals.items()]
    return np.sort(np.concatenate(chosen))
