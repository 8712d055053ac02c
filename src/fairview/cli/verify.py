"""`fairview verify`: is everything in a folder what was written, and do the numbers follow from it?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairview.cli import options
from fairview.cli.folders import graph_of_run
from fairview.cli.graphs import chosen_graph
from fairview.cli.output import Format, FormatOption, print_json, printable
from fairview.errors import InputError

if TYPE_CHECKING:
    from fairview.verification.verify import Verification


@options.with_table_options(required=False)
def verify(
    tables: options.TableOptions,
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A run, audit, comparison, tuning or propagated folder.")
    ],
    dataset: Annotated[
        str | None, typer.Option(help="The known dataset that it was made of; or give --nodes and the other options.")
    ] = None,
    method: options.RunMethod = None,
    encoder: options.RunEncoder = None,
    propagated: options.PropagatedFolder = None,
    data_dir: options.DataDir = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Check a folder whole: hashes, types and ranges, and that its numbers follow from each other.

    Every recorded file is compared with its sha256. A comparison's tables are made again from its journal, and a
    certificate from its counts. With the data, the scores are computed again from the model, the metrics from the
    predictions, and a tuning's decision from the models that it tried. Of a propagated folder every part is read: rows,
    columns, types, finite values, and that counts and moments follow from them. Exit code 3: something differs.

    Examples:

        fairview verify runs/german

        fairview verify tuned/german --dataset german

        fairview verify propagated

        fairview verify runs/large --propagated propagated

        fairview verify tuned/own --nodes people.csv --edges links.csv --label approved --sensitive gender
    """
    from fairview.methods.registry import resolve_method
    from fairview.verification.verify import verify as check

    if dataset is not None and tables["nodes"] is not None:
        raise InputError("give either --dataset or --nodes.")
    graph, whole = None, None
    if propagated is not None:
        graph, whole = graph_of_run(folder, propagated, None, tables)
    else:
        named = dataset is not None or tables["nodes"] is not None
        graph = chosen_graph(dataset, data_dir, tables) if named else None
    options.import_from_here(method, encoder)
    kind = None if method is None else resolve_method(method).method
    result = check(folder, graph, method=kind, encoder=encoder, whole=whole)
    if format is Format.JSON:
        print_json(result.to_dict())
    else:
        for problem in result.problems:
            typer.echo(printable(problem))
        for note in result.notes:
            typer.echo(printable(f"note: {note}"))
        typer.echo(printable(f"{'ok' if result.ok else 'NOT ok'}: {_extent(result)}"))
    if not result.ok:
        raise typer.Exit(3)


def _extent(result: Verification) -> str:
    """How much was looked at, in words."""
    names = ", ".join(result.checked) if len(result.checked) <= 8 else f"{len(result.checked)} files"
    if "manifest.json" in result.checked:
        return (
            f"{names} ({'counts and moments made again from the parts' if result.recomputed else 'not all was read'})"
        )
    again = ["the metrics"] * result.recomputed + ["the certificate's counts"] * result.recounted
    how = f"{' and '.join(again)} made again from the data" if again else "without the data, no number was made again"
    return f"{names} ({how})"
