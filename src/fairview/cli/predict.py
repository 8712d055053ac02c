"""`fairview predict`: scores for new nodes, from a run's model and raw tables."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated

import typer

from fairview.cli import options
from fairview.cli.output import Format, FormatOption, print_json
from fairview.errors import InputError

_MODEL = ("model.json", "model.safetensors", "run.json", "tune.json")
"""What is read of a run."""


def predict(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    nodes: options.Nodes,
    out: Annotated[Path, typer.Option(help="CSV file to write: id, score, prediction.")] = Path("predictions.csv"),
    edges: options.Edges = None,
    separator: options.Separator = None,
    encoding: options.Encoding = "utf-8",
    source: options.Source = None,
    target: options.Target = None,
    directed: options.Directed = None,
    edge_weight: options.EdgeWeight = None,
    drop_unknown: options.DropUnknown = False,
    method: options.RunMethod = None,
    encoder: options.RunEncoder = None,
    spreadsheet_safe: Annotated[
        bool,
        typer.Option(
            "--spreadsheet-safe",
            help="Put a quote before ids that begin with = + - @, so that no spreadsheet takes them for formulas. "
            "Without it, ids are written exactly as they were read.",
        ),
    ] = False,
    force: options.Force = False,
    format: FormatOption = Format.TABLE,
) -> None:
    """Predict new nodes: columns are matched by name, and treated as the training table was.

    Edges may join nodes of the given table only. Without edges, the similarity rule of the training data is applied, if
    it had one. Weights of links are read from the column that the training used, if it used one. A model that needs
    each node's sensitive group, such as group-thresholds, needs that column, too.

    Examples:

        fairview predict runs/own --nodes new.csv --edges new_links.csv --out predictions.csv

        fairview predict runs/own --nodes new.parquet --format json

        fairview predict runs/own --nodes new.csv --out for-excel.csv --spreadsheet-safe
    """
    from fairview.atomic import write_atomic
    from fairview.data.tables.read import read_graph
    from fairview.methods.registry import needs_group
    from fairview.outputs import check_file
    from fairview.runs.run import predictions

    read = [nodes, *([edges] if edges else []), *(place / name for place in (run, run / "run") for name in _MODEL)]
    check_file(out, "predictions.csv", inputs=read, overwrite=force)
    model = options.load_run(run, method, encoder)
    recipe = model.facts().recipe
    if recipe is None:
        raise InputError(f"{run}: the model was not trained on a table, so it can't read one; use it from Python.")
    graph = read_graph(
        nodes,
        edges,
        source=source,
        target=target,
        directed=directed,
        edge_weight=edge_weight,
        drop_unknown=drop_unknown,
        separator=separator,
        encoding=encoding,
        recipe=recipe,
    )
    if needs_group(model) and recipe.sensitive is not None and graph.sensitive_unknown == graph.num_nodes:
        raise InputError(
            f"{nodes}: the model needs each node's sensitive group, and the column '{recipe.sensitive.column}' is "
            "missing or empty."
        )
    text = predictions(model, graph, spreadsheet_safe=spreadsheet_safe)
    check_file(out, "predictions.csv", inputs=read, overwrite=force)
    write_atomic(out, text)
    positive = sum(row[-1] == "1" for row in csv.reader(io.StringIO(text, newline="")))
    if format is Format.JSON:
        counts = {"nodes": graph.num_nodes, "edges": graph.num_edges, "positive": positive}
        print_json({"run": str(run), "out": str(out)} | counts | {"notes": list(graph.provenance.notes)})
    else:
        typer.echo(f"{out}: {graph.num_nodes:,} nodes, {positive:,} of them predicted '{model.facts().classes[1]}'")
