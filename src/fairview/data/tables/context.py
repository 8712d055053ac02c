"""Whom do new nodes know? Nodes of a second table stand around them: they are propagated, and not predicted."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fairview.data.splits import Split
from fairview.data.tables.blank_cells import kept_nodes, report_empty
from fairview.data.tables.cells import require_columns
from fairview.data.tables.open_tables import Tables
from fairview.data.tables.recipe import Column, Matrix, Missing, encode
from fairview.groups import UNKNOWN

NEW = "new"
"""The split of the nodes that are not context."""

Labels = npt.NDArray[np.int8]
Codes = npt.NDArray[np.int16]


def with_context(
    tables: Tables, columns: tuple[Column, ...], missing: Missing, labels: Labels, codes: Codes, encoded: Matrix
) -> tuple[Labels, Codes, Matrix, Split]:
    """Labels, groups, encoded features and the split `new` of all nodes, in the order of the graph.

    The known nodes' labels and groups are not read: they count in no metric.
    """
    known = tables.known
    assert known is not None  # noqa: S101 - the caller asks only then
    kept_nodes(columns, encoded, missing, tables.nodes.name, [])  # refuses if no new node would stay
    around = np.zeros((len(known.table), encoded.shape[1]))
    if require_columns(known.table, [column.name for column in columns], known.problems):
        around = encode(columns, known)
        report_empty(known, columns, around, missing)
    nothing = np.full((len(known.table), codes.shape[1]), UNKNOWN, dtype=np.int16)
    is_new = tables.in_order(np.ones(len(labels), dtype=np.bool_), np.zeros(len(nothing), dtype=np.bool_))
    return (
        tables.in_order(labels, np.full(len(nothing), UNKNOWN, dtype=np.int8)),
        tables.in_order(codes, nothing),
        tables.in_order(encoded, around),
        {NEW: is_new},
    )
