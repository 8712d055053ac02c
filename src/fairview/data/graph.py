"""What is a node classification problem with a sensitive attribute? One immutable `NodeGraph`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fairview.attributes import Attribute
from fairview.data.adjacency import Adjacency, Rebuilt
from fairview.data.content_hash import content_sha256, hashed_codes, hashed_names
from fairview.data.graph_arrays import features_from, fields_from, fields_of, frozen, frozen_attribute, masks_from
from fairview.data.graph_checks import check_graph
from fairview.data.link_kinds import LinkKinds
from fairview.data.provenance import Provenance as Provenance
from fairview.errors import InputError, Problems, did_you_mean
from fairview.groups import UNKNOWN
from fairview.undefined import Metric, Undefined

if TYPE_CHECKING:
    import polars as pl
    from torch_geometric.data import Data

    from fairview.data.tables.recipe import Recipe

BoolArray = npt.NDArray[np.bool_]

SPLIT_NAMES = ("train", "val", "test")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class NodeGraph(Rebuilt):
    """Nodes with features, links, a binary label and a sensitive attribute. Nothing in it can be changed in place.

    Attributes:
        features: X, shape (n, d), float32; column j is the channel `channels[j]`.
        channels: names of the d feature channels.
        adjacency: the links, symmetric unless directed, without self-loops; with weights and kinds or without.
        labels: y, shape (n,), int8; 1 is the positive class, 0 the negative, -1 unlabelled: propagated, but never in a
            loss or a metric.
        classes: names of the negative and the positive class.
        sensitive: s, shape (n,), int16; codes into `groups`, -1 where the value is not known.
        groups: names of the sensitive groups.
        sensitive_name: name of the sensitive attribute.
        sensitive_channels: the channels that hold the sensitive attribute itself, if it is among the features.
        attributes: the sensitive attributes one by one. With several, the four fields above describe what they make
            together: a group is a combination of theirs, such as `race=white & sex=f`.
        splits: boolean masks, pairwise disjoint; normally `train`, `val` and `test`.
        provenance: where the graph comes from, with what was dropped or changed.
        recipe: how a table became `features`, so that new tables are treated alike; None if it was not a table.

    The paper writes G = (V, E, X, A) with labels Y and the sensitive channel S (section 2.1).

    Example:
        >>> graph = NodeGraph.from_arrays(
        ...     features=[[0.5], [1.0], [2.0]], edges=[[0, 1], [1, 2]], labels=[0, 1, 1], sensitive=["f", "m", "f"]
        ... )
        >>> graph
        NodeGraph(3 nodes, 2 edges, 1 channel, sensitive 'sensitive': f 2, m 1)
    """

    features: npt.NDArray[np.float32]
    channels: tuple[str, ...]
    adjacency: Adjacency
    labels: npt.NDArray[np.int8]
    classes: tuple[str, str] = ("0", "1")
    sensitive: npt.NDArray[np.int16]
    groups: tuple[str, ...]
    sensitive_name: str = "sensitive"
    sensitive_channels: tuple[str, ...] = ()
    attributes: tuple[Attribute, ...] = ()  # of one, whatever the four fields above say
    node_ids: tuple[str, ...] | None = None  # None: the row numbers
    splits: Mapping[str, BoolArray] = field(default_factory=dict)
    provenance: Provenance = Provenance(source="arrays")  # noqa: RUF009 - frozen
    recipe: Recipe | None = None

    def __post_init__(self) -> None:
        for name in ("channels", "classes", "groups", "sensitive_channels", "node_ids"):
            names = getattr(self, name)
            if names is not None:  # a list could be changed later, and NumPy's texts print differently
                object.__setattr__(self, name, tuple(map(str, names)))
        self._check()
        for name, dtype in (("features", np.float32), ("labels", np.int8), ("sensitive", np.int16)):
            object.__setattr__(self, name, frozen(getattr(self, name), dtype))
        masks = {name: frozen(mask, np.bool_) for name, mask in self.splits.items()}
        object.__setattr__(self, "splits", MappingProxyType(masks))
        attributes = self.attributes if self.several else (self.crossed,)
        object.__setattr__(self, "attributes", tuple(map(frozen_attribute, attributes)))

    def _check(self) -> None:
        check_graph(self)

    # --- making one ---------------------------------------------------------------------------------------------------

    @classmethod
    def from_arrays(
        cls,
        *,
        features: npt.ArrayLike,
        edges: npt.ArrayLike,
        labels: npt.ArrayLike | None = None,
        sensitive: npt.ArrayLike | Mapping[str, npt.ArrayLike] | None = None,
        channels: Sequence[str] | None = None,
        directed: bool = False,
        edge_weight: npt.ArrayLike | None = None,
        link_kind: npt.ArrayLike | LinkKinds | None = None,
        splits: Mapping[str, npt.ArrayLike] | None = None,
        **other: Any,
    ) -> NodeGraph:
        """Build and check a graph from arrays; they are copied, never changed.

        Args:
            features: shape (n, d).
            edges: shape (2, m), node numbers; both directions or one, it makes no difference unless `directed`.
            labels: shape (n,), of 0, 1 and -1 for unlabelled; None if no node has one.
            sensitive: shape (n,), any values; None and NaN are unknown. The groups are its distinct values, sorted. Or
                several such attributes by name: `{"race": [...], "sex": [...]}`.
            channels: d names; `x0`, `x1`, ... by default.
            directed: keep the edges as they are given.
            edge_weight: shape (m,) or (m, 1), 0 or more; None if all edges count alike. Weights of parallel edges are
                added up; unless `directed`, both directions of an edge must have the same. Edges of weight 0 are none.
            link_kind: shape (m,) or (m, 1), texts or whole numbers; None if all edges are alike. An edge has one kind,
                and unless `directed` it is that of both directions.
            splits: masks of shape (n,) by name.
            other: further fields of `NodeGraph`, such as `sensitive_name`, `node_ids` or `provenance`.
        """
        fields, notes = fields_from(
            features, edges, labels=labels, sensitive=sensitive, channels=channels, splits=splits, other=other,
            directed=directed, edge_weight=edge_weight, link_kind=link_kind,
        )  # fmt: skip
        graph = cls(**fields)
        return graph.noting(*notes) if notes else graph

    def with_splits(self, splits: Mapping[str, npt.ArrayLike]) -> NodeGraph:
        """The same graph with other split masks."""
        problems = Problems()
        masks = masks_from(splits, problems)
        problems.raise_if_any()
        return self.replace(splits=masks)

    def with_features(self, features: npt.ArrayLike, channels: Sequence[str] | None = None) -> NodeGraph:
        """The same graph with other features, a masked view for example."""
        kept = tuple(channels) if channels is not None else self.channels
        problems = Problems()
        x = features_from(features, kept, problems)
        problems.raise_if_any()
        changes: dict[str, Any] = {
            "sensitive_channels": tuple(name for name in self.sensitive_channels if name in kept),
            "attributes": tuple(attribute.among(kept) for attribute in self.attributes),
        }
        if kept != self.channels:
            known = set(kept) <= set(self.channels)
            places = [self.channels.index(name) for name in kept] if known else None
            changes["adjacency"] = self.adjacency.for_channels(places)
            changes["recipe"] = None  # it would make other channels of a new table
        return self.replace(features=x.astype(np.float32), channels=kept, **changes)

    def without_channels(self, names: Iterable[str]) -> NodeGraph:
        """The same graph without the named channels."""
        dropped = set(names)
        for name in dropped:
            self.channel_index(name)
        kept = [name not in dropped for name in self.channels]
        return self.with_features(self.features[:, kept], list(compress(self.channels, kept)))

    def with_attributes(self, attributes: Sequence[Attribute]) -> NodeGraph:
        """The same graph with other sensitive attributes, one or several."""
        return self.replace(**fields_of(attributes))

    def attribute(self, name: str) -> NodeGraph:
        """The same graph with one of its sensitive attributes alone; the name of all together gives the graph itself.

        Example:
            >>> graph = NodeGraph.from_arrays(
            ...     features=[[0.5], [1.0]], edges=[[0], [1]], sensitive={"sex": ["f", "m"], "old": ["no", "no"]}
            ... )
            >>> graph.sensitive_name, graph.attribute("sex").groups
            ('sex & old', ('f', 'm'))
        """
        by_name = {attribute.name: attribute for attribute in self.attributes}
        if name == self.sensitive_name:
            return self
        if name not in by_name:
            known = list(dict.fromkeys([*by_name, self.sensitive_name]))
            raise InputError(f"no sensitive attribute '{name}'.{did_you_mean(name, known)}")
        return self.with_attributes([by_name[name]])

    def hiding_groups(self, where: npt.ArrayLike) -> NodeGraph:
        """The same graph, in which nobody knows the groups of the nodes that the mask names."""
        mask = np.asarray(where, dtype=np.bool_)
        return self.with_attributes([attribute.hidden(mask) for attribute in self.attributes])

    def replace(self, **changes: Any) -> NodeGraph:
        """A copy with some fields changed; everything is checked again."""
        return dataclasses.replace(self, **changes)

    def noting(self, *notes: str) -> NodeGraph:
        """The same graph with more notes in its provenance."""
        return self.replace(provenance=self.provenance.noting(*notes))

    def to_pyg(self) -> Data:
        """A `torch_geometric.data.Data` with everything in it; see `fairview.from_pyg` for the way back."""
        from fairview.data.pyg import to_pyg

        return to_pyg(self)

    def to_frame(self) -> pl.DataFrame:
        """The nodes as a polars frame, a row each; `read_graph` reads such a frame.

        Columns: `id`; `label`, the name of the class, null if unlabelled; `sensitive`, the name of the group, null if
        unknown; `split`, null for a node in none; of several sensitive attributes one column each (`sensitive:NAME`);
        then a float column per channel. A channel that is called like one of these gets `_channel` at its end.

        Example:
            >>> graph = NodeGraph.from_arrays(
            ...     features=[[0.5], [1.0]], edges=[[0], [1]], labels=[0, -1], sensitive=["f", "m"], channels=["age"]
            ... )
            >>> graph.to_frame().rows()
            [('0', '0', 'f', None, 0.5), ('1', None, 'm', None, 1.0)]
        """
        from fairview.data.graph_display import graph_frame

        return graph_frame(self)

    # --- looking at it ------------------------------------------------------------------------------------------------

    @property
    def num_nodes(self) -> int:
        return len(self.features)

    @property
    def num_channels(self) -> int:
        return len(self.channels)

    @property
    def num_edges(self) -> int:
        """Edges without self-loops; an undirected one counts once."""
        return self.adjacency.num_edges

    @property
    def link_kinds(self) -> dict[str, int]:
        """How many edges each kind of links has; empty if all are alike.

        Example:
            >>> NodeGraph.from_arrays(
            ...     features=[[0.0], [0.0], [0.0]], edges=[[0, 1], [1, 2]], link_kind=["friend", "colleague"]
            ... ).link_kinds
            {'colleague': 1, 'friend': 1}
        """
        return {name: links.num_edges for name, links in self.adjacency.by_kind().items()}

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The ids of the nodes; row numbers as texts if there are no others."""
        return self.node_ids if self.node_ids is not None else tuple(map(str, range(self.num_nodes)))

    @property
    def several(self) -> bool:
        """Whether there are several sensitive attributes."""
        return len(self.attributes) > 1

    @property
    def crossed(self) -> Attribute:
        """All sensitive attributes together, as one."""
        return Attribute(self.sensitive_name, self.sensitive, self.groups, self.sensitive_channels)

    @property
    def positive(self) -> str:
        """Name of the positive class."""
        return self.classes[1]

    @property
    def labelled(self) -> BoolArray:
        """Which nodes have a label."""
        return np.asarray(self.labels != UNKNOWN)

    @property
    def group_sizes(self) -> dict[str, int]:
        """How many nodes each group has; those of unknown group are not counted."""
        return self.crossed.sizes

    @property
    def sensitive_unknown(self) -> int:
        """How many nodes have no sensitive value."""
        return self.crossed.unknown

    @property
    def constant_channels(self) -> tuple[str, ...]:
        """Channels with one value only; their correlation with anything is 0 by definition."""
        if self.num_nodes == 0:
            return ()
        return tuple(compress(self.channels, (self.features == self.features[0]).all(axis=0)))

    def channel_index(self, name: str) -> int:
        """The column of a channel."""
        try:
            return self.channels.index(name)
        except ValueError:
            raise InputError(f"no channel '{name}'.{did_you_mean(name, self.channels)}") from None

    def split(self, name: str) -> BoolArray:
        """The mask of a split; `all` is every node."""
        if name == "all":
            return np.ones(self.num_nodes, dtype=np.bool_)
        try:
            return self.splits[name]
        except (KeyError, TypeError):
            raise InputError(f"no split '{name}'.{did_you_mean(str(name), [*self.splits, 'all'])}") from None

    def homophily(self) -> Metric:
        """The share of edges that join two nodes of the same sensitive group (χ in the paper; no self-loops).

        Edges with an end whose group is not known are left out. Edges are counted, whatever their weight.

        Example:
            >>> NodeGraph.from_arrays(
            ...     features=[[0.0], [0.0], [0.0]], edges=[[0, 1], [1, 2]], sensitive=["f", "f", "m"]
            ... ).homophily()
            0.5
        """
        same, known = self.adjacency.same_group(self.crossed)
        return same / known if known else Undefined("no edge joins two nodes whose sensitive group is known")

    @cached_property
    def sha256(self) -> str:
        """A hash over all that a model may see: ids, features, links, weights and kinds, labels, groups and splits."""
        links = self.adjacency.content
        arrays = [self.features, *links[:2], self.labels, self.sensitive, *self.splits.values(), *links[2:]]
        return content_sha256(hashed_names(self, self.node_ids), [*arrays, *hashed_codes(self)])

    def __repr__(self) -> str:
        from fairview.data.graph_display import graph_line

        return graph_line(self)

    def _repr_html_(self) -> str:
        from fairview.data.graph_display import graph_html

        return graph_html(self)
