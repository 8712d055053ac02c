"""What do commands do after a training? They audit graph and model, and write the report beside the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairview.errors import MissingPackageError

if TYPE_CHECKING:
    from fairview.data.graph import NodeGraph
    from fairview.propagation.folder import Propagated

NoReport = Annotated[bool, typer.Option("--no-report", help="Leave out the audit and the HTML report.")]


def report_or_say_why_not(folder: Path) -> Path | None:
    """The report of a folder; None, with a line on stderr, where the packages that draw it are not installed."""
    from fairview.report import write_report

    try:
        return write_report(folder)
    except MissingPackageError as error:
        typer.echo(f"no report: {error}", err=True)
        return None


def report_runs(
    folders: Sequence[Path],
    graph: NodeGraph,
    load: Callable[[Path], Any],
    *,
    together: Path | None = None,
    whole: Propagated | None = None,
) -> Path | None:
    """Audit finished runs on one graph and write their reports; one more for all of them `together`.

    The graph is audited once, and one plain model, with the first run's settings and seed, serves all. Of a graph that
    was loaded from a propagated folder, the `whole` of it is audited.
    """
    from fairview.data.splits import with_default_split
    from fairview.leakage.folder_audit import audit_folder
    from fairview.leakage.graph_audit import audit
    from fairview.progress import track
    from fairview.runs.evidence import audit_run, is_audited, plain_model

    graph, _ = with_default_split(graph)
    missing = [folder for folder in folders if not is_audited(folder)]
    if missing:
        of_graph = audit(graph) if whole is None else audit_folder(whole, sha256=graph.sha256)
        with track("Plain model to compare with", total=1) as advance:
            plain = plain_model(load(missing[0]), graph)
            advance(1)
        with track("Auditing the model", total=len(missing)) as advance:
            for folder in missing:
                audit_run(folder, graph, model=load(folder), plain=plain, of_graph=of_graph)
                advance(1)
    reports = [report_or_say_why_not(folder) for folder in (*folders, *([together] if together else []))]
    return reports[-1]
