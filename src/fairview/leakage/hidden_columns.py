"""Can a column that no model sees be read from the graph? What the links add to what the channels say of it.

Links may know more than the channels: those of a similarity graph know the columns that they were made from. Boosted
trees predict the hidden column twice, on nodes they were not fitted on: from X alone, and from X, S X, ..., S^L X with
the degree (its logarithm, propagated alike). S is the mean over a node and its neighbours. The scores:

    numbers       R² = 1 - Σ (y - ŷ)² / Σ (y - ȳ)²; of the ranks if 1 % of the nodes carry over half the variance
    two values    AUC; a text with a few values: the mean AUC of each value against the rest

Scores are means over five folds. Node i of a fold with m nodes adds ((1 - R²)(y - ȳ)² - (y - ŷ)²) / (m var y) to the
error of R², and DeLong's part to that of an AUC; the squares add up. As with the probes, such intervals cover the draw
of the scored nodes, not other fits. The verdict must not depend on a lucky fit: the interval of the difference, whose
parts are subtracted first, is widened to t sd √(1/5 + 1/4) where that is more, sd being the spread of the difference
over the folds and t Student's quantile (Nadeau and Bengio 2003, for folds that share their training nodes).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from fairview.data.graph import NodeGraph
from fairview.errors import InputError, Problems
from fairview.groups import UNKNOWN
from fairview.leakage.cross_validation import FOLDS, NORMAL_QUANTILE, SAMPLE, Array, Codes, macro_auc, stratified_sample
from fairview.leakage.json_record import json_record
from fairview.progress import track
from fairview.propagation.one_hop import one_hop
from fairview.propagation.operators import Operator
from fairview.undefined import Undefined

if TYPE_CHECKING:
    import polars as pl

Target = npt.NDArray[Any]  # float64 numbers, NaN unknown; or int64 codes, -1 unknown
Kind = Literal["number", "two values", "categories"]

FEWEST = 50
"""Nodes with a number below which its R² is undefined; of a value, a tenth of them are needed in every fold."""

MOST_CATEGORIES = 12

_STUDENT_QUANTILE = 2.7764451051977987
"""Of Student's distribution with four degrees of freedom, one less than folds, for intervals of 95 %."""


@dataclass(frozen=True)
class Score:
    """A cross-validated score with its 95 % interval."""

    score: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class HiddenFinding:
    """How well a hidden column can be read; what is None could not be measured, and `undefined` says why.

    Attributes:
        name: of the column.
        kind: `number`, `two values` or `categories`.
        measure: `R²`, `R² of ranks` or `AUC`.
        nodes: that were scored.
        from_channels: how well X alone predicts it.
        from_graph: how well X, its hops and the degree do.
        difference: of the two.
        readable: the links add something: the interval of the difference lies above 0, and that of `from_graph` above
            guessing.
        undefined: why there is no score; empty if there is one.
    """

    name: str
    kind: Kind
    measure: str
    nodes: int
    from_channels: Score | None = None
    from_graph: Score | None = None
    difference: Score | None = None
    undefined: str = ""

    @property
    def readable(self) -> bool:
        """The links add something, and what they say is better than guessing."""
        if self.difference is None or self.from_graph is None:
            return False
        return self.difference.low > 0 and self.from_graph.low > (0.5 if self.measure == "AUC" else 0.0)

    def to_dict(self) -> dict[str, Any]:
        """For JSON, with the verdict."""
        return json_record(self) | {"readable": self.readable}


def hidden_findings(
    graph: NodeGraph, hidden: Mapping[str, Any], *, hops: int = 2, seed: int = 0
) -> tuple[HiddenFinding, ...]:
    """How well each hidden column is read from the channels, and from the channels with the links.

    Args:
        graph: the columns must not be among its channels.
        hidden: a value for each node, by the column's name: numbers, or texts with at most 12 different values. None,
            NaN and empty texts are unknown, and left out.
        hops: L.
        seed: of folds, sample and trees.

    Raises:
        InputError: a column is a channel, the label or the sensitive attribute, or its values are not usable.

    Example:
        The degree of a node is no channel, but the links know it:

        >>> from fairview.data.synthetic.generator import synthetic_graph
        >>> graph = synthetic_graph(600, seed=1)
        >>> (degree,) = hidden_findings(graph, {"friends": graph.adjacency.degree})
        >>> degree.readable, degree.from_channels.score < 0.1, degree.from_graph.score > 0.9
        (True, True, True)
    """
    columns = _checked(graph, hidden)
    if not columns:
        return ()
    alone: Array = graph.features.astype(np.float64)
    degree = np.log1p(graph.adjacency.degree.astype(np.float64))
    by_hop = [np.column_stack([alone, degree])]
    if graph.adjacency.weighted:
        by_hop = [np.column_stack([*by_hop, np.log1p(graph.adjacency.to_scipy().sum(axis=1, dtype=np.float64))])]
    hop = one_hop(graph.adjacency, Operator(kind="mean"))
    for _ in range(hops):
        by_hop.append(hop(by_hop[-1]))
    linked = np.concatenate(by_hop, axis=1)
    findings = []
    with track("Reading hidden columns", total=len(columns)) as advance:
        for column in columns:
            findings.append(_finding(column, alone, linked, seed))
            advance(1)
    return tuple(findings)


