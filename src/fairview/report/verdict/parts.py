"""What is a verdict made of? A headline, sentences, warnings, a few numbers, and the rule behind the words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["good", "unsure", "bad", "empty"]


@dataclass(frozen=True)
class Fact:
    """One number of the row below the verdict."""

    name: str
    value: str
    detail: str = ""


@dataclass(frozen=True)
class ReportVerdict:
    """What stands on top of the page."""

    status: Status
    headline: str
    sentences: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    rule: str = ""
