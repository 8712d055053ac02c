"""Which links carry a run's gap? The explanation of its model on its graph, as `explanation.json`."""

from __future__ import annotations

from pathlib import Path

from fairview.data.graph import NodeGraph
from fairview.errors import InputError
from fairview.explanation.explain import explain
from fairview.explanation.explanation import Explanation
from fairview.manifest import OWN as FILES
from fairview.methods.estimator import Estimator
from fairview.outputs import check_folder
from fairview.runs.evidence import own_graph, write_evidence
from fairview.runs.finished import read_record

NAME = "explanation.json"
OUTPUTS = (NAME, "report.html", FILES)
"""What an explanation writes into a folder, or removes from it."""


def check_links(folder: Path) -> None:
    """Refuse a run that never saw a link.

    Raises:
        InputError: it was trained on a propagated folder.
    """
    if read_record(folder)["data"].get("propagated"):
        raise InputError(
            f"{folder}: it was trained on a propagated folder, which holds no links. In Python, explain its model on "
            "the tables themselves: fv.explain(fv.load_model(...), fv.read_graph(...))."
        )


def explain_run(
    folder: Path,
    graph: NodeGraph,
    model: Estimator,
    *,
    top: int = 20,
    split: str = "all",
    attribute: str | None = None,
    seed: int = 0,
    out: Path | None = None,
    overwrite: bool = False,
) -> Explanation:
    """Explain a finished run on its graph, write `explanation.json`, and remove the report that was made without it.

    Args:
        folder: of the run.
        graph: that it was trained on.
        model: of the run.
        top: see `fairview.explain`.
        split: likewise.
        attribute: likewise.
        seed: likewise.
        out: another folder than the run's for `explanation.json`.
        overwrite: replace files in place of `explanation.json` and the report that fairview did not write.

    Raises:
        InputError: the graph is another, or the model can't be explained.
    """
    target, inputs = out or folder, graph.provenance.paths
    check_folder(target, OUTPUTS, inputs=inputs, overwrite=overwrite)
    graph = own_graph(folder, model, graph)
    explanation = explain(model, graph, top=top, split=split, attribute=attribute, seed=seed)
    write_evidence(target, NAME, explanation.to_dict(), inputs=inputs, overwrite=overwrite)
    return explanation
