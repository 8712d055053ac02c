"""What does the paper claim, and what holds? One Markdown page to read, made from what `fairview paper` wrote."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairview.errors import InputError, command
from fairview.paper.artefacts import ArtefactResult, documents
from fairview.paper.cells import YARDSTICKS, CellResult
from fairview.paper.checklist import findings
from fairview.paper.claims import Claim, Finding, Word
from fairview.paper.pages import SMOKE, PageTable, bullet, runs_rule, wrapped
from fairview.paper.plain_words import Answers, plain_words, verdicts_counted

TABLES = "results-tables.md"
"""The page with all tables."""


@dataclass(frozen=True)
class Chapter:
    """A question that several of the paper's tables and figures answer.

    Attributes:
        question: its title.
        artefacts: whose claims stand in it.
        pictures: file names without ending, and what they show.
    """

    question: str
    artefacts: tuple[str, ...]
    pictures: Mapping[str, str]


CHAPTERS = (
    Chapter(
        "Do features leak through the graph?",
        ("fig1", "table1", "fig5"),
        {
            "fig1-ab": "Figure 1 a-b on German: each point is a plain model with one channel masked, against that "
            "channel's correlation with the sensitive attribute. The dashed line is the model with nothing masked.",
            "fig5": "Figure 5: correlation of the first channels with the sensitive attribute, as they are (hop 0) and "
            "after one to four hops of GCN's propagation.",
        },
    ),
    Chapter(
        "Is FairVGNN fair and useful?",
        ("table3",),
        {
            "table3": "Table 3: both gaps of the plain models, of FairVGNN, and of FairVGNN in the paper; whiskers are "
            "one standard deviation over the runs.",
        },
    ),
    Chapter(
        "What does each part of FairVGNN do?",
        ("table4", "fig3"),
        {
            "table4": "Table 4: what leaving out the masks (fm), the clamp (wc) or both adds to the gaps, all other "
            "settings unchanged; whiskers are 95 % intervals of the difference over the runs, and a single run has "
            "none. An interval that includes zero is no evidence either way.",
            "fig3": "Figure 3: the same for discriminator and generator, beside FairVGNN without the clamp.",
        },
    ),
    Chapter(
        "Is the adaptive clamp the best one?",
        ("table6", "fig4"),
        {
            "table6": "Tables 5 and 6: difference in the gaps when a plain clamp or spectral normalisation replaces "
            "the adaptive clamp.",
            "fig4": "Figure 4: FairVGNN with increasing clamping threshold ε; whiskers are one standard deviation over "
            "the runs.",
        },
    ),
    Chapter("Is an epoch's cost linear in the graph's size?", ("cost",), {}),
)
"""The page, question by question."""

PICTURES = tuple(name for chapter in CHAPTERS for name in chapter.pictures)
"""File names of all pictures, without ending."""

_VERDICTS: tuple[Word, ...] = ("holds", "mixed", "does not", "undecided", "not run")
"""The best first."""


def results_page(folder: Path) -> str:
    """The page, from what the folder holds; what was not run is said to be so.

    Raises:
        InputError: Table 3 was not run.
    """
    by_stem, main = table3_and_all(folder)
    checked = findings(by_stem)
    several = [document for stem, document in by_stem.items() if stem.startswith("table3-")]
    answers = plain_words(main, several)
    lines = ["# Results", "", _made_by(), ""]
    lines += [SMOKE, ""] if main.scope["quick"] else []
    lines += [wrapped(verdicts_counted(checked)), "", _claims_counted(checked).markdown(), ""]
    lines += [wrapped(f"{CLAIM_RULE} The evidence in full is in [the tables]({TABLES}#the-papers-claims)."), ""]
    for chapter in CHAPTERS:
        lines += [f"## {chapter.question}", ""]
        lines += [_picture(name, text) for name, text in chapter.pictures.items() if _is_drawn(by_stem, name)]
        lines += [claims_in_short(_of_chapter(checked, chapter)).markdown(), ""]
        if "table3" in chapter.artefacts:
            lines += _answers(answers)
    lines += ["## How much was run?", "", wrapped(runs_rule(by_stem.values())), ""]
    lines += [_how_much(by_stem).markdown(), "", _machine(by_stem)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join([*lines, ""]))


def _answers(answers: Answers) -> list[str]:
    """What Table 3 says, question by question."""
    lines: list[str] = []
    for question, parts in answers.items():
        lines += [f"### {question}", ""]
        for part in parts:
            lines += ["", part.markdown(), ""] if isinstance(part, PageTable) else [bullet(part)]
        lines.append("")
    return lines


def table3_and_all(folder: Path) -> tuple[dict[str, ArtefactResult], ArtefactResult]:
    """All documents of the folder, and the one that there must be."""
    by_stem = documents(folder)
    main = by_stem.get("table3")
    if main is None:
        raise InputError(f"{folder}: no table3.json. Run {command('paper table3', folder=folder)} first.")
    return by_stem, main


CLAIM_RULE = (
    "A claim is a set of comparisons of means. It *holds* if at least nine in ten agree (more than half where the "
    "paper says *in most cases* or *generally*), is *mixed* if at least half do, and *does not hold* otherwise. It is "
    "*undecided* if every 95 % interval of the difference includes zero (paired by run; Welch's where a row is of "
    "earlier runs or of another processor). A claim with two parts counts as the worse one."
)


Checked = Mapping[str, tuple[Claim, Finding]]


def _of_chapter(checked: Checked, chapter: Chapter) -> Checked:
    """Those whose evidence is one of the chapter's tables and figures, the ones that hold first."""
    there = {name: pair for name, pair in checked.items() if pair[0].needs in chapter.artefacts}
    return dict(sorted(there.items(), key=lambda item: _VERDICTS.index(item[1][1].verdict)))


