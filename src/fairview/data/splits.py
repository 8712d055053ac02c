"""Which nodes train a model, which choose it, and which judge it?

Three sources of an answer: the one split of the published runs, repeated stratified splits from a seed, and a column
of the user's own table. Each returns the masks `train`, `val` and `test`, pairwise disjoint.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fairview.arguments import require_seed, require_whole
from fairview.data.adjacency import Adjacency
from fairview.data.graph import SPLIT_NAMES, BoolArray, NodeGraph
from fairview.data.graph_argument import require_graph
from fairview.errors import InputError, Problems, some
from fairview.groups import UNKNOWN

Split = dict[str, BoolArray]
"""The masks `train`, `val` and `test`, each of shape (n,)."""

_PUBLISHED_SEED = 20

_WORDS = {"train": "train", "val": "val", "valid": "val", "validation": "val", "test": "test"}


def published_split(labels: npt.ArrayLike, *, train_labels: int) -> Split:
    """The one split of the published runs, the same for every seed.

    A `random.Random(20)` shuffles the row numbers of label 0, then those of label 1, each in file order. Of each class,
    with c members, train takes the first min(⌊c/2⌋, train_labels/2), validation the members from ⌊c/2⌋ to ⌊3c/4⌋,
    test the rest. What lies between the training labels and the first half is in no split.

    Args:
        labels: shape (n,), of 0, 1 and -1 for unlabelled, which is in no split. (German's own -1 means *bad*: label 0.)
        train_labels: training labels of both classes together, an even number.

    Example:
        >>> split = published_split([0, 1] * 8, train_labels=4)
        >>> {name: mask.nonzero()[0].tolist() for name, mask in split.items()}
        {'train': [2, 3, 5, 8], 'val': [0, 10, 13, 15], 'test': [1, 4, 7, 14]}
    """
    values = np.asarray(labels)
    if values.ndim != 1 or not np.isin(values, (UNKNOWN, 0, 1)).all():
        raise InputError("labels: expected a list of 0, 1 and -1 (unlabelled).")
    half = _half(train_labels)
    shuffle = random.Random(_PUBLISHED_SEED).shuffle  # noqa: S311 - the published rule, not a secret
    split = {name: np.zeros(len(values), dtype=np.bool_) for name in SPLIT_NAMES}
    for label in (0, 1):
        rows = np.flatnonzero(values == label).tolist()
        shuffle(rows)
        middle, end = int(0.5 * len(rows)), int(0.75 * len(rows))
        split["train"][rows[: min(middle, half)]] = True
        split["val"][rows[middle:end]] = True
        split["test"][rows[end:]] = True
    return split


def stratified_splits(
    graph: NodeGraph,
    *,
    repeats: int = 10,
    seed: int = 0,
    train: float = 0.5,
    val: float = 0.25,
    test: float = 0.25,
    train_labels: int | None = None,
) -> list[Split]:
    """Repeated random splits in which every class and group has its share of every part.

    A stratum is a label with a group; nodes whose group is not known are strata of their own. Of a stratum, of a class
    and of the whole, train gets its fraction, rounded up or down, and val gets its fraction of the rest likewise. Every
    node has the same chance to be tested: no small group always lands in the same part. Unlabelled nodes are in none.

    Args:
        graph: the labelled graph; only its labels and groups are looked at.
        repeats: how many splits. Split k depends on `seed` and k only, not on how many are drawn.
        seed: a whole number, at least 0.
        train: fraction of the labelled nodes; the three fractions sum to 1.
        val: fraction for choosing a model.
        test: fraction for judging it.
        train_labels: keep at most this many training labels, half of them per class (with each group's share of the
            class); the other training nodes are then in no part.

    Example:
        >>> graph = NodeGraph.from_arrays(
        ...     features=np.zeros((8, 1)), edges=[[], []], labels=[0, 0, 0, 0, 1, 1, 1, 1], sensitive=list("ffmmffmm")
        ... )
        >>> first, second = stratified_splits(graph, repeats=2, train=0.5, val=0.0, test=0.5)
        >>> first["train"].reshape(4, 2).sum(axis=1).tolist()  # one of each label and group
        [1, 1, 1, 1]
        >>> bool((first["train"] == second["train"]).all())
        False
    """
    require_graph(graph, "stratified_splits")
    _check_request(graph, repeats, seed, (train, val, test))
    cap = None if train_labels is None else _half(train_labels)
    splits = []
    for k in range(repeats):
        random_numbers = np.random.default_rng([seed, k])
        nodes = _by_stratum(graph, random_numbers)
        in_train = _every_so_often(len(nodes), train, random_numbers)
        rest = nodes[~in_train]
        in_val = _every_so_often(len(rest), val / (val + test) if val else 0.0, random_numbers)
        chosen = {"train": nodes[in_train], "val": rest[in_val], "test": rest[~in_val]}
        if cap is not None:
            chosen["train"] = _at_most(cap, chosen["train"], graph, random_numbers)
        splits.append({name: np.isin(np.arange(graph.num_nodes), chosen[name]) for name in SPLIT_NAMES})
    return splits


DEFAULT_SEED = 0  # of the split that a graph without one gets


def with_default_split(graph: NodeGraph) -> tuple[NodeGraph, tuple[str, ...]]:
    """The graph itself if it has splits; else with a stratified split, half of it to train, and a note that says so.

    The split depends on the graph alone, so that `fit`, `evaluate` and `compare` agree on it.

    Example:
        >>> graph = NodeGraph.from_arrays(
        ...     features=np.zeros((8, 1)), edges=[[], []], labels=[0, 0, 0, 0, 1, 1, 1, 1], sensitive=list("ffmmffmm")
        ... )
        >>> split, notes = with_default_split(graph)
        >>> sorted(split.splits), notes
        (['test', 'train', 'val'], ('The graph has no split: a stratified one was drawn with seed 0.',))
    """
    if graph.splits or not graph.labelled.any():
        return graph, ()
    drawn = stratified_splits(graph, repeats=1, seed=DEFAULT_SEED)[0]
    return graph.with_splits(drawn), (no_split_note(DEFAULT_SEED),)


def no_split_note(seed: int) -> str:
    """What to say where a split was drawn."""
    return f"The graph has no split: a stratified one was drawn with seed {seed}."


def drawn_split(
    labels: npt.NDArray[np.int8], codes: npt.NDArray[np.int16], groups: tuple[str, ...], *, seed: int
) -> Split:
    """The first of `stratified_splits` from labels and groups alone.

    Nodes without a label make no difference: with or without them, the same labelled ones are drawn.
    """
    x = np.zeros((len(labels), 0), dtype=np.float32)
    links = Adjacency.from_pairs([], [], num_nodes=len(labels))[0]
    bare = NodeGraph(features=x, channels=(), adjacency=links, labels=labels, sensitive=codes, groups=groups)
    return stratified_splits(bare, repeats=1, seed=seed)[0]


def share_of_strata(
    labels: npt.NDArray[np.integer], codes: npt.NDArray[np.integer], share: float, random_numbers: np.random.Generator
) -> BoolArray:
    """A random share of some nodes, about the same of every label and group.

    Example:
        >>> labels, codes = np.repeat([0, 1], 4), np.tile([0, 1], 4)
        >>> taken = share_of_strata(labels, codes, 0.5, np.random.default_rng(0))
        >>> [int(taken[(labels == label) & (codes == code)].sum()) for label in (0, 1) for code in (0, 1)]
        [1, 1, 1, 1]
    """
    shuffled = random_numbers.permutation(len(labels))
    order = shuffled[np.lexsort((codes[shuffled], labels[shuffled]))]
    taken = np.zeros(len(labels), dtype=np.bool_)
    taken[order] = _every_so_often(len(labels), share, random_numbers)
    return taken


def split_from_column(values: Sequence[str | None], *, name: str = "split") -> Split:
    """A user's own split: each value is train, val (or valid, validation) or test, in any case; empty is in no split.

    Example:
        >>> split = split_from_column(["train", "Valid", "TEST", "", None])
        >>> {part: mask.nonzero()[0].tolist() for part, mask in split.items()}
        {'train': [0], 'val': [1], 'test': [2]}
    """
    words = [(value or "").strip() for value in values]
    unknown = Counter(word for word in words if word and word.casefold() not in _WORDS)
    if unknown:
        listed = some(f"'{word}' in {count:,}" for word, count in sorted(unknown.items()))
        raise InputError(
            f"column '{name}': {sum(unknown.values()):,} of {len(words):,} rows name no split ({listed}). "
            "Use train, val (or valid, validation) or test, or leave the cell empty to keep a node out of all."
        )
    parts = np.array([_WORDS.get(word.casefold(), "") for word in words], dtype=np.str_)
    return {part: parts == part for part in SPLIT_NAMES}


# --- the parts of a stratified split ----------------------------------------------------------------------------------

Rows = npt.NDArray[np.int64]


def _by_stratum(graph: NodeGraph, random_numbers: np.random.Generator) -> Rows:
    """The labelled nodes, class by class, in a class group by group, in a group shuffled."""
    nodes = random_numbers.permutation(np.flatnonzero(graph.labelled))
    return nodes[np.lexsort((graph.sensitive[nodes], graph.labels[nodes]))]  # stable: the shuffled order stays


def _every_so_often(count: int, fraction: float, random_numbers: np.random.Generator) -> BoolArray:
    """Systematic sampling: walk along `count` nodes, and take one whenever the sum of fractions passes a whole number.

    The walk starts at a random point, so that every node has the chance `fraction`; and any c neighbours, a stratum or
    a class, give ⌊c·fraction⌋ or ⌈c·fraction⌉.
    """
    passed = np.floor(np.arange(count + 1) * fraction + random_numbers.random())
    taken: BoolArray = np.diff(passed) > 0
    return taken


def _at_most(cap: int, train: Rows, graph: NodeGraph, random_numbers: np.random.Generator) -> Rows:
    """Thin the training nodes to `cap` per class; each group keeps its share."""
    kept = []
    for label in (0, 1):
        members = train[graph.labels[train] == label]
        count = max(len(members), cap)  # fewer than the cap: all of them
        start = random_numbers.integers(count)
        passed = (np.arange(len(members) + 1) * cap + start) // count  # as above, in whole numbers: exactly `cap`
        kept.append(members[np.diff(passed) > 0])
    return np.concatenate(kept)


# --- checks -----------------------------------------------------------------------------------------------------------


def _half(train_labels: int) -> int:
    if train_labels < 2 or train_labels % 2:
        raise InputError(f"train_labels: {train_labels}; expected an even number, at least 2: half of them per class.")
    return train_labels // 2


def _check_request(graph: NodeGraph, repeats: int, seed: int, fractions: tuple[float, float, float]) -> None:
    problems = Problems()
    with problems.collecting():
        require_whole(repeats, "repeats", least=1)
    with problems.collecting():
        require_seed(seed)
    train, val, test = fractions
    sums_to_one = math.isclose(train + val + test, 1.0, abs_tol=1e-9)
    if not sums_to_one or not train > 0 or not val >= 0 or not test >= 0:
        problems.add(
            f"splits: the fractions train {train:g}, val {val:g} and test {test:g} must not be negative, train must be "
            "above 0, and they must sum to 1. (Use train_labels to train on fewer labels.)"
        )
    if not graph.labelled.any():
        problems.add("splits: no node has a label; there is nothing to divide.")
    problems.raise_if_any()
