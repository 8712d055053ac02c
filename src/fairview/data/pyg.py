"""From and to PyTorch Geometric: `Data` in, `Data` out. Nothing that a model may see is lost on the way.

Provenance and recipe stay behind: they tell where a graph came from, and a `Data` comes from elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fairview.attributes import Attribute
from fairview.data.graph import SPLIT_NAMES, NodeGraph, Provenance
from fairview.data.link_kinds import LinkKinds
from fairview.data.pyg_fields import array_of, field, field_names, names_of, text_field, truth_field, values_of_edges
from fairview.errors import InputError, Message, Problems, did_you_mean, option, quoted
from fairview.groups import UNKNOWN, checked_codes, group_codes

if TYPE_CHECKING:
    from torch_geometric.data import Data


def to_pyg(graph: NodeGraph) -> Data:
    """A `Data` with x, edge_index, y, sensitive and the masks; names and ids in attributes beside them.

    `y` and `sensitive` are int64 with -1 for unknown. Of several sensitive attributes, `sensitive` holds their
    combinations, `sensitive_codes`, (n, attributes), the codes of each, and `sensitive_attributes` what they mean.
    `edge_index` has both directions of an undirected edge. Links' weights are in `edge_weight`, (m,), beside
    `weighted=True`, their kinds in `edge_type`, (m,), beside their names in `link_kinds`. All tensors are copies.
    """
    import torch
    from torch_geometric.data import Data

    pairs = np.stack([graph.adjacency.sources, graph.adjacency.indices]).astype(np.int64)
    data = Data(
        x=torch.tensor(graph.features),
        edge_index=torch.from_numpy(pairs),
        y=torch.tensor(graph.labels, dtype=torch.int64),
        sensitive=torch.tensor(graph.sensitive, dtype=torch.int64),
        num_nodes=graph.num_nodes,
        channels=list(graph.channels),
        classes=list(graph.classes),
        groups=list(graph.groups),
        sensitive_name=graph.sensitive_name,
        sensitive_channels=list(graph.sensitive_channels),
        directed=graph.adjacency.directed,
        split_names=list(graph.splits),
    )
    if graph.adjacency.weights is not None:
        data.edge_weight, data.weighted = torch.tensor(graph.adjacency.weights), True
    if (kinds := graph.adjacency.kinds) is not None:
        data.edge_type, data.link_kinds = torch.tensor(kinds.codes, dtype=torch.int64), list(kinds.names)
    if graph.several:
        data.sensitive_attributes = {
            attribute.name: {"groups": list(attribute.groups), "channels": list(attribute.channels)}
            for attribute in graph.attributes
        }
        codes = np.stack([attribute.codes for attribute in graph.attributes], axis=1)
        data.sensitive_codes = torch.tensor(codes, dtype=torch.int64)
    if graph.node_ids is not None:
        data.ids = list(graph.node_ids)
    for name, mask in graph.splits.items():
        data[f"{name}_mask"] = torch.tensor(mask)
    return data


def from_pyg(
    data: Data,
    *,
    sensitive: str | npt.ArrayLike | Sequence[str] | Mapping[str, npt.ArrayLike] = "sensitive",
    label: str = "y",
    groups: Sequence[str] | None = None,
    channels: Sequence[str] | None = None,
    directed: bool | None = None,
    edge_weight: str | npt.ArrayLike | None = None,
    link_kind: str | npt.ArrayLike | None = None,
) -> NodeGraph:
    """A `NodeGraph` from PyG's `Data`; what `to_pyg` wrote is understood by itself.

    Args:
        data: with `x`, `edge_index`, labels and, if there are splits, `train_mask`, `val_mask`, `test_mask`.
        sensitive: name of the attribute with the sensitive values, or of a channel if `data.channels` names it, or
            the values themselves. Several attributes: a list of such names, or the values by name.
        label: name of the attribute with the labels: 0, 1, and -1 for unlabelled.
        groups: of one attribute, names of the groups; the sensitive values are then codes 0, 1, ... and -1 for unknown.
            Without names, every value is a group, -1 too.
        channels: names of the columns of x; by default `data.channels`, or x0, x1, ...
        directed: keep the edges as they are; by default as `data.directed` says, or symmetric.
        edge_weight: name of the attribute with a weight for each edge, or the weights themselves, (m,) or (m, 1). By
            default none, unless `data.weighted` is true. Notes say what is ignored, merged, or made symmetric.
        link_kind: name of the attribute with the kind of each edge, such as `edge_type`, or the kinds themselves, (m,)
            or (m, 1). By default none, unless `data.link_kinds` names those in `edge_type`.

    What is ignored or changed is in `graph.provenance.notes`: attributes of edges, one-way edges that were made
    symmetric, self-loops and duplicates.

    Raises:
        InputError: with every problem of the data.
    """
    if not callable(getattr(data, "keys", None)):
        raise InputError(f"data: expected a torch_geometric.data.Data, got {type(data).__name__}.")
    problems = Problems()
    for name in ("x", "edge_index"):
        if field(data, name) is None:
            problems.add(f"data: no '{name}'.")
    problems.raise_if_any()
    names = names_of("channels", channels if channels is not None else field(data, "channels"))
    if (by_name := _several(data, sensitive, names, problems)) is not None:
        return _of_several(data, by_name, label=label, groups=groups, channels=channels, directed=directed,
                           edge_weight=edge_weight, link_kind=link_kind, problems=problems)  # fmt: skip
    ours = isinstance(sensitive, str) and sensitive == "sensitive"  # then the names that `to_pyg` wrote belong to it
    groups = names_of("groups", groups if groups is not None or not ours else field(data, "groups"))
    values, own_name, own_channels = _sensitive(data, sensitive, names, problems)
    if groups is not None and values is not None:
        values = _codes(values)
    classes = names_of("classes", field(data, "classes")) or ("0", "1")
    if len(classes) != 2:
        problems.add(f"data.classes: {len(classes)} names; expected those of the negative and the positive class.")
        classes = ("0", "1")
    y = field(data, label)
    written = label == "y" and field(data, "classes") is not None  # by `to_pyg`: -1 is unlabelled even beside 1 alone
    if y is None and label != "y":
        problems.add(f"data: no attribute '{label}' with the labels.{did_you_mean(label, field_names(data))}")
    parts = {
        name: field(data, f"{name}_mask") for name in names_of("split_names", field(data, "split_names")) or SPLIT_NAMES
    }
    if ours:
        own_name = text_field(data, "sensitive_name", problems) or own_name
        own_channels = own_channels or names_of("sensitive_channels", field(data, "sensitive_channels")) or ()
    notes: list[str] = []
    weights = _weights(data, edge_weight, notes, problems)
    kinds = _kinds(data, link_kind, notes, problems)
    named = [name for name in (edge_weight, link_kind) if isinstance(name, str)]
    used = {"edge_index", "edge_weight", "edge_type", *named}
    if ignored := sorted(key for key in field_names(data) if key.startswith("edge_") and key not in used):
        notes.append(f"attributes of the edges ignored: {quoted(ignored)}")
    with problems.collecting():
        graph = NodeGraph.from_arrays(
            features=array_of(data.x, "x"),
            edges=array_of(data.edge_index, "edge_index"),
            labels=None if y is None or written else array_of(y, label),
            sensitive=values,
            channels=names,
            directed=truth_field(data, "directed") if directed is None else directed,
            edge_weight=weights,
            link_kind=kinds,
            splits={name: array_of(mask, f"{name}_mask") for name, mask in parts.items() if mask is not None},
            sensitive_name=own_name,
            classes=classes,
            node_ids=names_of("ids", field(data, "ids")),
            provenance=Provenance(source="torch_geometric.data.Data").noting(*notes),
        )
        graph = graph.replace(sensitive_channels=own_channels)
        if y is not None and written:
            graph = graph.replace(labels=array_of(y, label))
    problems.raise_if_any()
    return _with_groups(graph, groups)


def _several(
    data: Data, sensitive: Any, channels: Sequence[str] | None, problems: Problems
) -> dict[str, Attribute] | None:
    """Several attributes by name, if these are: from their values, their names, or what `to_pyg` wrote."""
    wrote = field(data, "sensitive_attributes")
    if isinstance(sensitive, Mapping):
        values: dict[str, tuple[npt.NDArray[Any], tuple[str, ...]]] = {
            str(name): (array_of(each, f"sensitive['{name}']"), ()) for name, each in sensitive.items()
        }
    elif isinstance(sensitive, list | tuple) and {*map(str, sensitive)} & {*field_names(data), *(channels or ())}:
        found = {name: _sensitive(data, name, channels, problems) for name in sensitive}
        values = {name: (each, own) for name, (each, _, own) in found.items() if each is not None}
    elif isinstance(sensitive, str) and sensitive == "sensitive" and isinstance(wrote, Mapping):
        return _written(wrote, field(data, "sensitive_codes"))
    else:
        return None
    attributes = {}
    for name, (each, own) in values.items():
        with problems.collecting():
            attributes[name] = Attribute(name, *group_codes(each, f"sensitive '{name}'"), own)
    problems.raise_if_any()
    return attributes


def _written(facts: Mapping[str, Any], codes: Any) -> dict[str, Attribute]:
    """The attributes that `to_pyg` wrote."""
    columns = np.empty((0, 0)) if codes is None else array_of(codes, "sensitive_codes")
    if columns.ndim != 2 or columns.shape[1] != len(facts):
        raise InputError(f"data.sensitive_codes: shape {columns.shape}; expected (nodes, {len(facts)}).")
    found = {}
    for (name, told), column in zip(facts.items(), columns.T, strict=True):
        parts = [names_of(f"sensitive_attributes['{name}']", told.get(part) if isinstance(told, Mapping) else None)
                 for part in ("groups", "channels")]  # fmt: skip
        groups = parts[0] or ()
        found[str(name)] = Attribute(str(name), checked_codes(column, groups, len(column)), groups, parts[1] or ())
    return found


def _of_several(
    data: Data, attributes: Mapping[str, Attribute], *, groups: Any, problems: Problems, **other: Any
) -> NodeGraph:
    """The graph with one attribute, and then with all of them."""
    if groups is not None:
        problems.add("groups: they name the groups of one attribute, and there are several; leave them out.")
    sizes = {len(each.codes) for each in attributes.values()}
    problems.raise_if_any()
    if not attributes:
        raise InputError("sensitive: names no attribute; expected at least one.")
    graph = from_pyg(data, sensitive=np.zeros(max(sizes)), **other)
    for name, each in attributes.items():
        if len(each.codes) != graph.num_nodes:
            problems.add(f"sensitive '{name}': {len(each.codes):,} values for {graph.num_nodes:,} nodes.")
    problems.raise_if_any()
    return graph.with_attributes(list(attributes.values()))


def _sensitive(
    data: Data, sensitive: Any, channels: Sequence[str] | None, problems: Problems
) -> tuple[npt.NDArray[Any] | None, str, tuple[str, ...]]:
    """The values, what they are called, and the channel that holds them, if they come from one."""
    if not isinstance(sensitive, str):
        return array_of(sensitive, "sensitive"), "sensitive", ()
    held = field(data, sensitive)
    if held is not None:
        return array_of(held, sensitive), sensitive, ()
    x = array_of(data.x, "x")
    if channels is not None and sensitive in channels and x.ndim == 2:
        return x[:, list(channels).index(sensitive)], sensitive, (sensitive,)
    hint = did_you_mean(sensitive, [*field_names(data), *(channels or ())])
    problems.add(f"data: no attribute or channel '{sensitive}' with the sensitive values.{hint}")
    return None, sensitive, ()


def _weights(
    data: Data, edge_weight: str | npt.ArrayLike | None, notes: list[str], problems: Problems
) -> npt.NDArray[Any] | None:
    """A weight for each edge, if asked for; weights that nobody asked for are noted."""
    if edge_weight is None and field(data, "weighted"):
        edge_weight = "edge_weight"
    if edge_weight is None:
        if field(data, "edge_weight") is not None:
            asked = option("edge_weight", "edge_weight")
            notes.append(Message(f"data.edge_weight is ignored; pass {asked} to use it"))
        return None
    return values_of_edges(data, edge_weight, "edge_weight", "the weights", problems)


def _kinds(
    data: Data, link_kind: str | npt.ArrayLike | None, notes: list[str], problems: Problems
) -> npt.NDArray[Any] | LinkKinds | None:
    """A kind for each edge, if asked for, or if `link_kinds` names those of `edge_type`; others are noted."""
    names = names_of("link_kinds", field(data, "link_kinds"))
    if link_kind is None and names is None:
        if field(data, "edge_type") is not None:
            asked = option("link_kind", "edge_type")
            notes.append(Message(f"data.edge_type is ignored; pass {asked} to use it"))
        return None
    given = "edge_type" if link_kind is None or (isinstance(link_kind, str) and not link_kind) else link_kind
    values = values_of_edges(data, given, "link_kind", "the kinds", problems)
    if values is None or names is None or not isinstance(given, str) or given != "edge_type":
        return values
    values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
    if values.dtype.kind not in "iu" or values.ndim != 1:
        problems.add(f"data.edge_type: expected codes into link_kinds, got {values.dtype} with shape {values.shape}.")
        return None
    if len(values) and not (values.min() >= 0 and values.max() < len(names)):
        problems.add(f"data.edge_type: expected codes from 0 to {len(names) - 1}, one for each of link_kinds.")
        return None
    with problems.collecting():
        return LinkKinds(names, values.astype(np.int16))
    return None


def _codes(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Codes 0, 1, ... of named groups; -1 is how integer tensors say "not known"."""
    if values.dtype.kind == "b":
        values = values.astype(np.int8)
    if values.dtype.kind not in "if" or values.ndim != 1 or not (values == UNKNOWN).any():
        return values
    return np.array([None if value == UNKNOWN else value for value in values.tolist()], dtype=object)


def _with_groups(graph: NodeGraph, groups: Sequence[str] | None) -> NodeGraph:
    """Names for the codes 0, 1, ...; also for groups that no node is in."""
    if groups is None:
        return graph
    places = {str(code): code for code in range(len(groups))}
    strange = [value for value in graph.groups if value not in places]
    if strange:
        raise InputError(
            f"groups: {len(groups)} names for the codes 0 to {len(groups) - 1}, but there is {strange[0]}."
        )
    lookup = np.array([places[value] for value in graph.groups] + [UNKNOWN], dtype=np.int16)
    return graph.replace(sensitive=lookup[graph.sensitive], groups=tuple(map(str, groups)))
