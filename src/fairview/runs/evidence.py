"""What stands behind a run's report? The audit of its graph and of its model, beside a plain model, as `audit.json`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairview.atomic import as_text
from fairview.data.datasets import dataset_names, load_dataset
from fairview.data.graph import NodeGraph
from fairview.data.splits import with_default_split
from fairview.data.tables.recipe import Recipe
from fairview.errors import InputError, flag, option, placeholder
from fairview.leakage.graph_audit import GraphAudit, audit
from fairview.leakage.model_audit import audit_model
from fairview.locks import folder_lock
from fairview.manifest import OWN as FILES
from fairview.manifest import file_sha256, forget, recorded, write_recorded
from fairview.methods.ensemble import Ensemble
from fairview.methods.estimator import Estimator
from fairview.methods.model_files import load_model
from fairview.methods.network_method import NetworkMethod
from fairview.methods.penalised import Penalised
from fairview.methods.plain import Plain
from fairview.methods.vanilla import Vanilla
from fairview.outputs import Inputs, check_folder
from fairview.runs.finished import read_record

Document = dict[str, Any]
AUDIT_OUTPUTS = ("audit.json", "report.html", FILES)
"""What an audit writes into a folder, or removes from it."""


def audit_run(
    folder: str | Path,
    graph: NodeGraph,
    *,
    model: Estimator | None = None,
    plain: Vanilla | None = None,
    of_graph: GraphAudit | None = None,
    others: Mapping[str, Estimator] | None = None,
    probes: bool = True,
    seed: int = 0,
    out: Path | None = None,
    overwrite: bool = False,
) -> Document:
    """Audit a finished run on its graph, and write `audit.json`.

    Args:
        folder: of the run.
        graph: that it was trained on.
        model: of the run, if it is at hand; otherwise it is read from the folder.
        plain: a fitted plain model to compare with; otherwise one with the same encoder is trained.
        of_graph: the audit of the graph, if it was made already.
        others: more fitted models for the picture of utility against fairness, by name.
        probes: train the probes, of graph and model; they take most of the time.
        seed: of folds, samples and resamples.
        out: another folder than the run's for `audit.json`.
        overwrite: replace files in place of `audit.json` and its report that fairview did not write.
    """
    folder = Path(folder)
    target = folder if out is None else out
    check_folder(target, AUDIT_OUTPUTS, inputs=graph.provenance.paths, overwrite=overwrite)
    model = load_model(folder) if model is None else model
    graph = own_graph(folder, model, graph)
    of_graph = audit(graph, probes=probes, seed=seed) if of_graph is None else of_graph
    plain = plain_model(model, graph) if plain is None else plain
    of_model = audit_model(model, graph, plain=plain, others=others or {}, probes=probes, seed=seed)
    document = of_graph.to_dict() | {"model": of_model.to_dict()}
    write_audit(target, document, inputs=graph.provenance.paths, overwrite=overwrite)
    return document


def own_graph(folder: Path, model: Estimator, graph: NodeGraph) -> NodeGraph:
    """The graph as the run's model saw it, with a split.

    Raises:
        InputError: the model was trained on another.
    """
    graph, _ = with_default_split(graph)
    if model.facts().graph_sha256 != graph.sha256:
        raise InputError(
            f"{folder}: its model was trained on another graph than the one given."
            + _read_otherwise(model.facts().recipe, graph.recipe)
        )
    return graph


def _read_otherwise(known: Recipe | None, given: Recipe | None) -> str:
    """What the options were in training, of those that are easily forgotten."""
    if known is None or given is None:
        return ""
    was, now = _easily_forgotten(known), _easily_forgotten(given)
    told = [option(name, was[name]) if was[name] else f"no {option(name)}" for name in was if was[name] != now[name]]
    return f" That one had {' and '.join(told)}." if told else ""


def _easily_forgotten(recipe: Recipe) -> dict[str, Any]:
    sensitive = [attribute.column for attribute in recipe.attributes]
    return {"sensitive": sensitive, "link_kind": recipe.link_kind, "edge_weight": recipe.edge_weight}


def write_audit(folder: Path, document: Document, *, inputs: Inputs = (), overwrite: bool = False) -> None:
    """Write `audit.json`, and remove the report that was made of another."""
    write_evidence(folder, "audit.json", document, inputs=inputs, overwrite=overwrite)


def write_evidence(folder: Path, name: str, document: Document, *, inputs: Inputs = (), overwrite: bool) -> None:
    """Write a document into a run's folder, and remove the report that was made without it."""
    check_folder(folder, (name, "report.html", FILES), inputs=inputs, overwrite=overwrite)
    with folder_lock(folder):
        forget(folder, ["report.html"])
        (folder / "report.html").unlink(missing_ok=True)
        write_recorded(folder / name, as_text(document, indent=1))


def is_audited(folder: Path) -> bool:
    """Whether a run holds an audit of its own that is whole; an unrecorded one is half-written, or of another run."""
    known, path = recorded(folder), folder / "audit.json"
    if known is None or "audit.json" not in known or not path.is_file():
        return False
    return file_sha256(path) == known["audit.json"]


def plain_model(model: Estimator, graph: NodeGraph) -> Vanilla | None:
    """The same encoder without mitigation, trained; None beside a plain model, and beside a method without encoder.

    Beside an ensemble it is one model, with the seed of the first member.
    """
    if isinstance(model, Ensemble):
        model = model.members_[0]
    penalised = isinstance(model, Penalised) and model.penalty_weight > 0
    if not isinstance(model, NetworkMethod) or (isinstance(model, Plain) and not penalised):
        return None
    shape = ("encoder", "operator", "self_loops", "hidden", "depth", "sensitive_channels", "device", "threads", "seed")
    return Vanilla(**{name: getattr(model, name) for name in shape}).fit(graph)


def run_graph(folder: str | Path, *, data_dir: Path | None = None) -> NodeGraph:
    """The known dataset that a run was trained on.

    Raises:
        InputError: it was trained on own tables, which a run folder does not hold.
    """
    folder = Path(folder)
    data = read_record(folder)["data"]
    source, sha256 = data["source"], data["sha256"]
    if source not in dataset_names():
        again = placeholder(python="read_graph", command_line=f"{flag('nodes')} and the other options")
        raise InputError(f"{folder}: it was trained on own tables; give them again with {again}.")
    graph = load_dataset(source, data_dir=data_dir)
    if graph.sha256 != sha256:
        raise InputError(f"{folder}: it was trained on another version of '{source}' than the one at hand.")
    return graph
