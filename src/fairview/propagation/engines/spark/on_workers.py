"""What does a worker do with some rows of the node table? Read their cells by the same code as in memory.

Functions here run in the Python processes of Spark's executors, on batches of Arrow. They are sent by name, and what
they need comes along as plain data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from fairview.attributes import each_and_together
from fairview.data.graph import SPLIT_NAMES
from fairview.data.splits import split_from_column
from fairview.data.tables.cells import Table
from fairview.data.tables.columns import LARGEST, ColumnReader, Place, as_texts
from fairview.data.tables.recipe import Column, Label, Sensitive, encode
from fairview.data.tables.roles import apply_attributes, apply_label, attributes_of
from fairview.data.tables.texts import TRUTH
from fairview.errors import Problems

ID = "id"
"""The first column of every batch, as text; the others have the names that the plan says."""


class Kind(IntEnum):
    """What a cell of a column of numbers is."""

    EMPTY = 0
    NUMBER = 1
    TRUTH = 2
    OTHER = 3
    BEYOND = 4  # infinite, or more than float32 holds


@dataclass(frozen=True)
class Cells:
    """Which columns come, after the ids, and how they are read.

    Attributes:
        columns: their names.
        texts: those whose texts count: label, sensitive attribute, split, categories.
        numbers: those that are features as numbers.
        missing_values: texts that mean missing.
    """

    columns: tuple[str, ...]
    texts: tuple[str, ...]
    numbers: tuple[str, ...]
    missing_values: tuple[str, ...]

    def reader(self, batch: pa.RecordBatch) -> tuple[pl.Series, ColumnReader]:
        """The ids of a batch, and a reader of its other columns."""
        frame = pl.DataFrame(pl.from_arrow(pa.Table.from_batches([batch])))
        frame.columns = [ID, *(f"c{place}" for place in range(len(self.columns)))]
        ids = frame[ID]
        frame = frame.drop(ID)
        frame.columns = list(self.columns)
        return ids, ColumnReader(Table("nodes", frame), Place(None), Problems(), self.missing_values)


# --- what do the columns hold? ----------------------------------------------------------------------------------------

PROFILE = "name string, text string, kind int, count long, first_by_text string, first_by_size string"
"""Of each value of a column, or each kind of cell: how many there are, and the first id that has it, in both orders."""


def profile(batches: Iterable[pa.RecordBatch], *, cells: Cells) -> Iterator[pa.RecordBatch]:
    """Count the values of text columns, and the kinds of cells of number columns."""
    for batch in batches:
        ids, reader = cells.reader(batch)
        counts = [_counted(ids, texts_of(reader, name), None, name) for name in cells.texts]
        counts += [_counted(ids, None, kinds_of(reader, name), name) for name in cells.numbers]
        if counts:
            yield from _sent(pl.concat(counts), PROFILE)


def texts_of(reader: ColumnReader, name: str) -> pl.Series:
    """The cells as texts without blanks around them, null where missing."""
    text = as_texts(reader.table.frame[name])
    if text is None:  # lists and the like: reported by their type
        return pl.repeat(None, len(reader.table), dtype=pl.String, eager=True)
    return reader._stripped(text)


def kinds_of(reader: ColumnReader, name: str) -> pl.Series:
    """What each cell of a column of numbers is."""
    series = reader.table.frame[name]
    if series.dtype != pl.String:
        numbers, wrong = reader._values([series])
        kind = np.where(np.isnan(numbers[0]), Kind.EMPTY, np.where(wrong[0], Kind.BEYOND, Kind.NUMBER))
        return pl.Series(kind, dtype=pl.Int32)
    text = reader._stripped(series)
    number = text.cast(pl.Float64, strict=False)
    truth = text.is_in(list(TRUTH))
    return pl.select(
        pl.when(text.is_null())
        .then(Kind.EMPTY)
        .when((number.abs() > LARGEST) & number.is_not_nan())
        .then(Kind.BEYOND)
        .when(number.is_not_null() & number.is_not_nan())
        .then(Kind.NUMBER)
        .when(truth)
        .then(Kind.TRUTH)
        .otherwise(Kind.OTHER)
        .cast(pl.Int32)
    ).to_series()


def _counted(ids: pl.Series, text: pl.Series | None, kind: pl.Series | None, name: str) -> pl.DataFrame:
    n = len(ids)
    frame = pl.DataFrame(
        {
            "text": pl.repeat(None, n, dtype=pl.String, eager=True) if text is None else text,
            "kind": pl.repeat(-1, n, dtype=pl.Int32, eager=True) if kind is None else kind,
            "id": ids,
            "size": ids.str.len_chars(),
        }
    )
    counted = frame.group_by("text", "kind").agg(
        count=pl.len().cast(pl.Int64),
        first_by_text=pl.col("id").min(),
        first_by_size=pl.col("id").sort_by("size", "id").first(),
    )
    return counted.select(pl.lit(name).alias("name"), "text", "kind", "count", "first_by_text", "first_by_size")


# --- which rows have a fault? -----------------------------------------------------------------------------------------

FAULTS = "id string, text string"


def with_kind(batches: Iterable[pa.RecordBatch], *, cells: Cells, kinds: Sequence[int]) -> Iterator[pa.RecordBatch]:
    """Ids and texts of the cells of the only column that are of these kinds."""
    for batch in batches:
        ids, reader = cells.reader(batch)
        name = cells.columns[0]
        chosen = kinds_of(reader, name).is_in(list(kinds))
        text = as_texts(reader.table.frame[name])
        yield from _sent(pl.DataFrame({"id": ids, "text": text}).filter(chosen), FAULTS)


def with_text(
    batches: Iterable[pa.RecordBatch], *, cells: Cells, texts: Sequence[str | None]
) -> Iterator[pa.RecordBatch]:
    """Ids and texts of the cells of the only column that have one of these texts; None is an empty cell."""
    for batch in batches:
        ids, reader = cells.reader(batch)
        text = texts_of(reader, cells.columns[0])
        chosen = text.is_in(list(texts), nulls_equal=True)
        yield from _sent(pl.DataFrame({"id": ids, "text": text}).filter(chosen), FAULTS)


# --- the numbers of each node -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """How the rows become nodes: all of it is decided."""

    cells: Cells
    columns: tuple[str, ...]  # each feature column, as JSON
    label: str | None
    attributes: tuple[str, ...]  # the rule of each sensitive column, as JSON
    split: str | None

    @property
    def schema(self) -> str:
        """Of the rows that leave: id, label, codes of groups, split, and each channel, empty where it is missing."""
        channels = sum(Column.model_validate_json(column).width for column in self.columns)
        listed = ", ".join(f"x{place} double" for place in range(channels))
        codes = "".join(f"{name} short, " for name in self.codes)
        return f"id string, label byte, {codes}split string, gap boolean{', ' if channels else ''}{listed}"

    @property
    def codes(self) -> tuple[str, ...]:
        """The columns of the codes: of each sensitive attribute and, of several, last of all together."""
        views = len(self.attributes) + (len(self.attributes) > 1)
        return tuple(f"code{place}" for place in range(views))


def encoded(batches: Iterable[pa.RecordBatch], *, plan: Plan) -> Iterator[pa.RecordBatch]:
    """Labels, groups, splits and channels, before anything is filled or scaled."""
    columns = tuple(Column.model_validate_json(column) for column in plan.columns)
    label = None if plan.label is None else Label.model_validate_json(plan.label)
    rules = [Sensitive.model_validate_json(rule) for rule in plan.attributes]
    schema = plan.schema
    for batch in batches:
        ids, reader = plan.cells.reader(batch)
        numbers = encode(columns, reader)
        views = each_and_together(attributes_of(apply_attributes(reader, rules), rules))
        rows = pl.DataFrame(
            {
                "id": ids,
                "label": apply_label(reader, label),
                **{name: each.codes for name, each in zip(plan.codes, views, strict=True)},
                "split": _splits(reader, plan.split),
                "gap": np.isnan(numbers).any(axis=1),
            }
        ).with_columns(pl.Series(f"x{place}", values, nan_to_null=True) for place, values in enumerate(numbers.T))
        reader.problems.raise_if_any()
        yield from _sent(rows, schema)


def _splits(reader: ColumnReader, column: str | None) -> pl.Series:
    parts = pl.repeat(None, len(reader.table), dtype=pl.String, eager=True)
    if column is not None:
        masks = split_from_column(texts_of(reader, column).to_list(), name=column)
        for name in SPLIT_NAMES:
            parts = parts.set(pl.Series(masks[name]), name)
    return parts


# --- between Spark and polars -----------------------------------------------------------------------------------------

_ARROW = {
    "string": pa.string(), "int": pa.int32(), "long": pa.int64(), "double": pa.float64(), "byte": pa.int8(),
    "short": pa.int16(), "boolean": pa.bool_(),
}  # fmt: skip


def _sent(rows: pl.DataFrame, schema: str) -> list[pa.RecordBatch]:
    fields = [pa.field(name, _ARROW[kind]) for name, kind in (field.split(" ") for field in schema.split(", "))]
    batches: list[pa.RecordBatch] = rows.to_arrow().cast(pa.schema(fields)).to_batches()
    return batches


def sent_by_name(function: Any, **settings: Any) -> Any:
    """A function of this module with its settings, as `mapInArrow` takes it."""
    return partial(function, **settings)
