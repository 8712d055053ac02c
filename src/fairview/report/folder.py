"""What is in this folder that can be reported? A run, several seeds, an audit, a comparison, a tuning, or nothing."""

from __future__ import annotations

import csv
import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, Field, RootModel, ValidationError, model_validator

from fairview.errors import InputError, command, placeholder
from fairview.files import read_regular
from fairview.manifest import check_absent, check_recorded
from fairview.report.audit_documents import AuditDocument, ModelAuditDocument
from fairview.report.documents import ComparisonDocument, EpochLine, EvaluationDocument, RunRecord, visible
from fairview.report.explanation_documents import ExplanationDocument
from fairview.report.tuning_documents import CertificateDocument, TuningDocument
from fairview.runs.stability_document import Stability
from fairview.study.row_summary import row_costs

MOST_SEEDS = 1000
_Model = TypeVar("_Model", bound=BaseModel)


class MetricsDocument(RootModel[dict[str, EvaluationDocument]]):
    """metrics.json: an evaluation per split, and since version 0.2.0 of fairview the document's kind and version."""

    @model_validator(mode="before")
    @classmethod
    def _splits(cls, document: Any) -> Any:
        if not isinstance(document, dict):
            return document
        if document.get("kind", "metrics") != "metrics" or document.get("version", 2) != 2:
            raise ValueError(f"kind {document.get('kind')!r}, version {document.get('version')!r}; expected metrics, 2")
        return {name: value for name, value in document.items() if name not in ("kind", "version")}


class TimingLine(BaseModel):
    """A line of timings.csv: what one trial cost."""

    seconds: float = Field(ge=0, allow_inf_nan=False)
    peak_memory_mb: float = Field(ge=0, allow_inf_nan=False)


@dataclass(frozen=True)
class RunDocuments:
    """One seed's documents; `certified_model` says whether the model beside a certificate is the one that it names."""

    name: str
    record: RunRecord | None = None
    metrics: dict[str, EvaluationDocument] | None = None
    history: tuple[EpochLine, ...] = ()
    audit: AuditDocument | None = None
    explanation: ExplanationDocument | None = None
    certificate: CertificateDocument | None = None
    certified_model: bool | None = None
    stability: Stability | None = None

    @property
    def test(self) -> EvaluationDocument | None:
        """The evaluation on the test split, if there is one."""
        return (self.metrics or {}).get("test")


@dataclass(frozen=True)
class Content:
    """All that a report can say; empty parts are left out of it."""

    title: str
    runs: tuple[RunDocuments, ...] = ()
    audit: AuditDocument | None = None
    comparison: ComparisonDocument | None = None
    study: dict[str, Any] = field(default_factory=dict)
    tuning: TuningDocument | None = None
    explanation: ExplanationDocument | None = None
    unfinished: str = ""  # what is not whole about it, in a sentence

    @property
    def run(self) -> RunDocuments | None:
        """The run whose details are shown: the first with an audit, else the first."""
        return next((run for run in self.runs if run.audit is not None), self.runs[0] if self.runs else None)

    @property
    def record(self) -> RunRecord | None:
        """That of this run."""
        return self.run.record if self.run else None

    @property
    def test(self) -> EvaluationDocument | None:
        """This run's evaluation on the test split."""
        return self.run.test if self.run else None

    @property
    def tests(self) -> list[EvaluationDocument]:
        """Those of all runs that have one."""
        return [test for run in self.runs if (test := run.test) is not None]

    @property
    def model(self) -> ModelAuditDocument | None:
        """The audit of a model."""
        return self.audit.model if self.audit else None


