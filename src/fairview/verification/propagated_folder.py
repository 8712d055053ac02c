"""Is a propagated folder whole? Hashes, rows, columns, types and values of every part, and what follows from them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from fairview.attributes import intersection
from fairview.errors import in_one_line, quoted, some
from fairview.progress import track
from fairview.propagation.blocks import column_name
from fairview.propagation.facts import MANIFEST, Moments
from fairview.propagation.folder import Propagated, open_propagated
from fairview.propagation.folder_writing import RunningMoments
from fairview.verification.findings import Findings

CLOSE = 1e-6
"""Moments that differ by more than this share of their channels' spread, or size, are different."""


def check_propagated(folder: Path, findings: Findings) -> None:
    """Everything that can be said about a propagated folder; it is read once, some nodes at a time."""
    with findings.collecting():
        if findings.check_hashes(folder):
            return
        propagated = open_propagated(folder)
        findings.add(_parts(propagated, folder))
        if not findings.problems:
            findings.add(_Tally(propagated).problems())
            findings.recomputed = True


def _parts(propagated: Propagated, folder: Path) -> Iterator[str]:
    """Columns, types and rows of each part, and files that no manifest knows."""
    expected = _schema(propagated)
    for part, path in zip(propagated.facts.parts, propagated.paths, strict=True):
        try:
            schema = dict(pl.read_parquet_schema(path))
            rows = pl.scan_parquet(path).select(pl.len()).collect().item()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            yield f"{part.name}: can't be read as Parquet ({in_one_line(error)})."
            continue
        absent = [name for name in expected if name not in schema]
        surplus = [name for name in schema if name not in expected]
        if absent or surplus:
            what = [f"lacks {quoted(absent)}"] * bool(absent) + [f"has {quoted(surplus)} too"] * bool(surplus)
            yield f"{part.name}: its columns are not those of the manifest: it {' and '.join(what)}."
            continue
        odd = [f"{name} ({schema[name]}, expected {kind})" for name, kind in expected.items() if schema[name] != kind]
        if odd:
            yield f"{part.name}: columns of another type: {some(odd)}."
        if rows != part.rows:
            yield f"{part.name}: has {rows:,} rows, and {MANIFEST} says {part.rows:,}."
    known = {part.name for part in propagated.facts.parts}
    loose = sorted(path.name for path in folder.glob("part-*.parquet") if path.name not in known)
    if loose:
        yield f"{quoted(loose)}: not recorded in {MANIFEST}; of another propagation."


def _schema(propagated: Propagated) -> dict[str, pl.DataType]:
    facts = propagated.facts
    schema: dict[str, pl.DataType] = {"id": pl.String()}
    if facts.labelled:
        schema["label"] = pl.Int8()
    schema |= dict.fromkeys(facts.group_columns, pl.String())
    if facts.splits:
        schema["split"] = pl.String()
    columns = (column_name(channel, hop) for hop in range(facts.hops + 1) for channel in facts.channels)
    return schema | {name: pl.Float32() for name in columns}


class _Tally:
    """What the rows of a folder add up to, beside what its manifest says."""

    def __init__(self, propagated: Propagated) -> None:
        self.propagated, self.facts = propagated, propagated.facts
        self.moments = [RunningMoments(len(self.facts.channels)) for _ in range(self.facts.hops + 1)]
        self.labels = dict.fromkeys((0, 1), 0)
        self.groups = [dict.fromkeys(each.groups, 0) for each in self.facts.views]
        self.splits = dict.fromkeys(self.facts.splits, 0)
        self.wrong: dict[str, None] = {}

    def problems(self) -> Iterator[str]:
        """Read everything, and say what does not follow."""
        with track("Verifying", total=self.facts.nodes) as advance:
            for frame in self.propagated.frames(rows=200_000):
                self._add(frame)
                advance(frame.height)
        yield from self.wrong
        told: dict[str, tuple[Any, Any]] = {
            "labelled": (self.facts.labelled, sum(self.labels.values())),
            "positives": (self.facts.positives, self.labels[1]),
            "splits": (self.facts.splits, self.splits),
        }
        for each, counted in zip(self.facts.views, self.groups, strict=True):
            of = f" of '{each.name}'" if self.facts.attributes else ""
            told[f"group_sizes{of}"] = each.group_sizes, counted
        for name, (said, counted) in told.items():
            if said != counted:
                yield f"{MANIFEST}: {name} is {said}; the parts give {counted}."
        for hop, running in enumerate(self.moments):
            if not _close(self.facts.moments[hop], running.moments()):
                yield f"{MANIFEST}: the moments after {hop} hops are not those of the parts."

    def _add(self, frame: pl.DataFrame) -> None:
        if frame["id"].null_count():
            self.wrong["id: some nodes have none."] = None
        by_attribute = dict(zip(self.facts.group_columns, self.groups, strict=False))  # not that of all together
        tallies: dict[str, dict[Any, int]] = {"label": self.labels, **by_attribute, "split": self.splits}
        for name, tally in tallies.items():
            if name not in frame.columns:
                continue
            for value, count in frame[name].drop_nulls().value_counts().rows():
                if value in tally:
                    tally[value] += count
                else:
                    self.wrong[f"{name}: '{value}' is none of {quoted(list(tally), limit=12)}."] = None
        if self.facts.attributes:
            for group, count in intersection(self.propagated.attributes(frame)).sizes.items():
                self.groups[-1][group] += count
        for hop, running in enumerate(self.moments):
            columns = [column_name(channel, hop) for channel in self.facts.channels]
            rows = frame.select(columns).to_numpy()
            bad = [name for name, fine in zip(columns, np.isfinite(rows).all(axis=0), strict=True) if not fine]
            for name in bad:
                self.wrong[f"{name}: holds values that are missing or not finite."] = None
            if not bad:
                running.add(rows)


def _close(said: Moments, counted: Moments) -> bool:
    """The same but for the order of the sums."""
    mean, again = np.array(said.mean), np.array(counted.mean)
    covariance, counts = np.array(said.covariance), np.array(counted.covariance)
    if covariance.shape != counts.shape:
        return False
    spread = np.sqrt(np.maximum(np.diagonal(counts), 0.0))
    size = spread + np.abs(again)
    return bool(
        (np.abs(mean - again) <= CLOSE * size + 1e-12).all()
        and (np.abs(covariance - counts) <= CLOSE * np.outer(size, size) + 1e-12).all()
    )
