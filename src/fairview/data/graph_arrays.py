"""How do arrays of any kind become the fields of a graph? What can't become one is an error with its place."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fairview.arguments import shortened
from fairview.arrays import as_array
from fairview.attributes import Attribute, intersection
from fairview.data.adjacency import Adjacency
from fairview.data.graph_checks import check_splits
from fairview.data.link_kinds import LinkKinds
from fairview.errors import InputError, Problems, some
from fairview.groups import UNKNOWN, Codes, group_codes


def fields_from(
    features: npt.ArrayLike,
    edges: npt.ArrayLike,
    *,
    labels: npt.ArrayLike | None,
    sensitive: npt.ArrayLike | Mapping[str, npt.ArrayLike] | None,
    channels: Sequence[str] | None,
    splits: Mapping[str, npt.ArrayLike] | None,
    other: Mapping[str, Any],
    **of_links: Any,
) -> tuple[dict[str, Any], list[str]]:
    """The fields of a graph, with other ones, and what was changed, in words; see `NodeGraph.from_arrays`."""
    problems, further = Problems(), dict(other)
    x = features_from(features, channels, problems)
    n, d = x.shape
    with problems.collecting():
        adjacency, notes = adjacency_from(edges, n, **of_links)
    with problems.collecting():
        further |= sensitive_fields(sensitive, n, other)
    with problems.collecting():
        y = labels_from(labels, n)
    masks = masks_from(splits, problems)
    check_splits(masks, n, problems)
    problems.raise_if_any()
    names = tuple(channels) if channels is not None else tuple(f"x{j}" for j in range(d))
    x = x.astype(np.float32)
    return dict(features=x, channels=names, adjacency=adjacency, labels=y, splits=masks, **further), notes


def features_from(
    features: npt.ArrayLike, channels: Sequence[str] | None, problems: Problems
) -> npt.NDArray[np.float64]:
    """The matrix, before the cast to float32; what float32 can't hold is named with its channel and rows."""
    x = as_array(features, "features")
    if x.ndim != 2:
        raise InputError(f"features: shape {x.shape}; expected (nodes, channels).")
    if x.dtype.kind not in "biuf":
        raise InputError(f"features: must be numbers, got {x.dtype}.")
    with np.errstate(over="ignore"):  # a long double beyond the range of float64 is reported as infinite below
        wide = x.astype(np.float64)
    for what, bad in (
        ("NaN", np.isnan(wide)),
        ("infinite", np.isinf(wide)),
        ("beyond the range of float32", np.isfinite(wide) & (np.abs(wide) > np.finfo(np.float32).max)),
    ):
        for j in np.flatnonzero(bad.any(axis=0)).tolist():
            name = channels[j] if channels is not None and j < len(channels) else f"x{j}"
            rows = np.flatnonzero(bad[:, j])
            problems.add(f"features: channel '{name}': {len(rows):,} values are {what} (rows {some(rows)}).")
    return wide


