"""`fairview datasets`: what is known, where does it lie, and what should one know before using it?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairview.cli import options
from fairview.cli.output import Format, FormatOption, print_facts, print_json, print_table
from fairview.errors import FairviewError, InputError

if TYPE_CHECKING:
    from pathlib import Path

    from fairview.data.datasets.entry import Dataset


def datasets(
    name: Annotated[str | None, typer.Argument(help="A dataset; all of them by default.")] = None,
    fetch: Annotated[bool, typer.Option("--fetch", help="Download it; every file's sha256 is pinned.")] = False,
    data_dir: options.DataDir = None,
    force: Annotated[
        bool, typer.Option("--force", help="With --fetch: replace other files under the names of the dataset's.")
    ] = False,
    format: FormatOption = Format.TABLE,
) -> None:
    """List the known datasets with their licence, their known harms, and whether they are at hand.

    Examples:

        fairview datasets

        fairview datasets bail

        fairview datasets bail --fetch

        fairview datasets --data-dir ~/fair-graphs --format json
    """
    from fairview.data.datasets import describe
    from fairview.data.datasets.registry import DATASETS

    chosen = list(DATASETS.values()) if name is None else [describe(name)]
    if fetch:
        _fetch(chosen, data_dir, all_of_them=name is None, force=force)
    entries = [_entry(dataset, data_dir) for dataset in chosen]
    if format is Format.JSON:
        print_json(entries if name is None else entries[0])
    elif name is None:
        _print_list(entries)
    else:
        _print_one(entries[0])


def _fetch(chosen: list[Dataset], data_dir: Path | None, *, all_of_them: bool, force: bool) -> None:
    from fairview.data.datasets import fetch_dataset

    problems = []
    for dataset in chosen:
        if all_of_them and not dataset.fetchable:
            continue
        try:
            for path in fetch_dataset(dataset.name, data_dir=data_dir, overwrite=force):
                typer.echo(f"{dataset.name}: {path}", err=True)
        except FairviewError as error:
            problems.append(error.message)
    if problems:
        raise InputError(problems)


def _entry(dataset: Dataset, data_dir: Path | None) -> dict[str, Any]:
    from fairview.data.datasets import find_files

    files = find_files(dataset.name, data_dir)
    keys = ("name", "title", "summary", "nodes", "edges", "channels", "label", "sensitive", "homophily", "train_labels")
    entry = {key: getattr(dataset, key) for key in keys}
    entry |= {"classes": list(dataset.classes), "groups": list(dataset.groups)}
    entry["edges_as_published"] = dataset.edges_as_published
    entry |= {"licence": dataset.licence, "harms": list(dataset.harms), "citation": dataset.citation}
    entry |= {"bundled": dataset.bundled, "fetchable": dataset.fetchable, "at_hand": files.at_hand}
    entry["files"] = {name: str(place) for name, place in files.places.items()}
    entry["missing"] = [file.name for file in files.missing]
    entry["searched"] = [str(folder) for folder in files.folders]
    return entry


def _print_list(entries: list[dict[str, Any]]) -> None:
    columns = ["name", "nodes", "edges", "channels", "label", "sensitive"]
    rows = [[*(entry[column] for column in columns), _where(entry)] for entry in entries]
    print_table("Known datasets", [*columns, "at hand"], rows)
    for entry in entries:
        typer.echo(f"{entry['name']}: {entry['licence']}.")
        for harm in entry["harms"]:
            typer.echo(f"  ! {harm}")
    typer.echo("\n`fairview datasets NAME` tells more, `--fetch` downloads.")


def _where(entry: dict[str, Any]) -> str:
    if entry["bundled"]:
        return "yes, bundled"
    if entry["at_hand"]:
        return "yes"
    return "no; --fetch" if entry["fetchable"] else f"no; needs {', '.join(entry['missing'])}"


def _print_one(entry: dict[str, Any]) -> None:
    negative, positive = entry["classes"]
    facts = {
        "nodes": entry["nodes"],
        "edges": f"{entry['edges']:,} undirected, no self-loops ({entry['edges_as_published']:,} as the papers count)",
        "channels": f"{entry['channels']}, the sensitive one among them",
        "label": f"{entry['label']}: {positive} (positive), {negative}",
        "sensitive": f"{entry['sensitive']}: {', '.join(entry['groups'])}",
        "homophily": f"{entry['homophily']:.4f} of the edges join the same group",
        "licence": entry["licence"],
        "citation": entry["citation"],
        "at hand": _where(entry),
    }
    facts |= {f"  {name}": place for name, place in entry["files"].items()}
    print_facts(f"{entry['name']}: {entry['title']}", facts)
    typer.echo(entry["summary"])
    typer.echo("\nBefore you believe a number:")
    for harm in entry["harms"]:
        typer.echo(f"  ! {harm}")
