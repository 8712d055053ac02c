"""How did a table become features, labels and groups? A `Recipe` says it, so that new tables are treated alike.

It is plain data (JSON in and out) and travels with the graph and, later, with a trained model.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict

from fairview.data.similarity.rules import SimilarityRule
from fairview.data.tables.columns import ColumnReader, places
from fairview.data.tables.scaling import Scaling, ScalingKind

Missing = Literal["error", "mean", "drop", "indicator"]
Matrix = npt.NDArray[np.float64]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Column(_Strict):
    """One column of the table and the channels that it becomes.

    `numeric`: one channel. `categorical`: one channel of 0 and 1 per category, called `column=category`. `code`: one
    channel with the place of the value among the categories, for a sensitive attribute of two texts.
    """

    name: str
    kind: Literal["numeric", "categorical", "code"] = "numeric"
    categories: tuple[str, ...] = ()

    @property
    def channels(self) -> list[str]:
        """Their names."""
        return [f"{self.name}={c}" for c in self.categories] if self.kind == "categorical" else [self.name]

    @property
    def width(self) -> int:
        """How many they are."""
        return len(self.categories) if self.kind == "categorical" else 1

    def read(self, reader: ColumnReader) -> Matrix:
        """The channels' values, shape (n, channels), NaN where missing; unknown categories are problems."""
        if self.kind == "numeric":
            return reader.numbers([self.name])
        texts = reader.texts_like(self.name, self.categories)
        if texts is None or not self.categories:  # reported when the columns were chosen
            return np.zeros((len(reader.table), self.width))
        reader.report_new(self.name, texts, self.categories)
        codes = places(texts, self.categories).fill_null(0).to_numpy()[:, None]
        block = codes == np.arange(len(self.categories)) if self.kind == "categorical" else codes
        return np.where(texts.is_null().to_numpy()[:, None], np.nan, block)


class Features(_Strict):
    """From columns to channels: encode, fill what is missing, scale."""

    columns: tuple[Column, ...]  # in the order of the channels
    missing: Missing  # what is done with empty cells
    fill: tuple[float, ...]  # the value for an empty cell, per encoded channel: its mean over the fitted rows
    indicators: tuple[str, ...]  # columns with a channel of their own that says where they were empty
    scaling: Scaling  # per channel, the indicators last

    @property
    def channels(self) -> tuple[str, ...]:
        """Their names, those of the indicators last."""
        encoded = [channel for column in self.columns for channel in column.channels]
        return (*encoded, *map(indicator, self.indicators))

    def channels_of(self, name: str) -> tuple[str, ...]:
        """The channels that a column becomes, its indicator among them."""
        channels = [channel for column in self.columns if column.name == name for channel in column.channels]
        return (*channels, indicator(name)) if name in self.indicators else tuple(channels)

    @classmethod
    def fit(
        cls,
        columns: tuple[Column, ...],
        encoded: Matrix,
        *,
        missing: Missing,
        scaling: ScalingKind,
        unscaled: frozenset[str],
        rows: npt.NDArray[np.bool_],
    ) -> Features:
        """Learn fill values and scaling from the marked rows of the encoded columns (NaN where empty)."""
        absent = np.isnan(encoded)
        known = np.where(absent, 0.0, encoded)[rows]
        counts = (~absent[rows]).sum(axis=0)
        fill = np.divide(known.sum(axis=0), counts, out=np.zeros(encoded.shape[1]), where=counts > 0)
        owners = [column.name for column in columns for _ in range(column.width)]
        gaps = empty_cells(columns, encoded)
        marked = tuple(gaps) if missing == "indicator" else ()
        unfitted = Scaling(center=(), spread=())
        features = cls(columns=columns, missing=missing, fill=tuple(fill.tolist()), indicators=marked, scaling=unfitted)
        filled = features.filled(encoded)
        leave = np.array([owner in unscaled for owner in owners] + [True] * len(marked), dtype=np.bool_)
        return features.model_copy(update={"scaling": Scaling.fit(filled[rows], kind=scaling, leave=leave)})

    def filled(self, encoded: Matrix) -> Matrix:
        """Empty cells replaced, indicator channels appended."""
        full = np.where(np.isnan(encoded), np.array(self.fill), encoded)
        gaps = empty_cells(self.columns, encoded)
        marks = [gaps.get(column, np.zeros(len(encoded), dtype=np.bool_)) for column in self.indicators]
        return np.column_stack([full, *marks]) if marks else full


class Label(_Strict):
    """The label column, its values, which of them is positive, and the names of the negative and the positive class."""

    column: str
    values: tuple[str, ...]
    positive: str
    classes: tuple[str, str]
    unlabelled: tuple[str, ...] = ()  # values that mean that the label is not known


class Sensitive(_Strict):
    """The sensitive column and its values, with the name of the group that each stands for."""

    column: str
    values: tuple[str, ...]
    groups: tuple[str, ...]
    channels: tuple[str, ...] = ()  # where it is among the features


class Recipe(_Strict):
    """Everything that is needed to treat another table like the first one."""

    id: str | None
    features: Features
    label: Label | None = None
    sensitive: Sensitive | None = None
    further_sensitive: tuple[Sensitive, ...] = ()  # beside it, where there are several attributes
    missing_values: tuple[str, ...] = ()
    similarity: SimilarityRule | None = None  # None: the edges were given
    similarity_channels: tuple[str, ...] = ()
    edge_weight: str | None = None  # column of the edge table; None: plain links
    link_kind: str | None = None  # column of the edge table; None: all links are alike
    link_kinds: tuple[str, ...] = ()  # the values in it
    directed: bool | None = None  # None: not known, in a model of version 0.1.0
    ends: tuple[str, str] | None = None  # columns of the edge table; None without one, without a header, or not known

    @property
    def attributes(self) -> tuple[Sensitive, ...]:
        """All sensitive columns."""
        return (self.sensitive, *self.further_sensitive) if self.sensitive is not None else ()


def held_by(features: Features, attributes: Sequence[Sensitive]) -> dict[str, Any]:
    """The fields of a recipe with the sensitive columns, each with the channels that hold it."""
    told = tuple(each.model_copy(update={"channels": features.channels_of(each.column)}) for each in attributes)
    return {"sensitive": told[0] if told else None, "further_sensitive": told[1:]}


def encode(columns: tuple[Column, ...], reader: ColumnReader) -> Matrix:
    """All columns side by side, shape (n, channels), NaN where a cell is empty."""
    numeric = iter(reader.numbers([column.name for column in columns if column.kind == "numeric"]).T)
    blocks = [next(numeric)[:, None] if column.kind == "numeric" else column.read(reader) for column in columns]
    return np.concatenate(blocks, axis=1) if blocks else np.zeros((len(reader.table), 0))


def indicator(column: str) -> str:
    """The name of the channel that says where a column was empty."""
    return f"{column}_missing"


def empty_cells(columns: tuple[Column, ...], encoded: Matrix) -> dict[str, npt.NDArray[np.bool_]]:
    """Where the columns that have empty cells are empty; all channels of a column are NaN together: the last tells."""
    absent = np.isnan(encoded)
    some: npt.NDArray[np.bool_] = np.asarray(absent.any(axis=0))
    if not some.any():
        return {}
    ends = accumulate(column.width for column in columns)
    by_column = zip(columns, ends, strict=True)
    return {column.name: absent[:, end - 1] for column, end in by_column if column.width and some[end - 1]}
