"""Are these arrays a graph? Each check says all that is wrong, and the caller collects what the checks say."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from fairview.arguments import shortened
from fairview.arrays import as_array
from fairview.attributes import Attribute, intersection
from fairview.data.adjacency import Adjacency
from fairview.data.link_kinds import LinkKinds
from fairview.errors import InputError, Problems, some
from fairview.files import is_utf8
from fairview.groups import UNKNOWN, Codes, group_codes


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


def check_attributes(attributes: Sequence[Attribute], crossed: Attribute, problems: Problems) -> None:
    """Several attributes must make the groups that the graph goes by."""
    for attribute in attributes:
        if attribute.codes.shape != crossed.codes.shape:
            problems.add(
                f"attributes: '{attribute.name}' has {len(attribute.codes):,} codes for {len(crossed.codes):,} nodes."
            )
            return
    with problems.collecting():
        together = intersection(attributes)
        if together.groups != crossed.groups or (together.codes != crossed.codes).any():
            problems.add("attributes: they don't make the groups in `sensitive`; change them with `with_attributes`.")


def frozen_attribute(attribute: Attribute) -> Attribute:
    """An attribute whose codes nobody can write to."""
    codes = frozen(attribute.codes, np.int16)
    return attribute if codes is attribute.codes else dataclasses.replace(attribute, codes=codes)


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


def check_splits(splits: Mapping[str, npt.NDArray[Any]], num_nodes: int, problems: Problems) -> None:
    """Masks of the right length, pairwise disjoint: an overlap is a leak from training into the evaluation."""
    sound = []
    for name, mask in splits.items():
        if name == "all":
            problems.add("split 'all': the name stands for every node already; choose another.")
        if mask.dtype != np.bool_ or mask.shape != (num_nodes,):
            problems.add(f"split '{name}': expected {num_nodes:,} booleans, got {mask.dtype} with shape {mask.shape}.")
        else:
            sound.append(name)
    for first, second in combinations(sound, 2):
        shared = np.flatnonzero(splits[first] & splits[second])
        if len(shared):
            problems.add(
                f"splits '{first}' and '{second}' share {len(shared):,} nodes (rows {some(shared)}); "
                "they must be disjoint."
            )


def check_names(names: Mapping[str, Sequence[str]], problems: Problems) -> None:
    """Names that can be written into a file: a model that can't be saved is not worth training."""
    for what, listed in names.items():
        if not is_utf8(*listed):
            halved = [ascii(name) for name in listed if not is_utf8(name)]
            problems.add(f"{what}: {some(halved)}: not UTF-8 (half a character, a lone surrogate). Rename them.")


def frozen(array: npt.NDArray[Any], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """A read-only array that nobody else can write to: copied unless it is frozen already."""
    borrowed = array.flags.writeable or array.base is not None  # a read-only view of an array that may be written to
    if array.dtype != dtype or borrowed or not array.flags.c_contiguous:
        array = np.array(array, dtype=dtype, order="C")
        array.flags.writeable = False
    return array
