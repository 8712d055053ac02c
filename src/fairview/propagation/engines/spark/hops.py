"""What does a hop do to each channel? It gathers from the neighbours: a join with the links, and a sum.

Every operator is L (A + c I) R with diagonal L and R (`fairview.propagation.one_hop`). The rows that travel are scaled
by R, each node sends itself its own row c times, and the sums are scaled by L.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import functions as F  # noqa: N812

from fairview.propagation.engines.spark.salting import salted_join
from fairview.propagation.operators import Operator

SLICE = 250_000
"""Nodes of one file of a hop: a task sorts them, and the process that drives the work reads them."""


def with_factor(nodes: Any, pairs: Any, operator: Operator) -> Any:
    """The nodes with `left`, their entry of L, from the degrees."""
    if operator.kind == "sum":
        return nodes.withColumn("left", F.lit(1.0))
    degree = pairs.groupBy(F.col("target").alias("number")).agg(F.sum("weight").alias("degree"))
    total = F.coalesce("degree", F.lit(0.0)) + F.lit(operator.self_loops)
    power = -0.5 if operator.kind == "gcn" else -1.0
    left = F.when(total > 0, F.pow(total, F.lit(power))).otherwise(0.0)
    return nodes.join(degree, "number", "left").withColumn("left", left).drop("degree")


def one_hop(rows: Any, pairs: Any, salted: Any, operator: Operator, channels: int) -> Any:
    """S times the channels x0, x1, ...

    Args:
        rows: number, left, and the channels.
        pairs: source, target and weight.
        salted: the hubs among the sources.
        operator: S.
        channels: how many.
    """
    right = F.col("left") if operator.kind == "gcn" else F.lit(1.0)
    names = [f"x{place}" for place in range(channels)]
    sent = rows.select(F.col("number").alias("source"), *((F.col(x) * right).alias(x) for x in names))
    arriving = salted_join(pairs, sent, "source", salted, spread="target")
    moved = arriving.select(
        F.col("target").alias("number"),
        F.lit(None).cast("double").alias("left"),
        *((F.col("weight") * F.col(x)).alias(x) for x in names),
    )
    loops = F.lit(operator.self_loops) * right
    stayed = rows.select("number", "left", *((F.col(x) * loops).alias(x) for x in names))
    sums = (
        moved.unionAll(stayed).groupBy("number").agg(F.max("left").alias("left"), *(F.sum(x).alias(x) for x in names))
    )
    return sums.select("number", "left", *((F.col(x) * F.col("left")).alias(x) for x in names))


def in_slices(rows: Any) -> Any:
    """The rows with the slice that they belong to, all of a slice together."""
    return rows.withColumn("slice", F.floor(F.col("number") / SLICE).cast("int")).repartition("slice")
