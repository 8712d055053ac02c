"""From DataFrames to a DataFrame: the features of each node after 0 to L hops."""

from __future__ import annotations

import atexit
import hashlib
import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from fairview.arguments import require_whole
from fairview.errors import InputError, option
from fairview.isolation import isolated
from fairview.locks import folder_lock
from fairview.optional import require
from fairview.propagation.facts import MANIFEST
from fairview.propagation.operators import Operator
from fairview.propagation.stages import Stages
from fairview.propagation.tables import MOST_HOPS, WORK, Reading, as_operator, check_reading

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from fairview.propagation.engines.spark.spark_table import SparkTable

METADATA = "fairview"
"""Of the column `id`: how the rows came about, as JSON."""


@isolated()
def propagate(
    nodes: DataFrame,
    edges: DataFrame,
    *,
    operator: str | Operator = "gcn",
    hops: int = 2,
    folder: str | Path | None = None,
    checkpoints: str | None = None,
    **reading: Unpack[Reading],
) -> DataFrame:
    """Compute X, S X, ..., S^L X of a graph in Spark: the same numbers as `fairview.propagate`, where the data live.

    Both tables are checked as `fairview.read_graph` checks them, and what was dropped, merged or filled is logged.
    Rows in Spark have no numbers, so a column with ids is needed.

    Args:
        nodes: a row for each node.
        edges: a row for each edge.
        operator: `gcn`, `mean` or `sum`, or an `Operator` with its own number of self-loops.
        hops: L, at most 10.
        folder: also write a propagated folder, which `train` and `audit` read; the machine that drives the work must
            have room for it, and all machines must reach it.
        checkpoints: a folder or URL that all machines reach, where each finished hop is kept as Parquet. Called again
            with the same settings, finished hops are read from there; give a new folder when the data have changed.
            By default Spark's own checkpoint folder or, if Spark runs on this machine alone, a temporary one.
        reading: as in `fairview.read_graph`.

    Returns:
        A row for each node, in no particular order: id, label (0, 1 or null), sensitive (the group; of several
        attributes sensitive:NAME each), split, and a column CHANNEL@HOP for each channel and hop, float32.

    Raises:
        InputError: with every problem of the tables.
        MissingPackageError: without pyspark.
    """
    require("pyspark", "spark", "fairview.spark needs pyspark")
    from fairview.propagation.engines.spark.session import case_sensitive
    from fairview.propagation.engines.spark.spark_table import SparkTable

    chosen = as_operator(operator)
    require_whole(hops, "hops", least=0, most=MOST_HOPS)
    check_reading(nodes, edges, reading)
    tables = SparkTable.of(nodes, "nodes"), SparkTable.of(edges, "edges")
    with case_sensitive(nodes.sparkSession):
        return _propagated(tables, nodes.sparkSession, chosen, hops, folder, checkpoints, reading)


def _propagated(
    tables: tuple[SparkTable, SparkTable],
    spark: Any,
    operator: Operator,
    hops: int,
    folder: str | Path | None,
    checkpoints: str | None,
    reading: Reading,
) -> DataFrame:
    from fairview.propagation.engines.spark.checkpoints import Checkpoints
    from fairview.propagation.engines.spark.engine import write_hops
    from fairview.propagation.engines.spark.propagation import as_frame, propagate_tables

    identity = _identity(tables, operator, reading)
    settings: dict[str, Any] = {"operator": operator, "hops": hops, "stages": Stages()}
    if folder is None:
        place = Checkpoints(spark, f"{_checkpoint_folder(spark, checkpoints)}/fairview-{identity[:16]}")
        rows = propagate_tables(*tables, place, reading=reading, **settings)
        return as_frame(rows, _metadata(rows.facts, operator, hops))
    folder = Path(folder)
    with folder_lock(folder):
        if (folder / MANIFEST).exists():
            raise InputError(f"{folder}: holds a propagation already. Use another {option('folder')}.")
        work = (folder / WORK / f"spark-{identity[:16]}").absolute()
        work.mkdir(parents=True, exist_ok=True)
        rows = propagate_tables(*tables, Checkpoints(spark, work.as_uri()), reading=reading, **settings)
        written = write_hops(rows, work, folder, identity=identity, inputs={}, **settings)
        shutil.rmtree(folder / WORK, ignore_errors=True)
    frame = spark.read.parquet(*[(folder / part.name).absolute().as_uri() for part in written.parts])
    return frame.withMetadata("id", _metadata(rows.facts, operator, hops))


def _metadata(facts: Mapping[str, Any], operator: Operator, hops: int) -> dict[str, str]:
    """What `predict` wants to know of the rows."""
    names = ("channels", "directed", "weighted", "links")
    document = {name: facts[name] for name in names}
    document |= {"operator": operator.model_dump(), "hops": hops, "recipe": facts["recipe"].model_dump(mode="json")}
    return {METADATA: json.dumps(document)}


def _identity(tables: tuple[Any, Any], operator: Operator, reading: Reading) -> str:
    """A hash of the settings and of the columns: checkpoints of other ones are not read. The rows are not looked at.

    More hops go on from the checkpoints of fewer.
    """
    recipe = reading.get("recipe")
    settings: dict[str, Any] = {**reading, "recipe": None if recipe is None else recipe.model_dump(mode="json")}
    schemas = [[table.columns, table.frame.schema.simpleString()] for table in tables]
    text = json.dumps([schemas, operator.model_dump(), settings], sort_keys=True, default=list)
    return hashlib.sha256(text.encode()).hexdigest()


def _checkpoint_folder(spark: Any, given: str | None) -> str:
    if given is not None:
        path = str(given)
        return path.rstrip("/") if "://" in path else Path(path).absolute().as_uri()
    context = spark.sparkContext
    if (known := context.getCheckpointDir()) is not None:
        return str(known).rstrip("/")
    if not context.master.startswith("local"):
        raise InputError(
            f"checkpoints: Spark runs on several machines (master '{context.master}'). Name a folder that all of them "
            f"reach, such as {option('checkpoints', 'hdfs:///tmp/fairview')}."
        )
    temporary = tempfile.mkdtemp(prefix="fairview-spark-")
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    return Path(temporary).as_uri()
