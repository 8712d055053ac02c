"""From a node table and an edge table in Spark to the features after 0 to L hops, checkpointed hop by hop."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import functions as F  # noqa: N812

from fairview.attributes import group_columns
from fairview.data.tables.arguments import check_settings
from fairview.data.tables.edges import has_header
from fairview.data.tables.links import direction
from fairview.data.tables.read import constant_note, read_graph
from fairview.data.tables.recipe import Recipe, held_by
from fairview.data.tables.roles import views_of
from fairview.errors import InputError, Problems
from fairview.log import note
from fairview.propagation.engines.spark.checkpoints import Checkpoints
from fairview.propagation.engines.spark.edge_rules import Edges, read_edges
from fairview.propagation.engines.spark.hops import in_slices, one_hop, with_factor
from fairview.propagation.engines.spark.ids import check_ids
from fairview.propagation.engines.spark.links import link_nodes
from fairview.propagation.engines.spark.node_rules import NodeRules, decide
from fairview.propagation.engines.spark.nodes import Fitted, draw_split, fit_features, number_nodes, scaled
from fairview.propagation.engines.spark.salting import hubs
from fairview.propagation.engines.spark.spark_table import SparkTable
from fairview.propagation.operators import Operator
from fairview.propagation.stages import Stages


@dataclass(frozen=True)
class SparkHops:
    """The features of each node after 0 to L hops.

    Attributes:
        hops: a DataFrame for each: number, slice, x0, x1, ...; the first has id, label, the codes and split, too.
        nodes: how many.
        labelled: how many have a label.
        has_split: whether there is a split.
        facts: what a manifest says of the graph.
    """

    hops: tuple[Any, ...]
    nodes: int
    labelled: int
    has_split: bool
    facts: dict[str, Any]


def propagate_tables(
    nodes: SparkTable,
    edges: SparkTable,
    checkpoints: Checkpoints,
    *,
    operator: Operator,
    hops: int,
    stages: Stages,
    reading: Mapping[str, Any],
    notes: tuple[str, ...] = (),
) -> SparkHops:
    """Check both tables, and propagate.

    Args:
        nodes: the table of nodes.
        edges: the table of edges.
        checkpoints: where finished stages are kept.
        operator: S.
        hops: L.
        stages: for times and progress.
        reading: options of `fairview.read_graph`.
        notes: on how files were understood.

    Raises:
        InputError: with every problem of the tables.
    """
    settings = _settings(reading, edges)
    problems, said = Problems(), list(notes)
    check_settings(settings, problems)
    recipe = settings["recipe"]
    directed = direction(settings["directed"], recipe, said, problems)
    with stages.timed("read", 4) as advance:
        rules, given = _decided(nodes, edges, settings, problems, directed=directed)
        advance(1)
        missing = recipe.features.missing if recipe is not None else settings["missing"]
        numbered = number_nodes(nodes, rules, checkpoints, drop_gaps=missing == "drop")
        if settings["split_seed"] is not None:
            numbered = draw_split(numbered, rules, settings["split_seed"])
        advance(1)
        fitted = fit_features(numbered, rules, settings, nodes.name)
        advance(1)
        links = link_nodes(
            given, numbered, checkpoints, directed=directed, drop_unknown=settings["drop_unknown"],
            names=(nodes.name, edges.name),
        )  # fmt: skip
        advance(1)
    said += [*rules.notes, *given_first(links.notes, given), *fitted.notes]
    if (seed := settings["split_seed"]) is not None:
        said.append(f"split drawn with seed {seed}: half train, a quarter val, a quarter test, stratified")
    said += [*given_last(links.notes, given), *rules.merged]
    if fitted.constant:
        said.append(constant_note(fitted.constant))
    for text in said:
        note(text)
    width = len(fitted.features.channels)
    with stages.timed("propagate", max(hops, 1)) as advance:
        first = numbered.kept.select("number", "id", "label", *numbered.codes, "split", *scaled(fitted.features))
        by_hop = [checkpoints.kept("hop-0", lambda: in_slices(with_factor(first, links.pairs, operator)), by="slice")]
        salted = hubs(links.pairs, "source") if hops else None
        for hop in range(1, hops + 1):
            before = by_hop[-1]
            by_hop.append(
                checkpoints.kept(
                    f"hop-{hop}",
                    lambda before=before: in_slices(one_hop(before, links.pairs, salted, operator, width)),  # type: ignore[misc]
                    by="slice",
                )
            )
            advance(1)
    facts = _facts(nodes, edges, rules, given, fitted, settings, directed=directed)
    facts |= {"links": links.count, "same_and_known": links.same_and_known, "notes": tuple(said)}
    has_split = settings["split"] is not None or settings["split_seed"] is not None
    return SparkHops(tuple(by_hop), numbered.count, rules.labelled, has_split, facts)


def given_first(notes: tuple[str, ...], edges: Edges) -> tuple[str, ...]:
    """Notes on the edge table, which `read_graph` writes before those on empty cells."""
    return notes[: len(edges.notes) + _dropped(notes, edges)]


def given_last(notes: tuple[str, ...], edges: Edges) -> tuple[str, ...]:
    """Notes on the links, which it writes after them."""
    return notes[len(edges.notes) + _dropped(notes, edges) :]


def _dropped(notes: tuple[str, ...], edges: Edges) -> bool:
    after = notes[len(edges.notes) :]
    return bool(after) and "an end is not in" in after[0]


def _settings(reading: Mapping[str, Any], edges: SparkTable) -> dict[str, Any]:
    """All options of `read_graph`, with its defaults."""
    parameters = inspect.signature(read_graph).parameters
    return {name: each.default for name, each in parameters.items()} | {"edges": edges} | dict(reading)


def _decided(
    nodes: SparkTable, edges: SparkTable, settings: Mapping[str, Any], problems: Problems, *, directed: bool
) -> tuple[NodeRules, Edges]:
    """What can be said of both tables before they are joined; all that is wrong is raised together."""
    recipe, rules, given = settings["recipe"], None, None
    with problems.collecting():
        ids = check_ids(nodes, recipe.id if recipe is not None else settings["id"])
        rules = decide(nodes, ids, settings, problems)
    with problems.collecting():
        known = nodes.frame.select(nodes.ids(rules.ids.column).alias("id")) if rules else nodes.frame.limit(0)
        given = read_edges(edges, known, settings, directed=directed)
    problems.raise_if_any()
    if rules is None or given is None:
        raise InputError("nodes: no table.")
    views_of(rules.attributes)  # are the groups too many together?
    return rules, given


def _facts(
    nodes: SparkTable,
    edges: SparkTable,
    rules: NodeRules,
    given: Edges,
    fitted: Fitted,
    settings: Mapping[str, Any],
    *,
    directed: bool,
) -> dict[str, Any]:
    recipe = settings["recipe"]
    if recipe is None:
        recipe = Recipe(
            id=rules.ids.column,
            features=fitted.features,
            label=rules.label,
            **held_by(fitted.features, rules.attributes),
            missing_values=rules.plan.cells.missing_values,
            directed=directed,
            ends=given.ends if has_header(edges.empty) else None,
            edge_weight=settings["edge_weight"],
        )
    return {
        "source": settings["name"] or nodes.name,
        "directed": directed,
        "weighted": given.weighted,
        "channels": fitted.features.channels,
        "classes": rules.label.classes if rules.label else ("0", "1"),
        "recipe": recipe,
    }


def as_frame(rows: SparkHops, metadata: Mapping[str, Any]) -> Any:
    """One DataFrame: id, label, the groups of each attribute, split, and CHANNEL@HOP for each channel and hop.

    Args:
        rows: the hops.
        metadata: to keep with the column of the ids.
    """
    from fairview.propagation.blocks import column_name

    channels, attributes = rows.facts["channels"], rows.facts["recipe"].attributes
    groups = [_group(f"code{place}", rule.groups) for place, rule in enumerate(attributes)] or [_group("", ())]
    named = group_columns([rule.column for rule in attributes]) or group_columns(["sensitive"])
    codes = [f"code{place}" for place in range(len(attributes))]
    columns = [
        F.col("id").alias("id", metadata=dict(metadata)),
        F.when(F.col("label") >= 0, F.col("label")).alias("label"),
        *(group.alias(name) for name, group in zip(named, groups, strict=True)),
        F.col("split"),
    ]
    joined = None
    for hop, frame in enumerate(rows.hops):
        values = [F.col(f"x{place}").cast("float").alias(f"h{hop}x{place}") for place in range(len(channels))]
        part = frame.select("number", *(["id", "label", *codes, "split"] if hop == 0 else []), *values)
        joined = part if joined is None else joined.join(part, "number")
        columns += [F.col(f"h{hop}x{place}").alias(column_name(c, hop)) for place, c in enumerate(channels)]
    if joined is None:
        raise InputError("hops: none.")
    return joined.select(*columns)


def _group(code: str, groups: Sequence[str]) -> Any:
    """The name of the group that a column of codes tells, null where it is not known."""
    name = F.lit(None).cast("string")
    for place, group in enumerate(groups):
        name = F.when(F.col(code) == place, F.lit(group)).otherwise(name)
    return name