def _claims_counted(checked: Checked) -> PageTable:
    """How the claims of each chapter fare."""
    counts = {
        chapter.question: Counter(finding.verdict for _, finding in _of_chapter(checked, chapter).values())
        for chapter in CHAPTERS
    }
    words = [word for word in _VERDICTS if any(count[word] for count in counts.values())]
    rows = [
        [f"[{question}](#{anchor(question)})", *(str(count[word] or "") for word in words)]
        for question, count in counts.items()
    ]
    columns = ["claims about", *("does not hold" if word == "does not" else word for word in words)]
    return PageTable("", columns, rows)


def claims_in_short(checked: Checked) -> PageTable:
    """Claims, each with its evidence in a few words."""
    rows = [
        [claim.text, claim.where, _WORDS.get(finding.verdict, finding.verdict), finding.short or finding.evidence]
        for claim, finding in checked.values()
    ]
    return PageTable("", ["the paper claims", "where", "here", "why"], rows)


_WORDS = {"holds": "**holds**", "does not": "**does not hold**"}


def _made_by() -> str:
    return wrapped(
        "Made by `fairview paper results`; not edited by hand. Which claims of the FairVGNN paper hold when its tables "
        "and figures are run again? Percent on the test nodes of the published split unless stated otherwise; all "
        f"numbers are in [the tables]({TABLES})."
    )


def _is_drawn(by_stem: Mapping[str, ArtefactResult], name: str) -> bool:
    """Whether there is anything in a picture: rows that were run, or series."""
    document = by_stem.get(name.partition("-")[0])
    if document is None:
        return False
    return bool(document.series) or any(row.known and row.cell.block != YARDSTICKS for row in document.rows)


def _picture(name: str, text: str) -> str:
    return f"![{text.partition(':')[0]}]({name}.svg)\n\n{wrapped(f'*{text}*')}\n"


def _how_much(by_stem: Mapping[str, ArtefactResult]) -> PageTable:
    """Rows and runs of each table; nothing that was not run is left unsaid."""
    lines = []
    for document in by_stem.values():
        rows = [row for row in document.rows if row.cell.block != YARDSTICKS]
        if not rows:
            continue
        title = heading(document)
        lines.append(
            [
                f"[{title.partition(':')[0]}]({TABLES}#{anchor(title)})",
                *_runs_of_each_dataset(document),
                str(sum(bool(row.earlier) for row in rows)),
                ", ".join(f"{setting} ({count})" for setting, count in _lacking(rows).items()) or "-",
            ]
        )
    columns = ["", *(f"runs per row, {name}" for name in _DATASETS.values()), "earlier rows", "rows not run"]
    return PageTable("", columns, lines)


_DATASETS = {"german": "German", "bail": "Bail", "credit": "Credit"}


def _runs_of_each_dataset(document: ArtefactResult) -> list[str]:
    cells = []
    for dataset in _DATASETS:
        counts = {
            row.count
            for row in document.rows
            if row.cell.dataset.startswith(dataset) and row.cell.block != YARDSTICKS and row.known
        }
        ends = sorted({min(counts), max(counts)}) if counts else []
        cells.append(" to ".join(map(str, ends)) or "-")
    return cells


def heading(document: ArtefactResult) -> str:
    """What a document's part of the tables page is called.

    Example:
        >>> heading(ArtefactResult("table3", "Table 3: models", {"splits": 10}))
        'Table 3 over 10 splits: models'
    """
    splits = document.scope["splits"]
    name, colon, rest = document.title.partition(":")
    return f"{name} over {splits} splits{colon}{rest}" if splits else document.title


def anchor(title: str) -> str:
    """Of a heading, as Markdown sites make it.

    Example:
        >>> anchor("Table 3: which method, where?")
        'table-3-which-method-where'
    """
    kept = "".join(letter for letter in title.lower() if letter.isalnum() or letter in " -_")
    return "-".join(kept.split())


def _lacking(rows: Sequence[CellResult]) -> Counter[str]:
    """How many rows of each setting have no numbers."""
    return Counter(f"{row.cell.dataset} {(row.cell.encoder or '').upper()}".strip() for row in rows if row.reason)


def _machine(by_stem: Mapping[str, ArtefactResult]) -> str:
    rows = [row for document in by_stem.values() for row in document.rows if row.values]
    counts = Counter(row.machine or "a processor that was not recorded" for row in rows)
    machines = "; ".join(f"{machine} ({count} rows)" for machine, count in counts.most_common())
    versions = by_stem["table3"].versions
    packages = ", ".join(f"{name} {versions[name]}" for name in versions if name not in _OF_THE_MACHINE)
    hours = sum(document.seconds for document in by_stem.values()) / 3600
    return wrapped(
        f"Processors: {machines or 'none'}. Versions: {packages}. The runs took {hours:.1f} hours in all, each on one "
        "thread of a busy machine (a run shared by several tables counts in each). Other processors change the last "
        "digits, and single runs by more (docs/stability.md)."
    )


_OF_THE_MACHINE = ("processor", "cpu_capability", "platform")
