"""How good and how fair is a saved model on new people whose labels are known?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fairview.data.few import few_nodes
from fairview.data.graph import NodeGraph
from fairview.errors import Problems, command
from fairview.methods.constant import Constant
from fairview.methods.estimator import Estimator
from fairview.methods.evaluate import evaluate
from fairview.runs.finished import read_metrics, read_record


def evaluate_new_data(model: Estimator, graph: NodeGraph, *, split: str = "all") -> dict[str, Any]:
    """Metrics with intervals, those of the majority answer beside them, and what was left out.

    Args:
        model: with its threshold set.
        graph: read with the model's recipe.
        split: `new` if the graph has known nodes around the new ones.

    Returns:
        `nodes`, `labelled`, `edges`, `context`, `threshold`, `metrics` and `majority`, both by split (`new`), `notes`.

    Raises:
        InputError: no node has a label, or none has a known group.
    """
    chosen = graph.split(split)
    rows = chosen & graph.labelled
    _check(graph, model)
    majority = Constant().fit(graph.with_splits({"train": rows}))
    metrics = evaluate(model, graph, split=split, intervals=True)
    nodes, labelled = int(chosen.sum()), int(rows.sum())
    notes = [*few_nodes(graph)]
    if nodes > labelled:
        notes.append(f"{nodes - labelled:,} of {nodes:,} nodes have no label: they are left out of the metrics")
    if metrics.group_unknown:
        notes.append(f"{metrics.group_unknown:,} of {labelled:,} labelled nodes have no known group: in no gap")
    counts = {"nodes": nodes, "labelled": labelled, "edges": graph.num_edges, "context": graph.num_nodes - nodes}
    return counts | {
        "threshold": model.threshold_,
        "metrics": {"new": metrics.to_dict()},
        "majority": {"new": evaluate(majority, graph, split=split, intervals=True).to_dict()},
        "notes": notes,
    }


def _check(graph: NodeGraph, model: Estimator) -> None:
    """Say which columns are needed, and what to do without them."""
    recipe, name, problems = model.facts().recipe, graph.provenance.source, Problems()
    label = recipe.label.column if recipe is not None and recipe.label is not None else "label"
    if not graph.labelled.any():
        problems.add(
            f"{name}: no node has a label: the column '{label}' is missing or empty. Metrics compare predictions with "
            f"labels; without them, {command('predict')} gives scores."
        )
    for attribute in graph.attributes:
        if attribute.unknown == graph.num_nodes:
            column = attribute.name if graph.several else model.facts().sensitive_name
            problems.add(
                f"{name}: no node has a known group: the column '{column}' is missing or empty. Add it: gaps compare "
                "its groups."
            )
    problems.raise_if_any()


def training_metrics(folder: Path) -> dict[str, Any]:
    """The metrics of the run's own test nodes, by split; empty for a model that was saved without a run."""
    if not (folder / "metrics.json").is_file():
        return {}
    return {split: values for split, values in read_metrics(folder).items() if split == "test"}


def is_training_file(graph: NodeGraph, folder: Path) -> bool:
    """Whether the node table is one that the run was trained on, byte for byte."""
    if not (folder / "run.json").is_file():
        return False
    files = read_record(folder)["data"].get("files")
    mine = graph.provenance.sha256.get(graph.provenance.source)
    return mine is not None and isinstance(files, dict) and mine in files.values()
