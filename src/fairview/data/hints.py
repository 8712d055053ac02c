"""Which columns may mean something else than they seem to? Advice that `check` gives; nothing is changed."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fairview.data.graph import NodeGraph
from fairview.errors import Message, option, quoted

FEWEST, MOST = 3, 10  # different whole numbers that may be codes; two are as good as one-hot encoded
_REPEATS = 5  # nodes per value, at least: few people have few ages, too


def hints(graph: NodeGraph) -> list[str]:
    """Numeric columns with few different whole numbers, which may be codes, with the option that encodes them.

    Example:
        >>> import polars as pl
        >>> from fairview.data.tables.read import read_graph
        >>> people = pl.DataFrame({"age": range(20, 50), "region": [1, 2, 3] * 10, "sex": ["f", "m"] * 15})
        >>> hints(read_graph(people, sensitive="sex"))
        ["column 'region' holds few whole numbers; if they are codes, pass categorical=['region']"]
    """
    names = _code_columns(graph)
    if not names:
        return []
    one = len(names) == 1
    what = f"column{'' if one else 's'} {quoted(names, limit=20)} hold{'s' if one else ''} few whole numbers"
    return [Message(f"{what}; if they are codes, pass {option('categorical', names)}")]


def _code_columns(graph: NodeGraph) -> list[str]:
    if graph.recipe is None:
        return []
    features = graph.recipe.features
    own = {channel for attribute in graph.recipe.attributes for channel in attribute.channels}
    encoded = [column for column in features.columns for _ in column.channels]
    found = []
    for j, (column, fill) in enumerate(zip(encoded, features.fill, strict=True)):
        if column.kind == "numeric" and column.name not in own and graph.channels[j] == column.name:
            values = _few(graph.features[:, j])
            center, spread = features.scaling.center[j], features.scaling.spread[j]
            if values is not None and _are_codes(values.astype(np.float64) * spread + center, fill, graph.num_nodes):
                found.append(column.name)
    return found


def _few(values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32] | None:
    """The different values if they are few; a short look at the first nodes spares most columns the sorting."""
    if len(np.unique(values[: 20 * MOST])) > MOST + 1:
        return None
    different = np.unique(values)
    return different if len(different) <= MOST + 1 else None


def _are_codes(values: npt.NDArray[np.float64], fill: float, nodes: int) -> bool:
    close = min(1e-2, 1e-6 * max(1.0, float(np.abs(values).max())))  # the scaled values are float32
    whole = np.abs(values - np.round(values)) <= close
    filled = ~whole & (np.abs(values - fill) <= close)  # a mean in place of an empty cell
    count = int(whole.sum())
    return bool((whole | filled).all()) and FEWEST <= count <= min(MOST, nodes // _REPEATS)
