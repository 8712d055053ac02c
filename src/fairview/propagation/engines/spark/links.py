"""Who is linked to whom? Edges become links between numbers: merged, without self-loops, symmetric unless directed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pyspark.sql import functions as F  # noqa: N812

from fairview.data.adjacency import EdgeCounts
from fairview.data.edge_weights import LARGEST
from fairview.errors import InputError, option, quoted
from fairview.propagation.engines.spark.checkpoints import Checkpoints
from fairview.propagation.engines.spark.edge_rules import Edges
from fairview.propagation.engines.spark.nodes import Nodes
from fairview.propagation.engines.spark.salting import hubs, salted_join

_UNKNOWN, _DROPPED = -1, -2
"""In place of both numbers of an edge: an end is not in the node table, or was dropped for its empty cells."""
_REAL = "low >= 0 and low < high"
_ROUNDING = 1e-6  # relative: both directions of a link may differ by float32's rounding


@dataclass(frozen=True)
class Links:
    """The links of a graph.

    Attributes:
        pairs: source, target and weight; an undirected link is two of them.
        count: how many links there are, an undirected one once.
        same_and_known: pairs of nodes of the same group, and of known groups, by the columns of the codes.
        notes: on what was dropped and merged.
    """

    pairs: Any
    count: int
    same_and_known: tuple[tuple[int, int], ...]
    notes: tuple[str, ...]


def link_nodes(
    edges: Edges,
    nodes: Nodes,
    checkpoints: Checkpoints,
    *,
    directed: bool,
    drop_unknown: bool,
    names: tuple[str, str],
) -> Links:
    """Find the nodes of each edge, and merge edges into links.

    Args:
        edges: as given.
        nodes: with their numbers.
        checkpoints: for the merged links.
        directed: keep edges as they are.
        drop_unknown: drop edges with an end that is not in the node table; else they are an error.
        names: of the node table and of the edge table, for messages.

    Raises:
        InputError: an end is unknown, or weights add up to too much or differ by direction.
    """
    merged = checkpoints.kept("links", lambda: _merged(edges, nodes))
    ways = {}
    for way in ("forth", "back"):  # null where no edge leads that way
        weight = F.col(f"weight_{way}").cast("float").cast("double") if edges.weighted else F.lit(1.0)
        ways[f"weight_{way}"] = F.when(F.col(way) > 0, weight)
    links = merged.withColumns(ways)
    counts = links.agg(*_counted(nodes.codes, directed=directed)).head().asDict()
    counts = {name: count or 0 for name, count in counts.items()}
    notes = list(edges.notes)
    if counts["unknown"]:
        count = f"{counts['unknown']:,} of {edges.given:,} edges"
        if not drop_unknown:
            raise InputError(_strangers(edges, nodes, count, names))
        notes.append(f"{names[1]}: {count} dropped: an end is not in {names[0]}")
    links = links.filter(_REAL)
    if edges.weighted:
        _check_weights(links, nodes, directed=directed)
    if counts["dropped"]:
        notes.append(f"{counts['dropped']:,} edges dropped with the nodes at their ends")
    became = EdgeCounts(
        given=edges.given,
        self_loops=counts["loops"],
        parallel=counts["edges"] - counts["different"],
        weightless=counts["weightless"],
        one_direction=counts["pairs"] - (counts["different"] - counts["weightless"]),
        weighted=edges.weighted,
    )
    notes += became.notes(directed=directed)
    number = counts["pairs"] if directed else counts["pairs"] // 2
    same_and_known = tuple((counts[f"same_{code}"], counts[f"known_{code}"]) for code in nodes.codes)
    return Links(_pairs(links, directed=directed), number, same_and_known, tuple(notes))


def _counted(codes: Sequence[str], *, directed: bool) -> list[Any]:
    """How many edges became what, in one pass over the merged links."""
    real = F.expr(_REAL)
    edges = F.col("forth") + F.col("back")
    weights = [F.col("weight_forth"), F.col("weight_back")]
    heaviest = F.greatest(*weights)
    kept = [heaviest if not directed else weight for weight in weights]
    pairs = F.when(real, sum((_is(weight > 0) for weight in kept), F.lit(0)))
    both = {
        "unknown": F.when(F.col("low") == _UNKNOWN, edges),
        "dropped": F.when(F.col("low") == _DROPPED, edges),
        "loops": F.when((F.col("low") >= 0) & ~real, edges),
        "edges": F.when(real, edges),
        "different": F.when(real, sum((_is(weight.isNotNull()) for weight in weights), F.lit(0))),
        "weightless": F.when(real, sum((_is(weight == 0) for weight in weights), F.lit(0))),
        "pairs": pairs,
    }
    for code in codes:
        low, high = F.col(f"{code}_low"), F.col(f"{code}_high")
        known = (low >= 0) & (high >= 0)
        both |= {f"same_{code}": F.when(known & (low == high), pairs), f"known_{code}": F.when(known, pairs)}
    return [F.sum(value).alias(name) for name, value in both.items()]


def _is(condition: Any) -> Any:
    return F.coalesce(condition.cast("long"), F.lit(0))


def _merged(edges: Edges, nodes: Nodes) -> Any:
    """A row for each two nodes that an edge joins: how many edges lead forth and back, and their weights.

    Edges that are not kept are counted in rows of their own.
    """
    known = nodes.frame.select("id", "number", *nodes.codes)
    ends = edges.frame
    both = ends.select(F.col("start").alias("id")).unionAll(ends.select(F.col("end").alias("id")))
    salted = hubs(both, "id")
    for end, other, name in (("start", "end", "source"), ("end", "start", "target")):
        codes = (F.col(code).alias(f"{code}_{name}") for code in nodes.codes)
        one = known.select(F.col("id").alias(end), F.col("number").alias(name), *codes)
        by_end = None if salted is None else salted.withColumnRenamed("id", end)
        ends = salted_join(ends, one, end, by_end, spread=other, how="left")
    source, target = F.col("source"), F.col("target")
    apart = F.when(source.isNull() | target.isNull(), _UNKNOWN).when(
        F.greatest(source, target) >= nodes.count, _DROPPED
    )
    forth = apart.isNotNull() | (source <= target)
    groups = {}
    for code in nodes.codes:
        first, second = F.col(f"{code}_source"), F.col(f"{code}_target")
        groups[f"{code}_low"] = F.when(forth, first).otherwise(second)
        groups[f"{code}_high"] = F.when(forth, second).otherwise(first)
    return (
        ends.withColumns(
            {
                "low": F.coalesce(apart, F.least(source, target)),
                "high": F.coalesce(apart, F.greatest(source, target)),
                "leads_forth": forth,
                **groups,
            }
        )
        .groupBy("low", "high")
        .agg(
            F.count_if("leads_forth").alias("forth"),
            F.count_if(~F.col("leads_forth")).alias("back"),
            F.sum(F.when(F.col("leads_forth"), F.col("weight"))).alias("weight_forth"),
            F.sum(F.when(~F.col("leads_forth"), F.col("weight"))).alias("weight_back"),
            *(F.max(name).alias(name) for name in groups),
        )
    )


def _pairs(links: Any, *, directed: bool) -> Any:
    """Source, target and weight of each pair."""
    heaviest = F.greatest("weight_forth", "weight_back")  # nulls take no part
    ways = [
        F.struct(
            F.col(first).alias("source"),
            F.col(second).alias("target"),
            (F.col(own) if directed else heaviest).alias("weight"),
        )
        for first, second, own in (("low", "high", "weight_forth"), ("high", "low", "weight_back"))
    ]
    return links.select(F.explode(F.array(*ways)).alias("pair")).select("pair.*").filter(F.col("weight") > 0)


def _check_weights(links: Any, nodes: Nodes, *, directed: bool) -> None:
    """Sums that float32 holds and, unless the edges are directed, the same weight both ways."""
    heavy = links.agg(F.max(F.greatest("weight_forth", "weight_back"))).head()[0]
    if heavy is not None and heavy > float(np.float32(LARGEST)):
        raise InputError(
            f"edge_weight: parallel edges add up to {heavy:g}; the largest weight is {LARGEST:g}. Rescale the weights."
        )
    if directed:
        return
    lighter, heavier = F.least("weight_forth", "weight_back"), F.greatest("weight_forth", "weight_back")
    both = F.col("weight_forth").isNotNull() & F.col("weight_back").isNotNull()
    differ = links.filter(both & (heavier > lighter * (1 + _ROUNDING)))
    if not (count := differ.count()):
        return
    forth = F.col("weight_forth") <= F.col("weight_back")  # told from the lighter direction
    told = differ.select(
        F.when(forth, F.col("low")).otherwise(F.col("high")).alias("source"),
        F.when(forth, F.col("high")).otherwise(F.col("low")).alias("target"),
        lighter.alias("lighter"),
        heavier.alias("heavier"),
    )
    first = told.orderBy("source", "target").limit(5).collect()
    wanted = {number for row in first for number in (row["source"], row["target"])}
    name = dict(nodes.frame.filter(F.col("number").isin(list(wanted))).select("number", "id").collect())
    examples = [
        f"'{name[row['source']]}' to '{name[row['target']]}': {row['lighter']:g}, back: {row['heavier']:g}"
        for row in first
    ]
    more = f" and {count - 5:,} more" if count > 5 else ""
    raise InputError(
        f"edge_weight: {count:,} links have another weight in each direction ({'; '.join(examples)}{more}). "
        f"Give each link one weight, or pass {option('directed', True)}."
    )


def _strangers(edges: Edges, nodes: Nodes, count: str, names: tuple[str, str]) -> str:
    """What to say of edges whose ends are not in the node table."""
    ends = edges.frame.select(F.col("start").alias("id")).unionAll(edges.frame.select(F.col("end").alias("id")))
    unknown = ends.distinct().join(nodes.frame.select("id"), "id", "left_anti")
    first = [row["id"] for row in unknown.orderBy("id").limit(5).collect()]
    total = unknown.count()
    blanks = unknown.filter(F.trim("id") != F.col("id")).head() is not None
    hint = " Blanks around an id are part of it." if blanks else ""
    more = f" and {total - 5:,} more" if total > 5 else ""
    return (
        f"{names[1]}: {count} point to ids that {names[0]} does not have ({quoted(first)}{more}).{hint} "
        f"Add these nodes, or pass {option('drop_unknown', True)}."
    )
