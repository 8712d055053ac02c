"""`fairview predict`: scores for new nodes, from a run's model and raw tables."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated

import typer

from fairview.cli import options
from fairview.cli.new_tables import new_graph, with_chosen_threshold
from fairview.cli.output import Format, FormatOption, print_json, printable
from fairview.errors import InputError

_MODEL = ("model.json", "model.safetensors", "run.json", "tune.json")
"""What is read of a run."""


@options.with_new_table_options(required=False)
def predict(
    tables: options.TableOptions,
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    out: Annotated[
        Path, typer.Option(help="File to write: id, score, prediction. CSV, or Parquet with --propagated.")
    ] = Path("predictions.csv"),
    threshold: options.Threshold = None,
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
    propagated: options.PropagatedFolder = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Predict new nodes: columns are matched by name, and treated as the training table was.

    Edges join nodes of the given table. If new people are linked to known ones, --context names the table of the known
    ones and --context-edges their own links; only the new ones are written. Without edges, the similarity rule of the
    training data is applied, if it had one. Weights of links are read from the column that the training used, if it
    used one. A model that needs each node's sensitive group, such as group-thresholds, needs that column, too.

    With --propagated, all nodes of a folder are scored some at a time, into Parquet, or CSV if --out ends in .csv. The
    folder of new people is made with `fairview propagate --like RUN`.

    Examples:

        fairview predict runs/own --nodes new.csv --edges new_links.csv --out predictions.csv

        fairview predict runs/own --nodes new.csv --edges new_links.csv --context people.csv --context-edges links.csv

        fairview predict runs/own --nodes new.csv --edges new_links.csv --threshold 0.3

        fairview predict runs/own --nodes new.parquet --format json

        fairview predict runs/own --nodes new.csv --out for-excel.csv --spreadsheet-safe

        fairview predict runs/large --propagated new --out scores.parquet
    """
    from fairview.atomic import write_atomic
    from fairview.outputs import check_file
    from fairview.runs.run import predictions

    given = [tables[name] for name in ("nodes", "edges", "context", "context_edges") if tables[name]]
    read = [*given, *(place / name for place in (run, run / "run") for name in _MODEL)]
    check_file(out, "predictions.csv", inputs=read, overwrite=force)
    model, notes = with_chosen_threshold(options.load_run(run, method, encoder), run, threshold)
    for note in notes:
        typer.echo(f"note: {printable(note)}", err=True)
    if propagated is not None:
        from fairview.cli.folders import predict_folder

        predict_folder(model, run, propagated, out, format, options.given(tables), notes, overwrite=force)
        return
    if tables["nodes"] is None:
        raise InputError("give --nodes or --propagated.")
    graph, split = new_graph(model, run, tables)
    text = predictions(model, graph, split=split, spreadsheet_safe=spreadsheet_safe)
    check_file(out, "predictions.csv", inputs=read, overwrite=force)
    write_atomic(out, text)
    positive = sum(row[-1] == "1" for row in csv.reader(io.StringIO(text, newline="")))
    nodes = int(graph.split(split).sum())
    if format is Format.JSON:
        counts = {"nodes": nodes, "edges": graph.num_edges, "positive": positive, "threshold": model.threshold_}
        counts |= {"context": graph.num_nodes - nodes}
        print_json({"run": str(run), "out": str(out)} | counts | {"notes": [*notes, *graph.provenance.notes]})
    else:
        yes = f"{positive:,} of them predicted '{model.facts().classes[1]}' (score above {model.threshold_:g})"
        typer.echo(f"{out}: {nodes:,} nodes, {yes}")
