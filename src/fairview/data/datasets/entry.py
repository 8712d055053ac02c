"""What is known about a dataset before a byte of it is read?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from fairview.data.datasets.files import FoundFiles
    from fairview.data.graph import NodeGraph


@dataclass(frozen=True, kw_only=True)
class DataFile:
    """A file that a dataset is read from; it may lie in a folder as it is, or in an archive."""

    name: str  # such as `bail.csv`
    sha256: str  # all 64 digits, or as many of the first as are known
    limit: int  # bytes that are read at most
    folder: str  # that it lies in, inside the archive and when that is unpacked
    archives: tuple[str, ...] = ()  # names of the zip archives that may hold it
    required: bool = True  # without it the dataset can't be loaded


@dataclass(frozen=True, kw_only=True)
class Download:
    """A file that can be fetched; `urls` are tried in turn."""

    name: str
    sha256: str
    size: int
    urls: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """What is known about a dataset, and how to load it.

    Attributes:
        name: the name to load it by.
        title: its full name.
        summary: what a node, a link and the label are.
        nodes: number of nodes.
        edges: number of undirected edges, without self-loops.
        channels: number of feature channels, the sensitive one among them.
        label: column of the label.
        classes: what the negative and the positive label mean.
        sensitive: column of the sensitive attribute.
        groups: what its values 0 and 1 mean.
        homophily: share of the edges that join two nodes of the same sensitive group.
        train_labels: training labels of the published runs, half of them per class.
        licence: under which terms the data may be used, as far as known.
        harms: what to know before believing a number computed from it.
        citation: whom to credit.
        load: makes the graph out of the files that were found.
        table: reads the table behind the graph, a row for each node, with the columns that are no channels; None: it
            has none.
        files: what it is read from; none if it is bundled.
        downloads: what `fetch_dataset` gets.
        fetchable: whether the downloads are enough to load it.
        family: the dataset whose published settings it shares, such as `bail` for `bail-no-time`; itself by default.
        published: settings of published runs by method, where they differ from the method's defaults.
        presets: {preset: {encoder: settings}} of FairVGNN, beside those that the package has for the family.
    """

    name: str
    title: str
    summary: str
    nodes: int
    edges: int
    channels: int
    label: str
    classes: tuple[str, str]
    sensitive: str
    groups: tuple[str, str]
    homophily: float
    train_labels: int
    licence: str
    harms: tuple[str, ...]
    citation: str
    load: Callable[[FoundFiles], NodeGraph]
    table: Callable[[FoundFiles], pl.DataFrame] | None = None
    files: tuple[DataFile, ...] = ()
    downloads: tuple[Download, ...] = ()
    fetchable: bool = False
    family: str = ""
    published: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    presets: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "family", self.family or self.name)

    @property
    def bundled(self) -> bool:
        """It comes with the package."""
        return not self.files

    @property
    def edges_as_published(self) -> int:
        """The papers' count: (non-zeros of the symmetric adjacency + one self-loop per node) / 2."""
        return (2 * self.edges + self.nodes) // 2
