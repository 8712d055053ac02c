"""Which column is the id, the label, the sensitive attribute? Each read exactly, with its own rules."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from fairview.data.splits import Split, split_from_column
from fairview.data.tables.cells import Table, require_columns
from fairview.data.tables.columns import ColumnReader, Place, as_texts
from fairview.data.tables.recipe import Label, Sensitive
from fairview.errors import InputError, Problems, did_you_mean, embed, option, quoted, some
from fairview.groups import UNKNOWN

MOST_GROUPS = 20
"""Distinct sensitive values beyond which a column is taken for a quantity."""

_WHOLE = re.compile(r"0|[1-9][0-9]*")


def read_ids(table: Table, column: str, problems: Problems) -> tuple[str, ...] | None:
    """The ids as exact texts; None if they are a problem."""
    if column not in table.columns:
        problems.add(f"{table.missing(column)} Without {option('id')}, the column 'id' or the row numbers are the ids.")
        return None
    where, place = f"{table.name}: column '{column}'", Place(None)
    series = table.frame[column]
    texts = as_texts(series)
    if texts is None:
        problems.add(f"{where}: {series.dtype} values can't be ids; use texts or whole numbers.")
        return None
    texts = texts.fill_null("")
    empty = np.flatnonzero((texts == "").to_numpy())
    if len(empty):
        problems.add(f"{where}: {len(empty):,} of {len(texts):,} ids are empty ({place(empty)}).")
        return None
    if series.dtype.is_float():
        odd = np.flatnonzero(~((series == series.round()) & (series.abs() < 2**53)).to_numpy())
        if len(odd):
            example = f"{series[int(odd[0])]} ({place(odd)})"
            problems.add(f"{where}: ids must be texts or whole numbers below 2**53, got {example}.")
            return None
    repeated = texts.filter(texts.is_duplicated()).unique(maintain_order=True)
    if len(repeated):
        rows = np.flatnonzero(texts.is_duplicated().to_numpy())
        problems.add(f"{where}: {len(repeated):,} ids occur more than once: {quoted(repeated)} ({place(rows)}).")
        return None
    return tuple(texts)


def id_order(ids: tuple[str, ...]) -> npt.NDArray[np.intp]:
    """The order in which a graph keeps its nodes, whatever the order of the file: whole numbers by size, else texts."""
    if not all(_WHOLE.fullmatch(value) for value in ids):
        return np.array(sorted(range(len(ids)), key=ids.__getitem__), dtype=np.intp)
    if max(map(len, ids), default=0) < 19:
        return np.argsort(np.array(ids, dtype=np.int64), kind="stable")
    return np.array(sorted(range(len(ids)), key=lambda row: (len(ids[row]), ids[row])), dtype=np.intp)


def read_label(
    reader: ColumnReader,
    column: str | None,
    positive: str | None,
    classes: tuple[str, str] | None,
    notes: list[str],
) -> tuple[npt.NDArray[np.int8], Label | None]:
    """Labels (1, 0, and -1 where empty) and what they mean; {0, 1} and {-1, 1} are understood by themselves."""
    nothing = np.full(len(reader.table), UNKNOWN, dtype=np.int8), None
    if column is None or not require_columns(reader.table, [column], reader.problems):
        return nothing
    texts = _label_texts(reader, column)
    if texts is None:
        return nothing
    values = sorted(texts.drop_nulls().unique())
    where = f"{reader.table.name}: column '{column}'"
    if not values:
        reader.problems.add(f"{where}: every label is empty.")
        return nothing
    negative = "0"
    if positive is not None:
        positive = _as_written(positive, values)
    if positive is None:
        if set(values) <= {"0", "1"} or set(values) <= {"-1", "1"}:
            positive, negative = "1", "-1" if "-1" in values else "0"
            values = [negative, positive]
        else:
            listed = quoted(values, limit=10)
            example = option("positive", values[-1])
            reader.problems.add(f"{where}: the labels are {listed}. Say which is positive, for example {example}.")
            positive = "1"
    elif positive not in values:
        listed = quoted(values, limit=10)
        hint = did_you_mean(positive, values) if len(values) > 10 else ""
        reader.problems.add(f"{where}: no label '{positive}'; the labels are {listed}.{hint}")
    else:
        others = [value for value in values if value != positive]
        negative = others[0] if len(others) == 1 else f"not {positive}"
        if len(others) > 1:
            notes.append(f"labels {quoted(others)} count as negative")
    labels = _labels(texts, positive)
    unlabelled = int((labels == UNKNOWN).sum())
    if unlabelled:
        notes.append(f"{unlabelled:,} nodes have no label: they are propagated, but in no loss and no metric")
    names = classes or (negative, positive)
    return labels, Label(column=column, values=tuple(values), positive=positive, classes=names)


def _as_written(value: object, values: Sequence[str]) -> str:
    """A value of the caller's as the column's texts write it: True is true, and 1.0 is 1 if the column has that."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    whole = text.removesuffix(".0")
    return whole if text not in values and whole in values else text


