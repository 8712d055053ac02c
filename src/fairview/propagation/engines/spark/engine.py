"""The engine of Spark: tables in files go in, a propagated folder comes out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import polars as pl

from fairview.attributes import Attribute
from fairview.data.graph import SPLIT_NAMES
from fairview.data.tables.cells import read_table
from fairview.data.tables.edges import read_edge_table
from fairview.propagation.engines.spark.checkpoints import Checkpoints
from fairview.propagation.engines.spark.hops import SLICE
from fairview.propagation.engines.spark.propagation import SparkHops, propagate_tables
from fairview.propagation.engines.spark.session import case_sensitive, spark_session
from fairview.propagation.engines.spark.spark_table import SparkTable
from fairview.propagation.facts import PropagatedFacts
from fairview.propagation.folder import BATCH
from fairview.propagation.folder_writing import Chunk, write_folder
from fairview.propagation.inputs import TableFiles
from fairview.propagation.operators import Operator
from fairview.propagation.stages import Stages


def in_spark(
    nodes: TableFiles,
    edges: TableFiles,
    folder: Path,
    *,
    operator: Operator,
    hops: int,
    identity: str,
    inputs: Mapping[str, str],
    stages: Stages,
    reading: Mapping[str, Any],
    master: str | None,
    memory: int,
) -> PropagatedFacts:
    """Propagate the tables of some files in Spark, and write the folder.

    Files and folder must be reachable for all machines of the cluster under the same path.
    """
    work = (folder / ".work" / f"spark-{identity[:16]}").absolute()
    work.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        with stages.timed("start", 1) as advance:
            spark = stack.enter_context(spark_session(master, memory=memory, size=nodes.bytes + edges.bytes))
            advance(1)
        stack.enter_context(case_sensitive(spark))
        tables, notes = _opened(spark, nodes, edges, work, reading)
        rows = propagate_tables(
            *tables, Checkpoints(spark, work.as_uri()), operator=operator, hops=hops, stages=stages, reading=reading,
            notes=notes,
        )  # fmt: skip
    return write_hops(rows, work, folder, operator=operator, hops=hops, identity=identity, inputs=inputs, stages=stages)


def write_hops(
    rows: SparkHops,
    work: Path,
    folder: Path,
    *,
    operator: Operator,
    hops: int,
    identity: str,
    inputs: Mapping[str, str],
    stages: Stages,
) -> PropagatedFacts:
    """The propagated folder, from the checkpoints in `work`."""
    facts = rows.facts | {"inputs": dict(inputs), "engine": "spark", "operator": operator, "identity": identity}
    with stages.timed("write", rows.nodes) as advance:
        return write_folder(folder, _chunks(rows, work, hops, advance), hops=hops, **facts)


def _opened(
    spark: Any, nodes: TableFiles, edges: TableFiles, work: Path, reading: Mapping[str, Any]
) -> tuple[tuple[SparkTable, SparkTable], tuple[str, ...]]:
    """Both tables. Parquet is read where it lies; CSV is read here, cell by cell as texts, and handed over."""
    separator, encoding = reading.get("separator"), reading.get("encoding", "utf-8")
    notes: tuple[str, ...] = ()
    if nodes.parquet:
        first = _parquet(spark, nodes, "nodes")
    else:
        table = read_table(nodes.paths[0], name=nodes.name, separator=separator, encoding=encoding)
        first = _handed_over(spark, table.frame, work / "nodes.parquet", nodes)
    if edges.parquet:
        return (first, _parquet(spark, edges, "edges")), notes
    recipe = reading.get("recipe")
    column = (recipe.id if recipe is not None else reading.get("id")) or "id"
    ids = _Ids(first, column) if column in first.columns else None
    table, read = read_edge_table(edges.paths[0], ids=ids, separator=separator, encoding=encoding)  # type: ignore[arg-type]
    return (first, _handed_over(spark, table.frame, work / "edges.parquet", edges)), tuple(read)


class _Ids:
    """The ids of a table in Spark, as far as `in` goes."""

    def __init__(self, table: SparkTable, column: str) -> None:
        self.frame = table.frame.select(table.ids(column).alias("id"))

    def __contains__(self, id: object) -> bool:
        from pyspark.sql import functions as F  # noqa: N812

        return self.frame.filter(F.col("id") == F.lit(id)).head() is not None


def _parquet(spark: Any, files: TableFiles, what: str) -> SparkTable:
    frame = spark.read.parquet(*[path.absolute().as_uri() for path in files.paths])
    return SparkTable.of(frame, files.name if len(files.paths) == 1 else what)


def _handed_over(spark: Any, frame: pl.DataFrame, path: Path, files: TableFiles) -> SparkTable:
    frame.write_parquet(path)
    return SparkTable.of(spark.read.parquet(path.as_uri()), files.name)


def _chunks(rows: SparkHops, work: Path, hops: int, advance: Callable[[int], None]) -> Iterator[Chunk]:
    """The nodes in order, so many at a time as a part holds."""
    width = len(rows.facts["channels"])
    for start in range(0, rows.nodes, BATCH):
        slices = range(start // SLICE, -(-min(start + BATCH, rows.nodes) // SLICE))
        by_hop = [_sorted(work / f"hop-{hop}", slices) for hop in range(hops + 1)]
        first = by_hop[0]
        yield Chunk(
            ids=first["id"],
            labels=first["label"].to_numpy() if rows.labelled else None,
            attributes=[
                Attribute(rule.column, first[f"code{place}"].to_numpy(), rule.groups, rule.channels)
                for place, rule in enumerate(rows.facts["recipe"].attributes)
            ],
            splits={
                name: (first["split"] == name).fill_null(value=False).to_numpy() for name in SPLIT_NAMES
            } if rows.has_split else {},
            by_hop=[frame.select(f"x{place}" for place in range(width)).to_numpy() for frame in by_hop],
        )  # fmt: skip
        advance(first.height)


def _sorted(folder: Path, slices: range) -> pl.DataFrame:
    paths = [path for number in slices for path in sorted((folder / f"slice={number}").glob("*.parquet"))]
    return pl.scan_parquet(paths, glob=False, hive_partitioning=False).sort("number").collect()
