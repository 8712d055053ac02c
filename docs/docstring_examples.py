"""How do the examples of docstrings become code on the site? `Example:` is read as the section `Examples:`."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object


class Examples(Extension):
    """An extension of griffe, which reads the docstrings."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Rename the section of one docstring."""
        if obj.docstring:
            obj.docstring.value = re.sub(r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE)
