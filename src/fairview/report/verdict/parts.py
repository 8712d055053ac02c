"""What is a verdict made of? A headline, sentences, warnings, numbers, the rule behind the words; a certificate."""

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


@dataclass(frozen=True)
class Frame:
    """A certificate or a refusal, framed below the verdict.

    Attributes:
        status: gives the colour.
        title: one or two words.
        statement: what is promised, or why nothing is.
        columns: of the table of limits; the first names the rows.
        rows: one for each limit.
        parts: headings, each with its sentences.
        hashes: what it is about, by hash.
    """

    status: Status
    title: str
    statement: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    parts: tuple[tuple[str, tuple[str, ...]], ...]
    hashes: tuple[tuple[str, str], ...] = ()
