"""What is in a propagated folder? A manifest, and Parquet parts with every node's features after 0 to L hops.

manifest.json     how it was made, what it holds, the sha256 of every part
part-*.parquet    id, label (0, 1), sensitive (the group), split, and a column CHANNEL@HOP for each channel and hop

Of several sensitive attributes each has a column of its own, such as `sensitive:race` (docs/adr/0035).

It is read row by row, in memory that does not grow with the graph: `audit`, `train`, `tune` and `predict` take it in
place of a graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from fairview.attributes import Attribute, each_and_together, intersection
from fairview.data.graph import NodeGraph, Provenance
from fairview.data.graph_arrays import fields_of
from fairview.data.stored_links import HopMoments, StoredLinks
from fairview.data.tables.columns import codes_in
from fairview.errors import InputError, command, in_one_line
from fairview.groups import UNKNOWN
from fairview.manifest import file_sha256, unsealed
from fairview.propagation.blocks import column_name
from fairview.propagation.facts import MANIFEST, PropagatedFacts, facts_from

BATCH = 1_000_000
"""Rows of a part, and rows that are read at a time."""


@dataclass(frozen=True)
class Cost:
    """What it took to make a folder: seconds by stage, the largest resident size, and the size on disk (MB = 2^20)."""

    seconds: dict[str, float]
    peak_memory_mb: float
    disk_mb: float


@dataclass(frozen=True)
class Propagated:
    """A propagated folder, opened; make one with `fairview.open_propagated`. Rows are read when they are asked for."""

    folder: Path
    facts: PropagatedFacts
    sha256: str  # of the manifest
    cost: Cost | None = None  # if it has just been made

    @property
    def num_nodes(self) -> int:
        return self.facts.nodes

    @property
    def channels(self) -> tuple[str, ...]:
        return self.facts.channels

    @cached_property
    def paths(self) -> list[Path]:
        return [self.folder / part.name for part in self.facts.parts]

    def frames(
        self, columns: Sequence[str] | None = None, *, rows: int = BATCH, between: tuple[int, int] | None = None
    ) -> Iterator[pl.DataFrame]:
        """The rows in order, as polars frames of at most so many.

        Args:
            columns: which, all by default.
            rows: at most so many at a time.
            between: the first row and the one behind the last; no others are read.
        """
        first, last = (0, self.num_nodes) if between is None else between
        before = 0  # rows of the parts so far
        for part, path in zip(self.facts.parts, self.paths, strict=True):
            lazy = pl.scan_parquet(path)
            chosen = lazy if columns is None else lazy.select(columns)
            end = min(part.rows, last - before)
            for start in range(max(first - before, 0), end, rows):
                try:
                    yield chosen.slice(start, min(rows, end - start)).collect()
                except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
                    raise InputError(f"{path}: can't be read ({in_one_line(error)}).") from None
            before += part.rows

    def frames_of(
        self,
        chosen: npt.NDArray[np.integer[Any]] | None,
        columns: Sequence[str] | None = None,
        *,
        rows: int = BATCH,
    ) -> Iterator[pl.DataFrame]:
        """Some nodes by row number, ascending, or all, as `frames` gives them; what lies around them is not read."""
        between = None if chosen is None else (int(chosen[0]), int(chosen[-1]) + 1) if len(chosen) else (0, 0)
        start = 0 if between is None else between[0]
        for frame in self.frames(columns, rows=rows, between=between):
            if chosen is None:
                yield frame
            else:
                first, last = np.searchsorted(chosen, (start, start + frame.height))
                yield frame if last - first == frame.height else frame[chosen[first:last] - start]
            start += frame.height

    def column(self, name: str) -> pl.Series:
        """One column of all nodes."""
        return pl.concat([frame[name] for frame in self.frames([name])])

    def labels(self) -> npt.NDArray[np.int8]:
        """1, 0, and -1 where it is not known."""
        if not self.facts.labelled:
            return np.full(self.num_nodes, UNKNOWN, dtype=np.int8)
        return self.column("label").fill_null(UNKNOWN).to_numpy()

    def sensitive(self) -> npt.NDArray[np.int16]:
        """Codes into `facts.groups`, of several attributes the combinations; -1 where the group is not known."""
        return self.codes_of(self.facts.sensitive_name)

    def codes_of(self, name: str) -> npt.NDArray[np.int16]:
        """The codes of all nodes by one sensitive attribute, or by all together."""
        if not self.facts.groups:
            return np.full(self.num_nodes, UNKNOWN, dtype=np.int16)
        named = [each.name for each in self.facts.views].index(name)
        pieces = map(self.attributes, self.frames(self.facts.group_columns))
        return np.concatenate([each_and_together(piece)[named].codes for piece in pieces])

    def splits(self) -> dict[str, npt.NDArray[np.bool_]]:
        """The masks by name."""
        if not self.facts.splits:
            return {}
        column = self.column("split")
        return {name: (column == name).fill_null(value=False).to_numpy() for name in self.facts.splits}

    def graph(self, rows: npt.NDArray[np.integer[Any]] | None = None) -> NodeGraph:
        """Some nodes, ascending, or all, as a graph whose links are stored hops (`StoredLinks`)."""
        pieces = list(self.frames_of(rows))
        frame = pl.concat(pieces) if pieces else next(self.frames()).clear()
        return self.graph_of(frame)

    def graphs(self, *, rows: int = 200_000) -> Iterator[NodeGraph]:
        """All nodes in order, as graphs of at most so many."""
        return map(self.graph_of, self.frames(rows=rows))

    def sample(self, *, rows: int | None = None, seed: int = 0) -> NodeGraph:
        """The nodes that a model is trained on, as a graph: all, or a sample if there are too many.

        Args:
            rows: how many at most [default: 2,000,000, or fewer if there are many channels].
            seed: of the sample.
        """
        from fairview.propagation.sampling import training_sample

        return training_sample(self, rows=rows, seed=seed)

    def graph_of(self, frame: pl.DataFrame) -> NodeGraph:
        """Rows of the folder, as `frames` gives them, as a graph."""
        facts, n = self.facts, frame.height
        by_hop = tuple(
            frame.select(column_name(channel, hop) for channel in facts.channels).to_numpy().astype(np.float32)
            for hop in range(facts.hops + 1)
        )
        links = StoredLinks.of(
            by_hop,
            directed=facts.directed,
            kind=facts.operator.kind,
            self_loops=facts.operator.self_loops,
            edges=facts.links,
            has_weights=facts.weighted,
            same_and_known={each.name: (each.same_group, each.known_groups) for each in facts.views},
            nodes=facts.nodes,
            moments=self._moments,
            folder_sha256=self.sha256,
        )
        unknown = pl.repeat(None, n, dtype=pl.String, eager=True)
        split = frame["split"] if "split" in frame.columns else unknown
        return NodeGraph(
            features=by_hop[0],
            channels=facts.channels,
            adjacency=links,
            labels=frame["label"].fill_null(UNKNOWN).to_numpy()
            if "label" in frame.columns
            else np.full(n, UNKNOWN, dtype=np.int8),
            classes=facts.classes,
            **fields_of(self.attributes(frame)),
            node_ids=tuple(frame["id"]),
            splits={name: (split == name).fill_null(value=False).to_numpy() for name in facts.splits},
            provenance=Provenance(
                source=facts.source, sha256=facts.inputs | {MANIFEST: self.sha256}, notes=facts.notes
            ),
            recipe=facts.recipe,
        )

    def check(self) -> None:
        """Every part must be there and match its sha256.

        Raises:
            InputError: one does not.
        """
        known = _hashes(self.folder)
        for path in self.paths:
            try:
                same = file_sha256(path) == known.get(path.name)
            except OSError:
                raise InputError(f"{path}: is missing, although {MANIFEST} records it.") from None
            if not same:
                raise InputError(f"{path}: does not match its sha256 in {MANIFEST}; it is damaged or changed.")

    @cached_property
    def _moments(self) -> tuple[HopMoments, ...]:
        return tuple(HopMoments(np.array(each.mean), np.array(each.covariance)) for each in self.facts.moments)

    def attributes(self, frame: pl.DataFrame) -> list[Attribute]:
        """The sensitive attributes of some rows, one or several; unknown where their column is not among the rows's."""
        columns = self.facts.group_columns or ("",)
        return [
            Attribute(held.name, _codes(frame, column, held.groups), held.groups, held.channels)
            for column, held in zip(columns, self.facts.held, strict=True)
        ]

    def codes(self, frame: pl.DataFrame) -> npt.NDArray[np.int16]:
        """The groups of some rows as codes into `facts.groups`, -1 where it is not known."""
        return intersection(self.attributes(frame)).codes

    def __repr__(self) -> str:
        facts = self.facts
        size = f"{facts.nodes:,} nodes, {facts.links:,} links, {len(facts.channels)} channels, {facts.hops} hops"
        return f"Propagated({self.folder}: {size}, operator '{facts.operator.kind}')"


