"""Which Spark runs the work? The session that is there, or one that is started for it and stopped after it."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fairview.errors import FairviewError, InputError, in_one_line, option

LOCAL = "local[*]"
"""The master where none is named: all cores of this machine."""

_QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
}
_ROWS_OF_A_TASK = 500_000
_BYTES_OF_A_PIECE = 2**23  # of compressed Parquet


@contextmanager
def spark_session(master: str | None, *, memory: int, size: int) -> Iterator[Any]:
    """The active session, or a new one that ends with the work.

    Args:
        master: a URL such as `local[4]`, `spark://host:7077` or `yarn`; None takes that of `spark-submit`, or all
            cores of this machine.
        memory: bytes for the process that drives the work; one that `spark-submit` started has its own.
        size: bytes of the tables, which decide into how many pieces rows are divided.

    Raises:
        InputError: a session with another master is active.
        FairviewError: Spark can't be started, for example for lack of Java.
    """
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        running = active.sparkContext.master
        if master not in (None, running):
            raise InputError(
                f"master: '{master}', but a Spark session with the master '{running}' is active. Leave "
                f"{option('master')} out, or stop that session."
            )
        yield active
        return
    _require_java()
    submitted = SparkConf().get("spark.master")
    chosen = master or submitted or LOCAL
    builder = SparkSession.builder.appName("fairview").master(chosen)
    settings = dict(_QUIET)
    if submitted is None:
        settings["spark.driver.memory"] = f"{max(memory // 2**20, 512)}m"
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers run the Python that runs this
    if chosen.startswith("local"):
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        spark = builder.getOrCreate()
    except Exception as error:
        raise FairviewError(f"Spark can't be started with the master '{chosen}' ({in_one_line(error)}).") from None
    pieces = max(2 * spark.sparkContext.defaultParallelism, size // _BYTES_OF_A_PIECE)
    spark.conf.set("spark.sql.shuffle.partitions", str(pieces))
    try:
        yield spark
    finally:
        spark.stop()


def partitions(spark: Any, rows: int) -> int:
    """Into how many pieces to divide so many rows: at least one for each core, none too large for a task."""
    return int(max(spark.sparkContext.defaultParallelism, -(-rows // _ROWS_OF_A_TASK)))


@contextmanager
def case_sensitive(spark: Any) -> Iterator[None]:
    """Inside, `Age` and `age` are two columns, as in every other table; outside, as the user's session has it."""
    name = "spark.sql.caseSensitive"
    before = spark.conf.get(name)
    spark.conf.set(name, "true")
    try:
        yield
    finally:
        spark.conf.set(name, before)


@contextmanager
def without_pandas_warning() -> Iterator[None]:
    """PySpark warns that its pandas functions do not know pandas 3 yet. None of them is used here: Arrow is."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield


def _require_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and (Path(home) / "bin" / "java").exists()):
        raise FairviewError(
            "Spark needs Java 17 or newer, and none is here: there is no `java` on the PATH, and JAVA_HOME names none. "
            "Install one, for example openjdk-17-jre-headless."
        )
