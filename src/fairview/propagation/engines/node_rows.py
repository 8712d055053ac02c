"""How is a node table read that does not fit? In order of the ids, some rows at a time, by the rules of `read_graph`.

Columns with few values (label, groups, split, categories) are decided by their distinct values. The table is then read
once: encoded features, labels, groups and splits go to flat files in the work folder. Means, spreads and ranges are
taken over those files, and make the recipe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from fairview.attributes import Attribute
from fairview.data.graph import SPLIT_NAMES
from fairview.data.splits import drawn_split
from fairview.data.tables.blank_cells import report_empty
from fairview.data.tables.cells import Table, require_columns
from fairview.data.tables.columns import ColumnReader, Place
from fairview.data.tables.features import choose_columns
from fairview.data.tables.read import rows_to_fit, scaled
from fairview.data.tables.recipe import Column, Features, Label, Matrix, Recipe, Sensitive, empty_cells, encode, held_by
from fairview.data.tables.roles import (
    apply_attributes,
    apply_label,
    attributes_of,
    read_attributes,
    read_label,
    read_split,
    sensitive_columns,
    sensitive_fields,
    unknown_notes,
    views_of,
)
from fairview.data.tables.scaling import Scaling
from fairview.errors import InputError, Problems, option, quoted
from fairview.groups import UNKNOWN
from fairview.propagation.engines.array_files import append

ROWS = 500_000
"""Rows that are read at a time."""

Values = Callable[[str], pl.Series]
"""The distinct values of a column, by its name."""
Frames = Callable[[], Iterator[tuple[pl.DataFrame, pl.Series]]]
"""The rows in order of the ids, with the ids as texts."""


@dataclass(frozen=True)
class Rules:
    """What decides how a row is read."""

    columns: tuple[Column, ...]
    label: Label | None
    attributes: tuple[Sensitive, ...]
    notes: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=list)  # notes on values that were written differently


@dataclass
class NodeRows:
    """All nodes, in order of their ids: small columns in memory, features on disk.

    Attributes:
        labels: 1, 0, -1 where unknown.
        codes: of the groups of each sensitive attribute, (n, attributes), -1 where unknown.
        masks: of the splits.
        encoded: file of the encoded columns before scaling, (n, width) float64, NaN where a cell is empty.
        recipe: without direction and ends of links.
    """

    labels: npt.NDArray[np.int8]
    codes: npt.NDArray[np.int16]
    masks: dict[str, npt.NDArray[np.bool_]]
    encoded: Path
    recipe: Recipe
    notes: tuple[list[str], list[str], list[str]]  # on label and groups, on filling and splits, on values

    def __len__(self) -> int:
        return len(self.labels)

    def attributes(self, rows: slice) -> list[Attribute]:
        """The sensitive attributes of some nodes."""
        return attributes_of(self.codes[rows], self.recipe.attributes)

    def features(self, rows: slice) -> Matrix:
        """X of some nodes: filled, scaled, rounded to float32."""
        width = sum(column.width for column in self.recipe.features.columns)
        first, last, _ = rows.indices(len(self))
        count = (last - first) * width
        block = np.fromfile(self.encoded, dtype=np.float64, count=count, offset=first * width * 8)
        narrow = scaled(self.recipe, block.reshape(-1, width), "nodes").astype(np.float32) + np.float32(0)  # no -0
        return narrow.astype(np.float64)


def decide_rules(table: Table, values: Values, reading: dict[str, Any], id_column: str | None) -> Rules:
    """Label, groups and feature columns, from the columns' names and the distinct values of those with few."""
    held = sensitive_columns(reading.get("sensitive"))
    wanted = [reading.get("label"), *held, reading.get("split"), *(reading.get("categorical") or ())]
    known = [name for name in dict.fromkeys(wanted) if name is not None and name in table.columns]
    distinct = {name: values(name) for name in known}
    height = max([len(each) for each in distinct.values()], default=0)
    frame = pl.DataFrame(
        {
            name: distinct[name].extend_constant(None, height - len(distinct[name]))
            if name in distinct
            else pl.Series(name, [None] * height, dtype=pl.Null)
            for name in table.columns
        }
    )
    problems = Problems()
    notes: list[str] = []
    reader = ColumnReader(Table(table.name, frame), Place(None), problems, tuple(reading.get("missing_values") or ()))
    label, split = reading.get("label"), reading.get("split")
    _, label_rule = read_label(
        reader, label, reading.get("positive"), reading.get("classes"), reading.get("unlabelled") or (), notes
    )
    _, group_rules = read_attributes(reader, held, reading.get("groups"))
    columns = choose_columns(
        reader,
        features=reading.get("features"),
        drop=reading.get("drop") or (),
        categorical=reading.get("categorical") or (),
        roles=[
            ("id", id_column),
            ("label", label),
            *(("sensitive attribute", name) for name in held),
            ("split", split),
        ],
        sensitive=group_rules,
        sensitive_as_feature=bool(reading.get("sensitive_as_feature")),
    )
    require_columns(table, reading.get("unscaled") or (), problems)
    read_split(reader, split)
    problems.raise_if_any()
    views_of(group_rules)  # are the groups too many together?
    return Rules(columns, label_rule, group_rules, notes, list(reader.notes.values()))


