"""From tables to a propagated folder: `propagate`, with an engine that fits the size of the graph."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

import polars as pl

from fairview.arguments import require_whole
from fairview.data.tables.arguments import advising_by_recipe, check_settings
from fairview.data.tables.cells import TableSource
from fairview.data.tables.read import read_graph
from fairview.data.tables.recipe import Missing, Recipe
from fairview.data.tables.roles import sensitive_columns
from fairview.data.tables.scaling import ScalingKind
from fairview.errors import InputError, Problems, did_you_mean, option, quoted
from fairview.isolation import isolated
from fairview.locks import folder_lock
from fairview.machine import peak_memory_mb, reset_peak_memory
from fairview.optional import require
from fairview.outputs import check_folder
from fairview.propagation.engines.duckdb import beyond_memory
from fairview.propagation.engines.memory import in_memory
from fairview.propagation.facts import MANIFEST
from fairview.propagation.folder import Cost, Propagated, open_propagated
from fairview.propagation.inputs import TableFiles, table_files
from fairview.propagation.operators import OPERATORS, Operator
from fairview.propagation.stages import Stages

ENGINES = ("auto", "memory", "duckdb", "spark")
MOST_HOPS = 10
WORK = ".work"
_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
_IN_MEMORY = 12
"""Bytes of memory for each byte of compressed Parquet; CSV takes a third of it."""


class Reading(TypedDict, total=False):
    """How the tables are read: the options of `read_graph`, but for similarity rules."""

    label: str | None
    sensitive: str | Sequence[str] | None
    id: str | None
    source: str | None
    target: str | None
    positive: str | None
    classes: tuple[str, str] | None
    groups: Mapping[str, str] | None
    features: Sequence[str] | None
    drop: Sequence[str]
    categorical: Sequence[str]
    sensitive_as_feature: bool
    scaling: ScalingKind
    scale_on: Literal["all", "train"]
    unscaled: Sequence[str]
    missing: Missing
    missing_values: Sequence[str]
    unlabelled: Sequence[str]
    split: str | None
    split_seed: int | None
    directed: bool | None
    edge_weight: str | None
    link_kind: str | None
    drop_unknown: bool
    separator: str | None
    encoding: str
    name: str | None
    recipe: Recipe | None


@isolated()
@advising_by_recipe
def propagate(
    nodes: TableSource,
    edges: TableSource,
    *,
    folder: str | Path,
    operator: str | Operator = "gcn",
    hops: int = 2,
    engine: str = "auto",
    memory: str | int = "8GB",
    master: str | None = None,
    **reading: Unpack[Reading],
) -> Propagated:
    """Compute X, S X, ..., S^L X of a graph of any size once, into a folder that the rest reads row by row.

    Training with a one-layer encoder needs these rows and nothing of the graph, so scale ends here: `audit`, `train`,
    `tune` and `predict` take the folder in place of a graph. Called again with the same tables and settings, it goes on
    where a killed run stopped, or returns what is there.

    Args:
        nodes: a CSV or Parquet file, a folder of Parquet parts, a pattern such as `people/*.parquet`, or a frame.
        edges: likewise.
        folder: to write.
        operator: `gcn`, `mean` or `sum`, or an `Operator` with its own number of self-loops.
        hops: L, at most 10.
        engine: `memory` reads the tables whole; `duckdb` needs memory for the features of a few channels and disk for
            the links; `spark` joins where the data live. `auto` takes the first that the memory allows.
        memory: how much may be used, such as `8GB`.
        master: of Spark, such as `spark://host:7077`; by default that of `spark-submit`, or all cores of this machine.
        reading: as in `fairview.read_graph`.

    Raises:
        InputError: with every problem of the tables; the folder holds something else; or memory or disk are too small.

    Example:
        >>> import tempfile
        >>> people = {"id": ["a", "b", "c"], "age": [20, 30, 40], "sex": ["f", "m", "f"], "ok": [0, 1, 1]}
        >>> links = {"source": ["a", "b"], "target": ["b", "c"]}
        >>> out = tempfile.mkdtemp()
        >>> rows = propagate(people, links, folder=out, label="ok", sensitive="sex", scaling="minmax", operator="mean")
        >>> next(rows.frames(["id", "label", "sensitive", "age@0", "age@1"])).rows()
        [('a', 0, 'f', -1.0, -0.5), ('b', 1, 'm', 0.0, 0.0), ('c', 1, 'f', 1.0, 0.5)]
    """
    folder, chosen = Path(folder), as_operator(operator)
    require_whole(hops, "hops", least=0, most=MOST_HOPS)
    if engine not in ENGINES:
        raise InputError(f"engine: no '{engine}'.{did_you_mean(str(engine), ENGINES)}")
    budget = memory_bytes(memory)
    check_reading(nodes, edges, reading)
    node_files, edge_files = (
        table_files(each, what=what) if isinstance(each, (str, Path)) else None
        for each, what in ((nodes, "nodes"), (edges, "edges"))
    )
    engine = _engine(engine, node_files, edge_files, budget)
    if master is not None and engine != "spark":
        raise InputError(f"master: only Spark has one, and the engine is '{engine}'. Pass {option('engine', 'spark')}.")
    _check_folder(folder, [path for files in (node_files, edge_files) if files for path in files.paths])
    reset_peak_memory()
    with folder_lock(folder):
        inputs = (node_files.sha256() if node_files else {}) | (edge_files.sha256() if edge_files else {})
        frames = [_frame_sha256(each) for each in (nodes, edges) if not isinstance(each, (str, Path))]
        identity = _identity([inputs, frames], chosen, hops, reading)
        if (folder / MANIFEST).exists():
            there = open_propagated(folder)
            if there.facts.identity != identity:
                raise InputError(
                    f"{folder}: holds a propagation of other tables or with other settings. Use another "
                    f"{option('folder')}."
                )
            shutil.rmtree(folder / WORK, ignore_errors=True)  # of a process that ended just before it would have
            return there
        stages = Stages(folder / WORK)
        if engine == "memory":
            in_memory(
                node_files.source() if node_files else nodes,
                edge_files.source() if edge_files else edges,
                folder,
                operator=chosen,
                hops=hops,
                identity=identity,
                inputs=inputs,
                stages=stages,
                reading=_named(reading, nodes),
            )
        elif engine == "spark" and node_files and edge_files:
            require("pyspark", "spark", "The Spark engine needs pyspark")
            from fairview.propagation.engines.spark.engine import in_spark

            in_spark(
                node_files,
                edge_files,
                folder,
                operator=chosen,
                hops=hops,
                identity=identity,
                inputs=inputs,
                stages=stages,
                reading=_named(reading, nodes),
                master=master,
                memory=budget,
            )
        elif node_files is not None and edge_files is not None:
            beyond_memory(
                node_files,
                edge_files,
                folder,
                operator=chosen,
                hops=hops,
                memory=budget,
                identity=identity,
                inputs=inputs,
                stages=stages,
                reading=dict(reading),
            )
        shutil.rmtree(folder / WORK, ignore_errors=True)
    disk = sum(path.stat().st_size for path in folder.iterdir() if path.is_file()) / 2**20
    cost = Cost(seconds=dict(stages.seconds), peak_memory_mb=peak_memory_mb(), disk_mb=disk)
    return replace(open_propagated(folder), cost=cost)


def memory_bytes(text: str | int) -> int:
    """A size in words as a number of bytes.

    Example:
        >>> memory_bytes("8GB"), memory_bytes("1.5 GiB"), memory_bytes(1000)
        (8000000000, 1610612736, 1000)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", str(text))
    if match is None or match[2].upper() not in _UNITS or float(match[1]) <= 0:
        raise InputError(f"memory: {text!r}; expected a size such as 8GB or 500MB.")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def as_operator(operator: str | Operator) -> Operator:
    """An operator by its name, with one self-loop for each node; or the given one."""
    if isinstance(operator, Operator):
        return operator
    if operator not in OPERATORS:
        raise InputError(f"operator: no '{operator}'.{did_you_mean(str(operator), OPERATORS)}")
    return Operator(kind=operator)  # type: ignore[arg-type]  # checked above


