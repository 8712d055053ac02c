"""Which columns of the edge table are the ends and the weight, and can all their cells be used?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from fairview.data.edge_weights import LARGEST, REMEDY, RULE, SMALLEST
from fairview.data.tables.edges import end_columns
from fairview.errors import InputError, Problems, quoted
from fairview.propagation.engines.spark.spark_table import SparkTable

_ENDS = ("start", "end")
_NUMBER = r"^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$"


@dataclass(frozen=True)
class Edges:
    """The edges as they were given.

    Attributes:
        frame: start and end, as texts, and weight; 1 where links have none.
        ends: the columns.
        weighted: whether there is a column of weights.
        given: how many there are.
        notes: on the table.
    """

    frame: Any
    ends: tuple[str, str]
    weighted: bool
    given: int
    notes: tuple[str, ...]


def read_edges(table: SparkTable, nodes: Any, settings: Mapping[str, Any], *, directed: bool) -> Edges:
    """Check the edge table.

    Args:
        table: of the edges.
        nodes: a DataFrame with the ids of the nodes in the column `id`.
        settings: of `read_graph`.
        directed: whether the edges stay so.

    Raises:
        InputError: a column or an end is missing, or a weight is no weight.
    """
    recipe = settings["recipe"]
    before = recipe.ends if recipe is not None else None
    ends = end_columns(table.empty, settings["source"], settings["target"], before=before, directed=directed)
    weight_column = recipe.edge_weight if recipe is not None else settings["edge_weight"]
    weight = _weights(table, weight_column, ends)
    for column in ends:
        table.check_whole(column)
    plain = table.frame.select(*(table.ids(column).alias(name) for column, name in zip(ends, _ENDS, strict=True)))
    facts = plain.agg(
        F.count(F.lit(1)).alias("given"),
        *(F.count(name).alias(name) for name in _ENDS),
        *(F.bool_or(F.col(name).rlike("[.eE]")).alias(f"{name}_pointed") for name in _ENDS),
        *(F.bool_and(F.col(name).rlike(_NUMBER)).alias(f"{name}_numbers") for name in _ENDS),
    ).head()
    given = facts["given"]
    for column, name in zip(ends, _ENDS, strict=True):
        if facts[name] < given:
            raise InputError(f"{table.name}: column '{column}': {given - facts[name]:,} of {given:,} cells are empty.")
    texts = [
        _whole(table, column, nodes) if facts[f"{name}_pointed"] and facts[f"{name}_numbers"] else table.ids(column)
        for column, name in zip(ends, _ENDS, strict=True)
    ]
    frame = table.frame.select(texts[0].alias("start"), texts[1].alias("end"), weight.alias("weight"))
    notes = [] if given else [f"{table.name}: no edges"]
    ignored = [column for column in table.columns if column not in (*ends, weight_column)]
    if ignored:
        notes.append(f"{table.name}: columns {quoted(ignored)} ignored; '{ends[0]}' and '{ends[1]}' are the ends")
    return Edges(frame, ends, weight_column is not None, given, tuple(notes))


def _whole(table: SparkTable, column: str, nodes: Any) -> Any:
    """Whole numbers that are written as floats, as what they are, unless the nodes' ids are written so too."""
    text = table.ids(column)
    some = [row[0] for row in table.frame.select(text).limit(100).collect()]
    if nodes.filter(F.col("id").isin(some)).head() is not None:
        return text
    SparkTable(table.name, table.frame.select(text.cast("double").alias("c0")), (column,)).check_whole(column)
    return text.cast("double").cast("bigint").cast("string")


def _weights(table: SparkTable, column: str | None, ends: tuple[str, str]) -> Any:
    """The weight of each edge as a number."""
    if column is None:
        return F.lit(1.0)
    if column not in table.columns:
        raise InputError(table.empty.missing(column))
    where = f"{table.name}: column '{column}'"
    if column in ends:
        raise InputError(f"{where}: holds an end of each edge ({quoted(ends)}), and can't hold its weight, too.")
    kind, cell = table.kind(column), table.column(column)
    if isinstance(kind, T.NumericType):
        empty, number = cell.isNull() | F.isnan(cell.cast("double")), cell.cast("double")
    elif isinstance(kind, T.StringType):
        text = F.trim(cell)
        empty, number = cell.isNull() | (text == ""), F.when(text.rlike(_NUMBER), text.cast("double"))
    else:
        dtype = table.empty.frame[column].dtype if table.empty.frame[column].dtype != pl.Null else "no"
        raise InputError(f"{where}: holds {dtype} values; {RULE}.")
    wrong = ~empty & number.isNull()
    outside = ~empty & ~wrong & ~((number == 0) | number.between(SMALLEST, LARGEST))
    first = F.trim(cell.cast("string"))
    counts = table.frame.agg(
        F.count(F.lit(1)).alias("given"),
        *(F.count_if(test).alias(name) for name, test in (("empty", empty), ("wrong", wrong), ("outside", outside))),
        F.min(F.when(wrong, first)).alias("first_wrong"),
        F.min(F.when(outside, first)).alias("first_outside"),
    ).head()
    problems = Problems()
    for count, what in (
        (counts["empty"], f"cells are empty; {RULE}. Fill them, or leave these edges out"),
        (counts["wrong"], f"weights are not numbers, such as '{counts['first_wrong']}'; {RULE}"),
        (counts["outside"], f"weights can't be used, such as {counts['first_outside']}; {REMEDY}"),
    ):
        if count:
            problems.add(f"{where}: {count:,} of {counts['given']:,} {what}.")
    problems.raise_if_any()
    return number
