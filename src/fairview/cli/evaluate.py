"""`fairview evaluate`: how good and how fair is a saved model on new people whose labels are known?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairview.cli import options
from fairview.cli.attributes import print_attributes, print_groups
from fairview.cli.new_tables import new_graph, with_chosen_threshold
from fairview.cli.output import Format, FormatOption, print_json, print_metrics, printable
from fairview.errors import InputError

if TYPE_CHECKING:
    from fairview.data.graph import NodeGraph


@options.with_new_table_options(required=True)
def evaluate(
    tables: options.TableOptions,
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    threshold: options.Threshold = None,
    method: options.RunMethod = None,
    encoder: options.RunEncoder = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Measure a saved model on new, labelled nodes: every metric with its interval, beside the run's own test nodes.

    The tables are read as `predict` reads them, with the label and the sensitive column that the model was trained
    with. Nodes without a label are counted and left out; a label or a group that the training did not know is an error.
    The majority answer gives everybody the more frequent label of these nodes. Nothing is written.

    Examples:

        fairview evaluate runs/own --nodes people2024.csv --edges links2024.csv

        fairview evaluate runs/own --nodes new.csv --edges new_links.csv --context people.csv --context-edges links.csv

        fairview evaluate runs/own --nodes new.csv --edges new_links.csv --threshold 0.3 --format json
    """
    from fairview.methods.registry import resolve_method
    from fairview.runs.new_data import evaluate_new_data, training_metrics

    model, notes = with_chosen_threshold(options.load_run(run, method, encoder), run, threshold)
    graph, split = new_graph(model, run, tables)
    document = {"run": str(run)} | evaluate_new_data(model, graph, split=split)
    document["training"] = training_metrics(options.run_folder(run))
    document["notes"] += [*notes, *_seen_before(graph, split, run), *graph.provenance.notes]
    if format is Format.JSON:
        print_json(document)
    else:
        _print(document, graph.provenance.source, resolve_method(type(model)).words)


def _seen_before(graph: NodeGraph, split: str, run: Path) -> list[str]:
    """A note if the model may have been trained on these nodes: then the numbers flatter it."""
    from fairview.runs.new_data import is_training_file
    from fairview.verification.predictions import NAME, read_predictions

    folder = options.run_folder(run)
    if is_training_file(graph, folder):
        return [f"the model was trained on {graph.provenance.source}: the numbers flatter it"]
    if graph.node_ids is None or not (folder / NAME).is_file():
        return []
    try:
        known = {*read_predictions(folder / NAME).ids}
    except InputError as error:
        return [f"not checked whether the model was trained on these nodes: {error}"]
    rows = graph.split(split) & graph.labelled
    count = sum(graph.ids[row] in known for row in rows.nonzero()[0].tolist())
    if not count:
        return []
    return [
        f"{count:,} of {rows.sum():,} ids are also in the run's {NAME}: if they are the same, the numbers flatter it"
    ]


def _print(document: dict[str, Any], source: str, words: str) -> None:
    new = document["metrics"]["new"]
    rows = {f"{source}: {words}": new, f"{source}: majority answer": document["majority"]["new"]}
    rows |= {f"the run's {split} nodes": values for split, values in document["training"].items()}
    context = f", {document['context']:,} known ones around them" if document["context"] else ""
    counts = f"{document['labelled']:,} of {document['nodes']:,} nodes are labelled{context}"
    print_metrics(f"{counts}; yes is a score above {document['threshold']:g}", rows)
    print_attributes({source: new})
    print_groups(f"Groups of {source}", new)
    for note in document["notes"]:
        typer.echo(printable(f"note: {note}"))