def read_rows(
    frames: Frames,
    rules: Rules,
    reading: dict[str, Any],
    *,
    name: str,
    nodes: int,
    id_column: str | None,
    work: Path,
    done: Callable[[int], None],
) -> NodeRows:
    """Read the table once, by the rules, and make the recipe."""
    labels = np.full(nodes, UNKNOWN, dtype=np.int8)
    codes = np.full((nodes, len(rules.attributes)), UNKNOWN, dtype=np.int16)
    split_column, missing = reading.get("split"), reading.get("missing", "error")
    recipe: Recipe | None = reading.get("recipe")
    masks = {part: np.zeros(nodes, dtype=np.bool_) for part in SPLIT_NAMES} if split_column else {}
    start, path = 0, work / "encoded.bin"
    with path.open("wb") as stream:
        for frame, ids in frames():
            end = start + frame.height
            problems = Problems()
            place = f"{name}, rows {start:,} to {end - 1:,}" if nodes > ROWS else name
            reader = ColumnReader(
                Table(place, frame),
                Place(None if id_column is None else ids.to_list()),
                problems,
                tuple(recipe.missing_values if recipe else reading.get("missing_values") or ()),
                by_recipe=recipe is not None,
            )
            labels[start:end] = apply_label(reader, rules.label)
            codes[start:end] = apply_attributes(reader, rules.attributes)
            for part, mask in read_split(reader, split_column).items():
                masks[part][start:end] = mask
            encoded = encode(rules.columns, reader)
            if missing == "error":
                report_empty(reader, rules.columns, encoded, missing)
            problems.raise_if_any()
            append(stream, encoded)
            start = end
            done(frame.height)
    unknown = unknown_notes(labels, rules.label, codes, rules.attributes) if recipe is None else []
    about_roles = rules.notes + unknown
    notes: list[str] = []
    if (seed := reading.get("split_seed")) is not None:
        together = sensitive_fields(codes, rules.attributes)
        masks = dict(drawn_split(labels, together["sensitive"], together["groups"], seed=seed))
        notes.append(f"split drawn with seed {seed}: half train, a quarter val, a quarter test, stratified")
    if recipe is None:
        fitted, filled = _fit(path, rules.columns, masks, reading, nodes, name)
        notes = filled + notes
        recipe = Recipe(
            id=id_column,
            features=fitted,
            label=rules.label,
            **held_by(fitted, rules.attributes),
            missing_values=tuple(reading.get("missing_values") or ()),
        )
    return NodeRows(labels, codes, masks, path, recipe, (about_roles, notes, rules.values))


