"""`fairview demo`: the bundled German Credit graph, and what the simplest predictors make of it."""

from __future__ import annotations

import typer

from fairview.cli.check import print_graph
from fairview.cli.output import Format, FormatOption, print_json, print_metrics


def demo(format: FormatOption = Format.TABLE) -> None:
    """Load the bundled German Credit graph, and put a plain model beside the predictor that looks at nothing.

    Needs no network and no files.

    Examples:

        fairview demo

        fairview demo --format json
    """
    from fairview.data.datasets import load_dataset
    from fairview.data.summary import summarise
    from fairview.methods.constant import Constant
    from fairview.methods.evaluate import evaluate
    from fairview.methods.logistic_regression import LogisticRegression

    graph = load_dataset("german")
    models = {
        "constant (always good)": Constant(),
        "logistic regression": LogisticRegression(),
        "logistic regression without Gender": LogisticRegression(sensitive_channels=False),
    }
    rows = {name: evaluate(model.fit(graph), graph, split="test", intervals=True) for name, model in models.items()}
    if format is Format.JSON:
        print_json({"graph": summarise(graph), "test": {name: found.to_dict() for name, found in rows.items()}})
        return
    print_graph(summarise(graph))
    print_metrics("Published test split (250 clients)", rows)
    typer.echo(
        "The constant predictor is perfectly fair and has a good F1, because most clients are good: a model must\n"
        "beat it in balanced accuracy before its fairness means anything. The regression keeps a gap between the\n"
        "groups even without the Gender column: other columns leak it.\n\n"
        "Next: `fairview check --help` for your own tables, `fairview datasets` for more graphs."
    )
