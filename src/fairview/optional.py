"""Is an optional package installed? If not, the error says which extra brings it."""

from __future__ import annotations

import importlib
from typing import Any

from fairview.errors import MissingPackageError


def require(module: str, extra: str, purpose: str) -> Any:
    """Import an optional package.

    Args:
        module: as in `import module`.
        extra: of this package, whose installation brings it.
        purpose: who needs what, for the error: `Reports need altair and vl-convert`.

    Returns:
        The imported module.

    Raises:
        MissingPackageError: it is not installed.

    Example:
        >>> require("no_such_module", "extra", "Maps need no_such_module")
        Traceback (most recent call last):
        ...
        fairview.errors.MissingPackageError: Maps need no_such_module; install it with: pip install 'fairview[extra]'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise  # it is there, and lacks something itself
        them = "them" if " and " in purpose else "it"
        raise MissingPackageError(f"{purpose}; install {them} with: pip install 'fairview[{extra}]'") from None
