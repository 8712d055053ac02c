"""Graphs that live in Spark: `propagate` and `predict`, from and to DataFrames.

    rows = fairview.spark.propagate(nodes, edges, label="approved", sensitive="gender")
    scores = fairview.spark.predict(model, rows)

The functions need PySpark (the extra `spark`) and Java 17 or newer; importing this module needs neither.
"""

from fairview.spark.frames import propagate
from fairview.spark.scores import predict

__all__ = ["predict", "propagate"]
