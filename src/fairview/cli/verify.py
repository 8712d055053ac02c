"""`fairview verify`: is everything in a folder what was written, and does its certificate follow from it?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairview.cli import options
from fairview.cli.graphs import chosen_graph
from fairview.cli.output import Format, FormatOption, print_json, printable
from fairview.errors import InputError


@options.with_table_options(required=False)
def verify(
    tables: options.TableOptions,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A run or tuning folder.")],
    dataset: Annotated[
        str | None, typer.Option(help="The known dataset that it was made of; or give --nodes and the other options.")
    ] = None,
    method: options.RunMethod = None,
    encoder: options.RunEncoder = None,
    data_dir: options.DataDir = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Check the hashes of a model, and that its certificate is of this model and follows from its counts.

    With the data, the certification nodes are drawn again and the counts made again from the model's predictions.
    Exit code 3: something differs.

    Examples:

        fairview verify tuned/german

        fairview verify tuned/german --dataset german

        fairview verify tuned/own --nodes people.csv --edges links.csv --label approved --sensitive gender
    """
    from fairview.methods.registry import resolve_method
    from fairview.tuning.verify import verify as check

    if dataset is not None and tables["nodes"] is not None:
        raise InputError("give either --dataset or --nodes.")
    graph = chosen_graph(dataset, data_dir, tables) if dataset is not None or tables["nodes"] is not None else None
    options.import_from_here(method, encoder)
    kind = None if method is None else resolve_method(method).method
    result = check(folder, graph, method=kind, encoder=encoder)
    if format is Format.JSON:
        print_json(result.to_dict())
    else:
        for problem in result.problems:
            typer.echo(printable(problem))
        looked_at = ", ".join(result.checked)
        how = "counts made again from the data" if result.recounted else "no counts made again"
        if result.ok and "certificate.json" not in result.checked:
            how = "there is no certificate"
        typer.echo(printable(f"{'ok' if result.ok else 'NOT ok'}: {looked_at} ({how})"))
    if not result.ok:
        raise typer.Exit(3)
