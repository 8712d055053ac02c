"""What if feature cells are empty? Refused, filled with the mean, or dropped with their nodes, as the user said."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fairview.data.tables.columns import ColumnReader
from fairview.data.tables.recipe import Column, Matrix, Missing, empty_cells, indicator
from fairview.errors import InputError, option, quoted
from fairview.remedies import only_with, remedies


def report_empty(reader: ColumnReader, columns: tuple[Column, ...], encoded: Matrix, missing: Missing) -> None:
    """Empty cells if they are not allowed, columns without any value, and channels that would be called alike.

    A recipe knows what to fill in, so that by a recipe a column may be empty throughout: one new person has one row.
    """
    gaps = empty_cells(columns, encoded)
    known = reader.by_recipe and missing != "error"
    refused = [name for name, absent in gaps.items() if missing == "error" or (absent.all() and not known)]
    for name in reader.problems.first(refused):
        absent = gaps[name]
        rows = np.flatnonzero(absent)
        fill = "fill them"
        if absent.all():
            way = only_with("drop", f"drop the column ({option('drop', [name])})")
            count = f"all {len(rows):,} rows are empty."
            reader.add(name, count + (remedies(way) or remedies(fill)))
        else:
            count = f"{len(rows):,} of {len(absent):,} rows are empty ({reader.place(rows)})."
            reader.add(name, count + remedies(fill, "drop them", f"pass {option('missing', 'mean')}"))
    if missing == "indicator":
        channels = {channel for column in columns for channel in column.channels}
        for name in sorted(name for name in gaps if indicator(name) in channels):
            reader.add(name, f"its indicator would be a second channel '{indicator(name)}'; rename one.")


def check_means(columns: tuple[Column, ...], encoded: Matrix, rows: npt.NDArray[np.bool_], name: str) -> None:
    """An empty cell is filled with the mean over the fitted rows: there must be something to take the mean of."""
    gaps = empty_cells(columns, encoded)
    without = [column for column, absent in gaps.items() if absent[rows].all()]
    if without:
        raise InputError(
            f"{name}: column {quoted(without)}: empty for all nodes that the mean is taken over. Drop the column, or "
            f"fit on all nodes ({option('scale_on', 'all')})."
        )


def kept_nodes(
    columns: tuple[Column, ...], encoded: Matrix, missing: Missing, name: str, notes: list[str]
) -> npt.NDArray[np.bool_]:
    """The nodes that stay: all of them unless those with empty cells are to be dropped."""
    with_gaps = np.isnan(encoded).any(axis=1)
    count = int(with_gaps.sum())
    if count and missing == "drop":
        if count == len(encoded):
            none = f"{name}: every node has an empty cell, and such nodes are dropped: none is left."
            raise InputError(none + remedies("fill some", f"pass {option('missing', 'mean')}"))
        notes.append(f"{count:,} of {len(encoded):,} nodes dropped: empty cells in their features")
        return np.asarray(~with_gaps)
    if count:
        cells = sum(int(absent.sum()) for absent in empty_cells(columns, encoded).values())
        notes.append(f"{cells:,} empty cells of {count:,} nodes filled with the mean")
    return np.ones(len(encoded), dtype=np.bool_)
