"""Which tables and figures are there, and what does running one leave behind? A document: rows, series, notes."""

from __future__ import annotations

import dataclasses
import json
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fairview._version import __version__
from fairview.atomic import write_json
from fairview.errors import InputError, did_you_mean, option
from fairview.files import read_regular
from fairview.machine import cpu_capability, processor
from fairview.marks import wrote
from fairview.paper import cost, fig1, fig3, fig4, fig5, table1, table2, table3, table4, table6
from fairview.paper.cells import CellResult, Cells, run_cells
from fairview.paper.earlier import Key, by_key, filled, key, read_earlier
from fairview.paper.numbers import numbers
from fairview.paper.scope import Scope
from fairview.study.trials import TrialNotice

Series = Callable[[Scope], list[dict[str, Any]]]
"""Tidy records of what needs no training."""


@dataclass(frozen=True, kw_only=True)
class Artefact:
    """A table or figure of the paper.

    Attributes:
        name: as on the command line.
        title: what it shows.
        notes: how ours differs.
        cells: the rows that are trained.
        series: what is computed without training.
        published_split: True if it is only defined there.
    """

    name: str
    title: str
    notes: tuple[str, ...] = ()
    cells: Cells | None = None
    series: Series | None = None
    published_split: bool = False

    def scoped(self, scope: Scope) -> Scope:
        return dataclasses.replace(scope, splits=0) if self.published_split else scope


def _table(name: str, notes: tuple[str, ...], cells: Cells | None = None, series: Series | None = None) -> Artefact:
    """A table's title and the contradictions in it come with its numbers."""
    table = numbers()[name]
    title, of_paper = f"Table {name[-1]}: {table['title']}", [f"The paper: {note}" for note in table["notes"]]
    return Artefact(name=name, title=title, notes=(*notes, *of_paper), cells=cells, series=series)


_ALL = (
    _table("table1", table1.NOTES, table1.cells),
    _table("table2", table2.NOTES, series=table2.series),
    _table("table3", table3.NOTES, table3.cells),
    _table("table4", table4.NOTES, table4.cells),
    _table("table5", table6.NOTES, table6.short_cells),
    _table("table6", table6.NOTES, table6.cells),
    Artefact(name="fig1", title="Figure 1: one channel masked, and correlations over hops", notes=fig1.NOTES,
             cells=fig1.cells, series=fig1.series, published_split=True),
    Artefact(name="fig3", title="Figure 3: without discriminator or generator", notes=fig3.NOTES, cells=fig3.cells),
    Artefact(name="fig4", title="Figure 4: the clamping threshold", notes=fig4.NOTES, cells=fig4.cells),
    Artefact(name="fig5", title="Figure 5: correlation of the first 13 channels over hops", notes=fig5.NOTES,
             series=fig5.series),
    Artefact(name="cost", title="Section 4.3: operations of an epoch", notes=cost.NOTES, series=cost.series),
)  # fmt: skip

ARTEFACTS: Mapping[str, Artefact] = MappingProxyType({artefact.name: artefact for artefact in _ALL})
"""By name, in the paper's order."""


def artefact(name: str) -> Artefact:
    """By name; an unknown one is an error."""
    if name not in ARTEFACTS:
        raise InputError(f"no table or figure '{name}'.{did_you_mean(name, list(ARTEFACTS))}")
    return ARTEFACTS[name]


