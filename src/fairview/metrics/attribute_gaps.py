"""How large are the gaps of each of several sensitive attributes, and of all combinations of their groups?

Two attributes may each look fair while a combination of their groups does not: a gap can be 0 between men and women and
between young and old, and 1 between young women and old women. So the groups that the attributes make together are
compared, too, and the gap that stands for all is the largest. Where every combination is large enough to be counted,
that is the one between combinations: each group's rate is a mean of theirs.

Combinations can be tiny. One with fewer than `FEW` nodes behind its rate is left out of the gap between combinations,
and named; its counts stay in the table of groups.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fairview.attributes import Attribute
from fairview.metrics import counts as core
from fairview.metrics.intervals import FEW, Interval, gap_intervals
from fairview.metrics.registry import METRICS, gap_names
from fairview.undefined import Metric, Undefined

if TYPE_CHECKING:
    from fairview.metrics.evaluation import Evaluation

Found = Mapping[str, Interval | Undefined]


def with_attributes(
    evaluation: Evaluation,
    attributes: Sequence[Attribute],
    together: str,
    cells: npt.NDArray[np.int64],
    resampling: Mapping[str, Any] | None,
) -> Evaluation:
    """An evaluation by combinations of groups, completed by each attribute; its gaps become the largest.

    Args:
        evaluation: of the combinations.
        attributes: of the evaluated nodes.
        together: the name of all attributes together.
        cells: 2 * label + prediction of each node.
        resampling: `resamples`, `level` and `seed` of the intervals, if they are asked for.
    """
    parts = {each.name: _of(each, evaluation, cells) for each in attributes}
    parts[together] = _of_combinations(evaluation)
    by_gap = {gap: {name: part.metrics[gap] for name, part in parts.items()} for gap in gap_names()}
    metrics = {**evaluation.metrics} | {gap: _largest(values, together) for gap, values in by_gap.items()}
    intervals = dict(evaluation.intervals)
    if resampling is not None and evaluation.nodes:
        level = resampling["level"]
        shared = {**resampling, "level": 1 - (1 - level) / len(parts)}  # they hold all at once
        for name, part in parts.items():
            parts[name] = dataclasses.replace(part, intervals=_intervals(part, resampling))
        at_once = {name: _intervals(part, shared) for name, part in parts.items()}
        for gap, value in metrics.items():
            if METRICS[gap].is_gap:
                found = {name: each[gap] for name, each in at_once.items()}
                intervals[gap] = value if isinstance(value, Undefined) else _of_the_largest(found, together, level)
    return dataclasses.replace(evaluation, metrics=metrics, intervals=intervals, attributes=parts)


def _of(attribute: Attribute, evaluation: Evaluation, cells: npt.NDArray[np.int64]) -> Evaluation:
    """The same nodes by the groups of one attribute."""
    places = 4 * (attribute.codes.astype(np.int64) + 1) + cells
    counts = np.bincount(places, minlength=4 * (1 + len(attribute.groups))).reshape(-1, 2, 2)
    gaps = {
        name: METRICS[name].explain(METRICS[name].of(counts[1:]), counts[1:], attribute.groups) for name in gap_names()
    }
    return dataclasses.replace(
        evaluation, metrics={**evaluation.metrics} | gaps, counts=counts, group_names=attribute.groups, intervals={}
    )


def _of_combinations(evaluation: Evaluation) -> Evaluation:
    """The same nodes by combinations of groups, those left out of a gap that are too small for it."""
    gaps: dict[str, Metric] = {}
    left_out: dict[str, tuple[str, ...]] = {}
    for name in gap_names():
        large, left_out[name] = large_enough(name, evaluation.counts[1:], evaluation.group_names)
        counts, groups = evaluation.counts[1:][large], tuple(np.array(evaluation.group_names, dtype=object)[large])
        few = f"fewer than two combinations of groups have {FEW} {' and '.join(METRICS[name].needs)}"
        gaps[name] = (
            Undefined(few) if len(groups) < 2 else METRICS[name].explain(METRICS[name].of(counts), counts, groups)
        )
    return dataclasses.replace(evaluation, metrics={**evaluation.metrics} | gaps, intervals={}, left_out=left_out)


def large_enough(
    gap: str, counts: core.Counts, groups: tuple[str, ...]
) -> tuple[npt.NDArray[np.bool_], tuple[str, ...]]:
    """Which groups have enough nodes behind their rates, and the names of the others."""
    small = {group for group, _, count in METRICS[gap].behind(counts, groups) if count < FEW}
    large = np.array([group not in small for group in groups], dtype=np.bool_)
    return large, tuple(group for group in groups if group in small)


def _intervals(part: Evaluation, resampling: Mapping[str, Any]) -> Found:
    """Of its gaps, between the groups that are in them."""
    found: dict[str, Interval | Undefined] = {}
    for gap in gap_names():
        inside = np.array([name not in part.left_out.get(gap, ()) for name in part.group_names], dtype=np.bool_)
        counts = np.concatenate([part.counts[:1] + part.counts[1:][~inside].sum(axis=0), part.counts[1:][inside]])
        names = tuple(name for name, kept in zip(part.group_names, inside, strict=True) if kept)
        found |= gap_intervals(counts, {gap: part.metrics[gap]}, names, **resampling)
    return found


def _largest(values: Mapping[str, Metric], together: str) -> Metric:
    """The largest gap; undefined if that of an attribute is."""
    for name, value in values.items():
        if isinstance(value, Undefined) and name != together:
            return Undefined(f"{name}: {value.reason}")
    return max(value for value in values.values() if not isinstance(value, Undefined))


def _of_the_largest(found: Found, together: str, level: float) -> Interval | Undefined:
    """Where all intervals hold at once, the largest gap lies between the largest of their ends."""
    sure: list[Interval] = []
    for name, each in found.items():
        if isinstance(each, Interval):
            sure.append(each)
        elif name != together:
            return Undefined(f"{name}: {each.reason}")
    lacking = max(each.undefined_resamples for each in sure)
    low, high = max(each.low for each in sure), max(each.high for each in sure)
    return Interval(low, high, level, sure[0].resamples, lacking)
