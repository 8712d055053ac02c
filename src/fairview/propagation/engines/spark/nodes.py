"""Which number and which features does each node get? Numbers in the order of the ids, features as the recipe says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np
import polars as pl
from pyspark.sql import functions as F  # noqa: N812

from fairview.data.splits import drawn_split
from fairview.data.tables.columns import LARGEST
from fairview.data.tables.recipe import Column, Features
from fairview.data.tables.roles import views_of
from fairview.data.tables.scaling import Scaling
from fairview.errors import InputError, option, quoted
from fairview.groups import UNKNOWN
from fairview.propagation.engines.spark import on_workers
from fairview.propagation.engines.spark.checkpoints import Checkpoints
from fairview.propagation.engines.spark.node_rules import NodeRules
from fairview.propagation.engines.spark.profile import mapped
from fairview.propagation.engines.spark.session import partitions
from fairview.propagation.engines.spark.spark_table import SparkTable

_AT = "at"  # the place of a row: its partition and its number in it


@dataclass(frozen=True)
class Nodes:
    """The nodes, each with its number.

    Attributes:
        frame: number, id, label, codes, split, gap and the encoded channels x0, x1, ...; nodes that are dropped for
            their empty cells have the numbers from `count` on.
        codes: the columns of the codes: of each sensitive attribute and, of several, last of all together.
        count: how many stay.
        given: how many rows there were.
    """

    frame: Any
    codes: tuple[str, ...]
    count: int
    given: int

    @property
    def kept(self) -> Any:
        """Those that stay."""
        return self.frame if self.count == self.given else self.frame.filter(F.col("number") < self.count)


def number_nodes(table: SparkTable, rules: NodeRules, checkpoints: Checkpoints, *, drop_gaps: bool) -> Nodes:
    """Encode the rows, sort them by id, and number them."""

    def make() -> Any:
        schema = rules.plan.schema
        rows = mapped(table, rules.ids, rules.plan.cells.columns, on_workers.encoded, schema, plan=rules.plan)
        order = [F.col("gap"), *rules.ids.order(F.col("id"))] if drop_gaps else rules.ids.order(F.col("id"))
        pieces = partitions(checkpoints.spark, rules.ids.count)
        ordered = rows.repartitionByRange(pieces, *order).sortWithinPartitions(*order)
        return ordered.withColumn(_AT, F.monotonically_increasing_id())

    rows = checkpoints.kept("nodes", make)
    piece, place = F.shiftright(_AT, 33).cast("int"), F.col(_AT).bitwiseAND((1 << 33) - 1)
    sizes = {row["piece"]: row["count"] for row in rows.groupBy(piece.alias("piece")).count().collect()}
    last = max(sizes, default=0)
    starts = [0, *accumulate(sizes.get(number, 0) for number in range(last + 1))]
    first = F.element_at(F.array(*map(F.lit, starts)), piece + 1)
    frame = rows.withColumn("number", (first + place).cast("long")).drop(_AT)
    dropped = rows.filter("gap").count() if drop_gaps else 0
    return Nodes(frame, rules.plan.codes, rules.ids.count - dropped, rules.ids.count)


def draw_split(nodes: Nodes, rules: NodeRules, seed: int) -> Nodes:
    """A stratified split, drawn by the process that drives the work: labels and groups of all nodes go there."""
    columns = nodes.kept.select("number", "label", *nodes.codes[-1:]).toArrow()
    known = pl.DataFrame(pl.from_arrow(columns)).sort("number")
    groups: tuple[str, ...] = ()
    codes = np.full(known.height, UNKNOWN, dtype=np.int16)
    if nodes.codes:
        groups, codes = views_of(rules.attributes)[-1].groups, known[nodes.codes[-1]].to_numpy()
    masks = drawn_split(known["label"].to_numpy(), codes, groups, seed=seed)
    numbers = known.select("number")
    drawn = [numbers.filter(pl.Series(mask)).with_columns(split=pl.lit(name)) for name, mask in masks.items()]
    split = nodes.frame.sparkSession.createDataFrame(pl.concat(drawn).to_arrow().cast(_split_schema()))
    return replace(nodes, frame=nodes.frame.drop("split").join(split, "number", "left"))


def _split_schema() -> Any:
    import pyarrow as pa

    return pa.schema([("number", pa.int64()), ("split", pa.string())])


# --- what is filled in, and how it is scaled --------------------------------------------------------------------------


@dataclass(frozen=True)
class Fitted:
    """The features, as a recipe keeps them, and what they say of the nodes.

    Attributes:
        features: of the recipe.
        notes: on empty cells.
        constant: channels with one value only.
    """

    features: Features
    notes: tuple[str, ...]
    constant: tuple[str, ...]


def fit_features(nodes: Nodes, rules: NodeRules, settings: Mapping[str, Any], name: str) -> Fitted:
    """Learn fill values and scaling from the nodes, or take those of the recipe."""
    recipe, columns = settings["recipe"], rules.columns
    missing = recipe.features.missing if recipe is not None else settings["missing"]
    width = sum(column.width for column in columns)
    if nodes.count == 0:
        raise InputError(f"{name}: every node has an empty cell; none is left with {option('missing', 'drop')}.")
    notes = []
    if dropped := nodes.given - nodes.count:
        notes.append(f"{dropped:,} of {nodes.given:,} nodes dropped: empty cells in their features")
    on_train = recipe is None and settings["scale_on"] == "train"
    everywhere = _Facts.of(nodes.kept, width)
    fitted_on = _Facts.of(nodes.kept.filter("split = 'train'"), width) if on_train else everywhere
    if not fitted_on.rows:
        raise InputError("scaling on the train nodes: the train split is empty.")
    gaps = _gaps(columns, everywhere)
    if gaps:
        notes.append(f"{sum(gaps.values()):,} empty cells of {everywhere.with_gaps:,} nodes filled with the mean")
    if recipe is not None:
        features = recipe.features
    else:
        without = [column for column in gaps if _empty_in(columns, column, fitted_on) == fitted_on.rows]
        if without:
            raise InputError(
                f"{name}: column {quoted(without)}: empty for all nodes that the mean is taken over. Drop the column, "
                f"or fit on all nodes ({option('scale_on', 'all')})."
            )
        marked = tuple(gaps) if missing == "indicator" else ()
        owners = [column.name for column in columns for _ in range(column.width)]
        leave = [owner in settings["unscaled"] for owner in owners] + [True] * len(marked)
        features = Features(
            columns=columns,
            missing=missing,
            fill=tuple(fitted_on.mean.tolist()),
            indicators=marked,
            scaling=fitted_on.scaling(settings["scaling"], leave, len(marked)),
        )
    low, high = everywhere.range(features, gaps)
    for place in np.flatnonzero(~((np.abs(low) <= LARGEST) & (np.abs(high) <= LARGEST))):
        channel = features.channels[place]
        raise InputError(f"{name}: channel '{channel}': beyond float32 after scaling; drop or rescale it.")
    same = low.astype(np.float32) == high.astype(np.float32)
    constant = tuple(channel for channel, one in zip(features.channels, same, strict=True) if one)
    return Fitted(features, tuple(notes), constant)


@dataclass(frozen=True)
class _Facts:
    """Counts, means and so on of the encoded channels over some nodes; empty cells take no part."""

    rows: int
    with_gaps: int
    known: Any
    mean: Any
    variance: Any
    low: Any
    high: Any

    @classmethod
    def of(cls, nodes: Any, width: int) -> _Facts:
        wanted = [F.count(F.lit(1)).alias("rows"), F.count_if("gap").alias("gaps")]
        for function in (F.count, F.avg, F.var_pop, F.min, F.max):
            wanted += [function(f"x{place}").alias(f"{function.__name__}{place}") for place in range(width)]
        row = nodes.agg(*wanted).head()
        values = np.array([0.0 if value is None else value for value in row[2:]], dtype=np.float64).reshape(5, width)
        return cls(row["rows"], row["gaps"], *values)

    def scaling(self, kind: Any, leave: Sequence[bool], marks: int) -> Scaling:
        """Fitted on all rows, with the mean in place of empty cells."""
        wide = [np.append(values, np.zeros(marks)) for values in (self.mean, self.low, self.high)]
        spread = np.append(np.sqrt(self.variance * self.known / max(self.rows, 1)), np.zeros(marks))
        return Scaling.from_moments(
            kind=kind, mean=wide[0], spread=spread, low=wide[1], high=wide[2], leave=np.array(leave, dtype=np.bool_)
        )

    def range(self, features: Features, gaps: Mapping[str, int]) -> tuple[Any, Any]:
        """The least and the largest value of each channel, filled and scaled."""
        absent, fill = self.known < self.rows, np.array(features.fill)
        low = np.where(absent, np.minimum(np.where(self.known > 0, self.low, fill), fill), self.low)
        high = np.where(absent, np.maximum(np.where(self.known > 0, self.high, fill), fill), self.high)
        marks = [(float(gaps.get(name, 0) == self.rows), float(name in gaps)) for name in features.indicators]
        rows = np.column_stack([np.array([low, high]), np.array(marks).reshape(-1, 2).T])
        return tuple(features.scaling.apply(rows))


def _empty_in(columns: tuple[Column, ...], name: str, facts: _Facts) -> int:
    end = 0
    for column in columns:
        end += column.width
        if column.name == name:
            return int(facts.rows - facts.known[end - 1])
    return 0


def _gaps(columns: tuple[Column, ...], facts: _Facts) -> dict[str, int]:
    """How many cells of each column are empty; all channels of a column are empty together."""
    counts = {column.name: _empty_in(columns, column.name, facts) for column in columns if column.width}
    return {name: count for name, count in counts.items() if count}


def scaled(features: Features) -> list[Any]:
    """The channels x0, x1, ... as float32 numbers, from the encoded ones; those of indicators last."""
    expressions, end = [], {}
    place = 0
    for column in features.columns:
        place += column.width
        end[column.name] = place - 1
    both = zip(features.scaling.center, features.scaling.spread, strict=True)
    marks = [F.col(f"x{end[name]}").isNull().cast("double") for name in features.indicators]
    filled = [F.coalesce(f"x{number}", F.lit(fill)) for number, fill in enumerate(features.fill)]
    for number, (value, (center, spread)) in enumerate(zip([*filled, *marks], both, strict=True)):
        moved = (value - F.lit(center)) / F.lit(spread)
        expressions.append(moved.cast("float").cast("double").alias(f"x{number}"))
    return expressions
