"""Which options may the errors of a command recommend? Its own, and no others."""

from __future__ import annotations

from typing import Any

from fairview.cli.given_once import GivenOnce
from fairview.errors import flag
from fairview.offered import offering


class AdvisingCommand(GivenOnce):
    """A command below which `remedies` names no option that the command lacks."""

    def invoke(self, ctx: Any) -> Any:
        """Run it."""
        flags = {name for param in self.params for name in param.opts}
        with offering(lambda name: flag(name) in flags):
            return super().invoke(ctx)
