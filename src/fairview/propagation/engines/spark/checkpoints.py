"""Where do results of a stage lie until the next one reads them? As Parquet, in a folder that all machines reach.

A stage that was written whole is not computed again: Spark leaves `_SUCCESS` beside the files of a finished write.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Checkpoints:
    """A folder of finished stages.

    Attributes:
        spark: the session.
        folder: a path or URL that every machine of the cluster reads and writes.
    """

    spark: Any
    folder: str

    def kept(self, stage: str, make: Callable[[], Any], *, by: str | None = None) -> Any:
        """The stage's rows, read from its files; made and written first unless they are whole.

        Args:
            stage: the name of its files.
            make: gives the DataFrame; nothing of it is computed if its files are whole.
            by: a column whose values get a folder each.
        """
        path = f"{self.folder}/{stage}"
        frame = make()
        if not self.is_whole(stage):
            writer = frame.write.mode("overwrite").option("compression", "zstd")
            (writer.partitionBy(by) if by else writer).parquet(path)
        return self.spark.read.schema(frame.schema).parquet(path)

    def is_whole(self, stage: str) -> bool:
        """Whether a stage was written to its end."""
        jvm, context = self.spark._jvm, self.spark._jsparkSession.sparkContext()
        path = jvm.org.apache.hadoop.fs.Path(f"{self.folder}/{stage}/_SUCCESS")
        return bool(path.getFileSystem(context.hadoopConfiguration()).exists(path))
