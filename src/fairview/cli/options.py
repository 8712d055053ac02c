"""The options that describe own tables, said once and shared by every command that reads them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import typer

_TABLES, _COLUMNS, _VALUES, _GRAPH = "Tables", "Columns", "Values", "Edges"

Nodes = Annotated[
    Path, typer.Option(help="Table of nodes: CSV (also .gz) or Parquet, with a header.", rich_help_panel=_TABLES)
]
Edges = Annotated[
    Path | None,
    typer.Option(
        help="Table of edges, or an edge list separated by blanks or tabs. Without it, similar nodes are linked.",
        rich_help_panel=_TABLES,
    ),
]
OptionalNodes = Annotated[
    Path | None, typer.Option("--nodes", help="Own table of nodes, instead of a dataset.", rich_help_panel=_TABLES)
]
Separator = Annotated[
    str | None, typer.Option(help=r"Character between the cells, for example ';' or '\t'.", rich_help_panel=_TABLES)
]
Encoding = Annotated[str, typer.Option(help="Of the CSV files.", rich_help_panel=_TABLES)]

Label = Annotated[
    str, typer.Option(help="Column with the label; empty cells are unlabelled.", rich_help_panel=_COLUMNS)
]
Sensitive = Annotated[
    str, typer.Option(help="Column with the sensitive attribute; each value is a group.", rich_help_panel=_COLUMNS)
]
OptionalLabel = Annotated[
    str | None, typer.Option("--label", help="Column with the label of own tables.", rich_help_panel=_COLUMNS)
]
OptionalSensitive = Annotated[
    str | None, typer.Option("--sensitive", help="Column with the sensitive attribute.", rich_help_panel=_COLUMNS)
]
Positive = Annotated[
    str | None,
    typer.Option(help="The label that counts as positive; known for {0, 1} and {-1, 1}.", rich_help_panel=_COLUMNS),
]
Id = Annotated[
    str | None,
    typer.Option("--id", help="Column with the ids [default: id, or row numbers].", rich_help_panel=_COLUMNS),
]
Source = Annotated[
    str | None, typer.Option(help="Column of the edge table [default: source, or the first].", rich_help_panel=_COLUMNS)
]
Target = Annotated[
    str | None,
    typer.Option(help="Column of the edge table [default: target, or the second].", rich_help_panel=_COLUMNS),
]
Features = Annotated[
    list[str] | None,
    typer.Option("--feature", help="Column to use as a feature; repeat it [default: all].", rich_help_panel=_COLUMNS),
]
Drop = Annotated[list[str] | None, typer.Option(help="Column to leave out; repeat it.", rich_help_panel=_COLUMNS)]
Categorical = Annotated[
    list[str] | None, typer.Option(help="Column to one-hot encode; repeat it.", rich_help_panel=_COLUMNS)
]
SensitiveAsFeature = Annotated[
    bool,
    typer.Option(
        "--sensitive-as-feature", help="Keep the sensitive column among the features.", rich_help_panel=_COLUMNS
    ),
]
Split = Annotated[str | None, typer.Option(help="Column with train, val and test.", rich_help_panel=_COLUMNS)]
SplitSeed = Annotated[
    int | None, typer.Option(help="Draw a stratified split with this seed instead.", rich_help_panel=_COLUMNS, min=0)
]

Scaling = Annotated[
    Literal["none", "minmax", "standard"], typer.Option(help="Of the features.", rich_help_panel=_VALUES)
]
ScaleOn = Annotated[
    Literal["all", "train"], typer.Option(help="Nodes that the scaling is fitted on.", rich_help_panel=_VALUES)
]
Missing = Annotated[
    Literal["error", "mean", "drop", "indicator"],
    typer.Option(help="What to do with empty feature cells.", rich_help_panel=_VALUES),
]
MissingValues = Annotated[
    list[str] | None,
    typer.Option("--missing-value", help="A text that means missing, such as NA; repeat it.", rich_help_panel=_VALUES),
]

Neighbours = Annotated[
    int | None,
    typer.Option(
        help="Without edges: link each node to so many nearest ones [default: 10].", rich_help_panel=_GRAPH, min=1
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option(
        help="Without edges: link nodes above this share of the largest similarity (0 to 1) instead.",
        rich_help_panel=_GRAPH,
    ),
]
SimilarityWithSensitive = Annotated[
    bool,
    typer.Option(
        "--similarity-with-sensitive",
        help="Let the sensitive column take part in the similarity (needs --sensitive-as-feature).",
        rich_help_panel=_GRAPH,
    ),
]
Directed = Annotated[
    bool,
    typer.Option("--directed", help="Keep edges as given instead of making them symmetric.", rich_help_panel=_GRAPH),
]
DropUnknown = Annotated[
    bool, typer.Option("--drop-unknown", help="Drop edges to ids that the node table lacks.", rich_help_panel=_GRAPH)
]

DataDir = Annotated[
    Path | None,
    typer.Option(help="Folder with the datasets' files [default: $FAIRVIEW_DATA, then the user cache]."),
]

TableOptions = dict[str, Any]
"""What the user said about own tables, by option."""


def _required(nodes: Nodes, label: Label, sensitive: Sensitive) -> None:
    """The options without which there are no own tables."""


def _optional(nodes: OptionalNodes = None, label: OptionalLabel = None, sensitive: OptionalSensitive = None) -> None:
    """The same for commands that also know datasets."""


def _further(
    edges: Edges = None,
    separator: Separator = None,
    encoding: Encoding = "utf-8",
    positive: Positive = None,
    id: Id = None,
    source: Source = None,
    target: Target = None,
    feature: Features = None,
    drop: Drop = None,
    categorical: Categorical = None,
    sensitive_as_feature: SensitiveAsFeature = False,
    split: Split = None,
    split_seed: SplitSeed = None,
    scaling: Scaling = "standard",
    scale_on: ScaleOn = "all",
    missing: Missing = "error",
    missing_value: MissingValues = None,
    neighbours: Neighbours = None,
    threshold: Threshold = None,
    similarity_with_sensitive: SimilarityWithSensitive = False,
    directed: Directed = False,
    drop_unknown: DropUnknown = False,
) -> None:
    """All the others."""


def with_table_options(*, required: bool) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of own tables; it receives them as one mapping, `tables`.

    typer reads a command's options off its signature, so the signatures are joined.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        sources: list[Callable[..., None]] = [_required if required else _optional, _further]
        hints: dict[str, Any] = {}
        parameters: dict[str, inspect.Parameter] = {}
        for source in [command, *sources]:
            hints |= get_type_hints(source, include_extras=True)
            parameters |= inspect.signature(source).parameters
        names = [name for source in sources for name in inspect.signature(source).parameters]
        del parameters["tables"], hints["tables"]

        @functools.wraps(command)
        def run(**given: Any) -> None:
            command(tables={name: given.pop(name) for name in names}, **given)

        joined = [p.replace(kind=p.KEYWORD_ONLY, annotation=hints[name]) for name, p in parameters.items()]
        run.__signature__ = inspect.Signature(joined)  # type: ignore[attr-defined]
        run.__annotations__ = hints
        return run

    return decorate


def setting_value(text: str) -> Any:
    """A number, a truth value, nothing, a text, or several texts (a comma after a single one: `classifier,`)."""
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return tuple(part for part in text.split(",") if part) if "," in text else text
