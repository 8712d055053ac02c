"""What do the columns of a node table hold? Their values are counted in Spark, and a small table stands for all rows.

Labels, groups, categories and splits depend on which values there are, not on where: the rules of `read_graph` are
applied to a table with one row for each value. What they say of rows (how many, and which) is asked of Spark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import polars as pl
from pyspark.sql import functions as F  # noqa: N812

from fairview.data.tables.cells import Table
from fairview.data.tables.columns import ColumnReader, Place, as_texts
from fairview.errors import InputError, Problems, option, shown, some
from fairview.propagation.engines.spark import on_workers
from fairview.propagation.engines.spark.ids import Ids
from fairview.propagation.engines.spark.on_workers import Cells, Kind, sent_by_name
from fairview.propagation.engines.spark.session import without_pandas_warning
from fairview.propagation.engines.spark.spark_table import SparkTable

MOST_VALUES = 1_000_000
"""Different values of all text columns together."""


@dataclass(frozen=True)
class Profile:
    """The values of each column that is read as text, and the kinds of cells of each that is read as numbers.

    Attributes:
        table: the node table.
        ids: of it.
        cells: how the columns are read.
        texts: by column: `text` (null where empty) in the order of the first node that has it, and `count`.
        kinds: by column: how many cells are of each kind.
    """

    table: SparkTable
    ids: Ids
    cells: Cells
    texts: dict[str, pl.DataFrame]
    kinds: dict[str, dict[int, int]]

    @classmethod
    def of(cls, table: SparkTable, ids: Ids, cells: Cells) -> Profile:
        """Count, in one pass over the rows."""
        rows = mapped(table, ids, cells.columns, on_workers.profile, on_workers.PROFILE, cells=cells)
        by_size = F.min(F.struct(F.length("first_by_size").alias("size"), F.col("first_by_size").alias("id")))["id"]
        counted = rows.groupBy("name", "text", "kind").agg(
            F.sum("count").alias("count"), F.min("first_by_text").alias("by_text"), by_size.alias("by_size")
        )
        listed = counted.limit(MOST_VALUES + 1).collect()
        if len(listed) > MOST_VALUES:
            most = counted.groupBy("name").count().orderBy(F.desc("count")).head()
            raise InputError(
                f"{table.name}: column '{shown(most['name'])}': {most['count']:,} different values, too many for a "
                "label, a sensitive attribute, a split or categories. Drop the column, or merge values."
            )
        columns = ["name", "text", "kind", "count", "id"]
        first = "by_size" if ids.whole else "by_text"
        plain = [[row["name"], row["text"], row["kind"], row["count"], row[first]] for row in listed]
        types = [pl.String, pl.String, pl.Int64, pl.Int64, pl.String]
        frame = pl.DataFrame(plain, schema=list(zip(columns, types, strict=True)), orient="row")
        key = [pl.col("id").str.len_chars(), pl.col("id")] if ids.whole else [pl.col("id")]
        frame = frame.sort(key)
        texts = {name: frame.filter((pl.col("name") == name) & (pl.col("kind") < 0)) for name in cells.texts}
        kinds = {
            name: dict(frame.filter((pl.col("name") == name) & (pl.col("kind") >= 0)).select("kind", "count").rows())
            for name in cells.numbers
        }
        return cls(table, ids, cells, texts, kinds)

    def count(self, column: str, chosen: npt.NDArray[np.bool_]) -> int:
        """How many nodes have one of the chosen values; `chosen` marks rows of the small table."""
        counts = self.texts[column]["count"].to_numpy()
        return int(counts[chosen[: len(counts)]].sum())

    def reader(self, problems: Problems, *, by_recipe: bool) -> ProfiledReader:
        """The small table: a row for each value, empty cells below."""
        height = max((frame.height for frame in self.texts.values()), default=1) or 1
        columns = {}
        for name, series in zip(self.table.columns, self.table.empty.frame, strict=True):
            columns[name] = pl.repeat(None, height, dtype=series.dtype, eager=True)
            if name in self.texts and as_texts(series) is not None:
                text = self.texts[name]["text"]
                columns[name] = text.extend_constant(None, height - len(text))
        small = Table(self.table.name, pl.DataFrame(columns))
        return ProfiledReader(
            small, Place(None), problems, self.cells.missing_values, by_recipe=by_recipe, profile=self
        )

    def faults(self, column: str, function: Any, **chosen: Any) -> tuple[list[str], str | None]:
        """The first five ids of rows with a fault in a column, and the first text."""
        cells = replace(self.cells, columns=(column,), texts=(), numbers=())
        rows = mapped(self.table, self.ids, [column], function, on_workers.FAULTS, cells=cells, **chosen)
        first = rows.orderBy(*self.ids.order(F.col("id"))).limit(5).collect()
        return [row["id"] for row in first], first[0]["text"] if first else None

    def place(self, count: int, ids: Sequence[str]) -> str:
        """How messages point at rows."""
        more = f" and {count - 5:,} more" if count > 5 else ""
        return f"{'ids' if count > 1 else 'id'} {some(ids)}{more}"


@dataclass(frozen=True)
class ProfiledReader(ColumnReader):
    """Reads the small table, and asks Spark which rows have a fault."""

    profile: Profile | None = field(default=None)

    def numbers(self, columns: Sequence[str]) -> npt.NDArray[np.float64]:
        """Zeros: the numbers stay in Spark. Columns that are none are problems."""
        faulty = [name for name in columns if self._fault(name) is not None]
        for name in self.problems.first(faulty):
            self._report_kind(name)
        return np.zeros((self.table.frame.height, len(columns)))

    def _fault(self, name: str) -> tuple[Kind, ...] | None:
        """The kinds of cells that a column of numbers can't have."""
        if not _readable(self._profile.table.empty.frame[name].dtype):
            return ()
        kinds = self._profile.kinds[name]
        has = {kind: kinds.get(kind, 0) > 0 for kind in Kind}
        if has[Kind.OTHER] or (has[Kind.TRUTH] and (has[Kind.NUMBER] or has[Kind.BEYOND])):
            return Kind.TRUTH, Kind.OTHER
        return (Kind.BEYOND,) if has[Kind.BEYOND] else None

    def _report_kind(self, name: str) -> None:
        fault = self._fault(name)
        if not fault:
            dtype = self._profile.table.empty.frame[name].dtype
            self.add(name, f"holds {dtype} values, not numbers. Turn them into numbers, or drop the column.")
            return
        count = sum(self._profile.kinds[name].get(kind, 0) for kind in fault)
        ids, first = self._profile.faults(name, on_workers.with_kind, kinds=fault)
        where, total = self._profile.place(count, ids), self._profile.ids.count
        if fault == (Kind.BEYOND,):
            self.add(
                name,
                f"{count:,} of {total:,} values are infinite or beyond float32 ({where}; first: {shown(first)}). "
                "Correct them, or drop the column.",
            )
            return
        everything = replace(self, table=_Counted(self.table.name, self.table.frame, total=total), place=_Said(where))
        rows = cast("Any", range(count))
        everything._not_numbers(name, pl.Series([(first or "").strip()]), rows)

    def report_new(self, column: str, texts: pl.Series, known: Sequence[str], remedy: str = "") -> None:
        """Values that a recipe does not know, with the nodes that have them."""
        new = (texts.is_not_null() & ~texts.is_in(list(known)).fill_null(value=False)).to_numpy()
        if not new.any():
            return
        values = texts.filter(pl.Series(new)).unique(maintain_order=True)
        ids, _ = self._profile.faults(column, on_workers.with_text, texts=values.to_list())
        place = _Said(self._profile.place(self._profile.count(column, new), ids))
        ColumnReader.report_new(replace(self, place=place), column, texts, known, remedy)

    def report_empty(self, column: str, count: int, *, numbers: bool) -> None:
        """A feature with empty cells, which were not allowed."""
        total = self._profile.ids.count
        if count == total:
            self.add(column, f"all {count:,} rows are empty. Drop the column ({option('drop', [column])}).")
            return
        chosen: dict[str, Any] = {"kinds": (Kind.EMPTY,)} if numbers else {"texts": [None]}
        ids, _ = self._profile.faults(column, on_workers.with_kind if numbers else on_workers.with_text, **chosen)
        text = f"{count:,} of {total:,} rows are empty ({self._profile.place(count, ids)})"
        self.add(column, f"{text}. Fill them, drop them, or pass {option('missing', 'mean')}.")

    @property
    def _profile(self) -> Profile:
        if self.profile is None:
            raise TypeError("a reader of a profile needs one")
        return self.profile


@dataclass(frozen=True)
class _Said(Place):
    """A place that is known already."""

    ids: Any  # the text

    def __call__(self, rows: Any) -> str:  # noqa: ARG002 - known already
        return str(self.ids)


@dataclass(frozen=True)
class _Counted(Table):
    """The small table, as long as the one that it stands for."""

    total: int = 0

    def __len__(self) -> int:
        return self.total


def mapped(table: SparkTable, ids: Ids, columns: Sequence[str], function: Any, schema: str, **settings: Any) -> Any:
    """The rows that a function of `on_workers` makes of the ids and some columns."""
    chosen = table.frame.select(table.ids(ids.column), *(table.column(name) for name in columns))
    with without_pandas_warning():
        return chosen.mapInArrow(sent_by_name(function, **settings), schema)


def _readable(dtype: Any) -> bool:
    return dtype in (pl.String, pl.Boolean, pl.Null) or dtype.is_numeric()
