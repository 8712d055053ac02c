"""Where does a command's graph come from? A known dataset, or own tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairview.cli.options import TableOptions, given
from fairview.errors import InputError, some

if TYPE_CHECKING:
    from fairview.data.graph import NodeGraph
    from fairview.data.similarity.rules import NearestNeighbours, SimilarityThreshold


def _similarity(
    edges: Path | None, neighbours: int | None, threshold: float | None
) -> NearestNeighbours | SimilarityThreshold | None:
    """How to link nodes without edges, if the user said so."""
    from fairview.data.similarity.rules import NearestNeighbours, SimilarityThreshold

    if neighbours is None and threshold is None:
        return None
    if edges is not None or (neighbours is not None and threshold is not None):
        raise InputError("--neighbours and --threshold say how to link nodes without --edges; give at most one of all.")
    if threshold is None:
        return NearestNeighbours(neighbours=neighbours or 10)
    if not 0 < threshold <= 1:
        raise InputError(f"--threshold {threshold:g}: must be above 0, and at most 1.")
    return SimilarityThreshold(threshold=threshold)


def reading_of(tables: TableOptions) -> dict[str, Any]:
    """How the tables are to be read, as `read_graph` takes it, but for similarity rules."""
    names = {"feature": "features", "missing_value": "missing_values"}
    lists = ("drop", "categorical", "missing_value", "unlabelled")
    elsewhere = ("nodes", "edges", "neighbours", "threshold", "similarity_with_sensitive")
    reading = {names.get(name, name): value for name, value in tables.items() if name not in elsewhere}
    reading |= {names.get(name, name): tables[name] or () for name in lists}
    return reading | {"features": tables["feature"] or None, "sensitive": _one_or_several(tables["sensitive"])}


def _one_or_several(names: Sequence[str] | None) -> str | list[str] | None:
    """One name by itself, so that a run of one attribute says what it always said."""
    return names[0] if names and len(set(names)) == 1 else list(names) if names else None


def own_graph(tables: TableOptions) -> NodeGraph:
    """Own tables, as the options of the command line describe them."""
    from fairview.data.tables.read import read_graph

    return read_graph(
        tables["nodes"],
        tables["edges"],
        similarity=_similarity(tables["edges"], tables["neighbours"], tables["threshold"]),
        similarity_with_sensitive=tables["similarity_with_sensitive"],
        **reading_of(tables),
    )


def chosen_graph(
    dataset: str | None, data_dir: Path | None, tables: TableOptions, *, or_folder: bool = False
) -> NodeGraph:
    """The dataset or the own tables; `or_folder` where the command takes a propagated folder, too."""
    from fairview.data.datasets import load_dataset

    if (dataset is None) == (tables["nodes"] is None):
        one = "a known dataset, --nodes or --propagated" if or_folder else "either a known dataset or --nodes"
        raise InputError(f"give {one}.")
    if dataset is not None:
        _refuse_table_options(tables)
        return load_dataset(dataset, data_dir=data_dir)
    if tables["label"] is None or not tables["sensitive"]:
        raise InputError("own tables need --label and --sensitive.")
    return own_graph(tables)


def training_graph(run: Path, data_dir: Path | None, tables: TableOptions) -> NodeGraph:
    """What a run was trained on: the own tables, given again, or the known dataset."""
    from fairview.runs.evidence import run_graph

    if tables["nodes"] is not None:
        return chosen_graph(None, data_dir, tables)
    graph = run_graph(run, data_dir=data_dir)
    _refuse_table_options(tables)
    return graph


def _refuse_table_options(tables: TableOptions) -> None:
    if ignored := given(tables):
        raise InputError(f"{some(ignored, limit=20)}: for own tables (--nodes) only; a known dataset is read as it is.")


def hidden_columns(
    graph: NodeGraph, names: Sequence[str], data_dir: Path | None, tables: TableOptions
) -> dict[str, Any]:
    """The values of columns that are no features, by name: of the own node table, or of the dataset's."""
    from fairview.data.datasets import table_columns
    from fairview.data.tables.other_columns import read_columns

    if not names:
        return {}
    if tables["nodes"] is None:
        return dict(table_columns(graph.provenance.source, names, data_dir=data_dir))
    return dict(
        read_columns(
            tables["nodes"],
            names,
            graph,
            id=tables["id"],
            separator=tables["separator"],
            encoding=tables["encoding"],
            missing_values=tables["missing_value"] or (),
        )
    )