def check_reading(nodes: Any, edges: Any, reading: Reading) -> None:
    """Options that are unknown, contradictory or without effect are refused as `read_graph` refuses them.

    One sensitive column is one, however it is given: `reading` then names it alone.
    """
    usual = {name: each.default for name, each in inspect.signature(read_graph).parameters.items()}
    if unknown := [name for name in reading if name not in Reading.__annotations__]:
        raise InputError(f"propagate: no parameter '{unknown[0]}'.{did_you_mean(unknown[0], list(usual))}")
    problems = Problems()
    check_settings({**usual, **reading, "nodes": nodes, "edges": edges}, problems)
    if held := sensitive_columns(reading.get("sensitive")):
        reading["sensitive"] = list(held) if len(held) > 1 else held[0]
    recipe = reading.get("recipe")
    _check_names(held if recipe is None else tuple(each.column for each in recipe.attributes), problems)
    if column := reading.get("link_kind") or (None if recipe is None else recipe.link_kind):
        problems.add(
            f"link_kind: '{column}', but a propagated folder holds no kinds of links. Leave {option('link_kind')} out, "
            "or train from the tables themselves."
        )
    problems.raise_if_any()


def _check_names(attributes: tuple[str, ...], problems: Problems) -> None:
    """The column `sensitive:NAME` of one of several attributes must not be that of a channel."""
    odd = [name for name in attributes if re.search(r"@\d+$", name)]
    if odd and len(attributes) > 1:
        problems.add(
            f"sensitive: {quoted(odd)}: in a propagated folder names that end in @ and a number are those of channels. "
            "Rename the column."
        )


