"""From two tables, or one, to a checked graph: `read_graph`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fairview.data.graph import NodeGraph, Provenance
from fairview.data.similarity.rules import NearestNeighbours, SimilarityRule
from fairview.data.splits import Split, drawn_split
from fairview.data.tables.arguments import advising_by_recipe, check_settings
from fairview.data.tables.blank_cells import check_means, kept_nodes, report_empty
from fairview.data.tables.cells import TableSource, require_columns
from fairview.data.tables.columns import LARGEST
from fairview.data.tables.context import with_context
from fairview.data.tables.edges import has_header
from fairview.data.tables.features import choose_columns
from fairview.data.tables.links import direction, linked, similar
from fairview.data.tables.open_tables import Tables, open_tables
from fairview.data.tables.recipe import Features, Label, Matrix, Missing, Recipe, Sensitive, encode, held_by
from fairview.data.tables.roles import (
    apply_attributes,
    apply_label,
    read_attributes,
    read_label,
    read_split,
    sensitive_columns,
    sensitive_fields,
    unknown_notes,
)
from fairview.data.tables.scaling import ScalingKind
from fairview.errors import InputError, Message, Problems, quoted
from fairview.log import note
from fairview.remedies import only_with, remedies


@advising_by_recipe
def read_graph(
    nodes: TableSource,
    edges: TableSource | None = None,
    *,
    label: str | None = None,
    sensitive: str | Sequence[str] | None = None,
    id: str | None = None,
    source: str | None = None,
    target: str | None = None,
    positive: str | None = None,
    classes: tuple[str, str] | None = None,
    groups: Mapping[str, Any] | None = None,
    features: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    sensitive_as_feature: bool = False,
    scaling: ScalingKind = "standard",
    scale_on: Literal["all", "train"] = "all",
    unscaled: Sequence[str] = (),
    missing: Missing = "error",
    missing_values: Sequence[str] = (),
    unlabelled: Sequence[str] = (),
    split: str | None = None,
    split_seed: int | None = None,
    similarity: SimilarityRule | None = None,
    similarity_with_sensitive: bool = False,
    directed: bool | None = None,
    edge_weight: str | None = None,
    link_kind: str | None = None,
    drop_unknown: bool = False,
    separator: str | None = None,
    encoding: str = "utf-8",
    name: str | None = None,
    recipe: Recipe | None = None,
    context: TableSource | None = None,
    context_edges: TableSource | None = None,
) -> NodeGraph:
    """Read own data: a table of nodes and, if there is one, a table of edges.

    The nodes of the graph are ordered by id, so that shuffled files give the same graph. Every independent problem of
    both tables is reported at once. Nothing is changed in silence: what was dropped, merged or filled is in
    `graph.provenance.notes`.

    Args:
        nodes: path of a CSV (also .gz) or Parquet file, or a polars or pandas frame.
        edges: likewise; None builds a similarity graph.
        label: column with the label; empty cells are unlabelled nodes. None: no labels.
        sensitive: column with the sensitive attribute; every value is a group, empty cells are unknown. Or a list of
            several, whose groups are compared one attribute at a time, and in all combinations.
        id: column with the ids; by default `id` if there is one, else the row numbers from 0.
        source: column of the edge table; by default `source`, or the first column.
        target: column of the edge table; by default `target`, or the second column.
        positive: the label that counts as positive; not needed for {0, 1} and {-1, 1}.
        classes: names for the negative and the positive class.
        groups: names for the sensitive values, in the order that the groups shall have; with several attributes, such
            names by column.
        features: columns to use; by default all but id, label, split and the sensitive one.
        drop: columns to leave out.
        categorical: columns to one-hot encode; channels are called `column=value`.
        sensitive_as_feature: keep the sensitive column among the features.
        scaling: `none`, `minmax` (to [-1, 1]) or `standard`.
        scale_on: fit the scaling (and the means for `missing`) on all nodes, or on those of the train split.
        unscaled: columns to leave on their own scale.
        missing: what to do with empty feature cells: `error`, `mean` (fill in), `drop` (the nodes, with their edges) or
            `indicator` (fill in, and add a channel that says where).
        missing_values: texts that mean missing, beside the empty cell.
        unlabelled: values of the label column, and of no other, that mean that the label is not known.
        split: column with `train`, `val` and `test`.
        split_seed: draw a stratified split (half, quarter, quarter) with this seed instead.
        similarity: how to link nodes when there are no edges; by default each with its 10 nearest neighbours on the
            scaled channels.
        similarity_with_sensitive: let the sensitive channels take part in that.
        directed: keep edges as given instead of making them symmetric; by default as the recipe says, or symmetric.
        edge_weight: column of the edge table with the weight of each edge, 0 or more; by default all count alike.
        link_kind: column of the edge table with the kind of each edge, such as friend or colleague; a pair of nodes has
            one. By default all are alike.
        drop_unknown: drop edges with an end that is not in the node table.
        separator: of both CSV files; by default a comma, a tab for `.tsv`, blanks for edge lists.
        encoding: of both CSV files.
        name: what to call the data in the provenance.
        recipe: treat the tables as another graph's were (`other.recipe`): same columns, categories, scaling, direction
            and similarity rule. The options that it replaces must then be left alone.
        context: with a recipe, a table of known nodes that the new ones are linked to. They are nodes of the graph,
            too, without label and group; the split `new` marks those of `nodes`. Edges may join nodes of both tables.
        context_edges: further edges, such as those that the model was trained on: the known nodes' own.

    Raises:
        InputError: with every problem found.

    Example:
        >>> import polars as pl
        >>> people = pl.DataFrame({"id": ["a", "b", "c"], "age": [20, 30, 40], "sex": ["f", "m", "f"], "ok": [0, 1, 1]})
        >>> links = pl.DataFrame({"source": ["a", "b"], "target": ["b", "c"]})
        >>> graph = read_graph(people, links, label="ok", sensitive="sex", scaling="minmax")
        >>> graph
        NodeGraph(3 nodes, 2 edges, 1 channel, sensitive 'sex': f 2, m 1)
        >>> graph.features.ravel().tolist()
        [-1.0, 0.0, 1.0]
        >>> hours = links.with_columns(hours=pl.Series([0.5, 4]))
        >>> read_graph(people, hours, label="ok", sensitive="sex", edge_weight="hours").adjacency.weights.tolist()
        [0.5, 0.5, 4.0, 4.0]
        >>> ties = links.with_columns(tie=pl.Series(["kin", "work"]))
        >>> read_graph(people, ties, label="ok", sensitive="sex", link_kind="tie").link_kinds
        {'kin': 1, 'work': 1}

        New people who know those above:

        >>> newcomers = pl.DataFrame({"id": ["d"], "age": [25]})
        >>> joined = read_graph(newcomers, {"source": ["d"], "target": ["a"]}, recipe=graph.recipe,
        ...                     context=people, context_edges=links)
        >>> joined.ids, joined.split("new").tolist(), joined.num_edges
        (('a', 'b', 'c', 'd'), [False, False, False, True], 3)
    """
    arguments = dict(locals())
    problems = Problems()
    check_settings(arguments, problems)
    tables = open_tables(
        nodes,
        edges,
        id=recipe.id if recipe else id,
        separator=separator,
        encoding=encoding,
        missing_values=recipe.missing_values if recipe else missing_values,
        problems=problems,
        by_recipe=recipe is not None,
        context=context,
        context_edges=context_edges,
    )
    reader, notes = tables.reader, list(tables.notes)
    keep_direction = direction(directed, recipe, notes, problems)
    if recipe is not None:  # a label or sensitive column may be lacking, a feature may not
        missing, label_rule, group_rules = recipe.features.missing, recipe.label, recipe.attributes
        names = [column.name for column in recipe.features.columns]
        columns = recipe.features.columns if require_columns(tables.nodes, names, problems) else ()
        labels, codes = apply_label(reader, label_rule), apply_attributes(reader, group_rules)
    else:
        labels, label_rule = read_label(reader, label, positive, classes, unlabelled, notes)
        held = sensitive_columns(sensitive)
        codes, group_rules = read_attributes(reader, held, groups)
        notes += unknown_notes(labels, label_rule, codes, group_rules)
        columns = choose_columns(
            reader,
            features=features,
            drop=drop,
            categorical=categorical,
            roles=[
                ("id", tables.id_column),
                ("label", label),
                *(("sensitive attribute", name) for name in held),
                ("split", split),
            ],
            sensitive=group_rules,
            sensitive_as_feature=sensitive_as_feature,
        )
        require_columns(tables.nodes, unscaled, problems)
    masks = read_split(reader, split)
    encoded = encode(columns, reader)
    report_empty(reader, columns, encoded, missing)
    if tables.known is not None:
        labels, codes, encoded, masks = with_context(tables, columns, missing, labels, codes, encoded)
    ends = tables.ends(source, target, recipe, directed=keep_direction, problems=problems)
    pairs = tables.pairs(
        ends,
        recipe.edge_weight if recipe else edge_weight,
        recipe.link_kind if recipe else link_kind,
        known_kinds=recipe.link_kinds if recipe else None,
        drop_unknown=drop_unknown,
        notes=notes,
        problems=problems,
    )
    problems.raise_if_any()

    keep = kept_nodes(columns, encoded, missing, reader.table.name, notes)
    labels, codes, encoded = labels[keep], codes[keep], encoded[keep]
    masks = {part: mask[keep] for part, mask in masks.items()}
    together = sensitive_fields(codes, group_rules)
    if split_seed is not None:
        masks = drawn_split(labels, together["sensitive"], together["groups"], seed=split_seed)
        notes.append(f"split drawn with seed {split_seed}: half train, a quarter val, a quarter test, stratified")
    if recipe is None:
        rows = rows_to_fit(scale_on, masks, len(labels))
        check_means(columns, encoded, rows, reader.table.name)
        fitted = Features.fit(
            columns, encoded, missing=missing, scaling=scaling, unscaled=frozenset(unscaled), rows=rows
        )
        rule = None if edges is not None else similarity or NearestNeighbours()
        recipe = _recipe(
            tables,
            fitted,
            label_rule,
            group_rules,
            rule,
            with_sensitive=similarity_with_sensitive,
            directed=keep_direction,
            ends=ends[0],
            edge_weight=edge_weight,
            link_kind=link_kind,
            link_kinds=pairs.kinds.names if pairs is not None and pairs.kinds is not None else (),
        )
    x = scaled(recipe, encoded, reader.table.name)
    if edges is None:
        adjacency = similar(recipe, x, keep_direction, reader.table.name, notes)
    else:
        adjacency = linked(pairs, keep, tables.ids, keep_direction, notes)
    notes += reader.notes.values()
    for text in notes:
        note(Message(text))
    graph = NodeGraph(
        features=x.astype(np.float32) + np.float32(0),  # 0 for -0, which whole numbers of pandas do not have
        channels=recipe.features.channels,
        adjacency=adjacency,
        labels=labels,
        classes=label_rule.classes if label_rule else ("0", "1"),
        **sensitive_fields(codes, recipe.attributes),
        node_ids=None if tables.ids is None else tuple(compress(tables.ids, keep)),
        splits=masks,
        provenance=Provenance(
            source=name or reader.table.name,
            sha256=tables.sha256,
            notes=tuple(notes),
            paths=tuple(Path(table).absolute() for table in (nodes, edges) if isinstance(table, str | Path)),
        ),
        recipe=recipe,
    )
    constant = graph.constant_channels
    return graph.noting(constant_note(constant)) if constant else graph


def constant_note(channels: Iterable[str]) -> str:
    """What is said of channels with one value only."""
    return f"constant channels: {quoted(channels, limit=20)}"


def rows_to_fit(scale_on: str, masks: Split, n: int) -> npt.NDArray[np.bool_]:
    """The nodes that scaling and fill values are learnt from."""
    if scale_on == "all":
        return np.ones(n, dtype=np.bool_)
    if not masks["train"].any():
        raise InputError("scaling on the train nodes: the train split is empty.")
    return masks["train"]


def _recipe(
    tables: Tables,
    fitted: Features,
    label: Label | None,
    attributes: tuple[Sensitive, ...],
    rule: SimilarityRule | None,
    *,
    with_sensitive: bool,
    directed: bool,
    ends: tuple[str, str] | None,
    edge_weight: str | None,
    link_kind: str | None,
    link_kinds: tuple[str, ...],
) -> Recipe:
    own = {channel for each in attributes for channel in fitted.channels_of(each.column)}
    hidden = set() if with_sensitive else own
    return Recipe(
        id=tables.id_column,
        features=fitted,
        label=label,
        **held_by(fitted, attributes),
        missing_values=tuple(tables.reader.missing_values),
        similarity=rule,
        similarity_channels=tuple(c for c in fitted.channels if c not in hidden) if rule else (),
        directed=directed,
        ends=ends if tables.edges is not None and has_header(tables.edges) else None,
        edge_weight=edge_weight,
        link_kind=link_kind,
        link_kinds=link_kinds,
    )


def scaled(recipe: Recipe, encoded: Matrix, name: str) -> Matrix:
    """The channels, from columns that `encode` gave."""
    features = recipe.features
    x = features.scaling.apply(features.filled(encoded))
    for j in np.flatnonzero(~(np.abs(x) <= LARGEST).all(axis=0)):
        advice = remedies("correct its values", only_with("drop", "drop or rescale it"))
        raise InputError(f"{name}: channel '{features.channels[j]}': beyond float32 after scaling.{advice}")
    return x
