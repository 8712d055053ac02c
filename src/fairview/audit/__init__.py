"""NodeGraph (+ model) -> what leaks. `fairview.audit(graph)` is the audit of a graph.

The folder and its main function share a name. Python binds the folder to `fairview.audit` as soon as anything in it is
imported, so the folder itself is made callable: both ways of reading the name then mean the same.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from fairview.audit.graph import GraphAudit, audit

__all__ = ["GraphAudit", "audit"]


class _Audit(ModuleType):
    def __call__(self, *given: Any, **named: Any) -> GraphAudit:
        return audit(*given, **named)


sys.modules[__name__].__class__ = _Audit
