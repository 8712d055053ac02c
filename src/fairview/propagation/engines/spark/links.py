"""Who is linked to whom? Edges become links between numbers: merged, without self-loops, symmetric unless directed."""

from __future__ import annotations

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
_ROUNDING = 1e-6  # relative: both directions of a link may differ by float32's rounding


@dataclass(frozen=True)
class Links:
    """The links of a graph.

    Attributes:
        pairs: source, target and weight; an undirected link is two of them.
        count: how many links there are, an undirected one once.
        same: pairs of nodes of the same group.
        known: pairs of nodes of known groups.
        notes: on what was dropped and merged.
    """

    pairs: Any
    count: int
    same: int
    known: int
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
    forth, back = F.col("forth"), F.col("back")
    weight_forth, weight_back = (F.col(name).cast("float").cast("double") for name in ("weight_forth", "weight_back"))
    if not edges.weighted:
        weight_forth, weight_back = (F.when(n > 0, F.lit(1.0)) for n in (forth, back))
    else:
        weight_forth, weight_back = F.when(forth > 0, weight_forth), F.when(back > 0, weight_back)
    real = (F.col("low") >= 0) & (F.col("low") < F.col("high"))
    notes = list(edges.notes)
    apart = merged.filter(~real).groupBy("low").agg(F.sum(forth + back).alias("edges"))
    odd = {row["low"]: row["edges"] for row in apart.withColumn("low", F.least("low", F.lit(0))).groupBy("low")
           .agg(F.sum("edges").alias("edges")).collect()}  # fmt: skip
    if unknown := odd.get(_UNKNOWN, 0):
        count = f"{unknown:,} of {edges.given:,} edges"
        if not drop_unknown:
            raise InputError(_strangers(edges, nodes, count, names))
        notes.append(f"{names[1]}: {count} dropped: an end is not in {names[0]}")
    links = merged.filter(real).withColumns({"weight_forth": weight_forth, "weight_back": weight_back})
    if edges.weighted:
        _check_weights(links, nodes, directed=directed)
    pairs = _pairs(links, directed=directed)
    distinct = links.agg(
        F.sum(forth + back).alias("edges"),
        F.sum((forth > 0).cast("long") + (back > 0).cast("long")).alias("pairs"),
        F.sum(_zero(weight_forth) + _zero(weight_back)).alias("weightless"),
    ).head()
    given, different, weightless = (value or 0 for value in distinct)
    counts = pairs.agg(
        F.count(F.lit(1)),
        F.count_if((F.col("code_source") >= 0) & (F.col("code_source") == F.col("code_target"))),
        F.count_if((F.col("code_source") >= 0) & (F.col("code_target") >= 0)),
    ).head()
    if dropped := odd.get(_DROPPED, 0):
        notes.append(f"{dropped:,} edges dropped with the nodes at their ends")
    became = EdgeCounts(
        given=edges.given,
        self_loops=odd.get(0, 0),
        parallel=given - different,
        weightless=weightless if edges.weighted else 0,
        one_direction=counts[0] - (different - weightless),
        weighted=edges.weighted,
    )
    notes += became.notes(directed=directed)
    number = counts[0] if directed else counts[0] // 2
    return Links(pairs.select("source", "target", "weight"), number, counts[1], counts[2], tuple(notes))


def _merged(edges: Edges, nodes: Nodes) -> Any:
    """A row for each two nodes that an edge joins: how many edges lead forth and back, and their weights.

    Edges that are not kept are counted in rows of their own.
    """
    known = nodes.frame.select("id", "number", "code")
    ends = edges.frame
    both = ends.select(F.col("start").alias("id")).unionAll(ends.select(F.col("end").alias("id")))
    salted = hubs(both, "id")
    for end, other, name in (("start", "end", "source"), ("end", "start", "target")):
        one = known.select(F.col("id").alias(end), F.col("number").alias(name), F.col("code").alias(f"code_{name}"))
        by_end = None if salted is None else salted.withColumnRenamed("id", end)
        ends = salted_join(ends, one, end, by_end, spread=other, how="left")
    source, target = F.col("source"), F.col("target")
    apart = F.when(source.isNull() | target.isNull(), _UNKNOWN).when(
        F.greatest(source, target) >= nodes.count, _DROPPED
    )
    forth = apart.isNotNull() | (source <= target)
    return (
        ends.withColumns(
            {
                "low": F.coalesce(apart, F.least(source, target)),
                "high": F.coalesce(apart, F.greatest(source, target)),
                "code_low": F.when(forth, F.col("code_source")).otherwise(F.col("code_target")),
                "code_high": F.when(forth, F.col("code_target")).otherwise(F.col("code_source")),
                "leads_forth": forth,
            }
        )
        .groupBy("low", "high")
        .agg(
            F.count_if("leads_forth").alias("forth"),
            F.count_if(~F.col("leads_forth")).alias("back"),
            F.sum(F.when(F.col("leads_forth"), F.col("weight"))).alias("weight_forth"),
            F.sum(F.when(~F.col("leads_forth"), F.col("weight"))).alias("weight_back"),
            F.max("code_low").alias("code_low"),
            F.max("code_high").alias("code_high"),
        )
    )


def _pairs(links: Any, *, directed: bool) -> Any:
    """Source, target and weight of each pair, with the codes of their groups."""
    weight = F.greatest("weight_forth", "weight_back")  # nulls take no part
    ways = [
        F.struct(
            F.col(first).alias("source"),
            F.col(second).alias("target"),
            (F.col(own) if directed else weight).alias("weight"),
            F.col(f"code_{first}").alias("code_source"),
            F.col(f"code_{second}").alias("code_target"),
        )
        for first, second, own in (("low", "high", "weight_forth"), ("high", "low", "weight_back"))
    ]
    return links.select(F.explode(F.array(*ways)).alias("pair")).select("pair.*").filter(F.col("weight") > 0)


def _zero(weight: Any) -> Any:
    return F.coalesce((weight == 0).cast("long"), F.lit(0))


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
