"""How does a published table become the published graph? What German, Bail and Credit have in common."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl

from fairview.data.similarity.rules import threshold_pairs
from fairview.data.splits import published_split
from fairview.data.tables.read import read_graph

if TYPE_CHECKING:
    from fairview.data.datasets.entry import Dataset
    from fairview.data.graph import NodeGraph
    from fairview.data.tables.scaling import ScalingKind


def published_graph(
    dataset: Dataset,
    table: pl.DataFrame,
    edges: pl.DataFrame,
    *notes: str,
    sha256: Mapping[str, str],
    drop: tuple[str, ...] = (),
    scaling: ScalingKind = "minmax",
) -> NodeGraph:
    """The graph with its published split. The sensitive attribute is a channel, and the only one left unscaled.

    The table's sensitive column holds 0 and 1; the edges are pairs of rows, and the notes say where they come from.
    """
    graph = read_graph(
        table,
        edges,
        label=dataset.label,
        sensitive=dataset.sensitive,
        classes=dataset.classes,
        groups=dict(zip(("0", "1"), dataset.groups, strict=True)),
        drop=drop,
        sensitive_as_feature=True,
        scaling=scaling,
        unscaled=(dataset.sensitive,),
        name=dataset.name,
    )
    return graph.replace(
        splits=published_split(graph.labels, train_labels=dataset.train_labels),
        provenance=dataclasses.replace(graph.provenance, sha256=sha256).noting(*notes),
    )


FAIRVGNN = "YuWVandy/FairVGNN", "938f2e8d8da8c4bfc73b92c7953493a91f89244a"
NIFTY = "chirag126/nifty", "6c270c5ec736c5138d455609112cf6dfcc63dcca"
"""The repositories of the papers, each at the commit that was looked at."""


def addresses(path: str, *, repository: tuple[str, str]) -> tuple[str, str]:
    """Of a file in a repository: at the commit that was looked at, else at the newest."""
    name, commit = repository
    root = f"https://raw.githubusercontent.com/{name}"
    return f"{root}/{commit}/{path}", f"{root}/HEAD/{path}"


def read_edge_file(content: bytes) -> pl.DataFrame:
    """The pairs of an edge file as the benchmarks write them: two numbers such as `1.900000000000000000e+03` a line.

    Example:
        >>> read_edge_file(b"0.000e+00 3.597e+03\\n1.000e+00 1.900e+03\\n").rows()
        [(0, 3597), (1, 1900)]
    """
    names = ["source", "target"]
    pairs = pl.read_csv(
        io.BytesIO(content), has_header=False, separator=" ", new_columns=names, schema_overrides=[pl.Float64] * 2
    )
    return pairs.select(pl.col(names).cast(pl.Int64, strict=True))


def similar_rows(table: pl.DataFrame, *, threshold: float) -> tuple[pl.DataFrame, str]:
    """The pairs of similar rows, and a note that says how they were found."""
    source, target = threshold_pairs(table.cast(pl.Float64).to_numpy(), threshold=threshold)
    return pl.DataFrame({"source": source, "target": target}), f"links rebuilt by the threshold rule, t = {threshold:g}"
