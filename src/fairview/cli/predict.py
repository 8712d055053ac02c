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


def predict(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    nodes: options.OptionalNodes = None,
    out: Annotated[
        Path, typer.Option(help="File to write: id, score, prediction. CSV, or Parquet with --propagated.")
    ] = Path("predictions.csv"),
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
    propagated: options.PropagatedFolder = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Predict new nodes: columns are matched by name, and treated as the training table was.

    Edges may join nodes of the given table only. Without edges, the similarity rule of the training data is applied, if
    it had one. Weights of links are read from the column that the training used, if it used one. A model that needs
    each node's sensitive group, such as group-thresholds, needs that column, too.

    With --propagated, all nodes of a folder are scored some at a time, into Parquet, or CSV if --out ends in .csv. The
    folder of new people is made with `fairview propagate --like RUN`.

    Examples:

        fairview predict runs/own --nodes new.csv --edges new_links.csv --out predictions.csv

        fairview predict runs/own --nodes new.parquet --format json

        fairview predict runs/large --propagated new --out scores.parquet
    """
    from fairview.atomic import write_atomic
    from fairview.data.tables.read import read_graph
    from fairview.methods.registry import needs_group
    from fairview.runs.run import predictions

    model = options.load_run(run, method, encoder)
    if propagated is not None:
        from fairview.cli.folders import predict_folder

        beside = (nodes, edges, separator, source, target, directed, edge_weight, drop_unknown)
        predict_folder(model, run, propagated, out, format, beside)
        return
    if nodes is None:
        raise InputError("give --nodes or --propagated.")
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
    text = predictions(model, graph)
    write_atomic(out, text)
    positive = sum(row[-1] == "1" for row in csv.reader(io.StringIO(text, newline="")))
    if format is Format.JSON:
        counts = {"nodes": graph.num_nodes, "edges": graph.num_edges, "positive": positive}
        print_json({"run": str(run), "out": str(out)} | counts | {"notes": list(graph.provenance.notes)})
    else:
        typer.echo(f"{out}: {graph.num_nodes:,} nodes, {positive:,} of them predicted '{model.facts().classes[1]}'")