def _fit(
    path: Path,
    columns: tuple[Column, ...],
    masks: dict[str, npt.NDArray[np.bool_]],
    reading: dict[str, Any],
    nodes: int,
    name: str,
) -> tuple[Features, list[str]]:
    """What `Features.fit` learns from a matrix in memory, from the same matrix in a file."""
    width = sum(column.width for column in columns)
    chosen = rows_to_fit(reading.get("scale_on", "all"), masks, nodes)
    missing, kind = reading.get("missing", "error"), reading.get("scaling", "standard")
    count, total = np.zeros(width), np.zeros(width)
    low, high = np.full(width, np.inf), np.full(width, -np.inf)
    gaps: dict[str, int] = {}
    with_gaps = 0
    for rows, block in _blocks(path, width, nodes):
        for column, absent in empty_cells(columns, block).items():
            gaps[column] = gaps.get(column, 0) + int(absent.sum())
        with_gaps += int(np.isnan(block).any(axis=1).sum())
        fitted = block[chosen[rows]]
        known = ~np.isnan(fitted)
        count += known.sum(axis=0)
        total += np.where(known, fitted, 0.0).sum(axis=0)
        low, high = (
            np.fmin(low, np.fmin.reduce(fitted, initial=np.inf)),
            np.fmax(high, np.fmax.reduce(fitted, initial=-np.inf)),
        )
    fill = np.divide(total, count, out=np.zeros(width), where=count > 0)
    _check_means(columns, count, gaps, nodes, name)
    squares = np.zeros(width)
    for rows, block in _blocks(path, width, nodes):
        apart = block[chosen[rows]] - fill
        squares += np.where(np.isnan(apart), 0.0, apart**2).sum(axis=0)
    spread = np.sqrt(squares / max(int(chosen.sum()), 1))
    marked = tuple(gaps) if missing == "indicator" else ()
    ordered = tuple(column.name for column in columns if column.name in marked)
    owners = [column.name for column in columns for _ in range(column.width)]
    further = [0.0] * len(ordered)  # indicators stay as they are
    leave = np.array([owner in (reading.get("unscaled") or ()) for owner in owners] + [True] * len(ordered))
    mean, spread, low, high = (np.append(each, further) for each in (fill, spread, low, high))
    scaling = Scaling.from_moments(kind=kind, mean=mean, spread=spread, low=low, high=high, leave=leave)
    notes = []
    if with_gaps:
        notes.append(f"{sum(gaps.values()):,} empty cells of {with_gaps:,} nodes filled with the mean")
    features = Features(
        columns=columns, missing=missing, fill=tuple(fill.tolist()), indicators=ordered, scaling=scaling
    )
    return features, notes


def _check_means(
    columns: tuple[Column, ...], count: npt.NDArray[np.float64], gaps: dict[str, int], nodes: int, name: str
) -> None:
    ends = np.cumsum([column.width for column in columns]) - 1
    empty = [column.name for column, end in zip(columns, ends, strict=True) if column.width and count[end] == 0]
    whole = [column for column in empty if gaps.get(column) == nodes]
    if whole:
        raise InputError(
            [
                f"{name}: column '{column}': all {nodes:,} rows are empty. Drop it ({option('drop', [column])})."
                for column in whole
            ]
        )
    if empty:
        raise InputError(
            f"{name}: column {quoted(empty)}: empty for all nodes that the mean is taken over. Drop the column, or fit "
            f"on all nodes ({option('scale_on', 'all')})."
        )


def _blocks(path: Path, width: int, nodes: int) -> Iterator[tuple[slice, Matrix]]:
    for start in range(0, nodes, ROWS):
        rows = slice(start, min(start + ROWS, nodes))
        block = np.fromfile(path, dtype=np.float64, count=(rows.stop - start) * width, offset=start * width * 8)
        yield rows, block.reshape(-1, width)
