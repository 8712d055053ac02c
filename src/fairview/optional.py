"""What if a package that only some people need is not installed? The error says what to install."""

from __future__ import annotations

import importlib
from types import ModuleType

from fairview.errors import FairviewError


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import a package of an optional extra.

    Args:
        module: to import, such as `altair`.
        extra: of fairview that installs it, such as `report`.
        purpose: what needs it, in the plural, such as `Charts`.

    Raises:
        FairviewError: it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise  # it is there, and lacks something of its own
        raise FairviewError(f"{purpose} need {module}; install it with: pip install 'fairview[{extra}]'") from None