def read_folder(folder: str | Path) -> Content:
    """Read what there is.

    Raises:
        InputError: there is nothing to report, or a document is not what it must be.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder. Give the folder of a run, an audit, a comparison or a tuning.")
    tuning = _read(folder / "tune.json", TuningDocument)
    alone = _run(folder if tuning is None else folder / "run", "")
    inner = sorted((path for path in folder.glob("seed-*") if path.is_dir()), key=_seed_order)[:MOST_SEEDS]
    seeds = tuple(run for path in inner if (run := _run(path, path.name)) is not None)
    runs = (alone,) if alone is not None else seeds
    audit = _read(folder / "audit.json", AuditDocument) or next((run.audit for run in runs if run.audit), None)
    explanation = _read(folder / "explanation.json", ExplanationDocument)
    explanation = explanation or next((run.explanation for run in runs if run.explanation), None)
    comparison = _with_costs(_read(folder / "summary.json", ComparisonDocument), folder / "timings.csv")
    if not runs and audit is None and comparison is None and tuning is None and explanation is None:
        raise InputError(
            f"{folder}: nothing to report. Looked for metrics.json (a run), seed-*/metrics.json (several seeds), "
            "audit.json (an audit), explanation.json (an explanation), summary.json (a comparison) and tune.json (a "
            "tuning). Make one with fairview train, audit, explain, compare or tune."
        )
    _check_graph(folder, runs, audit, comparison, explanation)
    study = _read(folder / "study.json", RootModel[dict[str, Any]]) if comparison is not None else None
    title = _title(tuning, runs, audit, comparison, explanation) or visible(folder.resolve().name)
    asked = study.root if study else {}
    return Content(title, runs, audit, comparison, asked, tuning, explanation, _unfinished(runs, comparison, asked))


def _unfinished(runs: tuple[RunDocuments, ...], comparison: ComparisonDocument | None, study: dict[str, Any]) -> str:
    """What a reader must know first: numbers of work that was stopped are not the work's numbers."""
    open_runs = [run.name for run in runs if run.record is None]
    if open_runs and len(runs) == 1:
        return "This run is unfinished: the numbers are those of the best epoch before it was stopped."
    if open_runs:
        return f"{len(open_runs)} of {len(runs)} runs are unfinished: their numbers are those before they were stopped."
    if comparison is None:
        return ""
    asked = tuple(study.get(name) for name in ("seeds", "splits"))
    rows = study.get("rows")
    more = asked != (None, None) and asked != (comparison.seeds, comparison.splits)
    if more or (isinstance(rows, list) and len(rows) != len(comparison.rows)):
        return "This comparison is unfinished: it was extended, and the numbers are those before the extension."
    return ""


def _check_graph(
    folder: Path,
    runs: tuple[RunDocuments, ...],
    audit: AuditDocument | None,
    comparison: ComparisonDocument | None,
    explanation: ExplanationDocument | None,
) -> None:
    """Numbers of one graph must not stand on one page with those of another."""
    hashes = {f"{run.name or 'run'}: run.json": run.record.data.sha256 for run in runs if run.record}
    hashes |= {f"{run.name or 'run'}: audit.json": run.audit.graph.sha256 for run in runs if run.audit}
    hashes |= {"audit.json": audit.graph.sha256} if audit else {}
    hashes |= {"explanation.json": explanation.graph.sha256} if explanation else {}
    hashes |= {"summary.json": comparison.graph.sha256} if comparison else {}
    known = {place: sha256 for place, sha256 in hashes.items() if sha256}
    if len(set(known.values())) > 1:
        first, *others = known
        other = next(place for place in others if known[place] != known[first])
        raise InputError(
            f"{folder}: its documents are about different graphs ({first}, {other}). Make them again, or "
            "keep them in folders of their own."
        )


def _with_costs(comparison: ComparisonDocument | None, path: Path) -> ComparisonDocument | None:
    """The rows with what they cost, from timings.csv: mean seconds of a run, and the highest peak memory."""
    data = None if comparison is None else _bytes(path)
    if comparison is None or data is None:
        return comparison
    timings: dict[tuple[str, str | None], list[TimingLine]] = {}
    try:
        for line in csv.DictReader(data.decode("utf-8").splitlines(), strict=True):
            timings.setdefault((line["method"], line["encoder"] or None), []).append(TimingLine.model_validate(line))
    except (UnicodeDecodeError, csv.Error, KeyError, ValidationError):
        raise InputError(
            f"{path}: is no table of method, encoder, seconds and peak_memory_mb. Make it again with "
            f"{placeholder(python='compare', command_line=command('compare', resume=True))}, or remove it."
        ) from None
    check_recorded(path, data)
    costs = {row: row_costs(lines) for row, lines in timings.items()}
    rows = [row.model_copy(update=costs.get((row.method, row.encoder), {})) for row in comparison.rows]
    return comparison.model_copy(update={"rows": rows})


