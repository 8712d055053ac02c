"""What did an earlier call find whose runs are not kept? Its rows, read from the CSV that it left.

Such a row has means and deviations but no runs, so that differences from it are tested without pairs; it always says
that it is an earlier one.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from fairview.errors import InputError
from fairview.files import read_regular
from fairview.paper.cells import SHOWN, Cell, CellResult

Key = tuple[str, str | None, str, str]
"""Dataset, encoder, block and row."""


def key(cell: Cell) -> Key:
    """What tells a row of a table from the others."""
    return cell.dataset, cell.encoder, cell.block, cell.row


def filled(rows: Sequence[CellResult], earlier: Mapping[Key, CellResult]) -> list[CellResult]:
    """The rows, those without runs with the numbers of an earlier one of the same name where there is one."""
    return [row if row.values or key(row.cell) not in earlier else _with(row, earlier[key(row.cell)]) for row in rows]


def of_document(rows: Iterable[CellResult]) -> dict[Key, CellResult]:
    """Those of a document's rows that are earlier ones."""
    return {key(row.cell): row for row in rows if row.earlier}


def read_earlier(path: Path) -> dict[Key, CellResult]:
    """The rows of `NAME.csv`; a missing file has none.

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


def _with(row: CellResult, earlier: CellResult) -> CellResult:
    return replace(row, reason="", earlier=earlier.earlier, earlier_runs=earlier.earlier_runs)


def _fraction(percent: str) -> float | None:
    return float(percent) / 100 if percent else None
