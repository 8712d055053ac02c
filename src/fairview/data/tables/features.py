"""Which columns become features, and how? Chosen by name, in the order of the table."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import polars as pl

from fairview.data.limits import MOST_CATEGORIES, MOST_CHANNELS, MOST_VALUES
from fairview.data.tables.cells import require_columns
from fairview.data.tables.columns import ColumnReader
from fairview.data.tables.recipe import Column, Sensitive
from fairview.errors import InputError, option, repeated, shown, some


def choose_columns(
    reader: ColumnReader,
    *,
    features: Sequence[str] | None,
    drop: Sequence[str],
    categorical: Sequence[str],
    roles: Sequence[tuple[str, str | None]],
    sensitive: Sequence[Sensitive],
    sensitive_as_feature: bool,
) -> tuple[Column, ...]:
    """The feature columns: the named ones, or all that have no other role; what can't be is reported.

    `roles` are such as ("label", "good"). A column with a role is no feature, but the sensitive one may be on request.
    """
    table, problems = reader.table, reader.problems
    role_of: dict[str, str] = {}
    for role, column in roles:
        if column in role_of:
            problems.add(f"{table.name}: column '{column}' can't be both the {role_of[column]} and the {role}.")
        elif column is not None:
            role_of[column] = role
    attributes = {each.column: each for each in sensitive}
    also_features = set(attributes) if sensitive_as_feature else set()
    require_columns(table, list(dict.fromkeys([*(features or ()), *drop, *categorical])), problems)
    left_out, encoded = set(drop), set(categorical)
    for name in features or ():
        if name in role_of and name not in also_features:
            remedy = f" Pass {option('sensitive_as_feature', True)}." if name in attributes else ""
            problems.add(f"{table.name}: column '{shown(name)}' is the {role_of[name]}; it can't be a feature.{remedy}")
    for name in sorted({*(features or ()), *also_features} & left_out):
        problems.add(f"{table.name}: column '{shown(name)}' is both chosen and dropped.")
    wanted = table.columns if features is None else set(features)
    chosen = [
        name
        for name in table.columns
        if name in also_features or (name in wanted and name not in left_out and name not in role_of)
    ]
    for name in sorted(encoded.difference(chosen)):
        if name in table.columns:
            why = f"it is the {role_of[name]}" if name in role_of else "it is not among the features"
            problems.add(f"{table.name}: column '{shown(name)}' can't be one-hot encoded: {why}.")
    if not chosen and not problems:
        problems.add(f"{table.name}: no feature columns are left (columns: {some(table.columns, limit=12)}).")
    columns = tuple(_column(reader, name, encoded, attributes.get(name)) for name in chosen)
    channels = [channel for column in columns for channel in column.channels]
    _check_size(len(channels), len(table), table.name)
    for channel in problems.first(sorted(repeated(channels))):
        problems.add(f"{table.name}: two columns would become the channel '{shown(channel)}'; rename one.")
    return columns


def _column(reader: ColumnReader, name: str, categorical: Collection[str], sensitive: Sensitive | None) -> Column:
    if name in categorical:
        texts = reader.texts(name)
        if texts is None:
            return Column(name=name, kind="categorical")
        categories = sorted(texts.drop_nulls().unique())
        if not categories:
            reader.add(name, "every cell is empty: there is nothing to one-hot encode. Drop the column.")
        if len(categories) > MOST_CATEGORIES:
            reader.add(
                name,
                f"{len(categories):,} different values, too many to one-hot encode (at most {MOST_CATEGORIES:,}). "
                "Drop the column, or merge values.",
            )
            categories = []
        return Column(name=name, kind="categorical", categories=tuple(categories))
    if sensitive is not None and _has_texts(sensitive):
        if len(sensitive.values) == 2:
            return Column(name=name, kind="code", categories=sensitive.values)
        return Column(name=name, kind="categorical", categories=sensitive.values)
    return Column(name=name)


def _check_size(channels: int, nodes: int, name: str) -> None:
    """Raise before memory is asked for."""
    if channels > MOST_CHANNELS:
        raise InputError(f"{name}: {channels:,} channels; at most {MOST_CHANNELS:,} are made. Leave columns out.")
    if channels * nodes > MOST_VALUES:
        raise InputError(
            f"{name}: {nodes:,} nodes with {channels:,} channels are more than {MOST_VALUES:,} values. Leave rows or "
            "columns out."
        )


def _has_texts(sensitive: Sensitive) -> bool:
    return pl.Series(sensitive.values, dtype=pl.String).cast(pl.Float64, strict=False).null_count() > 0
