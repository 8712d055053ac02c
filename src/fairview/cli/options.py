"""The options that describe own tables, said once and shared by every command that reads them."""

from __future__ import annotations

import functools
import inspect
import json
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

from fairview.errors import InputError

if TYPE_CHECKING:
    from fairview.methods.estimator import Estimator

_tables = functools.partial(typer.Option, rich_help_panel="Tables")
_columns = functools.partial(typer.Option, rich_help_panel="Columns")
_values = functools.partial(typer.Option, rich_help_panel="Values")
_edges = functools.partial(typer.Option, rich_help_panel="Edges")

Edges = Annotated[
    Path | None,
    _tables(help="Table of edges, or an edge list separated by blanks or tabs. Without it, similar nodes are linked."),
]
Separator = Annotated[
    str | None,
    _tables(
        help=r"Character between the cells, for example ';' or '\t'.",
        callback=lambda text: "\t" if text == "\\t" else text,
    ),
]
Encoding = Annotated[str, _tables(help="Of the CSV files.")]
Source = Annotated[str | None, _columns(help="Column of the edge table [default: source, or the first].")]
Target = Annotated[str | None, _columns(help="Column of the edge table [default: target, or the second].")]
Directed = Annotated[bool | None, _edges("--directed", help="Keep edges as given instead of making them symmetric.")]
EdgeWeight = Annotated[
    str | None,
    _edges(help="Column of the edge table with the weight of each edge, 0 or more [default: all count alike]."),
]
LinkKind = Annotated[
    str | None,
    _edges(
        help="Column of the edge table with the kind of each edge, such as friend or colleague [default: one kind]."
    ),
]
DropUnknown = Annotated[bool, _edges("--drop-unknown", help="Drop edges to ids that the node table lacks.")]


def _method_names(incomplete: str) -> list[str]:
    from fairview.methods.registry import METHODS

    return [name for name in METHODS if name.startswith(incomplete)]


MethodOption = Annotated[
    str,
    typer.Option(
        help="parity, fairvgnn, vanilla, nifty, edits, fairgnn, masking, exponentiated-gradient, group-thresholds, "
        "ensemble, threshold-optimizer, gradient-boosting, logistic-regression, constant, one that an installed "
        "package announces, or a class of your own as package.module:Class.",
        autocompletion=_method_names,
    ),
]
EncoderOption = Annotated[
    str, typer.Option(help="gcn, gin, sage, sign, mlp, or a function of your own as package.module:factory.")
]


RunMethod = Annotated[
    str | None, typer.Option(help="For a model of a class that is not registered: package.module:Class.")
]
RunEncoder = Annotated[
    str | None, typer.Option(help="For a model with an encoder of your own: package.module:factory.")
]


def run_folder(run: Path) -> Path:
    """Where a run's model is: in the folder itself or, of a tuning, in its folder `run`."""
    if (run / "tune.json").is_file():
        if not (run / "run").is_dir():
            raise InputError(f"{run}: holds a refusal, and no model.")
        return run / "run"
    if (run / "seed-1").is_dir() and not (run / "model.json").exists():
        raise InputError(f"{run}: holds several runs; name one of them, such as {run / 'seed-1'}.")
    return run


def load_run(run: Path, method: str | None, encoder: str | None) -> Estimator:
    """The model of a run folder; code of the user's own is named by the user, never by the folder."""
    from fairview.methods.model_files import load_model
    from fairview.methods.registry import resolve_method

    import_from_here(method, encoder)
    kind = None if method is None else resolve_method(method).method
    return load_model(run_folder(run), method=kind, encoder=encoder)


def import_from_here(*specs: str | None) -> None:
    """Let `package.module:Class` mean a module in the current folder too, as `python -m` does."""
    here = str(Path.cwd())
    if any(spec is not None and ":" in spec for spec in specs) and here not in sys.path:
        sys.path.insert(0, here)


DataDir = Annotated[
    Path | None,
    typer.Option(help="Folder with the datasets' files [default: $FAIRVIEW_DATA, then the user cache]."),
]

Force = Annotated[
    bool,
    typer.Option("--force", help="Replace files that fairview did not write; never an input, a device or a folder."),
]

GroupAtPrediction = Annotated[
    bool,
    typer.Option("--group-at-prediction", help="Allow FairVGNN's link_kinds=groups, which needs each node's group."),
]

Threshold = Annotated[
    float | None,
    typer.Option(help="Say yes above this score, from 0 to 1 [default: the model's own threshold]."),
]

PropagatedFolder = Annotated[
    Path | None,
    _tables("--propagated", metavar="DIR", help="A folder that `fairview propagate` wrote, in place of tables."),
]
LoadedRows = Annotated[
    int | None,
    _tables("--rows", help="With --propagated: nodes to load at most [default: 2,000,000].", min=1000),
]

TableOptions = dict[str, Any]
"""What the user says about own tables, by option."""


def inputs_of(tables: TableOptions) -> list[Path]:
    """The files that a command reads: no output may replace them."""
    return [tables[name] for name in ("nodes", "edges") if tables[name] is not None]


_REQUIRED = ("nodes", "label", "sensitive")
"""Without them there are no own tables; a command that also takes a dataset does without all three."""


