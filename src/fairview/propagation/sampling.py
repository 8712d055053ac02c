"""Which nodes of a propagated folder are loaded? All if they fit, else a sample, drawn so that a model learns the same.

For training: the labelled nodes of the splits, stratified by label and group if they are too many, and a uniform sample
of the others. For a certificate: a uniform sample of all, which must be like the nodes that it speaks of.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from fairview.arguments import require_seed, require_whole
from fairview.attributes import Attribute, intersection
from fairview.data.graph import SPLIT_NAMES, NodeGraph
from fairview.data.splits import DEFAULT_SEED, drawn_split, no_split_note, share_of_strata
from fairview.errors import InputError, did_you_mean, option
from fairview.groups import UNKNOWN
from fairview.progress import track
from fairview.propagation.facts import PropagatedFacts
from fairview.propagation.folder import Propagated

Rows = npt.NDArray[np.int64]

MOST_ROWS = 2_000_000
"""Nodes that are loaded at most, unless the user says another number."""

MOST_NUMBERS = 200_000_000
"""Numbers that they have at most (channels times hops, X among them): with what is made of them, about 5 GB."""

FEWEST_ROWS = 1_000
"""A smaller sample says little."""


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """The labelled nodes of a folder: row numbers, ascending, with labels, groups and the split of each.

    Attributes:
        rows: of the folder.
        labels: 0 or 1.
        attributes: the sensitive attributes of these nodes, one or several.
        splits: place of the split in `SPLIT_NAMES`, -1 in none.
        notes: on a split that was drawn.
    """

    rows: Rows
    labels: npt.NDArray[np.int8]
    attributes: tuple[Attribute, ...]
    splits: npt.NDArray[np.int8]
    notes: tuple[str, ...] = ()

    @cached_property
    def together(self) -> Attribute:
        """What the attributes make together: the groups by which splits and samples are stratified."""
        return intersection(self.attributes)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the splits that have a node."""
        return tuple(name for place, name in enumerate(SPLIT_NAMES) if (self.splits == place).any())

    def of(self, split: str) -> npt.NDArray[np.bool_]:
        """Which of them are in a split; `all` is every one."""
        if split == "all":
            return np.ones(len(self.rows), dtype=np.bool_)
        if split not in self.names:
            raise InputError(f"no split '{split}'.{did_you_mean(str(split), [*self.names, 'all'])}")
        return np.asarray(self.splits == SPLIT_NAMES.index(split))


def labelled_rows(propagated: Propagated) -> LabelledRows:
    """The labelled nodes, read from a few columns; without a split in the folder one is drawn, as for a graph."""
    facts = propagated.facts
    if not facts.labelled:
        nothing, nobody = np.empty(0, dtype=np.int64), tuple(propagated.attributes(pl.DataFrame()))
        return LabelledRows(nothing, nothing.astype(np.int8), nobody, nothing.astype(np.int8))
    names = ["label", *facts.group_columns, *(["split"] if facts.splits else [])]
    pieces, start = [], 0
    for frame in propagated.frames(names):
        labels = frame["label"].fill_null(UNKNOWN).to_numpy()
        known = np.flatnonzero(labels != UNKNOWN)
        held = [each.codes[known] for each in propagated.attributes(frame)]
        splits = np.full(len(known), -1, dtype=np.int8)
        if facts.splits:
            column = frame["split"]
            for place, name in enumerate(SPLIT_NAMES):
                splits[(column == name).fill_null(value=False).to_numpy()[known]] = place
        pieces.append((known + start, labels[known].astype(np.int8), splits, *held))
        start += frame.height
    rows, labels, splits, *codes = (np.concatenate(each) for each in zip(*pieces, strict=True))
    attributes = tuple(
        Attribute(held.name, each, held.groups, held.channels) for held, each in zip(facts.held, codes, strict=True)
    )
    found = LabelledRows(rows, labels, attributes, splits)
    if facts.splits:
        return found
    for name, mask in drawn_split(labels, found.together.codes, facts.groups, seed=DEFAULT_SEED).items():
        splits[mask] = SPLIT_NAMES.index(name)
    return replace(found, notes=(no_split_note(DEFAULT_SEED),))


