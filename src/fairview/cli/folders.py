"""What do commands do with `--propagated DIR`? They load what fits, stream what does not, and say which."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from fairview.cli import options
from fairview.cli.graphs import chosen_graph
from fairview.cli.output import Format, print_json, printable
from fairview.errors import InputError

if TYPE_CHECKING:
    from fairview.data.graph import NodeGraph
    from fairview.methods.estimator import Estimator
    from fairview.methods.registry import MethodEntry
    from fairview.propagation.folder import Propagated
    from fairview.training.processes import Place

MANY_ROWS = 100_000
"""Nodes beyond which the adversary of FairVGNN looks at a sample in each step, unless the user says otherwise."""

ADVERSARY_SAMPLE = 2_048


def opened(propagated: Path, dataset: str | None, tables: options.TableOptions) -> Propagated:
    """The folder, if nothing else was named beside it."""
    from fairview.propagation.folder import open_propagated

    if dataset is not None:
        raise InputError(f"give either '{dataset}' or --propagated.")
    if given := options.given(tables):
        raise InputError(f"--propagated: the folder was made from tables that were read; leave out {', '.join(given)}.")
    return open_propagated(propagated)


def graph_to_train_on(
    dataset: str | None,
    data_dir: Path | None,
    tables: options.TableOptions,
    propagated: Path | None,
    rows: int | None,
    place: Place | None = None,
) -> tuple[NodeGraph, Propagated | None]:
    """The dataset, the own tables, or the nodes of a propagated folder that fit, and that folder.

    One of several processes gets its share of the nodes.
    """
    from fairview.propagation.shards import training_shard

    if propagated is None:
        _check_rows(rows)
        return chosen_graph(dataset, data_dir, tables, or_folder=True), None
    whole = opened(propagated, dataset, tables)
    if place is not None:
        return training_shard(whole, rank=place.rank, processes=place.processes, rows=rows), whole
    return whole.sample(rows=rows), whole


def graph_to_tune_on(
    dataset: str | None, data_dir: Path | None, tables: options.TableOptions, propagated: Path | None, rows: int | None
) -> NodeGraph:
    """The same for a certificate: of a folder that is too large, nodes drawn uniformly from all."""
    from fairview.propagation.sampling import uniform_sample

    if propagated is None:
        _check_rows(rows)
        return chosen_graph(dataset, data_dir, tables, or_folder=True)
    return uniform_sample(opened(propagated, dataset, tables), rows=rows)


def graph_of_run(
    run: Path, propagated: Path, rows: int | None, tables: options.TableOptions
) -> tuple[NodeGraph, Propagated]:
    """The nodes of a folder that a run was trained on, and the folder."""
    from fairview.propagation.sampling import uniform_sample
    from fairview.runs.finished import read_record

    whole = opened(propagated, None, tables)
    tuned = (run / "run" / "run.json").is_file()
    home = next((path for path in (run, run / "run", run / "seed-1") if (path / "run.json").is_file()), None)
    known = {} if home is None else read_record(home)["data"].get("propagated") or {}
    if known and known.get("sha256") != whole.sha256:
        raise InputError(f"{run}: it was made from another propagated folder than {propagated}.")
    tuned = tuned or (home is not None and (home / "certificate.json").exists())
    if rows is None and isinstance(known.get("rows"), int) and known["rows"] < whole.num_nodes:
        rows = known["rows"]
    return uniform_sample(whole, rows=rows) if tuned else whole.sample(rows=rows), whole


def sampled_adversary(entry: MethodEntry, changes: Sequence[str], graph: NodeGraph) -> list[str]:
    """A setting for FairVGNN on many nodes, told on stderr: its adversary sees some of them in each step."""
    named = {change.partition("=")[0] for change in changes}
    if entry.name != "fairvgnn" or graph.num_nodes <= MANY_ROWS or "adversary_sample" in named:
        return []
    typer.echo(
        f"note: on {graph.num_nodes:,} nodes the adversary sees {ADVERSARY_SAMPLE:,} of them in each step "
        "(--set adversary_sample=none: all of them).",
        err=True,
    )
    return [f"adversary_sample={ADVERSARY_SAMPLE}"]


def predict_folder(
    model: Estimator,
    run: Path,
    propagated: Path,
    out: Path,
    format: Format,
    further: Sequence[str] = (),
    notes: Sequence[str] = (),
    *,
    overwrite: bool = False,
) -> None:
    """Score every node of a folder into one file, some nodes at a time; `further` are flags that don't go with it."""
    from fairview.methods.registry import needs_group
    from fairview.outputs import check_file
    from fairview.propagation.facts import MANIFEST
    from fairview.propagation.folder import open_propagated
    from fairview.runs.score_file import write_scores

    if further:
        raise InputError(f"--propagated: the folder holds nodes and links; leave out {', '.join(further)}.")
    whole = open_propagated(propagated)
    inputs = [whole.folder / MANIFEST, *whole.paths]
    check_file(out, "predictions.csv", inputs=inputs, overwrite=overwrite)
    if needs_group(model) and not sum(whole.facts.group_sizes.values()):
        raise InputError(
            f"{propagated}: the model needs each node's sensitive group ('{model.facts().sensitive_name}'), and the "
            "folder holds none. Propagate the tables with that column."
        )
    scored = write_scores(model, whole, out)
    if format is Format.JSON:
        counts = {"nodes": scored.nodes, "edges": whole.facts.links, "positive": scored.positive, "context": 0}
        decided = {"run": str(run), "out": str(out), "threshold": model.threshold_}
        print_json(decided | counts | {"notes": [*notes, *whole.facts.notes]})
    else:
        yes = f"{scored.positive:,} of them predicted '{model.facts().classes[1]}' (score above {model.threshold_:g})"
        typer.echo(printable(f"{out}: {scored.nodes:,} nodes, {yes}"))


def _check_rows(rows: int | None) -> None:
    if rows is not None:
        raise InputError(f"--rows {rows}: it is about --propagated, which is not given.")
