"""`fairview demo`: the whole story on German Credit: what leaks, what a plain model makes of it, what FairVGNN does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairview.cli.audit import print_audit
from fairview.cli.check import print_graph
from fairview.cli.output import Format, FormatOption, percent, print_json, print_metrics, print_table

if TYPE_CHECKING:
    from fairview.undefined import Metric

_SEED = 1
_SHOWN_CHANNELS = 8


def demo(
    out: Annotated[Path, typer.Option(help="Where the run and its report go.")] = Path("runs/demo"),
    format: FormatOption = Format.TABLE,
) -> None:
    """Audit the bundled German Credit graph, train a plain GCN and FairVGNN on it, and write the report.

    Takes well under a minute; needs no network and no files. The last line is the path of the report.

    Examples:

        fairview demo

        fairview demo --out runs/first --format json
    """
    import fairview as fv
    from fairview.data.summary import summarise
    from fairview.progress import track
    from fairview.report import write_report
    from fairview.runs.evidence import audit_run
    from fairview.runs.run import run_identity, write_run

    graph = fv.load_dataset("german")
    of_graph = fv.audit(graph)
    fair, plain = fv.FairVGNN.from_preset("german", "gcn", seed=_SEED), fv.Vanilla(encoder="gcn", seed=_SEED)
    blind = fv.LogisticRegression(sensitive_channels=False)
    models: dict[str, Any] = {
        "majority answer": fv.Constant(),
        "logistic regression": fv.LogisticRegression(),
        "logistic regression without Gender": blind,
        "plain GCN": plain,
        "FairVGNN, GCN": fair,
    }
    rows = {}
    with track("Training on German", total=len(models)) as advance:
        for name, model in models.items():
            rows[name] = fv.evaluate(model.fit(graph), graph, split="test", intervals=True)
            advance(1)
    write_run(fair, graph, out, run_identity(fair, graph))
    others = {name: models[name] for name in ("logistic regression", "logistic regression without Gender")}
    audit_run(out, graph, model=fair, plain=plain, of_graph=of_graph, others=others)
    report = write_report(out)
    kept = sorted(fair.keep_probability_.items(), key=lambda pair: pair[1])
    if format is Format.JSON:
        test = {name: found.to_dict() for name, found in rows.items()}
        document = {"graph": summarise(graph), "audit": of_graph.to_dict(), "test": test}
        print_json(document | {"keep_probability": dict(kept), "seed": _SEED, "report": str(report)})
        return
    print_graph(summarise(graph))
    print_audit(of_graph.to_dict())
    print_metrics("Published test split (250 clients)", rows)
    most_masked = [(name, percent(probability)) for name, probability in kept[:_SHOWN_CHANNELS]]
    print_table("The channels that FairVGNN masks most", ["channel", "kept %"], most_masked)
    before, after, majority = rows["plain GCN"], rows["FairVGNN, GCN"], rows["majority answer"]
    typer.echo(
        f"Between women and men the plain GCN's predictions differ by {_points(before['statistical_parity_gap'])} "
        f"points, FairVGNN's by {_points(after['statistical_parity_gap'])}.\n"
        "This is one run of each: other seeds and other processors give other gaps. "
        "`fairview train german --seeds 5` shows how much.\n"
        "To answer yes to everybody is perfectly fair too, and has a good F1 because most clients are good. Look at\n"
        f"the balanced accuracy ({_points(after['balanced_accuracy'])} for FairVGNN, "
        f"{_points(majority['balanced_accuracy'])} for that answer) before you call a fair model useful.\n"
        "The regression keeps a gap even without the Gender column: other columns leak it.\n\n"
        "Next: `fairview train --help` for your own tables, `fairview datasets` for more graphs.\n"
    )
    typer.echo(f"report: {report}")


def _points(value: Metric) -> str:
    return f"{100 * value:.1f}" if isinstance(value, float) else "an undefined number of"