def row_budget(facts: PropagatedFacts, rows: int | None = None) -> int:
    """How many nodes may be loaded: as many as the user says, or as many as fit."""
    if rows is not None:
        require_whole(rows, option("rows"), least=FEWEST_ROWS)
        return rows
    width = max(len(facts.channels) * (facts.hops + 1), 1)
    return max(min(MOST_ROWS, MOST_NUMBERS // width), FEWEST_ROWS)


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The nodes that a model is trained on.

    Attributes:
        rows: of the folder, ascending; None if all are.
        splits: masks over these rows, where the folder has none and they are a sample.
        notes: on what was left out.
    """

    rows: Rows | None = None
    splits: dict[str, npt.NDArray[np.bool_]] | None = None
    notes: tuple[str, ...] = ()

    def count(self, propagated: Propagated) -> int:
        """How many they are."""
        return propagated.num_nodes if self.rows is None else len(self.rows)

    def described(self, graph: NodeGraph) -> NodeGraph:
        """The graph of these rows with their splits and notes."""
        graph = graph if self.splits is None else graph.with_splits(self.splits)
        return graph.noting(*self.notes) if self.notes else graph


def training_sample(propagated: Propagated, *, rows: int | None = None, seed: int = 0) -> NodeGraph:
    """The nodes that a model is trained on, as a graph; its provenance says what was left out.

    Args:
        propagated: the folder.
        rows: how many nodes at most [default: 2,000,000, or fewer if there are many channels].
        seed: of the sample.
    """
    chosen = rows_to_train_on(propagated, rows=rows, seed=seed)
    return chosen.described(_loaded(propagated, chosen.rows))


def rows_to_train_on(propagated: Propagated, *, rows: int | None = None, seed: int = 0) -> TrainingRows:
    """The same as row numbers, from a few columns of the folder."""
    require_seed(seed)
    budget = row_budget(propagated.facts, rows)
    if propagated.num_nodes <= budget:
        return TrainingRows()
    labelled = labelled_rows(propagated)
    draw = np.random.default_rng([seed, 31])
    in_splits = labelled.splits >= 0 if labelled.names else np.ones(len(labelled.rows), dtype=np.bool_)
    share = min(1.0, budget / 2 / max(int(in_splits.sum()), 1))
    taken = labelled.rows[in_splits]
    if share < 1:
        strata = labelled.splits[in_splits] * 2 + labelled.labels[in_splits]
        taken = taken[share_of_strata(strata, labelled.together.codes[in_splits], share, draw)]
    chosen = np.sort(np.concatenate([taken, _others(taken, propagated.num_nodes, budget - len(taken), draw)]))
    at = np.searchsorted(labelled.rows, chosen)
    known = np.zeros(len(chosen), dtype=np.bool_)
    if len(labelled.rows):
        known = labelled.rows[np.minimum(at, len(labelled.rows) - 1)] == chosen
    splits = None
    if not propagated.facts.splits and labelled.names:
        places = np.full(len(chosen), -1, dtype=np.int8)
        places[known] = labelled.splits[at[known]]
        splits = {name: places == place for place, name in enumerate(SPLIT_NAMES)}
    how = "all of them" if share == 1 else "stratified by label and group"
    notes = (
        *labelled.notes,
        f"{len(chosen):,} of {propagated.num_nodes:,} nodes were loaded: {int(known.sum()):,} labelled ones ({how} in "
        f"the splits) and a uniform sample of the others, drawn with seed {seed}",
    )
    return TrainingRows(chosen, splits, notes)


def uniform_sample(propagated: Propagated, *, rows: int | None = None, seed: int = 0) -> NodeGraph:
    """Nodes drawn at random from all, each with the same chance; all if they fit.

    Args:
        propagated: the folder.
        rows: how many nodes at most [default: 2,000,000, or fewer if there are many channels].
        seed: of the sample.
    """
    require_seed(seed)
    budget = row_budget(propagated.facts, rows)
    if propagated.num_nodes <= budget:
        return _loaded(propagated, None)
    nobody, draw = np.empty(0, dtype=np.int64), np.random.default_rng([seed, 37])
    graph = _loaded(propagated, np.sort(_others(nobody, propagated.num_nodes, budget, draw)))
    return graph.noting(
        f"{graph.num_nodes:,} of {propagated.num_nodes:,} nodes were loaded: a uniform sample, drawn with seed {seed}"
    )


def _others(taken: Rows, nodes: int, count: int, draw: np.random.Generator) -> Rows:
    """So many of the rows that are not taken, each with the same chance; `taken` is ascending."""
    places = np.sort(draw.choice(nodes - len(taken), min(count, nodes - len(taken)), replace=False, shuffle=False))
    before = taken - np.arange(len(taken))  # rows that are free before each taken one
    return np.asarray(places + np.searchsorted(before, places, side="right"), dtype=np.int64)


def _loaded(propagated: Propagated, rows: Rows | None) -> NodeGraph:
    with track("Loading the folder", total=1) as advance:
        graph = propagated.graph(rows)
        advance(1)
    return graph
