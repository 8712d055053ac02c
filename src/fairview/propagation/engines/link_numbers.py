"""Which numbers do the ends of a link have? Read from the edge table some rows at a time, as often as it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from fairview.data.tables.cells import Table
from fairview.data.tables.columns import as_texts, whole_texts
from fairview.data.tables.edges import end_columns, has_header, without_strangers
from fairview.data.tables.links import direction
from fairview.data.tables.weight_column import read_weights
from fairview.errors import InputError, Problems, quoted
from fairview.propagation.engines.database import Database
from fairview.propagation.engines.link_blocks import Ints, Pairs
from fairview.propagation.engines.node_ids import NodeIds
from fairview.propagation.inputs import TableFiles

_ROWS = 4_000_000
_WHOLE = "^(0|[1-9][0-9]{0,17})$"
_NUMBER = r"^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$"


@dataclass
class LinkNumbers:
    """The edge table, whose rows become pairs of node numbers.

    Attributes:
        name: of the table.
        nodes_name: of the node table.
        paths: Parquet files.
        columns: of both ends; those of the joined file if ids are texts.
        ends: of both ends, as the recipe remembers them; None without a header.
        weight: column with the weight.
        count: of the rows.
        ids: of the nodes.
        directed: whether links stay as they are.
        drop_unknown: whether links to ids that are no nodes are left out.
        joined: whether the numbers are there already.
        notes: how the table was understood.
        left_out: what was left out, after the first pass.
    """

    name: str
    nodes_name: str
    paths: tuple[Path, ...]
    columns: tuple[str, str]
    ends: tuple[str, str] | None
    weight: str | None
    count: int
    ids: NodeIds
    directed: bool
    drop_unknown: bool
    joined: bool
    notes: list[str]
    left_out: list[str] = field(default_factory=list)
    known: int = 0
    self_loops: int = 0

    @classmethod
    def open(
        cls, database: Database, files: TableFiles, ids: NodeIds, nodes_name: str, reading: dict[str, Any]
    ) -> LinkNumbers:
        """Find the columns, and join the table with the nodes if their ids are texts."""
        paths = database.edge_files(files, reading)
        table = Table(files.name, pl.DataFrame(schema=pl.read_parquet_schema(paths[0])))
        problems, recipe = Problems(), reading.get("recipe")
        notes: list[str] = []
        directed = direction(reading.get("directed"), recipe, notes, problems)
        problems.raise_if_any()
        before = recipe.ends if recipe else None
        ends = end_columns(table, reading.get("source"), reading.get("target"), before=before, directed=directed)
        weight = recipe.edge_weight if recipe else reading.get("edge_weight")
        if weight is not None:
            read_weights(table, weight, ends=ends)  # is it there, and no end?
        count = int(pl.scan_parquet(list(paths), glob=False).select(pl.len()).collect().item())
        if not count:
            notes.append(f"{files.name}: no edges")
        ignored = [column for column in table.columns if column not in (*ends, weight)]
        if ignored:
            notes.append(f"{files.name}: columns {quoted(ignored)} ignored; '{ends[0]}' and '{ends[1]}' are the ends")
        kept = ends if has_header(table) else None
        columns, joined = ends, ids.kind == "text"
        if joined:
            paths = (database.joined(paths, ids, ends, weight, files.name),)
            columns, weight = ("source", "target"), None if weight is None else "weight"
        return cls(
            name=files.name,
            nodes_name=nodes_name,
            paths=tuple(paths),
            columns=columns,
            ends=kept,
            weight=weight,
            count=count,
            ids=ids,
            directed=directed,
            drop_unknown=bool(reading.get("drop_unknown")),
            joined=joined,
            notes=notes,
        )

    @property
    def weighted(self) -> bool:
        return self.weight is not None

    def batches(self, done: Callable[[int], None], *, check: bool = False) -> Iterator[Pairs]:
        """Numbers of source and target of the links between known nodes, without self-loops, and their weights.

        Args:
            done: called with the number of rows just read.
            check: count what is left out, and refuse what can't be.
        """
        unknown, empty, loops = 0, [0, 0], 0
        examples: list[str] = []
        for frame in self._frames():
            (source, first), (target, second), strangers = self._numbers(frame)
            known = first & second
            if check:
                empty = [count + frame[name].null_count() for count, name in zip(empty, self.columns, strict=True)]
                if self.joined:
                    empty = [int(frame["empty"].sum()) + empty[0] * 0, 0]
                unknown += int((~known).sum())
                if len(examples) < 5:
                    examples = list(dict.fromkeys([*examples, *strangers(~known)]))[:5]
            weights = self._weights(frame)
            loop = known & (source == target)
            loops += int(loop.sum())
            kept = known & ~loop
            done(frame.height)
            yield source[kept], target[kept], None if weights is None else weights[kept]
        if check:
            self._report(empty, unknown, examples)
            self.known, self.self_loops = self.count - unknown, loops

    def _report(self, empty: Sequence[int], unknown: int, examples: list[str]) -> None:
        names = self.ends or self.columns
        problems = [
            f"{self.name}: column '{column}': {count:,} of {self.count:,} cells are empty."
            for column, count in zip(names, empty, strict=True)
            if count
        ]
        if problems:
            raise InputError(problems)
        if unknown:
            strangers = pl.Series(examples, dtype=pl.String)
            self.left_out = [
                without_strangers(
                    unknown,
                    self.count,
                    strangers,
                    edges=self.name,
                    nodes=[self.nodes_name],
                    drop_unknown=self.drop_unknown,
                )
            ]

    def _frames(self) -> Iterator[pl.DataFrame]:
        wanted = [
            *self.columns,
            *([self.weight] if self.weight else []),
            *(["empty", "stranger"] if self.joined else []),
        ]
        for path in self.paths:
            lazy = pl.scan_parquet(path, glob=False)
            height = int(lazy.select(pl.len()).collect().item())
            for start in range(0, height, _ROWS):
                yield lazy.select(wanted).slice(start, _ROWS).collect()

    def _numbers(self, frame: pl.DataFrame) -> Any:
        """(numbers, which are known) of both ends, and a function that names the unknown ones."""
        if self.joined:
            ends = [
                (frame[name].fill_null(-1).to_numpy(), frame[name].is_not_null().to_numpy()) for name in self.columns
            ]
            return (
                *ends,
                lambda rows: (
                    frame["stranger"].filter(pl.Series(rows)).drop_nulls().unique(maintain_order=True).to_list()
                ),
            )
        values = [whole_ids(frame[name], f"{self.name}: column '{name}'") for name in self.columns]
        ends = [self.ids.numbers(each) for each in values]

        def strangers(rows: npt.NDArray[np.bool_]) -> list[str]:
            texts = [
                as_texts(frame[name].filter(pl.Series(rows & ~known)))
                for name, (_, known) in zip(self.columns, ends, strict=True)
            ]
            return [
                text
                for series in texts
                if series is not None
                for text in series.drop_nulls().unique(maintain_order=True)
            ]

        return *ends, strangers

    def _weights(self, frame: pl.DataFrame) -> npt.NDArray[np.float64] | None:
        if self.weight is None:
            return None
        return read_weights(Table(self.name, frame), self.weight, ends=self.columns)


def whole_ids(series: pl.Series, where: str) -> Ints:
    """Ids as whole numbers, -1 for what is none; only `7` is 7, and `007` is none."""
    if series.dtype.is_integer():
        narrow = series.cast(pl.Int64, strict=False)
        return narrow.fill_null(-1).to_numpy()
    if series.dtype.is_float():
        return whole_texts(series.fill_nan(None), where).cast(pl.Int64).fill_null(-1).to_numpy()
    texts = as_texts(series)
    if texts is None:
        raise InputError(f"{where}: {series.dtype} values can't be ids.")
    whole = texts.str.contains(_WHOLE).fill_null(value=False)
    if not whole.all() and texts.drop_nulls().str.contains(_NUMBER).all() and texts.str.contains("[.eE]").any():
        return whole_texts(texts.cast(pl.Float64), where).cast(pl.Int64).fill_null(-1).to_numpy()
    return texts.set(~whole, None).cast(pl.Int64).fill_null(-1).to_numpy()