def _label_texts(reader: ColumnReader, column: str) -> pl.Series | None:
    """The labels as texts; 1.0 is written 1 where all are -1, 0 and 1."""
    texts = reader.texts(column)
    if texts is None:
        return None
    numbers = texts.cast(pl.Float64, strict=False)
    if numbers.null_count() == texts.null_count() and numbers.drop_nulls().is_in([-1.0, 0.0, 1.0]).all():
        return numbers.cast(pl.Int64).cast(pl.String)
    return texts


def _labels(texts: pl.Series, positive: str) -> npt.NDArray[np.int8]:
    return (texts == positive).cast(pl.Int8).fill_null(UNKNOWN).to_numpy()


def apply_label(reader: ColumnReader, label: Label | None) -> npt.NDArray[np.int8]:
    """Labels of another table by the same rule; unlabelled without a rule or a column. A new value is a problem."""
    nothing = np.full(len(reader.table), UNKNOWN, dtype=np.int8)
    if label is None or label.column not in reader.table.columns:
        return nothing
    texts = _label_texts(reader, label.column)
    if texts is None:
        return nothing
    reader.report_new(label.column, texts, label.values)
    return _labels(texts, label.positive)


def read_sensitive(
    reader: ColumnReader, column: str | None, groups: Mapping[str, str] | None, notes: list[str]
) -> tuple[npt.NDArray[np.int16], Sensitive | None]:
    """Group codes (-1 where empty) and what they mean. Never binarised: every value is a group."""
    nothing = np.full(len(reader.table), UNKNOWN, dtype=np.int16), None
    if column is None or not require_columns(reader.table, [column], reader.problems):
        return nothing
    texts = reader.texts(column)
    if texts is None:
        return nothing
    values = sorted(texts.drop_nulls().unique())
    numbers = pl.Series(values, dtype=pl.String).cast(pl.Float64, strict=False)
    if numbers.null_count() == 0:
        values = [values[k] for k in np.argsort(numbers.to_numpy(), kind="stable")]
    where = f"{reader.table.name}: column '{column}'"
    if len(values) > MOST_GROUPS:
        reader.problems.add(
            f"{where}: {len(values):,} different values ({some(values)}), more than {MOST_GROUPS} groups. "
            "Bin it into groups first, in a column of its own."
        )
    if not values:
        reader.problems.add(f"{where}: every value is empty.")
    names = list(values)
    if groups is not None:
        named = {_as_written(value, values): str(group) for value, group in groups.items()}
        unnamed = [value for value in values if value not in named]
        if unnamed:
            reader.problems.add(f"{where}: no group name for {quoted(unnamed)}; there are names for {quoted(named)}.")
        values, names = list(named), list(named.values())
    sensitive = Sensitive(column=column, values=tuple(values), groups=tuple(names))
    codes = _codes(texts, sensitive)
    unknown = int((codes == UNKNOWN).sum())
    if unknown:
        notes.append(f"{unknown:,} nodes have no sensitive value: they are left out of group metrics")
    return codes, sensitive


def apply_sensitive(reader: ColumnReader, sensitive: Sensitive | None) -> npt.NDArray[np.int16]:
    """Groups of another table by the same rule; unknown without a rule or a column. A new value is a problem."""
    nothing = np.full(len(reader.table), UNKNOWN, dtype=np.int16)
    if sensitive is None or sensitive.column not in reader.table.columns:
        return nothing
    texts = reader.texts(sensitive.column)
    if texts is None:
        return nothing
    reader.report_new(sensitive.column, texts, sensitive.values)
    return _codes(texts, sensitive)


def _codes(texts: pl.Series, sensitive: Sensitive) -> npt.NDArray[np.int16]:
    places = list(range(len(sensitive.values)))
    codes = texts.replace_strict(list(sensitive.values), places, default=None, return_dtype=pl.Int16)
    return codes.fill_null(UNKNOWN).to_numpy()


def read_split(reader: ColumnReader, column: str | None) -> Split:
    """The user's own train, val and test nodes; none without a column."""
    if column is None or not require_columns(reader.table, [column], reader.problems):
        return {}
    texts = reader.texts(column)
    if texts is None:
        return {}
    try:
        return split_from_column(texts.to_list(), name=column)
    except InputError as error:
        for problem in error.problems:
            reader.problems.add(f"{reader.table.name}: {embed(problem)}")
        return {}
