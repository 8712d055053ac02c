"""`fairview propagate`: compute the features after 0 to L hops once, for graphs that do not fit into memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from fairview.cli import options
from fairview.cli.graphs import reading_of
from fairview.cli.interrupts import terminable
from fairview.cli.output import Format, FormatOption, print_facts, print_json, printable
from fairview.errors import InputError, some

if TYPE_CHECKING:
    from fairview.data.tables.recipe import Recipe
    from fairview.propagation.folder import Propagated


_GROUPS = 20
"""That are named on the terminal; JSON has them all."""


@options.with_table_options(required=False)
def propagate(
    tables: options.TableOptions,
    out: Annotated[Path, typer.Option(help="The folder to write.")],
    operator: Annotated[
        Literal["gcn", "mean", "sum"] | None,
        typer.Option(help="How neighbours are gathered: gcn for the GCN encoder, sum for GIN [default: gcn]."),
    ] = None,
    hops: Annotated[
        int | None, typer.Option(help="How far; encoders of one layer need 1 [default: 2].", min=0, max=10)
    ] = None,
    self_loops: Annotated[
        float | None, typer.Option(help="How often a node counts among its own neighbours [default: 1].", min=0)
    ] = None,
    engine: Annotated[
        Literal["auto", "memory", "duckdb", "spark"],
        typer.Option(help="What computes it; auto takes the first that the memory allows."),
    ] = "auto",
    memory: Annotated[str, typer.Option(help="How much may be used, such as 8GB.")] = "8GB",
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="Of Spark, such as spark://host:7077; else all cores here.")
    ] = None,
    like: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="A run or a propagated folder whose columns, categories, scaling and operator are taken over: so that "
            "a model can predict new tables.",
        ),
    ] = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Propagate features along the links once, into a folder that the other commands read part by part.

    `audit`, `train`, `tune` and `predict` take the folder with --propagated, in memory that does not grow with the
    graph. --nodes and --edges are CSV or Parquet files, folders of Parquet parts, or patterns in quotes. A run that
    was stopped goes on when the same command is given again. --label and --sensitive can be left out.

    Examples:

        fairview propagate --nodes people.parquet --edges links.parquet --label ok --sensitive sex --out propagated

        fairview propagate --nodes people.csv --edges 'links/*.parquet' --operator sum --hops 1 --out for-gin

        fairview propagate --nodes people --edges links --label ok --sensitive race --sensitive sex --out several

        fairview propagate --nodes new.parquet --edges new-links.parquet --like runs/a --out new

        fairview propagate --nodes people --edges links --engine duckdb --memory 4GB --out large --format json

        fairview propagate --nodes people --edges links --engine spark --master spark://host:7077 --out shared/large
    """
    import fairview.propagation.tables as propagation
    from fairview.propagation.operators import Operator

    _check_tables(tables)
    recipe, known, further = _handed_over(like)
    chosen = Operator(
        kind=operator or (known.kind if known else "gcn"),
        self_loops=self_loops if self_loops is not None else (known.self_loops if known else 1.0),
    )
    reading = reading_of(tables) | ({} if recipe is None else {"recipe": recipe})
    with terminable(f"what is finished is kept; the same command goes on in {out}"):
        made = propagation.propagate(
            tables["nodes"],
            tables["edges"],
            folder=out,
            operator=chosen,
            hops=hops if hops is not None else further,
            engine=engine,
            memory=memory,
            master=master,
            **reading,
        )
    document = describe(made)
    if format is Format.JSON:
        print_json(document)
        return
    _print(made, document)


def describe(made: Propagated) -> dict[str, Any]:
    """What the command prints as JSON; a folder that was there already has cost no seconds."""
    facts, cost = made.facts, made.cost
    disk = sum(path.stat().st_size for path in made.folder.iterdir() if path.is_file()) / 2**20
    return {
        "folder": str(made.folder),
        "engine": facts.engine,
        "operator": facts.operator.kind,
        "self_loops": facts.operator.self_loops,
        "nodes": facts.nodes,
        "links": facts.links,
        "channels": len(facts.channels),
        "hops": facts.hops,
        "labelled": facts.labelled,
        "groups": dict(facts.group_sizes),
        **(
            {"attributes": {each.name: dict(each.group_sizes) for each in facts.attributes}} if facts.attributes else {}
        ),
        "seconds": {} if cost is None else dict(cost.seconds),
        "peak_memory_mb": None if cost is None else cost.peak_memory_mb,
        "disk_mb": disk if cost is None else cost.disk_mb,
        "sha256": made.sha256,
        "notes": list(facts.notes),
    }


def _print(made: Propagated, document: dict[str, Any]) -> None:
    facts = made.facts
    loops = f"{facts.operator.self_loops:g} self-loop{'s' if facts.operator.self_loops != 1 else ''} per node"
    shown: dict[str, object] = {
        "engine": facts.engine,
        "operator": f"{facts.operator.kind}, {loops}",
        "nodes": facts.nodes,
        "links": facts.links,
        "channels": len(facts.channels),
        "hops": facts.hops,
        "labelled": facts.labelled,
    }
    for each in facts.views if facts.groups else ():
        shown[each.name] = some([f"{name} {size:,}" for name, size in each.group_sizes.items()], limit=_GROUPS)
    if made.cost is None:
        shown["seconds"] = "none: it was there already"
    else:
        parts = ", ".join(f"{name} {seconds:.1f}" for name, seconds in made.cost.seconds.items())
        shown["seconds"] = f"{sum(made.cost.seconds.values()):.1f} ({parts})"
        shown["peak memory"] = f"{made.cost.peak_memory_mb:,.0f} MB"
    shown["on disk"] = f"{document['disk_mb']:,.1f} MB"
    print_facts(str(made.folder), shown)
    for note in facts.notes:
        typer.echo(printable(f"note: {note}"))


def _check_tables(tables: options.TableOptions) -> None:
    for name in ("nodes", "edges"):
        if tables[name] is None:
            raise InputError(f"--{name} is missing: propagation needs a table of nodes and one of edges.")
    for name in ("neighbours", "threshold", "similarity_with_sensitive"):
        if tables[name]:
            flag = f"--{name.replace('_', '-')}"
            raise InputError(f"{flag}: it links nodes without edges, and propagation needs --edges; leave it out.")


def _handed_over(like: Path | None) -> tuple[Recipe | None, Any, int]:
    """Recipe, operator and hops of a run or a propagated folder; without one, nothing, and two hops."""
    if like is None:
        return None, None, 2
    if (like / "manifest.json").exists():
        from fairview.propagation.folder import open_propagated

        facts = open_propagated(like).facts
        return facts.recipe, facts.operator, facts.hops
    model = options.load_run(like, None, None)
    recipe = model.facts().recipe
    if recipe is None:
        raise InputError(
            f"--like {like}: the model was not trained on a table, so that no new one can be read like it."
        )
    return recipe, *_operator_of(model)


def _operator_of(model: Any) -> tuple[Any, int]:
    """S of a model and how often it is applied; GCN's, once, where it looks at no links."""
    from fairview.propagation.operators import Operator

    fitted, features = getattr(model, "fitted_", None), getattr(model, "features_", None)
    spec = getattr(getattr(fitted, "encoder", None), "spec", None)
    if spec is not None and spec.propagation is not None:
        return spec.propagation, 1
    operator = getattr(features, "operator", None)
    return (operator, features.hops) if isinstance(operator, Operator) and features else (Operator(), 1)
