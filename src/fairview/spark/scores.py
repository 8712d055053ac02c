"""From propagated rows to scores: a model looks at each row by itself, wherever the row lies."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from fairview.attributes import Attribute, group_columns
from fairview.data.graph import NodeGraph
from fairview.data.graph_arrays import fields_of
from fairview.data.stored_links import StoredLinks
from fairview.data.tables.columns import codes_in
from fairview.data.tables.recipe import Recipe, Sensitive
from fairview.errors import InputError, option, quoted
from fairview.groups import UNKNOWN
from fairview.isolation import isolated
from fairview.methods.contract import Facts
from fairview.methods.estimator import Estimator
from fairview.methods.model_files import load_model, model_content
from fairview.methods.registry import needs_group
from fairview.optional import require
from fairview.propagation.blocks import column_name
from fairview.propagation.operators import Operator
from fairview.propagation.tables import as_operator
from fairview.spark.frames import METADATA

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SCORES = "id string, score double, prediction int"


@isolated()
def predict(model: Estimator | str | Path, frame: DataFrame, *, operator: str | Operator | None = None) -> DataFrame:
    """Score nodes in Spark, from the rows of `fairview.spark.propagate`.

    The model travels to the workers as the content of its files, which name no code; fairview must be installed there.

    Args:
        model: fitted, with an encoder of one layer (gcn, gin, sign, mlp) or without links (logistic regression and the
            like); or the folder of one.
        frame: id and CHANNEL@HOP for each channel of the model; sensitive, if the model needs the group (of several
            attributes sensitive:NAME each).
        operator: that the rows were propagated with; by default what `propagate` noted in the metadata of the ids.

    Returns:
        id, score (the probability of the positive class) and prediction (0 or 1), in the order of the rows.

    Raises:
        InputError: columns are missing, the rows were made in another way than the model's graph, or the model needs
            the links themselves.
        MissingPackageError: without pyspark.
    """
    require("pyspark", "spark", "fairview.spark needs pyspark")
    from fairview.propagation.engines.spark.session import case_sensitive, without_pandas_warning

    fitted = load_model(model) if isinstance(model, (str, Path)) else model
    scorer = _scorer(fitted, frame, operator)
    scorer.scores(scorer.nothing())  # what the model can't do is said here, not by a worker
    columns = ["id", *scorer.columns, *scorer.groups]
    with case_sensitive(frame.sparkSession), without_pandas_warning():
        chosen = frame.select(*map(_quoted, columns)).toDF(*[f"c{place}" for place in range(len(columns))])
        return chosen.mapInArrow(partial(_scored, scorer=scorer), SCORES)


@dataclass(frozen=True)
class Scorer:
    """A model's files, and what its rows are.

    Attributes:
        tensors: the content of `model.safetensors`.
        document: the content of `model.json`.
        hops: that the rows hold.
        kind: of the operator.
        self_loops: of the operator.
        directed: whether the edges were.
        weighted: whether they had weights.
        links: how many there were.
        recipe: of the rows, as JSON; None if it is not known.
        groups: the columns with the groups of each node, if the model needs them.
    """

    tensors: bytes
    document: bytes
    channels: tuple[str, ...]
    hops: int
    kind: str
    self_loops: float
    directed: bool
    weighted: bool
    links: int
    recipe: str | None
    groups: tuple[str, ...]

    @property
    def columns(self) -> list[str]:
        """Of the features, hop by hop."""
        return [column_name(channel, hop) for hop in range(self.hops + 1) for channel in self.channels]

    def nothing(self) -> pl.DataFrame:
        """No rows."""
        columns = dict.fromkeys(self.columns, pl.Float32) | dict.fromkeys(self.groups, pl.String)
        return pl.DataFrame(schema={"id": pl.String, **columns})

    def scores(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Id, score and prediction of each row."""
        model = _loaded(self.tensors, self.document)
        graph = self._graph(rows, model)
        score = np.asarray(model.predict_proba(graph))[: rows.height, 1].astype(np.float64)
        prediction = (score > model.threshold_).astype(np.int32)
        return pl.DataFrame({"id": rows["id"].cast(pl.String), "score": score, "prediction": prediction})

    def _graph(self, rows: pl.DataFrame, model: Estimator) -> NodeGraph:
        """The rows as a graph, with one more.

        `StoredLinks` tells a channel by its values, and takes one that is zero everywhere for one that a mask has
        emptied. Among few rows a channel may well be zero by itself; in the last row no channel is, and no two are
        alike.
        """
        facts, width, n = model.facts(), len(self.channels), rows.height + 1
        by_hop = []
        for hop in range(self.hops + 1):
            values = rows.select(column_name(channel, hop) for channel in self.channels).to_numpy().astype(np.float32)
            mark = 1 + (np.arange(width) + hop * width) / (width * (self.hops + 1))
            by_hop.append(np.vstack([values.reshape(rows.height, width), mark.astype(np.float32)]))
        links = StoredLinks.of(
            tuple(by_hop), directed=self.directed, kind=self.kind, self_loops=self.self_loops, edges=self.links,
            has_weights=self.weighted,
        )  # fmt: skip
        return NodeGraph(
            features=by_hop[0],
            channels=self.channels,
            adjacency=links,
            labels=np.full(n, UNKNOWN, dtype=np.int8),
            classes=facts.classes,
            **fields_of(self._attributes(rows, facts)),
            recipe=None if self.recipe is None else Recipe.model_validate_json(self.recipe),
        )

    def _attributes(self, rows: pl.DataFrame, facts: Facts) -> list[Attribute]:
        """The sensitive attributes of the rows and of one more; nobody's group is told where no model needs it."""
        if not self.groups:
            return [Attribute(facts.sensitive_name, np.full(rows.height + 1, UNKNOWN, dtype=np.int16), facts.groups)]
        named = [(facts.sensitive_name, facts.groups)]
        if len(self.groups) > 1:
            named = [(rule.column, rule.groups) for rule in _attributes_of(facts)]
        return [
            Attribute(name, np.append(codes_in(rows[column].cast(pl.String), groups), np.int16(0)), groups)
            for column, (name, groups) in zip(self.groups, named, strict=True)
        ]


