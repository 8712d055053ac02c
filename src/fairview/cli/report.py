"""`fairview report`: one HTML file from a run, audit, comparison or tuning, to show to someone who was not there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairview.cli import options
from fairview.cli.output import Format, FormatOption, print_json, printable


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A run, audit, comparison or tuning folder.")],
    open_it: Annotated[bool, typer.Option("--open", help="Open the report in the browser.")] = False,
    figures: Annotated[
        bool, typer.Option("--figures", help="Also write each chart as SVG and PNG into DIR/figures.")
    ] = False,
    card: Annotated[
        bool,
        typer.Option(
            "--card", help="Also write a model card, DIR/README.md, in Hugging Face's format; one of your own stays."
        ),
    ] = False,
    force: options.Force = False,
    format: FormatOption = Format.TABLE,
) -> None:
    """Write DIR/report.html: a verdict in plain words, figures with their numbers, and what they do not show.

    The file is complete in itself: it works offline, on a phone and on paper, and loads nothing from elsewhere.

    Examples:

        fairview report runs/german --open

        fairview report runs/german --figures

        fairview report tuned/german --card

        fairview report studies/german --format json
    """
    from fairview.report import write_report
    from fairview.report.export import FORMATS
    from fairview.report.model_card import write_card

    written_card = write_card(folder) if card else None
    path = write_report(folder, figures=FORMATS if figures else None, overwrite=force)
    written = (
        sorted(str(path) for form in FORMATS for path in (folder / "figures").glob(f"*.{form}")) if figures else []
    )
    if format is Format.JSON:
        print_json({"report": str(path), "card": written_card and str(written_card), "figures": written})
    else:
        typer.echo(printable(str(path)))
        if written_card is not None:
            typer.echo(printable(str(written_card)))
        if written:
            typer.echo(printable(f"{len(written)} files in {folder / 'figures'}"))
    if open_it:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
