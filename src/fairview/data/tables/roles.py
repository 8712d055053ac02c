"""Which column is the id, the label, the sensitive attribute? Each read exactly, with its own rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from fairview.attributes import Attribute, each_and_together
from fairview.data.graph_arrays import fields_of
from fairview.data.limits import MOST_GROUPS
from fairview.data.splits import Split, split_from_column
from fairview.data.tables.cells import Table, require_columns
from fairview.data.tables.columns import LOOKS_MISSING, ColumnReader, Place, as_texts, codes_in, too_long, whole_texts
from fairview.data.tables.recipe import Label, Sensitive
from fairview.data.tables.texts import same_value
from fairview.errors import InputError, did_you_mean, embed, option, quoted, some
from fairview.groups import UNKNOWN
from fairview.offered import is_offered

_NOT_KNOWN = {*LOOKS_MISSING, "unknown", "unlabelled", "unlabeled", "missing", "pending", "undecided"}
_WHOLE = "^(?:0|[1-9][0-9]*)$"


def read_ids(table: Table, column: str) -> tuple[str, ...]:
    """The ids as exact texts."""
    if column not in table.columns:
        without = f"Without {option('id')}, the column 'id' or the row numbers are the ids."
        there = "The model's tables have their ids there."
        raise InputError(f"{table.missing(column)} {without if is_offered('id') else there}")
    where, place = f"{table.name}: column '{column}'", Place(None)
    series = table.frame[column]
    texts = as_texts(series)
    if texts is None:
        raise InputError(f"{where}: {series.dtype} values can't be ids; use texts or whole numbers.")
    texts = texts.fill_null("")
    empty = np.flatnonzero((texts == "").to_numpy())
    if len(empty):
        raise InputError(f"{where}: {len(empty):,} of {len(texts):,} ids are empty ({place(empty)}).")
    if series.dtype.is_float():
        texts = whole_texts(series, where)
    if long := too_long(texts):
        raise InputError(f"{where}: {long}")
    repeated = texts.filter(texts.is_duplicated()).unique(maintain_order=True)
    if len(repeated):
        rows = np.flatnonzero(texts.is_duplicated().to_numpy())
        raise InputError(f"{where}: {len(repeated):,} ids occur more than once: {quoted(repeated)} ({place(rows)}).")
    return tuple(texts.to_list())


def id_order(ids: tuple[str, ...]) -> npt.NDArray[np.intp]:
    """The order in which a graph keeps its nodes, whatever the order of the file: whole numbers by size, else texts."""
    texts = pl.Series(ids, dtype=pl.String)
    if not texts.str.contains(_WHOLE).all():
        return np.array(sorted(range(len(ids)), key=ids.__getitem__), dtype=np.intp)
    if max(map(len, ids), default=0) < 19:
        return np.argsort(texts.cast(pl.Int64).to_numpy(), kind="stable")
    return np.array(sorted(range(len(ids)), key=lambda row: (len(ids[row]), ids[row])), dtype=np.intp)


def read_label(
    reader: ColumnReader,
    column: str | None,
    positive: str | None,
    classes: tuple[str, str] | None,
    unlabelled: Sequence[str],
    notes: list[str],
) -> tuple[npt.NDArray[np.int8], Label | None]:
    """Labels (1, 0, and -1 where empty) and what they mean; {0, 1} and {-1, 1} are understood by themselves."""
    nothing = np.full(len(reader.table), UNKNOWN, dtype=np.int8), None
    if column is None or not require_columns(reader.table, [column], reader.problems):
        return nothing
    cells = reader.cells(column)
    if cells is None:
        return nothing
    found = sorted(cells.drop_nulls().unique())
    blank = tuple(_as_written(value, found) for value in unlabelled)
    for value in blank:
        if value not in found:
            listed = quoted(found, limit=10)
            reader.add(column, f"no label '{value}' to take for unlabelled; the labels are {listed}.")
    texts = _blanking(reader, blank).texts(column)
    if texts is None:
        return nothing
    values = sorted(texts.drop_nulls().unique())
    if not values:
        reader.add(column, "every label is empty.")
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
            odd = _likely_unlabelled(values)
            example = option("positive", next((value for value in reversed(values) if value != odd), odd))
            unknown = f" If one means that the label is not known, pass {option('unlabelled', [odd])}."
            reader.add(
                column,
                f"the labels are {listed}. Say which is positive, for example {example}."
                + (unknown if len(values) > 2 else ""),
            )
            positive = "1"
    elif positive not in values:
        listed = quoted(values, limit=10)
        hint = did_you_mean(positive, values) if len(values) > 10 else ""
        reader.add(column, f"no label '{positive}'; the labels are {listed}.{hint}")
    else:
        others = [value for value in values if value != positive]
        negative = others[0] if len(others) == 1 else f"not {positive}"
        if len(others) > 1:
            notes.append(f"labels {quoted(others)} count as negative")
    labels = _labels(texts, positive)
    names = classes or (negative, positive)
    return labels, Label(column=column, values=tuple(values), positive=positive, classes=names, unlabelled=blank)


def _likely_unlabelled(values: Sequence[str]) -> str:
    """The label to propose for "not known": by its word, or the one beside 0 and 1. No other is guessed."""
    words = [value for value in values if value.casefold() in _NOT_KNOWN]
    others = [value for value in values if value not in ("0", "1")]
    beside = others if len(others) == 1 and len(values) == 3 else []
    return (words or beside or ["VALUE"])[0]


def _as_written(value: object, values: Sequence[str]) -> str:
    """A value of the caller's as the column's texts write it: True is true, and 1.0 is 1 if the column has that."""
    text = str(value)
    return same_value([text], values).get(text, text)


def _blanking(reader: ColumnReader, values: Sequence[str]) -> ColumnReader:
    """The same reader, for which these values mean missing, too."""
    return replace(reader, missing_values=(*reader.missing_values, *values))


def _labels(texts: pl.Series, positive: str) -> npt.NDArray[np.int8]:
    return (texts == positive).cast(pl.Int8).fill_null(UNKNOWN).to_numpy()


def apply_label(reader: ColumnReader, label: Label | None) -> npt.NDArray[np.int8]:
    """Labels of another table by the same rule; unlabelled without a rule or a column. A new value is a problem."""
    texts = None if label is None else _texts_by_rule(_blanking(reader, label.unlabelled), label)
    if label is None or texts is None:
        return np.full(len(reader.table), UNKNOWN, dtype=np.int8)
    reader.report_new(
        label.column, texts, label.values, "Correct them, or empty these cells: the label is then unknown."
    )
    return _labels(texts, label.positive)


def read_attributes(
    reader: ColumnReader, columns: Sequence[str], groups: Mapping[str, Any] | None
) -> tuple[npt.NDArray[np.int16], tuple[Sensitive, ...]]:
    """The codes of all sensitive columns, shape (n, columns), and what they mean.

    With several, `groups` has the names by column.
    """
    names = {columns[0]: groups} if len(columns) == 1 else groups or {}
    for name in names if len(columns) > 1 else ():
        if name not in columns:
            reader.problems.add(f"groups: no sensitive column '{name}'.{did_you_mean(str(name), columns)}")
    found = [read_sensitive(reader, column, names.get(column)) for column in columns]
    codes = [each[:, None] for each, rule in found if rule is not None]  # of the others the reader has told
    nothing = np.empty((len(reader.table), 0), dtype=np.int16)
    return np.concatenate([nothing, *codes], axis=1), tuple(rule for _, rule in found if rule is not None)


def apply_attributes(reader: ColumnReader, rules: Sequence[Sensitive]) -> npt.NDArray[np.int16]:
    """The same of another table, by the same rules."""
    nothing = np.empty((len(reader.table), 0), dtype=np.int16)
    return np.concatenate([nothing, *(apply_sensitive(reader, rule)[:, None] for rule in rules)], axis=1)


def sensitive_columns(sensitive: str | Sequence[str] | None) -> tuple[str, ...]:
    """The columns that a caller named: none, one, or several, each once."""
    if sensitive is None or isinstance(sensitive, str):
        return () if sensitive is None else (sensitive,)
    return tuple(dict.fromkeys(sensitive))


def attributes_of(codes: npt.NDArray[np.int16], rules: Sequence[Sensitive]) -> list[Attribute]:
    """The attributes of nodes with these codes, shape (n, attributes)."""
    return [Attribute(r.column, c, r.groups, r.channels) for r, c in zip(rules, codes.T, strict=True)]


def views_of(rules: Sequence[Sensitive]) -> tuple[Attribute, ...]:
    """Each attribute and, of several, as the last, what they make together: their groups, without any nodes.

    Raises:
        InputError: they make too many groups together.
    """
    return each_and_together(attributes_of(np.empty((0, len(rules)), dtype=np.int16), rules))


def sensitive_fields(codes: npt.NDArray[np.int16], rules: Sequence[Sensitive]) -> dict[str, Any]:
    """The fields of a graph that say who is in which group."""
    if not rules:
        return {"sensitive": np.full(len(codes), UNKNOWN, dtype=np.int16), "groups": ()}
    return fields_of(attributes_of(codes, rules))


def read_sensitive(
    reader: ColumnReader, column: str | None, groups: Mapping[str, str] | None
) -> tuple[npt.NDArray[np.int16], Sensitive | None]:
    """Group codes (-1 where empty) and what they mean. Never binarised: every value is a group."""
    nothing = np.full(len(reader.table), UNKNOWN, dtype=np.int16), None
    texts = reader.texts_of(column)
    if column is None or texts is None:
        return nothing
    values = sorted(texts.drop_nulls().unique())
    numbers = pl.Series(values, dtype=pl.String).cast(pl.Float64, strict=False)
    if numbers.null_count() == 0:
        values = [values[k] for k in np.argsort(numbers.to_numpy(), kind="stable")]
    if len(values) > MOST_GROUPS:
        reader.add(
            column,
            f"{len(values):,} different values ({some(values)}), more than {MOST_GROUPS} groups. "
            "Bin it into groups first, in a column of its own.",
        )
        return nothing
    if not values:
        reader.add(column, "every value is empty.")
    names = list(values)
    if groups is not None:
        named = {_as_written(value, values): str(group) for value, group in groups.items()}
        if len(named) > MOST_GROUPS:
            reader.add(column, f"{len(named):,} group names ({some(named)}); at most {MOST_GROUPS}. Leave some out.")
            return nothing
        unnamed = [value for value in values if value not in named]
        if unnamed:
            reader.add(column, f"no group name for {quoted(unnamed)}; there are names for {quoted(named)}.")
        values, names = list(named), list(named.values())
    sensitive = Sensitive(column=column, values=tuple(values), groups=tuple(names))
    return codes_in(texts, sensitive.values), sensitive


def unknown_notes(
    labels: npt.NDArray[np.int8], label: Label | None, codes: npt.NDArray[np.int16], attributes: Sequence[Sensitive]
) -> list[str]:
    """How many nodes have no label or no group, in words."""
    unlabelled = 0 if label is None else int((labels == UNKNOWN).sum())
    unknown = (codes == UNKNOWN).sum(axis=0).tolist()
    return unknown_in_words(unlabelled, {each.column: n for each, n in zip(attributes, unknown, strict=True)})


def unknown_in_words(unlabelled: int, unknown: Mapping[str, int]) -> list[str]:
    """The same from the numbers of nodes without a label, and without a value of each sensitive column."""
    notes = []
    if unlabelled:
        notes.append(f"{unlabelled:,} nodes have no label: they are propagated, but in no loss and no metric")
    for column, count in unknown.items():
        which = f"value of '{column}'" if len(unknown) > 1 else "sensitive value"
        notes += [f"{count:,} nodes have no {which}: they are left out of group metrics"] if count else []
    return notes


def apply_sensitive(reader: ColumnReader, sensitive: Sensitive | None) -> npt.NDArray[np.int16]:
    """Groups of another table by the same rule; unknown without a rule or a column. A new value is a problem."""
    texts = None if sensitive is None else _texts_by_rule(reader, sensitive)
    if sensitive is None or texts is None:
        return np.full(len(reader.table), UNKNOWN, dtype=np.int16)
    empty = "" if sensitive.channels else "Correct them, or empty these cells: the group is then unknown."
    reader.report_new(sensitive.column, texts, sensitive.values, empty)
    return codes_in(texts, sensitive.values)


def _texts_by_rule(reader: ColumnReader, rule: Label | Sensitive) -> pl.Series | None:
    """The cells of a rule's column, written as its values are; None if this table has no such column."""
    return reader.texts_like(rule.column, rule.values) if rule.column in reader.table.columns else None


def read_split(reader: ColumnReader, column: str | None) -> Split:
    """The user's own train, val and test nodes; none without a column."""
    texts = reader.texts_of(column)
    if column is None or texts is None:
        return {}
    try:
        return split_from_column(texts.to_list(), name=column)
    except InputError as error:
        for problem in error.problems:
            reader.problems.add(f"{reader.table.name}: {embed(problem)}")
        return {}
