"""How does a saved model see new tables? Read by its recipe, with the threshold that the user wants."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fairview.cli.options import TableOptions, run_folder
from fairview.errors import InputError, quoted

if TYPE_CHECKING:
    from fairview.data.graph import NodeGraph
    from fairview.methods.estimator import Estimator


def new_graph(model: Estimator, run: Path, tables: TableOptions) -> tuple[NodeGraph, str]:
    """The graph of the new tables, and the name of the split of its new nodes."""
    from fairview.data.tables.context import NEW
    from fairview.data.tables.read import read_graph
    from fairview.methods.registry import needs_group

    recipe = model.facts().recipe
    if recipe is None:
        raise InputError(f"{run}: the model was not trained on a table, so it can't read one; use it from Python.")
    graph = read_graph(**tables, recipe=recipe)
    empty = [attribute.name for attribute in graph.attributes if attribute.unknown == graph.num_nodes]
    if needs_group(model) and recipe.sensitive is not None and empty:
        which = f"columns {quoted(empty)} are" if len(empty) > 1 else f"column {quoted(empty)} is"
        raise InputError(
            f"{tables['nodes']}: the model needs each node's sensitive group, and the {which} missing or empty."
        )
    return graph, NEW if NEW in graph.splits else "all"


def with_chosen_threshold(model: Estimator, run: Path, threshold: float | None) -> tuple[Estimator, list[str]]:
    """The model with another threshold, if one is wanted, and what that means for the run's certificate."""
    from fairview.tuning.certificate import NAME

    if threshold is None:
        return model, []
    changed, notes = model.with_threshold(threshold), []
    if threshold != model.threshold_ and (run_folder(run) / NAME).is_file():
        notes.append(
            f"the certificate in {run} is for the threshold {model.threshold_:g}; it does not cover {threshold:g}"
        )
    return changed, notes