def _attributes_of(facts: Facts) -> tuple[Sensitive, ...]:
    """The sensitive columns that a model was trained with; none where it has no recipe."""
    return () if facts.recipe is None else facts.recipe.attributes


def _scorer(model: Estimator, frame: DataFrame, operator: str | Operator | None) -> Scorer:
    facts = model.facts()
    made = _made(frame)
    if operator is None and not made:
        raise InputError(
            "frame: it does not say which operator its rows were propagated with; pass it, for example "
            f"{option('operator', 'gcn')}."
        )
    chosen = as_operator(operator) if operator is not None else Operator.model_validate(made["operator"])
    there = set(frame.columns)
    hops = 0
    while all(column_name(channel, hops + 1) in there for channel in facts.channels):
        hops += 1
    named = [rule.column for rule in _attributes_of(facts)] or [facts.sensitive_name]
    groups = group_columns(named) if needs_group(model) else ()
    wanted = ["id", *(column_name(channel, 0) for channel in facts.channels), *groups]
    if absent := [name for name in wanted if name not in there]:
        raise InputError(f"frame: no column {quoted(absent)}. Make the rows with fairview.spark.propagate.")
    tensors, document = model_content(model)
    return Scorer(
        tensors=tensors,
        document=document,
        channels=facts.channels,
        hops=hops,
        kind=chosen.kind,
        self_loops=chosen.self_loops,
        directed=bool(made.get("directed", facts.directed)),
        weighted=bool(made.get("weighted", facts.weighted)),
        links=int(made.get("links", 0)),
        recipe=json.dumps(made["recipe"]) if made else None,
        groups=groups,
    )


def _made(frame: DataFrame) -> Mapping[str, Any]:
    """How the rows came about, if the metadata of their ids say it."""
    if "id" not in frame.columns:
        return {}
    text = frame.schema["id"].metadata.get(METADATA)
    return {} if text is None else dict(json.loads(text))


def _quoted(name: str) -> str:
    return f"`{re.sub('`', '``', name)}`"


# --- on the workers ---------------------------------------------------------------------------------------------------


def _scored(batches: Iterable[Any], *, scorer: Scorer) -> Iterator[Any]:
    import pyarrow as pa

    schema = pa.schema([("id", pa.string()), ("score", pa.float64()), ("prediction", pa.int32())])
    for batch in batches:
        rows = pl.DataFrame(pl.from_arrow(pa.Table.from_batches([batch])))
        rows.columns = ["id", *scorer.columns, *scorer.groups]
        yield from scorer.scores(rows).to_arrow().cast(schema).to_batches()


@lru_cache(maxsize=2)
def _loaded(tensors: bytes, document: bytes) -> Estimator:
    """The model, read once by each process."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "model.safetensors").write_bytes(tensors)
        (Path(folder) / "model.json").write_bytes(document)
        return load_model(folder)
