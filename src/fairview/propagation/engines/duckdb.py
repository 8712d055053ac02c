"""The engine of one machine beyond its memory: DuckDB reads, sorts and joins tables, block products do the rest.

Stages, each remembered when it is whole: `tables` (CSV to Parquet, nodes in order of their ids), `nodes` (features and
recipe), `links` (numbers of both ends, sorted blocks), `hop-H-G` (S^H X of the channels of group G), and the parts.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from fairview.attributes import each_and_together
from fairview.data.adjacency import EdgeCounts
from fairview.data.tables.recipe import Recipe
from fairview.errors import InputError, option
from fairview.machine import available_cores
from fairview.propagation.engines.array_files import append
from fairview.propagation.engines.block_products import degree_factors, multiply
from fairview.propagation.engines.budget import Budget
from fairview.propagation.engines.database import Database
from fairview.propagation.engines.link_blocks import Blocks, Histogram, build_blocks, partition
from fairview.propagation.engines.link_numbers import LinkNumbers
from fairview.propagation.engines.node_ids import NodeIds
from fairview.propagation.engines.node_rows import ROWS, NodeRows, Rules, decide_rules, read_rows
from fairview.propagation.facts import PropagatedFacts
from fairview.propagation.folder import BATCH
from fairview.propagation.folder_writing import Chunk, write_folder
from fairview.propagation.inputs import TableFiles
from fairview.propagation.operators import Operator
from fairview.propagation.stages import Stages


def beyond_memory(
    nodes: TableFiles,
    edges: TableFiles,
    folder: Path,
    *,
    operator: Operator,
    hops: int,
    memory: int,
    identity: str,
    inputs: dict[str, str],
    stages: Stages,
    reading: dict[str, Any],
) -> PropagatedFacts:
    """Propagate tables of any size within a memory budget, and write the folder."""
    if reading.get("missing") == "drop":
        raise InputError(
            f"missing: 'drop' is for tables in memory. Leave such rows out yourself, or pass "
            f"{option('missing', 'mean')}."
        )
    work = _work_folder(folder, identity, stages)
    threads = available_cores()
    database = Database(work, memory=memory // 2, threads=threads)
    with stages.timed("tables", 2) as advance:
        ids = database.ordered_nodes(nodes, reading)
        advance(1)
        links = LinkNumbers.open(database, edges, ids, nodes.name, reading)
        advance(1)
    budget = Budget(ids.count, links.count, _channels(database, ids, reading), hops, links.directed, links.weighted)
    budget.check_disk(folder)
    budget.width(memory)
    rows = _nodes(database, ids, nodes, reading, work, stages)
    blocks, left_out = _links(links, ids, rows, work, stages, threads)
    roles, filled, values = rows.notes
    counts = blocks.counts.notes(directed=links.directed)
    width = _width(budget.width(memory), work, stages)
    groups = [slice(first, first + width) for first in range(0, len(rows.recipe.features.channels), width)]
    _hops(rows, blocks, operator, hops, groups, work, stages, threads)
    recipe = rows.recipe
    if reading.get("recipe") is None:
        recipe = recipe.model_copy(
            update={"directed": links.directed, "ends": links.ends, "edge_weight": reading.get("edge_weight")}
        )
    channels, label = recipe.features.channels, recipe.label
    with stages.timed("write", len(rows)) as advance:
        chunks = _chunks(ids, rows, hops, groups, work, advance)
        return write_folder(
            folder,
            chunks,
            hops=hops,
            engine="duckdb",
            source=reading.get("name") or nodes.name,
            identity=identity,
            operator=operator,
            links=sum(blocks.sizes) if links.directed else sum(blocks.sizes) // 2,
            directed=links.directed,
            weighted=links.weighted,
            channels=channels,
            classes=label.classes if label else ("0", "1"),
            same_and_known=blocks.same_and_known,
            recipe=recipe,
            inputs=inputs,
            notes=(*database.notes, *roles, *links.notes, *left_out, *filled, *counts, *values),
        )


def _work_folder(folder: Path, identity: str, stages: Stages) -> Path:
    """The folder of what is under way; that of other tables or settings is refused."""
    work = folder / ".work"
    begun = stages.result("begun")
    if work.is_dir() and begun is not None and begun != identity:
        raise InputError(
            f"{folder}: holds an unfinished propagation of other tables or with other settings, or a table has changed "
            f"since. Remove it, or use another {option('folder')}."
        )
    if begun is None:
        shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True, exist_ok=True)
    stages.finish("begun", identity)
    return work


def _channels(database: Database, ids: NodeIds, reading: dict[str, Any]) -> int:
    """How many channels there will be, about: columns that are no feature are few."""
    recipe: Recipe | None = reading.get("recipe")
    if recipe is not None:
        return len(recipe.features.channels)
    return max(len(reading.get("features") or database.table(ids, "nodes").columns) - 1, 1)


# --- nodes ------------------------------------------------------------------------------------------------------------


def _nodes(
    database: Database, ids: NodeIds, files: TableFiles, reading: dict[str, Any], work: Path, stages: Stages
) -> NodeRows:
    """Features, labels, groups and splits of all nodes, read now or by an earlier process."""
    small = work / "nodes.npz"
    if (found := stages.result("nodes")) is not None:
        with np.load(small) as stored:
            masks = {name.removeprefix("split-"): stored[name] for name in stored.files if name.startswith("split-")}
            labels, codes = stored["labels"], stored["codes"]
        known = Recipe.model_validate_json(found["recipe"])
        return NodeRows(labels, codes, masks, work / "encoded.bin", known, tuple(found["notes"]))
    with stages.timed("nodes", ids.count) as advance:
        recipe: Recipe | None = reading.get("recipe")
        if recipe is not None:
            rules = Rules(recipe.features.columns, recipe.label, recipe.attributes)
        else:
            table = database.table(ids, files.name)
            rules = decide_rules(table, lambda name: database.distinct(ids, name), reading, ids.column)
        rows = read_rows(
            lambda: ids.frames(ROWS), rules, reading,
            name=files.name, nodes=ids.count, id_column=ids.column, work=work, done=advance,
        )  # fmt: skip
        masks = {f"split-{name}": mask for name, mask in rows.masks.items()}
        np.savez(small, labels=rows.labels, codes=rows.codes, **masks)
        stages.finish("nodes", {"recipe": rows.recipe.model_dump_json(), "notes": rows.notes})
    return rows


# --- links ------------------------------------------------------------------------------------------------------------


def _links(
    links: LinkNumbers, ids: NodeIds, rows: NodeRows, work: Path, stages: Stages, threads: int
) -> tuple[Blocks, list[str]]:
    """Sorted blocks of links, made now or by an earlier process."""
    if (found := stages.result("links")) is not None:
        counts = EdgeCounts(**found["counts"])
        blocks = Blocks(
            work, tuple(found["starts"]), tuple(found["sizes"]), counts, tuple(map(tuple, found["same_and_known"]))
        )
        return blocks, found["left_out"]
    histogram = Histogram(ids.count)
    with stages.timed("count links", links.count) as advance:
        for source, target, _ in links.batches(advance, check=True):
            histogram.add(target)
            if not links.directed:
                histogram.add(source)
    starts = histogram.starts()
    with stages.timed("partition links", links.count) as advance:
        batches = links.batches(advance)
        partition(batches, work, nodes=ids.count, starts=starts, directed=links.directed, threads=threads)
    with stages.timed("sort links", len(starts) - 1) as advance:
        codes = [each.codes for each in each_and_together(rows.attributes(slice(None)))]
        blocks = build_blocks(
            work, nodes=ids.count, starts=starts, given=links.known, self_loops=links.self_loops, names=ids.name,
            directed=links.directed, weighted=links.weighted, codes=codes, threads=threads, done=advance,
        )  # fmt: skip
    document = {"starts": starts, "sizes": blocks.sizes, "counts": asdict(blocks.counts), "left_out": links.left_out}
    stages.finish("links", document | {"same_and_known": blocks.same_and_known})
    return blocks, links.left_out


# --- hops -------------------------------------------------------------------------------------------------------------


def _width(allowed: int, work: Path, stages: Stages) -> int:
    """How many channels are propagated at a time: as many as an earlier process took, if the memory allows that."""
    begun = stages.result("width")
    if begun is not None and (begun <= allowed or stages.result("hops") is not None):
        return int(begun)
    for kind in ("json", "bin"):  # a file without its document is not whole
        for path in work.glob(f"hop-*.{kind}"):
            path.unlink()
    stages.finish("width", allowed)
    return allowed


def _hops(
    rows: NodeRows,
    blocks: Blocks,
    operator: Operator,
    hops: int,
    groups: list[slice],
    work: Path,
    stages: Stages,
    threads: int,
) -> None:
    """S^h X for every hop and group of channels, as files of float64; what they were made of is removed."""
    if stages.result("hops") is not None:
        return
    factors: npt.NDArray[np.float64] | None = None
    total = (len(blocks.starts) - 1) * hops * len(groups) + 1
    with stages.timed("propagate", total) as advance:
        for number, group in enumerate(groups):
            start = _hop_file(work, 0, number)
            if stages.result(f"hop-0-{number}") is None:
                with start.open("wb") as stream:
                    for first in range(0, len(rows), ROWS):
                        append(stream, rows.features(slice(first, first + ROWS))[:, group])
                stages.finish(f"hop-0-{number}", True)
            for hop in range(1, hops + 1):
                if stages.result(f"hop-{hop}-{number}") is not None:
                    continue
                if factors is None:
                    factors = degree_factors(blocks, operator, len(rows))
                source, target = _hop_file(work, hop - 1, number), _hop_file(work, hop, number)
                width = len(range(*group.indices(len(rows.recipe.features.channels))))
                multiply(blocks, operator, factors, source, target, width=width, threads=threads, done=advance)
                stages.finish(f"hop-{hop}-{number}", True)
    stages.finish("hops", True)
    rows.encoded.unlink()
    blocks.remove()


def _hop_file(work: Path, hop: int, group: int) -> Path:
    return work / f"hop-{hop}-{group}.bin"


# --- parts ------------------------------------------------------------------------------------------------------------


def _chunks(ids: NodeIds, rows: NodeRows, hops: int, groups: list[slice], work: Path, advance: Any) -> Iterator[Chunk]:
    channels = len(rows.recipe.features.channels)
    widths = [len(range(*group.indices(channels))) for group in groups]
    start = 0
    for _, texts in _together(ids.frames(ROWS), BATCH):
        place = slice(start, start + len(texts))
        by_hop = [
            np.hstack(
                [
                    np.fromfile(
                        _hop_file(work, hop, number),
                        dtype=np.float64,
                        count=len(texts) * width,
                        offset=start * width * 8,
                    ).reshape(-1, width)
                    for number, width in enumerate(widths)
                ]
            )
            for hop in range(hops + 1)
        ]
        yield Chunk(
            ids=texts,
            labels=rows.labels[place] if rows.recipe.label is not None else None,
            attributes=rows.attributes(place),
            splits={name: mask[place] for name, mask in rows.masks.items()},
            by_hop=by_hop,
        )
        start = place.stop
        advance(len(texts))


def _together(frames: Iterator[tuple[pl.DataFrame, pl.Series]], rows: int) -> Iterator[tuple[None, pl.Series]]:
    """The ids of frames, in pieces of so many rows, the last one shorter."""
    waiting: list[pl.Series] = []
    for _, texts in frames:
        waiting.append(texts)
        while sum(map(len, waiting)) >= rows:
            joined = pl.concat(waiting)
            yield None, joined[:rows]
            waiting = [joined[rows:]]
    if sum(map(len, waiting)):
        yield None, pl.concat(waiting)
