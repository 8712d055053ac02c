"""What did an earlier call find that this folder has no trials of? Its rows, from the JSON or CSV that it left.

A row from a CSV file has means and deviations but no runs, so that differences from it are tested without pairs; it
always says that it is an earlier one.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fairview.errors import InputError
from fairview.files import read_regular
from fairview.paper.cells import SHOWN, Cell, CellResult

Key = tuple[str, str | None, str, str]
"""Dataset, encoder, block and row."""


def key(cell: Cell) -> Key:
    """What tells a row of a table from the others."""
    return cell.dataset, cell.encoder, cell.block, cell.row


def filled(rows: Sequence[CellResult], earlier: Mapping[Key, CellResult]) -> list[CellResult]:
    """The rows, each with the numbers of an earlier one of the same name if that has runs, and more of them, or if the
    row has none at all.
    """
    return [_better(row, earlier.get(key(row.cell))) for row in rows]


def by_key(rows: Iterable[CellResult]) -> dict[Key, CellResult]:
    """Those of a document's rows that have numbers."""
    return {key(row.cell): row for row in rows if row.known}


def read_earlier(path: Path) -> dict[Key, CellResult]:
    """The rows of `NAME.csv`, without their runs; a missing file has none.

    Raises:
        InputError: it is not a table's CSV.
    """
    if not path.exists():
        return {}
    found: dict[Key, CellResult] = {}
    try:
        for line in csv.DictReader(read_regular(path).decode().splitlines()):
            cell = Cell(
                dataset=line["dataset"],
                encoder=line["encoder"] or None,
                block=line["block"],
                row=line["row"],
                method=line["method"],
            )
            runs, mean, std = int(line["runs"]), _fraction(line["mean"]), _fraction(line["std"])
            before = found.get(key(cell), CellResult(cell))
            if runs and line["metric"] in SHOWN:
                found[key(cell)] = replace(before, earlier={**before.earlier, line["metric"]: (mean, std)},
                                           earlier_runs=runs)  # fmt: skip
    except (OSError, KeyError, ValueError):
        raise InputError(f"{path}: is not a table that `fairview paper` wrote as CSV.") from None
    return found


def _better(row: CellResult, earlier: CellResult | None) -> CellResult:
    if earlier is None or (row.values and (not earlier.values or len(row.draws) >= len(earlier.draws))):
        return row
    if earlier.values and _plain(earlier.cell.settings) != _plain(row.cell.settings):
        return row  # the same name, other settings
    return replace(earlier, cell=row.cell, reason="", planned=row.planned)


def _plain(settings: Mapping[str, Any]) -> Any:
    """As a file gives them back."""
    return json.loads(json.dumps(dict(settings)))


def _fraction(percent: str) -> float | None:
    return float(percent) / 100 if percent else None