def _described(
    nodes: Annotated[Path | None, _tables(help="Table of nodes: CSV (also .gz) or Parquet, with a header.")] = None,
    label: Annotated[str | None, _columns(help="Column with the label; empty cells are unlabelled.")] = None,
    sensitive: Annotated[
        list[str] | None,
        _columns(help="Column with the sensitive attribute; each value is a group. Several: repeat it."),
    ] = None,
    edges: Edges = None,
    separator: Separator = None,
    encoding: Encoding = "utf-8",
    positive: Annotated[
        str | None, _columns(help="The label that counts as positive; known for {0, 1} and {-1, 1}.")
    ] = None,
    id: Annotated[str | None, _columns("--id", help="Column with the ids [default: id, or row numbers].")] = None,
    source: Source = None,
    target: Target = None,
    feature: Annotated[
        list[str] | None, _columns("--feature", help="Column to use as a feature; repeat it [default: all].")
    ] = None,
    drop: Annotated[list[str] | None, _columns(help="Column to leave out; repeat it.")] = None,
    categorical: Annotated[list[str] | None, _columns(help="Column to one-hot encode; repeat it.")] = None,
    sensitive_as_feature: Annotated[
        bool, _columns("--sensitive-as-feature", help="Keep the sensitive column among the features.")
    ] = False,
    split: Annotated[str | None, _columns(help="Column with train, val and test.")] = None,
    split_seed: Annotated[int | None, _columns(help="Draw a stratified split with this seed instead.", min=0)] = None,
    scaling: Annotated[Literal["none", "minmax", "standard"], _values(help="Of the features.")] = "standard",
    scale_on: Annotated[Literal["all", "train"], _values(help="Nodes that the scaling is fitted on.")] = "all",
    missing: Annotated[
        Literal["error", "mean", "drop", "indicator"], _values(help="What to do with empty feature cells.")
    ] = "error",
    missing_value: Annotated[
        list[str] | None, _values("--missing-value", help="A text that means missing, such as NA; repeat it.")
    ] = None,
    unlabelled: Annotated[list[str] | None, _values(help="A label that means that it is not known; repeat it.")] = None,
    neighbours: Annotated[
        int | None, _edges(help="Without edges: link each node to so many nearest ones [default: 10].", min=1)
    ] = None,
    threshold: Annotated[
        float | None,
        _edges(help="Without edges: link nodes above this share of the largest similarity (0 to 1) instead."),
    ] = None,
    similarity_with_sensitive: Annotated[
        bool,
        _edges(
            "--similarity-with-sensitive",
            help="Let the sensitive column take part in the similarity (needs --sensitive-as-feature).",
        ),
    ] = False,
    directed: Directed = None,
    edge_weight: EdgeWeight = None,
    link_kind: LinkKind = None,
    drop_unknown: DropUnknown = False,
) -> None:
    """The options of own tables, with their defaults."""


def _described_new(
    nodes: Annotated[Path | None, _tables(help="Table of new nodes: CSV (also .gz) or Parquet, with a header.")] = None,
    edges: Annotated[
        Path | None,
        _tables(
            help="Table of edges between new nodes, and to those of --context. Without it, similar ones are linked."
        ),
    ] = None,
    context: Annotated[
        Path | None,
        _tables(help="Table of known nodes that the new ones are linked to; they are propagated, and not predicted."),
    ] = None,
    context_edges: Annotated[
        Path | None, _tables(help="Edges between known nodes, such as those that the model was trained on.")
    ] = None,
    separator: Separator = None,
    encoding: Encoding = "utf-8",
    source: Source = None,
    target: Target = None,
    directed: Directed = None,
    edge_weight: EdgeWeight = None,
    drop_unknown: DropUnknown = False,
) -> None:
    """The options of tables that a model's recipe reads, with their defaults."""


def with_table_options(*, required: bool) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of own tables; it receives them as one mapping, `tables`."""
    return _with(_described, required=_REQUIRED if required else ())


def with_new_table_options(*, required: bool) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The same for tables of new nodes, which are read as the model's recipe says."""
    return _with(_described_new, required=("nodes",) if required else ())


def _with(
    description: Callable[..., None], *, required: tuple[str, ...]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """typer reads a command's options off its signature, so the signatures are joined."""
    described = dict(inspect.signature(description).parameters)
    described |= {name: described[name].replace(default=inspect.Parameter.empty) for name in required}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(command, include_extras=True) | get_type_hints(description, include_extras=True)
        parameters = dict(inspect.signature(command).parameters) | described
        del parameters["tables"], hints["tables"]

        @functools.wraps(command)
        def run(**given: Any) -> None:
            command(tables={name: given.pop(name) for name in described}, **given)

        joined = [p.replace(kind=p.KEYWORD_ONLY, annotation=hints[name]) for name, p in parameters.items()]
        run.__signature__ = inspect.Signature(joined)  # type: ignore[attr-defined]
        run.__annotations__ = hints
        return run

    return decorate


def given(tables: TableOptions) -> list[str]:
    """The flags of own tables that are not at their defaults."""
    described = {**inspect.signature(_described_new).parameters, **inspect.signature(_described).parameters}
    return [
        f"--{name.replace('_', '-')}" for name, value in tables.items() if value not in (described[name].default, [])
    ]


def names(text: str) -> tuple[str, ...]:
    """Names separated by commas, each once.

    Example:
        >>> names("gcn, gin,gcn")
        ('gcn', 'gin')
    """
    return tuple(dict.fromkeys(name for part in text.split(",") if (name := part.strip())))


def setting_value(text: str) -> Any:
    """A number, a truth value, nothing, a text, several texts (a comma after a single one: `classifier,`), or JSON.

    Example:
        >>> setting_value("0.5"), setting_value("gcn"), setting_value('{"epochs": 50}')
        (0.5, 'gcn', {'epochs': 50})
    """
    if text.startswith("{"):
        with suppress(ValueError):
            return json.loads(text)
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return tuple(part for part in text.split(",") if part) if "," in text else text
