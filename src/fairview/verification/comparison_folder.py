"""Is a comparison whole? Hashes, the journal's lines, and the tables and the summary made again from them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from fairview.data.graph import NodeGraph
from fairview.errors import InputError
from fairview.files import read_regular
from fairview.manifest import OWN
from fairview.report.folder import read_folder
from fairview.runs.finished import read_object
from fairview.study.journal import LARGEST, decode
from fairview.study.result_tables import tables
from fairview.study.row_summary import UNRANKED, Outcomes, summarise_rows
from fairview.study.trials import Result, Trial
from fairview.verification import graph_record
from fairview.verification.findings import Findings

_FILES = ("study.json", "journal.jsonl", "results.csv", "summary.json", "timings.csv")


def check_comparison(folder: Path, graph: NodeGraph | None, findings: Findings) -> None:
    """Everything that can be said about a comparison; the trials' own metrics are taken from the journal."""
    with findings.collecting():
        findings.check_hashes(folder, [name for name in _FILES if (folder / name).exists()])
        findings.require_recorded(folder, _FILES)
        if not (folder / OWN).exists():
            findings.note(f"{OWN}: there is none: the comparison is unfinished, or of version 0.1.0.")
        if not (folder / "summary.json").exists():
            findings.add(["summary.json: is missing: the comparison is unfinished."])
        if findings.problems:
            return
        if unfinished := read_folder(folder).unfinished:
            findings.add([f"summary.json: {unfinished[0].lower()}{unfinished[1:]}"])
            return
        summary = read_object(folder / "summary.json")
        if graph is not None:
            told = summary.get("graph")
            findings.add(graph_record.against_graph(told, graph, "summary.json", "the comparison"))
            findings.note("a comparison keeps no predictions: the metrics of its trials can't be made again.")
        findings.add(_against_study(summary, read_object(folder / "study.json")))
        outcomes = _outcomes(folder / "journal.jsonl", dict(summary.get("graph", {})).get("sha256"))
        listed = [trial for trial, _ in outcomes], [result for _, result in outcomes]
        texts = zip(tables(*listed), tables(*listed, with_quotes=True), strict=True)
        for name, as_written in zip(("results.csv", "timings.csv"), texts, strict=True):
            if read_regular(folder / name) not in [text.encode() for text in as_written]:
                findings.add([f"{name}: is not what the journal gives."])
        try:
            findings.add(_against_summary(summary, outcomes))
        except (KeyError, TypeError, ValueError):
            text = "summary.json: its rows can't be compared with the journal's trials."
            findings.add([text] if (folder / OWN).exists() else [])
            findings.note(text)  # those of version 0.1.0 say less


def _against_study(summary: Mapping[str, Any], study: Mapping[str, Any]) -> list[str]:
    """The rows must be those that were asked for."""
    try:
        rows = [
            [{name: row.get(name) for name in ("method", "encoder", "settings")} for row in document["rows"]]
            for document in (summary, study)
        ]
        same = rows[0] == rows[1]
    except (KeyError, TypeError, AttributeError):
        same = False
    return [] if same else ["study.json: its rows are not those of summary.json."]


def _outcomes(path: Path, sha256: Any) -> Outcomes:
    """Every trial of the journal with its result."""
    try:
        lines = read_regular(path, LARGEST).splitlines(keepends=True)
    except OSError as error:
        raise InputError(f"{path}: can't be read ({error.strerror or error}).") from None
    found = []
    for number, line in enumerate(lines, start=1):
        entry = decode(line)
        if entry is None:
            raise InputError(f"{path}: line {number} is damaged.")
        if number == 1:
            continue  # which study it is
        try:
            trial, result = _trial(entry["of"]), Result.model_validate(entry["result"])
        except (KeyError, TypeError, AttributeError, InputError, ValidationError):
            raise InputError(f"{path}: line {number} is not a trial's result.") from None
        if trial.id != result.trial or entry.get("data") != sha256:
            raise InputError(f"{path}: line {number} is of another trial, or of other data.")
        found.append((trial, result))
    return found


_TYPES = {
    "dataset": str, "method": str, "encoder": str | None, "settings": dict, "seed": int, "split": int, "variant": str,
}  # fmt: skip


def _trial(told: Mapping[str, Any]) -> Trial:
    if told.keys() != _TYPES.keys() or any(not isinstance(told[name], kind) for name, kind in _TYPES.items()):
        raise TypeError
    return Trial(**told)


@dataclass(frozen=True)
class _Entry:
    looks_at_nothing: bool
    group_at_prediction: bool


@dataclass(frozen=True, eq=False)
class _Row:
    """A row as the summary describes it; no code is looked up by a name from a file."""

    method: str
    encoder: str | None
    label: str
    settings: Mapping[str, Any]
    entry: _Entry


def _against_summary(summary: Mapping[str, Any], outcomes: Outcomes) -> list[str]:
    told = summary["rows"]
    rows: dict[Any, Outcomes] = {}
    for row in told:
        settings = row["settings"]
        alike = [
            (trial, result)
            for trial, result in outcomes
            if (trial.method, trial.encoder) == (row["method"], row["encoder"])
            and json.loads(json.dumps(dict(trial.settings))) == settings
        ]
        entry = _Entry(row["unranked"] == UNRANKED, row["group_at_prediction"])
        rows[_Row(row["method"], row["encoder"], row["label"], settings, entry)] = alike
    if not all(rows.values()) or sum(map(len, rows.values())) != len(outcomes):
        return ["summary.json: its rows are not those of the journal's trials."]
    again = json.loads(json.dumps(summarise_rows(rows)[0]))
    return [
        f"summary.json: row '{row['label'][:80]}': {part} is not what the journal gives."
        for row, other in zip(told, again, strict=True)
        for part in other
        if not _same(row.get(part), other[part])
    ]


def _same(told: Any, again: Any) -> bool:
    """Equal, numbers to nine digits: their sums are rounded otherwise by other versions of NumPy."""
    if isinstance(told, dict) and isinstance(again, dict):
        return told.keys() == again.keys() and all(_same(told[name], again[name]) for name in again)
    if isinstance(told, float) and isinstance(again, float):
        return math.isclose(told, again, rel_tol=1e-9, abs_tol=1e-12)
    return bool(told == again)
