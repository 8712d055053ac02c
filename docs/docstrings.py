"""How do docstrings get to the site? Those of methods as Python completes them; `Example:` is read as `Examples:`."""

from __future__ import annotations

import inspect
import pydoc
import re
from typing import Any

from griffe import Extension, Object


class Docstrings(Extension):
    """An extension of griffe, which reads the source and so does not see what is done at import."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Complete one docstring: a method inherits the words of shared parameters when its class is made."""
        if obj.docstring:
            if obj.is_class and obj.path.startswith("fairview.methods."):
                obj.docstring.value = inspect.getdoc(pydoc.locate(obj.path)) or obj.docstring.value
            obj.docstring.value = re.sub(r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE)
