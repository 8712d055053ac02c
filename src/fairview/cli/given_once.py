"""Was an option given twice, or empty? The last one would win, or this folder be meant by an empty path, in silence."""

from __future__ import annotations

from collections import Counter
from typing import Any

import typer
from typer.core import TyperCommand


class GivenOnce(TyperCommand):
    """A command that takes each option once, but for those that say *repeat it*, and no empty value."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Count the options of the line before click reads their values."""
        if not ctx.resilient_parsing:
            values, _, order = self.make_parser(ctx).parse_args(args=list(args))
            for param in order:
                if values.get(param.name) == "":  # as "$OUT" is if nobody set it
                    raise typer.BadParameter(f"{max(param.opts, key=len)} is empty: give a value.")
            counts = Counter(param for param in order if param.param_type_name == "option")
            for param, count in counts.items():
                if count > 1 and not getattr(param, "multiple", False):
                    name = max(param.opts, key=len)
                    times = "twice" if count == 2 else f"{count} times"
                    raise typer.BadParameter(f"{name} is given {times}: give it once.")
        return super().parse_args(ctx, args)
