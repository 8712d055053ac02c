"""Is a run folder whole? Hashes, types and ranges, the model, the predictions, the metrics, the certificate."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fairview.data.graph import NodeGraph
from fairview.data.splits import with_default_split
from fairview.manifest import mismatches, recorded
from fairview.methods.estimator import Estimator
from fairview.propagation.folder import Propagated
from fairview.report.folder import read_folder
from fairview.runs.finished import FILES, read_metrics, read_record
from fairview.runs.run import run_metrics, sample_notes
from fairview.tuning.certificate import NAME, check_certificate
from fairview.verification import predictions
from fairview.verification.findings import Findings

Loader = Callable[[Path], Estimator]


def check_run(
    folder: Path, graph: NodeGraph | None, load: Loader, findings: Findings, whole: Propagated | None = None
) -> None:
    """Everything that can be said about a run folder; or about the model files alone, where there is no run."""
    model, before = None, len(findings.problems)
    if (folder / "run.json").exists() or (folder / "metrics.json").exists():
        _check_files(folder, findings)
    sound = len(findings.problems) == before
    if sound and (folder / "model.json").exists():
        findings.looked_at(["model.json", "model.safetensors"])
        with findings.collecting():
            model = load(folder)
    if sound and (folder / "run.json").exists():
        _check_numbers(folder, graph, model, findings, whole)
    if (folder / NAME).exists():
        findings.looked_at([NAME])
        findings.recounted = graph is not None and model is not None
        split = with_default_split(graph)[0] if graph is not None and model is not None else None
        findings.add(check_certificate(folder, split, load))


def _check_files(folder: Path, findings: Findings) -> None:
    """Hashes first; then, of what has none, types and ranges."""
    with findings.collecting():
        problems, checked = mismatches(folder)
        findings.add(problems)
        findings.looked_at(checked)
        if problems:
            return
        known = recorded(folder)
        if not (folder / "run.json").exists():
            findings.add(["run.json: is missing: the run is unfinished."])
        elif known is None:
            findings.note("run.json: was written by version 0.1.0, which kept no hashes.")
        else:
            lost = [name for name in FILES if name not in known]
            findings.add(f"run.json: does not record {name}." for name in lost)
        read_folder(folder)
        findings.looked_at(name for name in ("run.json", "metrics.json", "history.jsonl") if (folder / name).exists())


def _check_numbers(
    folder: Path, graph: NodeGraph | None, model: Estimator | None, findings: Findings, whole: Propagated | None
) -> None:
    with findings.collecting():
        record, metrics = read_record(folder), read_metrics(folder)
        if graph is not None:
            graph = with_default_split(graph)[0]
            if graph.sha256 != record["data"]["sha256"]:
                findings.add(["run.json: the run is of another graph than the one given."])
                return
        if not (folder / predictions.NAME).exists():
            return
        found = predictions.read_predictions(folder / predictions.NAME)
        findings.looked_at([predictions.NAME])
        threshold = record.get("threshold", 0.5)
        if isinstance(threshold, int | float):
            findings.add(predictions.against_threshold(found, threshold))
        if graph is not None:
            loaded = (record["data"].get("propagated") or {}).get("metrics_of") == "loaded nodes"
            if loaded or not sample_notes(graph):
                findings.add(predictions.against_metrics(found, metrics, graph))
                findings.recomputed = True
            elif whole is not None and model is not None:
                findings.add(predictions.compared(metrics, run_metrics(model, graph, whole, intervals=False)))
                findings.recomputed = True
            else:
                findings.note("metrics.json: is of all nodes of a propagated folder, which is not given.")
            if model is not None:
                findings.add(predictions.against_model(found, model, graph))
