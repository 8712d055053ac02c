"""Is everything in this folder what was written, and do the numbers follow from it?"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from fairview.arguments import require_folder
from fairview.data.graph import NodeGraph
from fairview.data.graph_argument import require_graph
from fairview.errors import InputError
from fairview.isolation import isolated
from fairview.methods.encoder_spec import Encoder
from fairview.methods.model_files import load_model
from fairview.propagation.folder import Propagated
from fairview.report.folder import read_folder
from fairview.verification import explanation_file
from fairview.verification.audit_file import NOT_REPEATED, against_graph
from fairview.verification.comparison_folder import check_comparison
from fairview.verification.findings import Findings
from fairview.verification.propagated_folder import check_propagated
from fairview.verification.run_folder import Loader, check_run
from fairview.verification.tuning_folder import check_tuning


@dataclass(frozen=True)
class Verification:
    """What `verify` found.

    Attributes:
        ok: nothing is wrong.
        problems: what is.
        checked: the files that were looked at.
        recounted: whether the certificate's counts were made again from the data.
        recomputed: whether the metrics were computed again from the predictions and the data.
        notes: what could not be checked.
    """

    ok: bool
    problems: tuple[str, ...]
    checked: tuple[str, ...]
    recounted: bool = False
    recomputed: bool = False
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@isolated()
def verify(
    folder: str | Path,
    graph: NodeGraph | None = None,
    *,
    method: type | None = None,
    encoder: Encoder | None = None,
    whole: Propagated | None = None,
) -> Verification:
    """Check a folder of a run, several seeds, an audit, a comparison or a tuning, or a propagated folder, whole.

    Every recorded file is compared with its sha256. Then follows what can be computed again: predictions from the
    threshold, a comparison's tables from its journal, a certificate from its counts.

    Args:
        folder: what `train`, `audit`, `compare` or `tune` left behind, or where `model.save` put a model.
        graph: the data. With it, the scores are computed again from the model, the metrics from the predictions, and a
            tuning's decision and certificate from the models that it tried.
        method: for a model of a class of your own that is not registered, that class.
        encoder: for a model with a module of your own, as in `load_model`.
        whole: the propagated folder that the graph was loaded from: the metrics of a run on a sample are those of all.

    Raises:
        InputError: there is nothing in the folder that could be checked.
    """
    folder, found = require_folder(folder, "verify"), Findings()
    if graph is not None:
        require_graph(graph, "verify")
    load = partial(load_model, method=method, encoder=encoder)
    if (folder / "manifest.json").exists():
        check_propagated(folder, found)
    elif (folder / "tune.json").exists():
        check_tuning(folder, graph, load, found)
    elif any((folder / name).exists() for name in ("run.json", "metrics.json", "model.json")):
        check_run(folder, graph, load, found, whole)
    elif (folder / "journal.jsonl").exists() or (folder / "summary.json").exists():
        check_comparison(folder, graph, found)
    elif seeds := sorted(path for path in folder.glob("seed-*") if path.is_dir()):
        _check_seeds(folder, seeds, graph, load, found, whole)
    elif any((folder / name).exists() for name in ("audit.json", explanation_file.NAME)):
        _check_audit(folder, graph, found)
    else:
        raise InputError(
            f"{folder}: nothing to verify. Looked for run.json or model.json (a run), seed-* (several), audit.json (an "
            "audit), explanation.json (an explanation), summary.json (a comparison), tune.json (a tuning) and "
            "manifest.json (a propagated folder)."
        )
    return Verification(
        not found.problems, tuple(found.problems), tuple(found.checked), found.recounted, found.recomputed,
        tuple(found.notes),
    )  # fmt: skip


def _check_seeds(
    folder: Path, seeds: list[Path], graph: NodeGraph | None, load: Loader, found: Findings, whole: Propagated | None
) -> None:
    for path in seeds:
        inner = found.inside(path.name)
        check_run(path, graph, load, inner, whole)
        found.absorb(inner)
    lost = [f"seed-{n}" for n in range(1, len(seeds) + 1) if not (folder / f"seed-{n}").is_dir()]
    found.add(f"{name}: is missing." for name in lost)
    if not found.problems:
        _check_audit(folder, graph, found)


def _check_audit(folder: Path, graph: NodeGraph | None, found: Findings) -> None:
    """Hashes, and the types and ranges of what is there; the audit's graph must be the one given."""
    with found.collecting():
        known = ("audit.json", explanation_file.NAME)
        if found.check_hashes(folder, [name for name in known if (folder / name).exists()]):
            return
        content = read_folder(folder)
        audit, explanation = content.audit, content.explanation
        if explanation is not None and graph is not None and (folder / explanation_file.NAME).exists():
            found.add(explanation_file.against_graph(explanation, graph))
            found.note(explanation_file.NOT_REPEATED)
        if audit is not None and graph is not None and (folder / "audit.json").exists():
            found.add(against_graph(audit, graph))
            found.note(NOT_REPEATED)
