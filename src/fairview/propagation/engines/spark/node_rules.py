"""How do the rows of a node table become nodes? By the rules of `read_graph`, from the values that the columns hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairview.data.splits import split_from_column
from fairview.data.tables.cells import require_columns
from fairview.data.tables.features import choose_columns
from fairview.data.tables.recipe import Column, Label, Sensitive, encode, indicator
from fairview.data.tables.roles import (
    apply_attributes,
    apply_label,
    read_attributes,
    read_label,
    sensitive_columns,
    unknown_in_words,
)
from fairview.errors import InputError, Problems, embed
from fairview.groups import UNKNOWN
from fairview.propagation.engines.spark.ids import Ids
from fairview.propagation.engines.spark.on_workers import Cells, Kind, Plan
from fairview.propagation.engines.spark.profile import Profile, ProfiledReader
from fairview.propagation.engines.spark.spark_table import SparkTable


@dataclass(frozen=True)
class NodeRules:
    """What was decided about the node table.

    Attributes:
        ids: of it.
        columns: that become channels.
        label: the rule of the labels.
        attributes: the rule of each sensitive column.
        plan: for the workers.
        labelled: how many nodes have a label.
        notes: on labels and groups.
        merged: notes on values that are written in two ways.
    """

    ids: Ids
    columns: tuple[Column, ...]
    label: Label | None
    attributes: tuple[Sensitive, ...]
    plan: Plan
    labelled: int
    notes: tuple[str, ...]
    merged: tuple[str, ...]


def decide(table: SparkTable, ids: Ids, settings: Mapping[str, Any], problems: Problems) -> NodeRules:
    """Apply the rules of `read_graph`; what is wrong is added to the problems."""
    cells = _cells(table, ids, settings)
    profile = Profile.of(table, ids, cells)
    recipe = settings["recipe"]
    reader = profile.reader(problems, by_recipe=recipe is not None)
    notes: list[str] = []
    if recipe is not None:
        label, attributes, missing = recipe.label, recipe.attributes, recipe.features.missing
        there = require_columns(table.empty, [column.name for column in recipe.features.columns], problems)
        columns = recipe.features.columns if there else ()
        labels, codes = apply_label(reader, label), apply_attributes(reader, attributes)
    else:
        missing = settings["missing"]
        labels, label = read_label(
            reader, settings["label"], settings["positive"], settings["classes"], settings["unlabelled"], notes
        )
        held = sensitive_columns(settings["sensitive"])
        codes, attributes = read_attributes(reader, held, settings["groups"])
        unlabelled = 0 if label is None else profile.count(label.column, labels == UNKNOWN)
        unknown = zip(attributes, codes.T == UNKNOWN, strict=True)
        notes += unknown_in_words(unlabelled, {rule.column: profile.count(rule.column, who) for rule, who in unknown})
        columns = choose_columns(
            reader,
            features=settings["features"],
            drop=settings["drop"],
            categorical=settings["categorical"],
            roles=[("id", ids.column), ("label", settings["label"]),
                   *(("sensitive attribute", name) for name in held), ("split", settings["split"])],
            sensitive=attributes,
            sensitive_as_feature=settings["sensitive_as_feature"],
        )  # fmt: skip
        require_columns(table.empty, settings["unscaled"], problems)
    _check_split(profile, reader, settings["split"])
    encode(columns, reader)  # for its problems
    _check_empty(profile, reader, columns, missing)
    labelled = 0
    if label is not None and label.column in profile.texts:
        labelled = profile.count(label.column, labels != UNKNOWN)
    plan = Plan(
        cells=cells,
        columns=tuple(column.model_dump_json() for column in columns),
        label=None if label is None else label.model_dump_json(),
        attributes=tuple(rule.model_dump_json() for rule in attributes),
        split=settings["split"],
    )
    return NodeRules(ids, columns, label, attributes, plan, labelled, tuple(notes), tuple(reader.notes.values()))


def _cells(table: SparkTable, ids: Ids, settings: Mapping[str, Any]) -> Cells:
    """Which columns are read, and how: texts where values count, numbers elsewhere."""
    recipe, split = settings["recipe"], settings["split"]
    if recipe is not None:
        rules = [rule.column for rule in (recipe.label, *recipe.attributes) if rule is not None]
        numeric = [column.name for column in recipe.features.columns if column.kind == "numeric"]
        texts = [*rules, split, *(column.name for column in recipe.features.columns if column.name not in numeric)]
        missing_values = recipe.missing_values
    else:
        held = sensitive_columns(settings["sensitive"])
        texts = [settings["label"], *held, split, *settings["categorical"]]
        left_out = {ids.column, *texts, *settings["drop"]}
        wanted = table.columns if settings["features"] is None else settings["features"]
        numeric = [name for name in wanted if name not in left_out]
        numeric += held if settings["sensitive_as_feature"] else []
        missing_values = tuple(settings["missing_values"])
    there = [name for name in table.columns if name in {*texts, *numeric}]
    return Cells(
        columns=tuple(there),
        texts=tuple(name for name in there if name in texts),
        numbers=tuple(name for name in there if name in numeric),
        missing_values=missing_values,
    )


def _check_split(profile: Profile, reader: ProfiledReader, column: str | None) -> None:
    texts = reader.texts_of(column)
    if column is None or texts is None:
        return
    try:
        split_from_column(texts.to_list(), name=column)
    except InputError:
        counts = profile.texts[column]["count"].to_list()
        every = [text for text, count in zip(texts, counts, strict=False) for _ in range(count)]
        with reader.problems.collecting():
            try:
                split_from_column(every, name=column)
            except InputError as error:
                raise InputError(f"{reader.table.name}: {embed(error.problems[0])}") from None


def _check_empty(profile: Profile, reader: ProfiledReader, columns: tuple[Column, ...], missing: str) -> None:
    """Empty cells if they are not allowed, columns without any value, and indicators that would be called alike."""
    gaps = {}
    for column in columns:
        if column.kind == "numeric" and column.name in profile.kinds:
            gaps[column.name] = profile.kinds[column.name].get(Kind.EMPTY, 0)
        elif column.name in profile.texts and column.width:
            texts = reader.texts_like(column.name, column.categories)
            gaps[column.name] = 0 if texts is None else profile.count(column.name, texts.is_null().to_numpy())
    gaps = {name: count for name, count in gaps.items() if count}
    refused = [name for name, count in gaps.items() if missing == "error" or count == profile.ids.count]
    numeric = {column.name for column in columns if column.kind == "numeric"}
    for name in reader.problems.first(refused):
        reader.report_empty(name, gaps[name], numbers=name in numeric)
    if missing == "indicator":
        channels = {channel for column in columns for channel in column.channels}
        for name in sorted(name for name in gaps if indicator(name) in channels):
            reader.add(name, f"its indicator would be a second channel '{indicator(name)}'; rename one.")
