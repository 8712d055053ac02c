"""Which rows of a propagated folder does each of several processes load? A stretch of those that one would load."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairview.data.graph import SPLIT_NAMES
from fairview.data.graph_arrays import fields_of
from fairview.data.sharded_graph import ShardedGraph
from fairview.groups import UNKNOWN
from fairview.propagation.folder import Propagated
from fairview.propagation.sampling import rows_to_train_on

PIECE = 200_000
"""Rows that are read at a time where all of them pass by."""


def training_shard(
    propagated: Propagated, *, rank: int, processes: int, rows: int | None = None, seed: int = 0
) -> ShardedGraph:
    """What one of several processes loads to train on: the features of its share of the nodes that one would load.

    Args:
        propagated: the folder.
        rank: number of the process, from 0.
        processes: how many there are.
        rows: nodes of all processes together, at most [default: as many as for one].
        seed: of the sample.
    """
    chosen = rows_to_train_on(propagated, rows=rows, seed=seed)
    count = chosen.count(propagated)
    edges = tuple(count * process // processes for process in range(processes + 1))
    places = np.arange(count) if chosen.rows is None else chosen.rows
    part = propagated.graph(places[edges[rank] : edges[rank + 1]])
    facts = propagated.facts
    names = [*(["label"] if facts.labelled else []), *facts.group_columns, *(["split"] if facts.splits else [])]
    labels = np.full(count, UNKNOWN, dtype=np.int8)
    codes = np.full((len(facts.held), count), UNKNOWN, dtype=np.int16)
    splits = {name: np.zeros(count, dtype=np.bool_) for name in SPLIT_NAMES if name in facts.splits}
    start = 0
    for frame in propagated.frames_of(chosen.rows, names) if names else ():
        here = slice(start, start := start + frame.height)
        labels[here] = frame["label"].fill_null(UNKNOWN).to_numpy() if facts.labelled else UNKNOWN
        codes[:, here] = [each.codes for each in propagated.attributes(frame)]
        for name, mask in splits.items():
            mask[here] = (frame["split"] == name).fill_null(value=False).to_numpy()
    graph = ShardedGraph(
        features=part.features,
        channels=part.channels,
        adjacency=part.adjacency,
        labels=labels,
        classes=part.classes,
        **fields_of([replace(each, codes=own) for each, own in zip(part.attributes, codes, strict=True)]),
        splits={name: splits[name] for name in facts.splits},
        provenance=part.provenance,
        recipe=part.recipe,
        rank=rank,
        edges=edges,
        pieces=lambda: map(propagated.graph_of, propagated.frames_of(chosen.rows, rows=PIECE)),
    )
    described = chosen.described(graph)
    if not isinstance(described, ShardedGraph):
        raise TypeError("a copy of a sharded graph is sharded")
    return described