# --- values -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Column:
    """A hidden column, ready to be predicted: numbers (NaN unknown), or codes of its values (-1 unknown)."""

    name: str
    kind: Kind
    target: Target
    measure: str

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        return np.asarray(~np.isnan(self.target) if self.kind == "number" else self.target != UNKNOWN)


def _checked(graph: NodeGraph, hidden: Mapping[str, Any]) -> list[_Column]:
    """The columns as numbers or codes; all that can't be one is reported at once."""
    problems = Problems()
    columns = []
    for name, values in hidden.items():
        with problems.collecting():
            _check_role(graph, name)
            columns.append(_column(name, values, graph.num_nodes))
    problems.raise_if_any()
    return columns


def _check_role(graph: NodeGraph, name: str) -> None:
    recipe = graph.recipe
    channels = {*graph.channels, *((column.name for column in recipe.features.columns) if recipe else ())}
    if name in (graph.sensitive_name, *(attribute.name for attribute in graph.attributes)):
        raise InputError(f"hidden: '{name}' is the sensitive attribute; the probes say how well it can be read.")
    if recipe is not None and recipe.label is not None and name == recipe.label.column:
        raise InputError(f"hidden: '{name}' is the label; to read it from the graph is what a model is for.")
    if name in channels:
        raise InputError(f"hidden: '{name}' is a channel, and every model sees it. Drop it to ask what the links know.")


def _column(name: str, values: Any, nodes: int) -> _Column:
    import polars as pl

    from fairview.data.tables.columns import as_texts

    try:
        series = (
            values if isinstance(values, pl.Series) else pl.Series(values=np.asarray(values).tolist(), strict=False)
        )
        texts = as_texts(series)
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError):
        texts = None
    if texts is None:
        raise InputError(f"hidden: column '{name}': expected one number or text for each node.")
    if len(texts) != nodes:
        raise InputError(f"hidden: column '{name}': {len(texts):,} values for {nodes:,} nodes.")
    texts = texts.str.strip_chars()
    texts = texts.set(texts == "", None)
    numbers = texts.cast(pl.Float64, strict=False)
    if (numbers.is_infinite() | numbers.is_nan()).any():
        raise InputError(
            f"hidden: column '{name}': has infinite values, or texts that say NaN. Leave such cells empty."
        )
    known = texts.drop_nulls()
    distinct, numeric = known.n_unique(), bool((numbers.is_null() == texts.is_null()).all())
    if distinct > 2 and numeric:
        target = numbers.to_numpy().astype(np.float64)
        heavy = _heavy_tailed(target[~np.isnan(target)])
        return _Column(name, "number", _ranks(target) if heavy else target, "R² of ranks" if heavy else "R²")
    if distinct > MOST_CATEGORIES:
        raise InputError(
            f"hidden: column '{name}': texts with {distinct:,} different values, such as '{known[0]}'; expected "
            f"numbers, or at most {MOST_CATEGORIES} different texts. Turn it into numbers or a few categories first."
        )
    return _Column(name, "two values" if distinct <= 2 else "categories", _codes(texts, known), "AUC")


def _codes(texts: pl.Series, known: pl.Series) -> Codes:
    from fairview.data.tables.columns import places

    codes = places(texts, known.unique().sort().to_list()).fill_null(UNKNOWN)
    return codes.to_numpy().astype(np.int64)


