"""`fairview demo`: the whole story on German Credit: what leaks, what a plain model does, a model under a limit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairview.cli import options
from fairview.cli.audit import print_audit
from fairview.cli.check import print_graph
from fairview.cli.output import Format, FormatOption, print_json, print_metrics

if TYPE_CHECKING:
    from fairview.metrics.evaluation import Evaluation
    from fairview.tuning.tuning import Tuning
    from fairview.undefined import Metric

_SEED = 1
_LIMIT = 0.2  # half of the plain GCN's gap, and about what so few nodes can carry (docs/guarantee.md)


def demo(
    out: Annotated[Path, typer.Option(help="Where the chosen model and the report go.")] = Path("runs/demo"),
    force: options.Force = False,
    format: FormatOption = Format.TABLE,
) -> None:
    """Audit the bundled German Credit graph, find a model that keeps a limit on it, and write the report.

    Takes about half a minute; needs no network and no files. The last line is the path of the report.

    Examples:

        fairview demo

        fairview demo --out runs/first --format json
    """
    import fairview as fv
    from fairview.data.summary import summarise
    from fairview.progress import track
    from fairview.report import write_report
    from fairview.runs.evidence import audit_run
    from fairview.tuning.folder import check_outputs

    check_outputs(out, overwrite=force)
    graph = fv.load_dataset("german")
    of_graph = fv.audit(graph)
    tuning = fv.tune(graph, max_gap=_LIMIT, seed=_SEED, folder=out, resume=True, overwrite=force)
    models: dict[str, Any] = {
        "majority answer": fv.Constant(),
        "logistic regression": fv.LogisticRegression(),
        "logistic regression without Gender": fv.LogisticRegression(sensitive_channels=False),
        "plain GCN": fv.Vanilla(encoder="gcn", seed=_SEED),
        "FairVGNN, GCN": fv.FairVGNN.from_preset("german", "gcn", seed=_SEED),
    }
    rows = {}
    with track("Training on German", total=len(models)) as advance:
        for name, model in models.items():
            rows[name] = fv.evaluate(model.fit(graph), graph, split="test", intervals=True)
            advance(1)
    if tuning.refused is None:
        rows[f"under a limit of {100 * _LIMIT:g} points"] = tuning.evaluations["test"]
        plain = models["plain GCN"]
        others = {name: model for name, model in models.items() if name != "majority answer" and model is not plain}
        of_model = {"model": tuning.model, "plain": plain, "of_graph": of_graph, "others": others}
        audit_run(out / "run", graph, **of_model, overwrite=force)
    report = write_report(out, overwrite=force)
    if format is Format.JSON:
        test = {name: found.to_dict() for name, found in rows.items()}
        document = {"graph": summarise(graph), "audit": of_graph.to_dict(), "test": test, "chosen": tuning.chosen}
        print_json(document | {"seed": _SEED, "report": str(report)})
        return
    print_graph(summarise(graph))
    print_audit(of_graph.to_dict())
    print_metrics("Published test split (250 clients)", rows)
    typer.echo(f"{_headline(tuning, rows['plain GCN'])}\n")
    typer.echo("Next: `fairview tune --help` for a limit on your own tables, `fairview datasets` for more graphs.\n")
    typer.echo(f"report: {report}")


def _headline(tuning: Tuning, plain: Evaluation) -> str:
    """What a reader should remember."""
    if tuning.chosen is None:
        return f"Refused: {tuning.refused}"
    test, limit = tuning.evaluations["test"], tuning.chosen["limits"][0]
    return (
        f"Women and men: {_points(plain['statistical_parity_gap'])} points apart under a plain GCN, at most "
        f"{100 * _LIMIT:g} under this model, certified with 95 % confidence.\n"
        f"Observed: {_points(limit['estimate'])} points on {limit['nodes']} clients whom it had never seen "
        f"(p = {limit['p_value']:.3f}). The price: a balanced accuracy of {_points(test['balanced_accuracy'])} on the\n"
        f"test clients, where the plain GCN has {_points(plain['balanced_accuracy'])} and the majority answer 50. "
        f"The model: {tuning.chosen['label']}."
    )


def _points(value: Metric) -> str:
    return f"{100 * value:.1f}" if isinstance(value, float) else "an undefined number of"