def _codes(frame: pl.DataFrame, column: str, groups: Sequence[str]) -> npt.NDArray[np.int16]:
    if column not in frame.columns:
        return np.full(frame.height, UNKNOWN, dtype=np.int16)
    return codes_in(frame[column], groups)


def open_propagated(folder: str | Path) -> Propagated:
    """Open a propagated folder, as `fairview.propagate` writes it; its rows are read when they are needed.

    Raises:
        InputError: it is not one, it is unfinished, damaged or changed.
    """
    folder = Path(folder)
    path = folder / MANIFEST
    if not path.is_file():
        if (folder / ".work").is_dir():
            raise InputError(f"{folder}: unfinished; run the same `propagate` again, it goes on.")
        raise InputError(f"{folder}: no propagated folder: it has no {MANIFEST}. Make one with {command('propagate')}.")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: can't be read ({error.strerror or error}).") from None
    document = unsealed(content, path)
    files = document.pop("files", None)
    sha256 = document.pop("sha256")
    facts = facts_from(document, files, path)
    propagated = Propagated(folder, facts, sha256)
    for part, there in zip(facts.parts, propagated.paths, strict=True):
        if not there.is_file():
            raise InputError(f"{there}: is missing, although {MANIFEST} records it.")
        if (size := there.stat().st_size) != part.bytes:
            raise InputError(f"{there}: has {size:,} bytes, and {MANIFEST} records {part.bytes:,}; it is damaged.")
    return propagated


def _hashes(folder: Path) -> dict[str, str]:
    return dict(unsealed((folder / MANIFEST).read_bytes(), folder / MANIFEST)["files"])
