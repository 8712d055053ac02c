"""Is every node named once? Ids are exact texts; none is empty, none occurs twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import functions as F  # noqa: N812

from fairview.data.limits import LONGEST_CELL
from fairview.errors import InputError, option, quoted, shown
from fairview.propagation.engines.spark.spark_table import SparkTable

_WHOLE = "^(0|[1-9][0-9]*)$"


@dataclass(frozen=True)
class Ids:
    """The ids of a node table.

    Attributes:
        column: where they are.
        count: how many.
        whole: whether all are whole numbers, which are ordered by size; else they are ordered as texts.
    """

    column: str
    count: int
    whole: bool

    def order(self, id: Any) -> list[Any]:
        """What to sort by, so that the nodes lie as in memory."""
        return [F.length(id), id] if self.whole else [id]


def check_ids(table: SparkTable, column: str | None) -> Ids:
    """Look at all ids.

    Raises:
        InputError: there is no such column, or ids are empty, too long, not whole, or occur more than once.
    """
    column = column if column is not None else "id"
    if column not in table.columns:
        remedy = f"Rows in Spark have no numbers that could serve as ids: name a column with {option('id')}."
        raise InputError(f"{table.empty.missing(column)} {remedy}")
    where = f"{table.name}: column '{column}'"
    table.check_whole(column)
    ids = table.frame.select(table.ids(column).alias("id"))
    counted = ids.groupBy("id").count()
    named = F.col("id").isNotNull()
    facts = counted.agg(
        F.sum("count").alias("count"),
        F.sum(F.when(~named, F.col("count"))).alias("empty"),
        F.max(F.when(named, F.struct(F.length("id"), "id"))).alias("longest"),
        F.bool_and(F.col("id").rlike(_WHOLE)).alias("whole"),
        F.count_if(F.col("count") > 1).alias("repeated"),
    ).head()
    if not facts["count"]:
        raise InputError(f"{table.name}: no rows.")
    if facts["empty"]:
        raise InputError(f"{where}: {facts['empty']:,} of {facts['count']:,} ids are empty.")
    if (longest := facts["longest"][0]) > LONGEST_CELL:
        raise InputError(
            f"{where}: a cell has {longest:,} characters ('{shown(facts['longest'][1])}'); ids, labels, groups and "
            f"categories have at most {LONGEST_CELL:,}. Shorten it, or leave the column out."
        )
    known = Ids(column, facts["count"], facts["whole"])
    if count := facts["repeated"]:
        first = counted.filter(F.col("count") > 1).orderBy(*known.order(F.col("id"))).limit(5).collect()
        more = f" and {count - 5:,} more" if count > 5 else ""
        listed = quoted([row["id"] for row in first])
        raise InputError(f"{where}: {count:,} ids occur more than once: {listed}{more}.")
    return known
