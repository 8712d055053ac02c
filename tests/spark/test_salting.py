"""A hub is dealt to several tasks, and nothing else changes."""

from __future__ import annotations

import pytest


@pytest.fixture
def plain_joins(spark):
    """Rows are sent to eight tasks by their keys, whatever their number."""
    settings = {
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.shuffle.partitions": "8",
    }
    before = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield
    for name, value in before.items():
        spark.conf.set(name, value)


@pytest.mark.slow
def test_the_rows_of_a_hub_are_dealt_evenly(spark, plain_joins):
    from pyspark.sql import functions as F  # noqa: N812

    from fairview.propagation.engines.spark.salting import hubs, salted_join

    many = spark.range(10_000).select(F.when(F.col("id") < 9_000, 0).otherwise(F.col("id")).alias("key"), "id")
    one = many.select("key").distinct().withColumn("value", F.col("key") * 10)
    assert hubs(many, "key", limit=10_000) is None
    salted = hubs(many, "key", limit=1_000)
    assert [tuple(row) for row in salted.collect()] == [(0, 9)]
    joined = salted_join(many, one, "key", salted, spread="id")
    assert joined.columns == ["key", "id", "value"]
    assert joined.exceptAll(many.join(one, "key")).count() == 0
    assert joined.count() == 10_000
    dealt = joined.groupBy(F.spark_partition_id()).count().collect()
    assert max(row["count"] for row in dealt) < 7_000  # unsalted, one task has more than 9,000
