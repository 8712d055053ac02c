"""Which nodes does a method of fairlearn learn from, and how is fairlearn called? Quietly, and only when it is used."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fairview.data.graph import NodeGraph
from fairview.errors import InputError
from fairview.groups import UNKNOWN
from fairview.methods.contract import training_rows
from fairview.optional import require

Constraint = Literal["statistical_parity", "equal_opportunity", "equalized_odds"]


def fairlearn_module(name: str, method: str) -> Any:
    """A module of fairlearn, such as `reductions`."""
    require("fairlearn", "fairlearn", f"{method} needs fairlearn")
    with quiet():
        return require(f"fairlearn.{name}", "fairlearn", f"{method} needs fairlearn")


@contextmanager
def quiet() -> Iterator[None]:
    """Warnings of fairlearn and scikit-learn, on convergence or on what will change in them, are not the user's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def rows_with_groups(graph: NodeGraph, constraint: Constraint, method: str) -> npt.NDArray[np.intp]:
    """The labelled train nodes whose group is known; each group must have the labels that the constraint looks at."""
    labelled = training_rows(graph)
    rows: npt.NDArray[np.intp] = labelled[graph.sensitive[labelled] != UNKNOWN]
    codes = np.unique(graph.sensitive[rows])
    if len(codes) < 2:
        raise InputError(
            f"train: {method} needs labelled train nodes of two groups; '{graph.sensitive_name}' has "
            f"{'one' if len(codes) else 'none'} there."
        )
    for code in codes:
        found = graph.labels[rows[graph.sensitive[rows] == code]]
        for label in _LOOKS_AT[constraint]:
            if label not in found:
                raise InputError(
                    f"train: no label of the group '{graph.groups[code]}' in train is '{graph.classes[label]}'; "
                    f"{method} needs one in each group."
                )
    return rows


_LOOKS_AT: dict[str, tuple[int, ...]] = {"statistical_parity": (), "equal_opportunity": (1,), "equalized_odds": (0, 1)}
"""The labels among which a constraint compares the groups."""
