"""Was an option given twice, or a path that is empty? The last one would win, or this folder be meant, in silence."""

from __future__ import annotations

from collections import Counter
from typing import Any

import typer
from typer.core import TyperCommand

_WHY = {"--sensitive": "one attribute is audited at a time"}


class GivenOnce(TyperCommand):
    """A command that takes each option once, but for those that say *repeat it*, and no empty path."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Count the options of the line before click reads their values."""
        if not ctx.resilient_parsing:
            values, _, order = self.make_parser(ctx).parse_args(args=list(args))
            for param in order:
                kind = getattr(param, "type", None)
                if (
                    getattr(kind, "name", None) == "path" and values.get(param.name) == ""
                ):  # as "$OUT" is if nobody set it
                    name = max(param.opts, key=len)
                    raise typer.BadParameter(f"{name} is empty: give a path ('.' for this folder).")
            counts = Counter(param for param in order if param.param_type_name == "option")
            for param, count in counts.items():
                if count > 1 and not getattr(param, "multiple", False):
                    name = max(param.opts, key=len)
                    times = "twice" if count == 2 else f"{count} times"
                    raise typer.BadParameter(f"{name} is given {times}: {_WHY.get(name, 'give it once')}.")
        return super().parse_args(ctx, args)
