"""Is this argument a graph? If not, the message says how to make one of it."""

from __future__ import annotations

import os
from typing import TypeGuard

from fairview.arguments import shortened
from fairview.data.graph import NodeGraph
from fairview.errors import InputError


def require_graph(given: object, name: str) -> TypeGuard[NodeGraph]:
    """Raise unless it is a `NodeGraph`.

    Example:
        >>> require_graph("german", "audit")
        Traceback (most recent call last):
        ...
        fairview.errors.InputError: audit: 'german'; expected a NodeGraph. Load it: fv.load_dataset('german').
    """
    if isinstance(given, NodeGraph):
        return True
    raise InputError(f"{name}: {_shown(given)}; expected a NodeGraph. {_remedy(given)}")


def _shown(given: object) -> str:
    if given is None or isinstance(given, str | os.PathLike | int | float):
        return shortened(os.fspath(given) if isinstance(given, os.PathLike) else given)
    return f"the class {given.__name__}" if isinstance(given, type) else f"a {type(given).__name__}"


def _remedy(given: object) -> str:
    if isinstance(given, str | os.PathLike):
        if isinstance(given, str) and given.replace("-", "").isidentifier():  # the name of a dataset, and no path
            return f"Load it: fv.load_dataset({given!r})."
        return f"Read it: fv.read_graph({os.fspath(given)!r}, label=..., sensitive=...)."
    if type(given).__name__ == "Propagated":
        return "Take nodes of it: folder.sample()."
    library = type(given).__module__.partition(".")[0]
    if library in ("pandas", "polars"):
        return "Read it: fv.read_graph(frame, label=..., sensitive=...)."
    if library == "torch_geometric":
        return "Turn it into one: fv.from_pyg(data, sensitive=...)."
    if library in ("numpy", "torch"):
        return "Make one: fv.NodeGraph.from_arrays(features=..., edges=..., labels=..., sensitive=...)."
    return "Make one: fv.read_graph, fv.load_dataset, fv.from_pyg or fv.NodeGraph.from_arrays."
