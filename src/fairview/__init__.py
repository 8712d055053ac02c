"""Fair node classification on graphs: see what a graph leaks, train fair models, and measure them.

Where to begin:

    graph = fairview.read_graph("people.csv", "links.csv", label="approved", sensitive="gender")
    fairview.audit(graph)                             what message passing reveals
    model = fairview.FairVGNN().fit(graph)            or Vanilla, NIFTY, EDITS, FairGNN, a method of your own
    fairview.evaluate(model, graph, split="test")     usefulness and gaps between groups
    fairview.compare(graph, methods=[...], folder=..) several methods over seeds and splits
    fairview.write_report(folder)                     one HTML file

Names are imported when they are first used, so that `import fairview` is quick and torch is loaded only when needed.
`__init__.pyi` lists them.
"""

from __future__ import annotations

import ast
import importlib
from importlib import resources
from typing import Any

from fairview._version import __version__ as __version__


def _homes() -> dict[str, str]:
    """The module of each public name, from the imports of the stub beside this file."""
    stub = ast.parse(resources.files(__name__).joinpath("__init__.pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


_HOME = _homes()

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'fairview' has no attribute '{name}'")
    home = importlib.import_module(_HOME[name])
    value = vars(home).get(name)
    if value is None:
        value = importlib.import_module(f"{_HOME[name]}.{name}")  # a folder, such as `fairview.metrics`
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