def _run(folder: Path, name: str) -> RunDocuments | None:
    metrics = _read(folder / "metrics.json", MetricsDocument)
    record = _read(folder / "run.json", RunRecord)
    if metrics is None and record is None:
        return None
    label = f"seed {record.seed}" if record is not None and record.seed is not None else visible(name)
    splits = None if metrics is None else {visible(split): evaluation for split, evaluation in metrics.root.items()}
    history, audit = _history(folder / "history.jsonl"), _read(folder / "audit.json", AuditDocument)
    explanation = _read(folder / "explanation.json", ExplanationDocument)
    certificate = _read(folder / "certificate.json", CertificateDocument)
    same = None if certificate is None else _is_model(folder / "model.json", certificate.model_sha256)
    stability = _read(folder / "stability.json", Stability)
    return RunDocuments(label, record, splits, history, audit, explanation, certificate, same, stability)


def _is_model(path: Path, sha256: str) -> bool | None:
    """Whether model.json says that it is the model of this hash; None without the file, or without a hash."""
    data = _bytes(path)
    if data is None or not sha256:
        return None
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return False
    own = document.get("sha256") if isinstance(document, dict) else None
    return sha256 in (own, hashlib.sha256(data).hexdigest())


def _history(path: Path) -> tuple[EpochLine, ...]:
    data = _bytes(path)
    if data is None:
        return ()
    lines = enumerate(data.splitlines(), 1)
    history = tuple(_parse(line, EpochLine, f"{path}: line {number}") for number, line in lines if line.strip())
    check_recorded(path, data)
    return history


def _read(path: Path, model: type[_Model]) -> _Model | None:
    """A document of the right types and ranges, and as the folder's record has it; None if there is none."""
    data = _bytes(path)
    if data is None:
        return None
    document = _parse(data, model, str(path))
    check_recorded(path, data)
    return document


def _bytes(path: Path) -> bytes | None:
    """The file's content; None if there is none, and none was recorded. A pipe or a device is not waited for."""
    try:
        if not path.exists():
            check_absent(path)
            return None
        return read_regular(path)
    except OSError as error:
        raise InputError(f"{path}: can't be read ({error.strerror or error}).") from None


def _parse(data: bytes, model: type[_Model], place: str) -> _Model:
    try:
        return model.model_validate_json(data)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False, include_input=False)
        lines = [
            f"{place}: {'.'.join(str(part) for part in problem['loc']) or 'document'}: {problem['msg'].lower()}."[:400]
            for problem in problems[:5]
        ]
        more = [f"{place}: and {len(problems) - 5:,} problems more."] if len(problems) > 5 else []
        hint = [f"{place}: make it again with this version of fairview, or remove it."]
        raise InputError([visible(line) for line in lines + more + hint]) from None


def _title(
    tuning: TuningDocument | None,
    runs: tuple[RunDocuments, ...],
    audit: AuditDocument | None,
    comparison: ComparisonDocument | None,
    explanation: ExplanationDocument | None,
) -> str:
    """Where the data come from."""
    candidates = [tuning.graph.source] if tuning else []
    candidates += [comparison.graph.source] if comparison else []
    candidates += [audit.graph.source] if audit else []
    candidates += [run.record.data.source for run in runs if run.record]
    candidates += [explanation.graph.source] if explanation else []
    return next((source for source in candidates if source), "")


def _seed_order(path: Path) -> tuple[int, str]:
    digits = path.name.removeprefix("seed-")
    return (int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 10 else 10**9, path.name)