def _check_folder(folder: Path, inputs: list[Path]) -> None:
    """No part may replace an input, or a Parquet file that is not of a propagation in this folder."""
    parts = sorted(path.name for path in folder.glob("part-*.parquet")) if folder.is_dir() else []
    ours = (folder / MANIFEST).exists() or (folder / WORK).is_dir()
    check_folder(folder, [MANIFEST, *parts], inputs=inputs, overwrite=ours)


def _engine(engine: str, nodes: TableFiles | None, edges: TableFiles | None, budget: int) -> str:
    """The engine to use: the one that was asked for, or the first that the memory allows."""
    if nodes is None or edges is None:
        if engine not in ("auto", "memory"):
            raise InputError(f"engine: '{engine}' reads files; frames are in memory already.")
        return "memory"
    if engine != "auto":
        return engine
    needed = sum(each.bytes * (_IN_MEMORY if each.parquet else _IN_MEMORY // 3) for each in (nodes, edges))
    return "memory" if needed <= budget else "duckdb"


def _identity(data: list[Any], operator: Operator, hops: int, reading: Reading) -> str:
    """A hash of what decides about the folder's numbers: not the engine, and no option that is as it always is."""
    usual = {name: each.default for name, each in inspect.signature(read_graph).parameters.items()}
    recipe = reading.get("recipe")
    settings: dict[str, Any] = {**reading, "recipe": None if recipe is None else recipe.model_dump(mode="json")}
    said = {name: value for name, value in settings.items() if _text(value) != _text(usual[name])}
    return hashlib.sha256(_text([data, operator.model_dump(), hops, said]).encode()).hexdigest()


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=list)


def _frame_sha256(source: TableSource) -> str:
    """Of the cells of a frame, as texts."""
    from fairview.data.tables.cells import read_table

    frame = read_table(source, name="table", may_be_empty=True).frame
    hashes = frame.hash_rows(seed=0) if frame.width else pl.Series([], dtype=pl.UInt64)
    return hashlib.sha256(repr(frame.schema).encode() + hashes.to_numpy().tobytes()).hexdigest()


def _named(reading: Reading, nodes: TableSource) -> dict[str, Any]:
    """The options, with a name for a table of several files."""
    named = Path(nodes).name if isinstance(nodes, (str, Path)) and not Path(nodes).is_file() else None
    return {"name": named, **reading} if named else dict(reading)