def adjacency_from(
    edges: npt.ArrayLike,
    num_nodes: int,
    *,
    directed: bool,
    edge_weight: npt.ArrayLike | None = None,
    link_kind: npt.ArrayLike | LinkKinds | None = None,
) -> tuple[Adjacency, list[str]]:
    """The links of pairs with shape (2, m), with weights and kinds if there are any, and what was changed, in words."""
    given = as_array(edges, "edges")
    pairs = given if given.size else np.empty((2, 0), dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[0] != 2:
        hint = " Transpose it." if pairs.ndim == 2 and pairs.shape[1] == 2 else ""
        raise InputError(f"edges: shape {pairs.shape}; expected (2, number of edges).{hint}")
    if pairs.dtype.kind not in "iu":
        raise InputError(f"edges: node numbers must be integers, got {pairs.dtype}.")
    links, counts = Adjacency.from_pairs(
        *pairs, num_nodes=num_nodes, directed=directed, weights=edge_weight, kinds=link_kind
    )
    return links, counts.notes(directed=directed)


def groups_from(
    sensitive: npt.ArrayLike | None, num_nodes: int, name: str = "sensitive"
) -> tuple[Codes, tuple[str, ...]]:
    """Codes and names of the groups of one attribute."""
    if sensitive is None:
        return np.full(num_nodes, UNKNOWN, dtype=np.int16), ()
    codes, groups = group_codes(sensitive, name)
    if len(codes) != num_nodes:
        raise InputError(f"{name}: {len(codes):,} values for {num_nodes:,} nodes.")
    return codes, groups


def sensitive_fields(
    sensitive: npt.ArrayLike | Mapping[str, npt.ArrayLike] | None, num_nodes: int, given: Mapping[str, Any]
) -> dict[str, Any]:
    """The fields of a graph that say who is in which group, of one attribute or of several by name."""
    if not isinstance(sensitive, Mapping):
        codes, groups = groups_from(sensitive, num_nodes)
        return {"sensitive": codes, "groups": groups}
    if not sensitive:
        raise InputError("sensitive: names no attribute; expected at least one, such as {'sex': [...]}.")
    problems, attributes = Problems(), []
    holding = given.get("sensitive_channels", ())
    for name, values in sensitive.items():
        with problems.collecting():
            codes, groups = groups_from(values, num_nodes, f"sensitive {shortened(name)}")
            attributes.append(Attribute(str(name), codes, groups, tuple(c for c in holding if c == name)))
    problems.raise_if_any()
    return fields_of(attributes)


def fields_of(attributes: Sequence[Attribute]) -> dict[str, Any]:
    """The same of attributes with codes."""
    together = intersection(attributes)
    return {
        "sensitive": together.codes,
        "groups": together.groups,
        "sensitive_name": together.name,
        "sensitive_channels": together.channels,
        "attributes": tuple(attributes),
    }


def labels_from(labels: npt.ArrayLike | None, num_nodes: int) -> npt.NDArray[np.int8]:
    """Labels of 0, 1 and -1 for unlabelled."""
    if labels is None:
        return np.full(num_nodes, UNKNOWN, dtype=np.int8)
    values = as_array(labels, "labels")
    if values.shape != (num_nodes,):
        raise InputError(f"labels: shape {values.shape}; expected ({num_nodes},).")
    if values.dtype.kind not in "biuf" or not np.isin(values, (UNKNOWN, 0, 1)).all():
        distinct = sorted({str(value) for value in values.tolist()})
        raise InputError(f"labels: expected 0, 1 and -1 (unlabelled), got {some(distinct)}.")
    if values.size and set(np.unique(values).tolist()) == {UNKNOWN, 1}:
        raise InputError("labels: only -1 and 1; here -1 means unlabelled. Use 0 for the negative class.")
    return values.astype(np.int8)


def masks_from(splits: Mapping[str, npt.ArrayLike] | None, problems: Problems) -> dict[str, npt.NDArray[Any]]:
    """The masks as arrays, by name; `check_splits` says whether they are masks."""
    if splits is not None and not isinstance(splits, Mapping):
        raise InputError(f"splits: {shortened(splits)}; expected a dictionary from names to masks.")
    masks = {}
    for name, mask in (splits or {}).items():
        with problems.collecting():
            masks[str(name)] = as_array(mask, f"split '{name}'")
    return masks


def frozen_attribute(attribute: Attribute) -> Attribute:
    """An attribute whose codes nobody can write to."""
    codes = frozen(attribute.codes, np.int16)
    return attribute if codes is attribute.codes else dataclasses.replace(attribute, codes=codes)


def frozen(array: npt.NDArray[Any], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """A read-only array that nobody else can write to: copied unless it is frozen already."""
    borrowed = array.flags.writeable or array.base is not None  # a read-only view of an array that may be written to
    if array.dtype != dtype or borrowed or not array.flags.c_contiguous:
        array = np.array(array, dtype=dtype, order="C")
        array.flags.writeable = False
    return array
