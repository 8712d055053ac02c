"""How is a propagated folder written? Part by part, each whole or not at all, and the manifest last."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import metadata
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from fairview._version import __version__
from fairview.atomic import write_atomic
from fairview.attributes import Attribute, each_and_together, group_columns
from fairview.data.tables.read import constant_note
from fairview.data.tables.roles import views_of
from fairview.groups import UNKNOWN
from fairview.manifest import with_hashes
from fairview.propagation.blocks import column_name
from fairview.propagation.facts import MANIFEST, HeldAttribute, Moments, Part, PropagatedFacts

Reals = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Chunk:
    """Some nodes, in the order of their ids.

    Attributes:
        ids: as texts.
        labels: 1, 0, and -1 where it is not known; None if no node has one.
        attributes: the sensitive attributes; none without groups.
        splits: masks by name.
        by_hop: X, S X, ..., each (rows, channels).
    """

    ids: pl.Series
    labels: npt.NDArray[np.int8] | None
    attributes: Sequence[Attribute]
    splits: dict[str, npt.NDArray[np.bool_]]
    by_hop: Sequence[npt.NDArray[Any]]

    def frame(self, channels: Sequence[str]) -> pl.DataFrame:
        """The columns of a part."""
        columns: dict[str, Any] = {"id": self.ids}
        if self.labels is not None:
            labels = pl.Series(self.labels)
            columns["label"] = labels.set(labels == UNKNOWN, None)
        for name, each in zip(group_columns([a.name for a in self.attributes]), self.attributes, strict=True):
            columns[name] = _texts(each.groups, each.codes)
        if self.splits:
            split = np.full(len(self.ids), UNKNOWN, dtype=np.int16)
            for place, mask in enumerate(self.splits.values()):
                split[mask] = place
            columns["split"] = _texts(list(self.splits), split)
        for hop, rows in enumerate(self.by_hop):
            for place, channel in enumerate(channels):
                columns[column_name(channel, hop)] = rows[:, place].astype(np.float32)
        return pl.DataFrame(columns)


def _texts(names: Sequence[str], codes: npt.NDArray[np.int16]) -> pl.Series:
    """The name of each code, null where it is not known."""
    places = np.where(codes == UNKNOWN, len(names), codes)
    return pl.Series([*names, None], dtype=pl.String).gather(places)


class RunningMoments:
    """Mean and covariance of rows that come in chunks, merged so that a large mean costs no accuracy."""

    def __init__(self, width: int) -> None:
        self.count, self.mean, self.scatter = 0, np.zeros(width), np.zeros((width, width))

    def add(self, rows: npt.NDArray[Any]) -> None:
        """Take in some rows, (rows, width)."""
        if len(rows) == 0:
            return
        wide = rows.astype(np.float64)
        mean = wide.mean(axis=0)
        centred = wide - mean
        apart, total = mean - self.mean, self.count + len(rows)
        self.scatter += centred.T @ centred + np.outer(apart, apart) * (self.count * len(rows) / total)
        self.mean += apart * (len(rows) / total)
        self.count = total

    def moments(self) -> Moments:
        """Over all rows so far; zeros without any."""
        covariance = self.scatter / max(self.count, 1)
        return Moments(mean=tuple(self.mean.tolist()), covariance=tuple(tuple(row) for row in covariance.tolist()))


def write_folder(
    folder: Path, chunks: Iterable[Chunk], *, hops: int, same_and_known: Sequence[tuple[int, int]], **facts: Any
) -> PropagatedFacts:
    """Write the parts and then the manifest, which says that they are whole.

    Args:
        folder: where to.
        chunks: the nodes, a part each.
        hops: how many.
        same_and_known: pairs of links that join nodes of the same group, and of known groups, by each sensitive
            attribute and, of several, last by all together.
        facts: of `PropagatedFacts`, all but those that the chunks and the recipe tell.
    """
    channels, rules = facts["channels"], facts["recipe"].attributes
    views = views_of(rules)
    sizes = [each.sizes for each in views]
    running = [RunningMoments(len(channels)) for _ in range(hops + 1)]
    splits: dict[str, int] = {}
    parts: list[Part] = []
    labelled = positives = nodes = 0
    first, constant = None, np.ones(len(channels), dtype=np.bool_)
    for number, chunk in enumerate(chunks):
        buffer = io.BytesIO()
        chunk.frame(channels).write_parquet(buffer, compression="lz4")
        content = buffer.getvalue()
        name = f"part-{number:05}.parquet"
        write_atomic(folder / name, content)
        parts.append(Part(name=name, rows=len(chunk.ids), bytes=len(content)))
        nodes += len(chunk.ids)
        if chunk.labels is not None:
            labelled += int((chunk.labels != UNKNOWN).sum())
            positives += int((chunk.labels == 1).sum())
        for sums, each in zip(sizes, each_and_together(chunk.attributes), strict=True):
            sums.update({group: sums[group] + count for group, count in each.sizes.items()})
        for split, mask in chunk.splits.items():
            splits[split] = splits.get(split, 0) + int(mask.sum())
        for moments, rows in zip(running, chunk.by_hop, strict=True):
            moments.add(rows.astype(np.float32))
        if len(chunk.ids):
            first = chunk.by_hop[0][0] if first is None else first
            constant &= (chunk.by_hop[0] == first).all(axis=0)
    if nodes and constant.any() and (text := constant_note(compress(channels, constant))) not in facts["notes"]:
        facts["notes"] = (*facts["notes"], text)
    whole = PropagatedFacts(
        **facts,
        **_sensitive_facts(views, sizes, same_and_known),
        hops=hops,
        nodes=nodes,
        labelled=labelled,
        positives=positives,
        splits=splits,
        moments=tuple(moments.moments() for moments in running),
        parts=tuple(parts),
        versions={"fairview": __version__} | {name: metadata.version(name) for name in ("numpy", "scipy", "polars")},
    )
    document = whole.model_dump(mode="json", exclude=None if whole.attributes else {"attributes"})
    write_atomic(folder / MANIFEST, with_hashes(document, folder, [part.name for part in parts]))
    return whole


def _sensitive_facts(
    views: Sequence[Attribute], sizes: Sequence[dict[str, int]], same_and_known: Sequence[tuple[int, int]]
) -> dict[str, Any]:
    """What a manifest says of the sensitive attributes: of each of several, and of all together."""
    held = [
        HeldAttribute(
            name=each.name,
            groups=each.groups,
            channels=each.channels,
            group_sizes=counts,
            same_group=same,
            known_groups=known,
        )
        for each, counts, (same, known) in zip(views, sizes, same_and_known, strict=True)
    ]
    *attributes, together = held or [_NOBODY]
    whole = together.model_dump(exclude={"name", "channels"})
    return whole | {
        "sensitive_name": together.name,
        "sensitive_channels": together.channels,
        "attributes": tuple(attributes),
    }


_NOBODY = HeldAttribute(name="sensitive", groups=(), channels=(), group_sizes={}, same_group=0, known_groups=0)
"""Of a table without a sensitive column."""
