"""Which columns become features, and how? Chosen by name, in the order of the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from fairview.data.tables.columns import ColumnReader
from fairview.data.tables.recipe import Column, Sensitive
from fairview.errors import option, repeated, some

MOST_CATEGORIES = 1000  # different values beyond which a column is taken for an id, not for a category


def choose_columns(
    reader: ColumnReader,
    *,
    features: Sequence[str] | None,
    drop: Sequence[str],
    categorical: Sequence[str],
    roles: Mapping[str, str | None],
    sensitive: Sensitive | None,
    sensitive_as_feature: bool,
) -> tuple[Column, ...]:
    """The feature columns: the named ones, or all that have no other role; what can't be is reported.

    `roles` are such as "label" -> "good". A column with a role is no feature, but the sensitive one may be on request.
    """
    table, problems = reader.table, reader.problems
    role_of: dict[str, str] = {}
    for role, column in roles.items():
        if column in role_of:
            problems.add(f"{table.name}: column '{column}' can't be both the {role_of[column]} and the {role}.")
        elif column is not None:
            role_of[column] = role
    also_feature = sensitive.column if sensitive is not None and sensitive_as_feature else None
    for name in dict.fromkeys([*(features or ()), *drop, *categorical]):
        if name not in table.columns:
            problems.add(table.missing(name))
    for name in features or ():
        if name in role_of and name != also_feature:
            may_be = sensitive is not None and name == sensitive.column
            remedy = f" Pass {option('sensitive_as_feature', True)}." if may_be else ""
            problems.add(f"{table.name}: column '{name}' is the {role_of[name]}; it can't be a feature.{remedy}")
    for name in sorted({*(features or ()), *([also_feature] if also_feature else [])} & {*drop}):
        problems.add(f"{table.name}: column '{name}' is both chosen and dropped.")
    wanted = table.columns if features is None else features
    chosen = [
        name
        for name in table.columns
        if name == also_feature or (name in wanted and name not in drop and name not in role_of)
    ]
    for name in categorical:
        if name in table.columns and name not in chosen:
            why = f"it is the {role_of[name]}" if name in role_of else "it is not among the features"
            problems.add(f"{table.name}: column '{name}' can't be one-hot encoded: {why}.")
    if not chosen and not problems:
        problems.add(f"{table.name}: no feature columns are left (columns: {some(table.columns, limit=12)}).")
    columns = tuple(_column(reader, name, categorical, sensitive if name == also_feature else None) for name in chosen)
    channels = [channel for column in columns for channel in column.channels]
    for channel in sorted(repeated(channels)):
        problems.add(f"{table.name}: two columns would become the channel '{channel}'; rename one.")
    return columns


def _column(reader: ColumnReader, name: str, categorical: Sequence[str], sensitive: Sensitive | None) -> Column:
    if name in categorical:
        texts = reader.texts(name)
        if texts is None:
            return Column(name=name, kind="categorical")
        categories = sorted(texts.drop_nulls().unique())
        if not categories:
            reader.add(name, "every cell is empty: there is nothing to one-hot encode. Drop the column.")
        if len(categories) > MOST_CATEGORIES:
            reader.add(name, f"{len(categories):,} different values are too many to one-hot encode. Drop the column.")
            categories = []
        return Column(name=name, kind="categorical", categories=tuple(categories))
    if sensitive is not None and _has_texts(sensitive):
        if len(sensitive.values) == 2:
            return Column(name=name, kind="code", categories=sensitive.values)
        return Column(name=name, kind="categorical", categories=sensitive.values)
    return Column(name=name)


def _has_texts(sensitive: Sensitive) -> bool:
    return pl.Series(sensitive.values, dtype=pl.String).cast(pl.Float64, strict=False).null_count() > 0
