"""Is a run folder whole? Hashes, types and ranges, the model, the predictions, the metrics, the certificate."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from fairview.data.graph import NodeGraph
from fairview.data.splits import with_default_split
from fairview.manifest import recorded
from fairview.methods.estimator import Estimator
from fairview.propagation.folder import Propagated
from fairview.report.folder import read_folder
from fairview.runs.finished import FILES, read_metrics, read_record
from fairview.runs.run import run_metrics, sample_notes
from fairview.runs.stability import against_metrics, read_stability
from fairview.tuning.certificate import NAME, check_certificate
from fairview.verification import audit_file, explanation_file, model_file, predictions
from fairview.verification.findings import Findings

Loader = Callable[[Path], Estimator]


def check_run(
    folder: Path, graph: NodeGraph | None, load: Loader, findings: Findings, whole: Propagated | None = None
) -> None:
    """Everything that can be said about a run folder; or about the model files alone, where there is no run."""
    model, before = None, len(findings.problems)
    if any((folder / name).exists() for name in ("run.json", "metrics.json", "checkpoint.safetensors")):
        _check_files(folder, findings)
    sound = len(findings.problems) == before
    if sound and (folder / "model.json").exists():
        findings.looked_at(["model.json", "model.safetensors"])
        with findings.collecting():
            model = load(folder)
    if sound and (folder / "run.json").exists():
        with findings.collecting():
            if model is not None:
                findings.add(model_file.against_record(folder, model))
        _check_numbers(folder, graph, model, findings, whole)
    if (folder / NAME).exists():
        findings.looked_at([NAME])
        findings.recounted = graph is not None and model is not None
        split = with_default_split(graph)[0] if graph is not None and model is not None else None
        findings.add(check_certificate(folder, split, load))


def _check_files(folder: Path, findings: Findings) -> None:
    """Hashes first; then, of what has none, types and ranges; then whether the audit is of this run."""
    with findings.collecting():
        if findings.check_hashes(folder):
            return
        if not (folder / "run.json").exists():
            findings.add(["run.json: is missing: the run is unfinished."])
            if not (folder / "metrics.json").exists():
                return
        elif recorded(folder) is None:
            findings.note("run.json: was written by version 0.1.0, which kept no hashes.")
        else:
            findings.require_recorded(folder, FILES)
        content = read_folder(folder)
        if content.run is not None and content.run.audit is not None and not _is_sampled(folder):
            findings.add(audit_file.against_metrics(content.run.audit, content.run.metrics or {}))
        findings.looked_at(name for name in ("run.json", "metrics.json", "history.jsonl") if (folder / name).exists())


def _is_sampled(folder: Path) -> bool:
    """Whether the run saw a sample of a propagated folder: its audit is of that, its metrics are of all nodes."""
    if not (folder / "run.json").exists():
        return False
    stored = read_record(folder)["data"].get("propagated") or {}
    return stored.get("metrics_of") == "all nodes" and stored.get("rows") != stored.get("nodes")


def _check_numbers(
    folder: Path, graph: NodeGraph | None, model: Estimator | None, findings: Findings, whole: Propagated | None
) -> None:
    with findings.collecting():
        record, metrics = read_record(folder), read_metrics(folder)
        if (stability := read_stability(folder)) is not None:
            findings.add(against_metrics(stability, metrics))
        if graph is not None:
            graph = with_default_split(graph)[0]
            if graph.sha256 != record["data"]["sha256"]:
                findings.add(["run.json: the run is of another graph than the one given."])
                return
            if audit := read_folder(folder).audit:
                if not _is_sampled(folder):
                    findings.add(audit_file.against_graph(audit, graph))
                findings.note(audit_file.NOT_REPEATED)
            if explanation := read_folder(folder).explanation:
                findings.add(explanation_file.against_graph(explanation, graph))
                findings.note(explanation_file.NOT_REPEATED)
        if not (folder / predictions.NAME).exists():
            return
        found = predictions.read_predictions(folder / predictions.NAME)
        findings.looked_at([predictions.NAME])
        threshold = record.get("threshold", 0.5)
        if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 <= threshold < 1:
            findings.add([f"run.json: threshold is {str(threshold)[:40]}; expected a number from 0 to 1."])
            return
        findings.add(predictions.against_threshold(found, threshold))
        if graph is not None:
            loaded = (record["data"].get("propagated") or {}).get("metrics_of") == "loaded nodes"
            drawn_alike = record.get("versions", {}).get("numpy") == np.__version__
            if loaded or not sample_notes(graph):
                if not drawn_alike:
                    findings.note(
                        "metrics.json: its intervals were drawn with another version of NumPy, and not again."
                    )
                again = predictions.against_metrics(
                    found, metrics, graph, threshold, intervals=drawn_alike, whole=recorded(folder) is not None
                )
                findings.add(again)
                findings.recomputed = True
            elif whole is not None and model is not None:
                for split, values in run_metrics(model, graph, whole, intervals=False).items():
                    findings.add(predictions.compared(metrics.get(split, {}), values, split, whole=False))
                findings.recomputed = True
            else:
                findings.note("metrics.json: is of all nodes of a propagated folder, which is not given.")
            if model is not None:
                findings.add(predictions.against_model(found, model, graph))
                findings.add(model_file.against_graph(model, graph))
