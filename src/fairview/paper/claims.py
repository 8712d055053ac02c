"""Which of the paper's claims hold up in our runs? Each with its evidence, computed from the tables at hand.

A claim is a set of comparisons of means, one per setting and gap. It *holds* if nine in ten of them agree, *does not*
if fewer than half do, and is *mixed* in between. It is *undecided* if none of them, for or against, is beyond the
noise, which means that the 95 % interval of the paired difference over the runs leaves out zero. A claim with two parts
is as good as the worse one. Bail without TIME takes no part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from fairview.paper.artefacts import ArtefactResult
from fairview.paper.cells import YARDSTICKS, CellResult, change, paired
from fairview.paper.pages import PageTable
from fairview.paper.table3 import NO_TIME

Word = Literal["holds", "does not", "mixed", "undecided", "not run"]
_WORST_FIRST: tuple[Word, ...] = ("not run", "does not", "mixed", "undecided", "holds")
HOLDS, FAILS = 0.9, 0.5


@dataclass(frozen=True)
class Finding:
    """What our runs say of a claim; `short` is the evidence in a few words."""

    verdict: Word
    evidence: str
    short: str = ""


def all_of(**parts: Finding) -> Finding:
    """Of a claim with several parts: as good as the worst of them.

    Example:
        >>> both = all_of(useful=Finding("mixed", "3 of 5"), biased=Finding("holds", "5 of 5"))
        >>> both.verdict, both.evidence
        ('mixed', 'useful: mixed, 3 of 5; biased: holds, 5 of 5')
    """
    verdict = min((part.verdict for part in parts.values()), key=_WORST_FIRST.index)
    texts = [f"{name.replace('_', ' ')}: {part.verdict}, {part.evidence}" for name, part in parts.items()]
    short = [f"{name.replace('_', ' ')}: {part.short}" for name, part in parts.items() if part.short]
    return Finding(verdict, "; ".join(texts), "; ".join(short))


Documents = Mapping[str, ArtefactResult]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """Something that the paper says.

    Attributes:
        name: a short one.
        text: the claim, in our words.
        where: in the paper.
        needs: the table or figure with the evidence; empty if it is measured elsewhere.
        judge: looks at that document.
        trained: whether the evidence comes from training, so that a smoke test has none.
    """

    name: str
    text: str
    where: str
    needs: str
    judge: Callable[[ArtefactResult], Finding]
    trained: bool = True

    def finding(self, documents: Documents) -> Finding:
        document = documents.get(self.needs, ArtefactResult("", "", {}))
        if self.needs and not document.name:
            return Finding("not run", f"needs `fairview paper {self.needs}`")
        verdict = self.judge(document)
        if not self.trained:
            return verdict
        remarks = _remarks(document)
        verdict = replace(verdict, evidence="; ".join((verdict.evidence, *remarks)))
        return Finding("not run", f"a smoke test: {verdict.evidence}") if document.scope.get("quick") else verdict


def _remarks(document: ArtefactResult) -> list[str]:
    """How many runs the evidence is of, and what of it is missing."""
    rows = [row for row in document.rows if row.cell.block != YARDSTICKS]
    counts = sorted({row.count for row in rows if row.known})
    remarks = []
    if len(counts) > 1:
        remarks.append(f"{counts[0]} to {counts[-1]} runs a row")
    earlier, lacking = sum(bool(row.earlier) for row in rows), sum(bool(row.reason) for row in rows)
    if earlier:
        remarks.append(f"{earlier} of {len(rows)} rows of {document.name} are earlier runs")
    if lacking:
        remarks.append(f"{lacking} of {len(rows)} rows of {document.name} have no numbers")
    return remarks


@dataclass
class Tally:
    """Counts comparisons: how many agree with a claim, and how many of either kind are beyond the noise."""

    agree: int = 0
    total: int = 0
    equal: int = 0
    tested: int = 0
    clear_for: int = 0
    clear_against: int = 0
    against: list[str] = field(default_factory=list)

    def expect_lower(self, one: CellResult | None, other: CellResult | None, metrics: Sequence[str]) -> None:
        """The claim is that `one` has the lower value; a pair without values is left out."""
        if one is None or other is None:
            return
        one, other = paired(one, other)
        for metric in metrics:
            mine, theirs = one.mean(metric), other.mean(metric)
            if mine is None or theirs is None:
                continue
            self.count(mine < theirs, f"{setting(one)} {_SHORT.get(metric, metric)}")
            self.equal += mine == theirs
            interval = change(one, other, metric)
            self.tested += 1
            self.clear_for += interval.high is not None and interval.high < 0
            self.clear_against += interval.low is not None and interval.low > 0

    def count(self, agrees: bool, what: str) -> None:
        self.total += 1
        self.agree += agrees
        if not agrees:
            self.against.append(what)

    def finding(self, remark: str = "", *, most: bool = False, told: bool = False) -> Finding:
        """The verdict.

        Args:
            remark: further evidence.
            told: whether the remark belongs to the evidence in a few words.
            most: the paper says "in most cases" or "generally": more than half is enough.
        """
        if not self.total:
            return Finding("not run", "no rows to compare")
        evidence = "; ".join(part for part in (self.evidence(), remark) if part)
        short = f"{self.counts()}; {remark}" if told else self.counts()
        return Finding(self._verdict(most=most), evidence, short)

    def _verdict(self, *, most: bool) -> Word:
        if self.tested == self.total and not self.clear_for and not self.clear_against:
            return "undecided"
        share = self.agree / self.total
        if share >= HOLDS or (most and share > FAILS):
            return "holds"
        return "mixed" if share >= FAILS else "does not"

    def counts(self) -> str:
        """How many comparisons agree, and how many of either kind are beyond the noise."""
        text = f"{self.agree} of {self.total} comparisons agree"
        if self.tested:
            text += f", {self.clear_for or 'none'} beyond the noise"
            text += f"; {self.clear_against} disagree beyond the noise" if self.clear_against else ""
        return text + (f"; {self.equal} are equal" if self.equal else "")

    def evidence(self) -> str:
        """The same, with examples of what disagrees."""
        text = self.counts()
        against = list(dict.fromkeys(self.against))
        examples = against[:_EXAMPLES]
        more = len(against) - len(examples)
        return text + (f" (against: {', '.join(examples)}{f' and {more} more' if more else ''})" if examples else "")


def claims_table(findings: Mapping[str, tuple[Claim, Finding]]) -> PageTable:
    """The checklist."""
    lines = [[claim.text, claim.where, finding.verdict, finding.evidence] for claim, finding in findings.values()]
    return PageTable("Claims", ["claim", "in the paper", "verdict", "evidence"], lines)


# --- rows -------------------------------------------------------------------------------------------------------------

Key = tuple[str, str | None]


def settings_of(
    document: ArtefactResult, *, block: str | None = None, every: bool = False
) -> dict[Key, dict[str, CellResult]]:
    """(dataset, encoder) -> the rows by name; Bail without TIME only if `every` dataset is wanted."""
    settings: dict[Key, dict[str, CellResult]] = {}
    for row in document.rows:
        cell = row.cell
        if (every or cell.dataset != NO_TIME) and cell.block != YARDSTICKS and block in (None, cell.block):
            settings.setdefault((cell.dataset, cell.encoder), {})[cell.row] = row
    return settings


def setting(row: CellResult) -> str:
    """Dataset and encoder, for a sentence."""
    return f"{row.cell.dataset} {row.cell.encoder or ''}".strip()


_EXAMPLES = 4
_SHORT = {"statistical_parity_gap": "SP", "equal_opportunity_gap": "EO", "auc": "AUC", "f1": "F1", "accuracy": "ACC"}
