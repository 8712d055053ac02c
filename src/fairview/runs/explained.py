"""Which links carry a run's gap? The explanation of its model on its graph, as `explanation.json`."""

from __future__ import annotations

from pathlib import Path

from fairview.atomic import as_text
from fairview.data.graph import NodeGraph
from fairview.data.splits import with_default_split
from fairview.errors import InputError
from fairview.explanation.explain import explain
from fairview.explanation.explanation import Explanation
from fairview.locks import folder_lock
from fairview.manifest import OWN as FILES
from fairview.manifest import forget, write_recorded
from fairview.methods.estimator import Estimator
from fairview.outputs import check_folder
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
    graph, _ = with_default_split(graph)
    if model.facts().graph_sha256 != graph.sha256:
        raise InputError(f"{folder}: its model was trained on another graph than the one given.")
    found = explain(model, graph, top=top, split=split, attribute=attribute, seed=seed)
    check_folder(target, OUTPUTS, inputs=inputs, overwrite=overwrite)
    with folder_lock(target):
        forget(target, ["report.html"])
        (target / "report.html").unlink(missing_ok=True)
        write_recorded(target / NAME, as_text(found.to_dict(), indent=1))
    return found