def _heavy_tailed(values: Array) -> bool:
    """One node in a hundred carries more than half of the variance: their few errors would decide an R²."""
    squares = np.sort((values - values.mean()) ** 2)
    return bool(squares[-max(len(squares) // 100, 1) :].sum() > 0.5 * squares.sum())


def _ranks(values: Array) -> Array:
    from scipy.stats import rankdata

    return np.asarray(rankdata(values, nan_policy="omit"), dtype=np.float64)


# --- scores -----------------------------------------------------------------------------------------------------------


def _finding(column: _Column, alone: Array, linked: Array, seed: int) -> HiddenFinding:
    rows = np.flatnonzero(column.known)
    facts: dict[str, Any] = {"name": column.name, "kind": column.kind, "measure": column.measure}
    if reason := _too_few(column, rows):
        return HiddenFinding(**facts, nodes=len(rows), undefined=reason)
    generator = np.random.default_rng(seed)
    if column.kind != "number":
        rows = stratified_sample(rows, column.target, SAMPLE, 2 * FOLDS, generator)
    elif len(rows) > SAMPLE:
        rows = np.sort(generator.choice(rows, SAMPLE, replace=False))
    scores = np.empty((FOLDS, 2))
    variances = np.zeros(3)
    target = column.target[rows]
    for fold, (train, test) in enumerate(_folds(column.kind, target, seed)):
        errors = []
        for place, values in enumerate((alone, linked)):
            score = _scored(column.kind, values[rows], target, train, test, seed)
            if isinstance(score, Undefined):
                return HiddenFinding(**facts, nodes=len(rows), undefined=score.reason)
            scores[fold, place], error = score
            errors.append(error)
        variances += [float(each @ each) for each in (*errors, errors[1] - errors[0])]
    gained = scores[:, 1] - scores[:, 0]
    means = [*scores.mean(axis=0), gained.mean()]
    reaches = NORMAL_QUANTILE * np.sqrt(variances) / FOLDS
    reaches[2] = max(reaches[2], _STUDENT_QUANTILE * gained.std(ddof=1) * math.sqrt(1 / FOLDS + 1 / (FOLDS - 1)))
    found = [
        Score(float(mean), float(mean - reach), float(min(mean + reach, 1.0)))
        for mean, reach in zip(means, reaches, strict=True)
    ]
    return HiddenFinding(**facts, nodes=len(rows), from_channels=found[0], from_graph=found[1], difference=found[2])


def _too_few(column: _Column, rows: npt.NDArray[np.int64]) -> str:
    values, sizes = np.unique(column.target[rows], return_counts=True)
    if not len(rows):
        return "it has no value"
    if len(values) == 1:
        return "it is constant: all its values are the same"
    if column.kind == "number" and len(rows) < FEWEST:
        return f"{len(rows):,} nodes have a value only; {FEWEST} are needed"
    if column.kind != "number" and sizes.min() < 2 * FOLDS:
        return f"one of its values has {sizes.min():,} nodes only; {2 * FOLDS} are needed for {FOLDS} folds"
    return ""


def _folds(kind: Kind, target: Target, seed: int) -> Any:
    from sklearn.model_selection import KFold, StratifiedKFold

    folds = KFold if kind == "number" else StratifiedKFold
    return folds(FOLDS, shuffle=True, random_state=seed).split(target, target)


def _scored(
    kind: Kind, values: Array, target: Target, train: npt.NDArray[np.int64], test: npt.NDArray[np.int64], seed: int
) -> tuple[float, Array] | Undefined:
    """The score on the test nodes of trees fitted on the others, and what each node adds to its error."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from threadpoolctl import threadpool_limits

    trees = HistGradientBoostingRegressor if kind == "number" else HistGradientBoostingClassifier
    model = trees(max_leaf_nodes=16, l2_regularization=10.0, early_stopping=False, random_state=seed)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        model.fit(values[train], target[train])
        if kind != "number":
            return macro_auc(model.predict_proba(values[test]), target[test])
        return r_squared(target[test], model.predict(values[test]))


def r_squared(truth: Array, predicted: Array) -> tuple[float, Array] | Undefined:
    """R², and what each node adds to its error, shape (n,).

    Example:
        >>> score, errors = r_squared(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.5, 1.0, 2.0, 2.5]))
        >>> score, errors.round(3).tolist()
        (0.9, [-0.005, 0.005, 0.005, -0.005])
    """
    around, missed = (truth - truth.mean()) ** 2, (truth - predicted) ** 2
    if not around.any():
        return Undefined("nearly all its values are the same: one of the folds has no others")
    score = 1 - float(missed.sum() / around.sum())
    return score, ((1 - score) * around - missed) / around.sum()
