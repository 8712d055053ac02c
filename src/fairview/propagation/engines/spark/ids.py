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

    def sorted(self, ids: list[str]) -> list[str]:
        """Some ids in that order."""
        return sorted(ids, key=lambda id: (len(id), id) if self.whole else (0, id))


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
    facts = ids.agg(
        F.count(F.lit(1)).alias("count"),
        F.count("id").alias("named"),
        F.max(F.struct(F.length("id"), "id")).alias("longest"),
        F.bool_and(F.col("id").rlike(_WHOLE)).alias("whole"),
    ).head()
    if not facts["count"]:
        raise InputError(f"{table.name}: no rows.")
    if empty := facts["count"] - facts["named"]:
        raise InputError(f"{where}: {empty:,} of {facts['count']:,} ids are empty.")
    if (longest := facts["longest"][0]) > LONGEST_CELL:
        raise InputError(
            f"{where}: a cell has {longest:,} characters ('{shown(facts['longest'][1])}'); ids, labels, groups and "
            f"categories have at most {LONGEST_CELL:,}. Shorten it, or leave the column out."
        )
    known = Ids(column, facts["count"], facts["whole"])
    repeated = ids.groupBy("id").count().filter(F.col("count") > 1)
    first = repeated.orderBy(*known.order(F.col("id"))).limit(6).collect()
    if first:
        count = len(first) if len(first) < 6 else repeated.count()
        more = f" and {count - 5:,} more" if count > 5 else ""
        listed = quoted([row["id"] for row in first[:5]])
        raise InputError(f"{where}: {count:,} ids occur more than once: {listed}{more}.")
    return known
