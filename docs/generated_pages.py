"""Which pages of the site are made when it is built? The command line, the notebooks, and two files of the root.

A hook of mkdocs (see mkdocs.yml). Nothing here needs a network.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
FROM_ROOT = {"contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages to those that lie in docs/."""
    pages = {page: from_root((ROOT / name).read_text(encoding="utf-8")) for page, name in FROM_ROOT.items()}
    pages["reference/command-line.md"] = command_line()
    for notebook in [file for file in files if file.src_uri.endswith(".ipynb")]:
        files.remove(notebook)
        cells = json.loads((ROOT / "docs" / notebook.src_uri).read_text(encoding="utf-8"))
        pages[str(Path(notebook.src_uri).with_suffix(".md"))] = notebook_page(cells, Path(notebook.src_uri).name)
    for page, text in pages.items():
        files.append(File.generated(config, page, content=text))
    return files


def from_root(text: str) -> str:
    """A page of the repository's root, its links to docs/ as links within the site."""
    return re.sub(r"\]\(docs/", "](", text)


def notebook_page(notebook: dict[str, Any], name: str) -> str:
    """A notebook as Markdown: its text, and its code without outputs."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
    parts.append(f"This page is the notebook `docs/tutorials/{name}`. A test runs it from top to bottom.")
    return "\n\n".join(parts) + "\n"


def command_line() -> str:
    """Every command with its arguments and options, as `--help` has them."""
    import typer

    from fairview.cli.main import app

    group: Any = typer.main.get_command(app)
    parts = [
        "# Command line",
        "Made from `fairview COMMAND --help`. Results go to standard output, progress and messages to standard "
        "error; `--format json` prints one JSON document and nothing else. See also the [exit codes](exit-codes.md).",
    ]
    for name, command in group.commands.items():
        parts += [f"## fairview {name}", *_help(command.help or "")]
        for title, rows in _options(command).items():
            parts.append("\n".join([f"| {title} | |", "|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def _help(text: str) -> Iterator[str]:
    """The paragraphs of a help text; its examples as one block of code."""
    before, _, examples = text.partition("Examples:")
    yield from (" ".join(paragraph.split()) for paragraph in before.strip().split("\n\n"))
    if lines := [" ".join(block.replace("\\\n", " ").split()) for block in examples.strip().split("\n\n") if block]:
        yield "```sh\n" + "\n".join(lines) + "\n```"


def _options(command: Any) -> dict[str, list[str]]:
    tables: dict[str, list[str]] = {}
    for parameter in command.params:
        if parameter.hidden or parameter.name == "help":
            continue
        title = "Options" if parameter.opts[0].startswith("-") else "Arguments"
        names = parameter.opts if title == "Options" else [parameter.name.upper()]
        words = " ".join((parameter.help or "").split()).replace("[", r"\[").replace("|", r"\|")
        kind = parameter.type_descriptor.annotation
        choices = get_args(kind) if get_origin(kind) is Literal else ()
        if choices:
            words += " One of " + ", ".join(f"`{choice}`" for choice in choices) + "."
        default = getattr(parameter.default, "value", parameter.default)
        if isinstance(default, (str, int, float, Path)) and not isinstance(default, bool):
            words += f" Default: `{default}`."
        row = f"| {', '.join(f'`{name}`' for name in names)} | {words} |"
        tables.setdefault(parameter.rich_help_panel or title, []).append(row)
    return tables