@dataclass(frozen=True)
class ArtefactResult:
    """What came of a table or figure.

    Attributes:
        name: of the artefact.
        title: its.
        scope: what was asked for, as plain data.
        rows: trained ones, with every run's values.
        series: tidy records of what needed no training.
        notes: how it differs from the paper's.
        versions: of the packages, and the platform.
    """

    name: str
    title: str
    scope: Mapping[str, Any]
    rows: tuple[CellResult, ...] = ()
    series: tuple[Mapping[str, Any], ...] = ()
    notes: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """Of all runs together."""
        return sum(row.seconds for row in self.rows)

    @property
    def stem(self) -> str:
        """The name of its files."""
        splits = self.scope["splits"]
        return self.name + (f"-{splits}-splits" if splits else "")

    def save(self, folder: Path) -> Path:
        rows, series = [row.to_dict() for row in self.rows], [dict(record) for record in self.series]
        path = folder / f"{self.stem}.json"
        write_json(path, {"kind": "paper", "version": 1, **vars(self), "rows": rows, "series": series}, indent=1)
        return path

    @classmethod
    def load(cls, path: Path) -> ArtefactResult:
        try:
            document = json.loads(read_regular(path))
            if (document["kind"], document["version"]) != ("paper", 1) or document["name"] not in ARTEFACTS:
                raise ValueError
            versions = document["versions"]
            of_older_files = ", ".join(filter(None, map(versions.get, ("processor", "cpu_capability"))))
            return cls(
                **{name: document[name] for name in ("name", "title", "scope", "versions")},
                rows=tuple(CellResult.from_dict({"machine": of_older_files, **row}) for row in document["rows"]),
                series=tuple(document["series"]),
                notes=tuple(document["notes"]),
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            raise InputError(f"{path}: is not what `fairview paper` writes. Run the table again.") from None


def run_artefact(
    name: str,
    scope: Scope,
    folder: Path,
    *,
    workers: int | None = None,
    notice: TrialNotice | None = None,
    finished: bool = False,
    overwrite: bool = False,
    earlier: Path | None = None,
) -> ArtefactResult:
    """Train what the folder does not hold yet, and write `NAME.json`; rows of earlier calls stay in it.

    Calls may have other numbers of seeds: a row says how many runs it has.

    Args:
        name: of a table or figure.
        scope: how much of it.
        folder: of all tables; their trials are shared in `folder/trials`.
        workers: processes.
        notice: for progress.
        finished: train nothing; rows whose runs are not there say so.
        overwrite: replace a `NAME.json` that fairview did not write.
        earlier: a folder with `NAME.json`, or `NAME.csv` alone, as an earlier call wrote it, for rows that have no
            trials here.

    Raises:
        InputError: the folder holds more than a smoke test, which would be lost.
    """
    wanted = artefact(name)
    scope = wanted.scoped(scope)
    path = folder / f"{name}{scope.suffix}.json"
    before = None if overwrite and not (path.is_file() and wrote(path)) else _earlier(path, scope)
    rows: list[CellResult] = []
    if wanted.cells is not None:
        cells = wanted.cells(scope)
        rows = run_cells(cells, scope, folder / "trials", workers=workers, notice=notice, finished=finished)
        past = {} if earlier is None else _kept(earlier / f"{name}{scope.suffix}.json")
        if before is not None:
            scope = scope.with_(before.scope)
            rows = run_cells(wanted.cells(scope), scope, folder / "trials", finished=True)
            past = by_key(before.rows) | past
        asked = {key(cell) for cell in cells}
        rows = [row for row in filled(rows, past) if row.known or key(row.cell) in asked]
    series = wanted.series(scope) if wanted.series is not None else []
    missing = [f"Not run: {dataset}, its files are not at hand." for dataset in scope.missing()]
    document = ArtefactResult(
        name, wanted.title, scope.to_dict(), tuple(rows), tuple(series), (*wanted.notes, *missing), versions()
    )
    document.save(folder)
    return document


def _kept(path: Path) -> dict[Key, CellResult]:
    """The rows of a document, over those of the CSV file beside it, which has no runs."""
    document = ArtefactResult.load(path) if path.exists() else None
    rows = () if document is None or document.scope["quick"] else document.rows
    return read_earlier(path.with_suffix(".csv")) | by_key(rows)


def _earlier(path: Path, scope: Scope) -> ArtefactResult | None:
    """What an earlier call left, if it can be added to."""
    if not path.exists():
        return None
    held = ArtefactResult.load(path)
    if scope.quick and not held.scope["quick"]:
        raise InputError(
            f"{path}: holds results of {held.scope['seeds']} seeds, which a smoke test would replace. Use another "
            f"{option('folder')}."
        )
    return held if held.scope["quick"] == scope.quick else None


def documents(folder: Path) -> dict[str, ArtefactResult]:
    """All that lie in a folder, by stem, the published split first (`table3`, `table3-10-splits`)."""
    paths = [path for name in ARTEFACTS for path in sorted(folder.glob(f"{name}*.json"), key=lambda path: path.stem)]
    loaded = [ArtefactResult.load(path) for path in paths]
    return {document.stem: document for document in loaded}


def versions() -> dict[str, str]:
    """Of what computes, and where."""
    packages = {name: metadata.version(name) for name in ("numpy", "scipy", "torch", "torch_geometric", "scikit-learn")}
    machine = {"platform": platform.platform(), "processor": processor(), "cpu_capability": cpu_capability() or "none"}
    return {"fairview": __version__, "python": platform.python_version(), **packages, **machine}
