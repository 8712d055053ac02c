"""What makes two graphs the same to a model? One hash over names and arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from fairview.data.graph import NodeGraph

Streamed = tuple[np.dtype[Any], tuple[int, ...], Iterable[npt.NDArray[Any]]]
"""An array that comes in pieces: its type, its shape, and its rows some at a time."""


def content_sha256(names: str, arrays: Iterable[npt.NDArray[Any] | Streamed]) -> str:
    """A hash over names and arrays; one that comes in pieces counts like one that is whole."""
    digest = hashlib.sha256(names.encode())
    for array in arrays:
        dtype, shape, pieces = (array.dtype, array.shape, [array]) if isinstance(array, np.ndarray) else array
        digest.update(f"{dtype.str}{shape}".encode())
        for piece in pieces:
            digest.update(np.ascontiguousarray(piece).data)
    return digest.hexdigest()


def hashed_names(graph: NodeGraph, node_ids: tuple[str, ...] | None) -> str:
    """All names that `NodeGraph.sha256` covers, with these ids."""
    names: list[object] = [graph.channels, graph.classes, graph.groups, graph.sensitive_name, graph.sensitive_channels]
    names += [node_ids, tuple(graph.splits)]
    if graph.adjacency.kinds is not None:
        names.append(graph.adjacency.kinds.names)
    return repr((names, graph.adjacency.directed))


def hashed_codes(graph: NodeGraph) -> list[npt.NDArray[np.int16]]:
    """Of several attributes each: a node of which one is not known has no code that tells the others."""
    return [attribute.codes for attribute in graph.attributes] if graph.several else []
