"""How can a node with a million links be joined without one task that does all of it? Its rows are dealt to several.

A join sends all rows with the same key to the same task. So the rows of a hub get a salt, a small number that is drawn
from the rest of the row, and the hub itself is copied once for each salt: key and salt are then joined.

Sums need no such care: Spark adds up within each task before anything is sent, so that a hub arrives as one row from
each task.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import functions as F  # noqa: N812

HUB = 50_000
"""Rows with the same key that one task joins; more are salted."""

_MOST_SALTS = 2_000


def hubs(rows: Any, key: str, *, limit: int = HUB) -> Any:
    """The keys with more rows than the limit, and how many salts each gets; None if there are none."""
    counted = rows.groupBy(key).count().filter(F.col("count") > limit).collect()
    if not counted:
        return None
    salts = [(row[key], min(-(-row["count"] // limit), _MOST_SALTS)) for row in counted]
    return rows.sparkSession.createDataFrame(salts, f"{key} {dict(rows.dtypes)[key]}, salts int")


def salted_join(many: Any, one: Any, key: str, salted: Any, *, spread: str, how: str = "inner") -> Any:
    """Join each row of `many` with the row of `one` that has its key.

    Args:
        many: rows whose keys repeat.
        one: a row for each key.
        key: the column of both.
        salted: what `hubs` gives.
        spread: another column of `many`; it decides about the salt.
        how: `inner` or `left`.
    """
    if salted is None:
        return many.join(one, key, how)
    few = F.broadcast(salted)
    salts = F.coalesce("salts", F.lit(1))
    dealt = many.join(few, key, "left").withColumn("salt", F.pmod(F.xxhash64(spread), salts).cast("int")).drop("salts")
    copied = one.join(few, key, "left").withColumn("salt", F.explode(F.sequence(F.lit(0), salts - 1))).drop("salts")
    return dealt.join(copied, [key, "salt"], how).drop("salt")
