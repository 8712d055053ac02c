"""What would another threshold on the scores cost and gain? Accuracy and gaps over a grid of thresholds, with bands.

Each node falls into one cell: its group, its label, and how many thresholds lie below its score. Counts at every
threshold are sums of cells, so one multinomial draw of the cells resamples the nodes for all thresholds at once. The
bands are those of `fairview.metrics.intervals`: percentiles for the accuracy, gap ± q for a gap.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fairview.groups import Codes
from fairview.metrics import counts as core
from fairview.metrics.intervals import deviations, too_few
from fairview.metrics.registry import METRICS
from fairview.undefined import Undefined

THRESHOLDS = np.arange(101) / 100
SHOWN = ("accuracy", "statistical_parity_gap", "equal_opportunity_gap")

_LEVEL = 0.95
_BLOCK = 4_000_000
"""Resampled counts held at a time."""

Curve = tuple[float, ...]
Cells = npt.NDArray[Any]  # (..., 1 + groups, label, thresholds below the score); the unknown group is first


@dataclass(frozen=True, eq=False)
class ThresholdCurve:
    """Metrics by threshold; one without a value is in `undefined` with the reason, one without a band in `no_band`."""

    chosen: float
    thresholds: Curve
    values: Mapping[str, Curve]
    low: Mapping[str, Curve]
    high: Mapping[str, Curve]
    undefined: Mapping[str, str]
    no_band: Mapping[str, str]

    def __repr__(self) -> str:
        known = ", ".join(self.values) or "nothing defined"
        return f"ThresholdCurve({len(self.thresholds)} thresholds, chosen {self.chosen:g}: {known})"

    def to_dict(self) -> dict[str, Any]:
        points = [
            {"threshold": threshold}
            | _at(self.values, place)
            | {"low": _at(self.low, place), "high": _at(self.high, place)}
            for place, threshold in enumerate(self.thresholds)
        ]
        reasons = {"undefined": dict(self.undefined), "no_band": dict(self.no_band)}
        return {"chosen": self.chosen, "points": points} | reasons


@dataclass(frozen=True)
class _Inside:
    """The groups that a gap compares, and their places in the counts."""

    groups: tuple[str, ...]
    places: list[int]

    @classmethod
    def of(cls, groups: tuple[str, ...], left_out: Sequence[str]) -> _Inside:
        kept = [place for place, name in enumerate(groups) if name not in left_out]
        return cls(tuple(groups[place] for place in kept), [1 + place for place in kept])

    def counts(self, tables: core.Counts) -> core.Counts:
        """Those of its groups, the unknown one being first in `tables`, (..., 1 + groups, label, prediction)."""
        return tables[..., self.places, :, :]


def threshold_curve(
    labels: npt.NDArray[np.int8],
    scores: npt.NDArray[np.float64],
    *,
    codes: Codes,
    groups: tuple[str, ...],
    chosen: float = 0.5,
    left_out: Mapping[str, Sequence[str]] | None = None,
    resamples: int = 500,
    seed: int = 0,
) -> ThresholdCurve:
    """Accuracy, statistical parity gap and equal opportunity gap at the thresholds 0, 0.01, ..., 1.

    Args:
        labels: 0 or 1 per node.
        scores: a probability per node.
        codes: of the groups, -1 for unknown: those count for the accuracy only.
        groups: their names.
        chosen: the threshold in use.
        left_out: by gap, the groups that are too small for it.
        resamples: of the nodes, for the bands.
        seed: of the draws.
    """
    shape = (1 + len(groups), 2, len(THRESHOLDS) + 1)
    place = np.searchsorted(THRESHOLDS, scores)  # a score is positive strictly above a threshold
    cells = np.bincount(np.ravel_multi_index((codes + 1, labels, place), shape), minlength=np.prod(shape)).reshape(
        shape
    )
    tables = _tables(cells)
    inside = {name: _Inside.of(groups, (left_out or {}).get(name, ())) for name in SHOWN[1:]}
    values = {name: METRICS[name].of(within.counts(tables)) for name, within in inside.items()}
    values = {"accuracy": core.accuracy(tables.sum(axis=-3))} | values
    explained = {
        name: METRICS[name].explain(curve[0], *_behind(tables[0], inside.get(name))) for name, curve in values.items()
    }
    undefined = {name: curve.reason for name, curve in explained.items() if isinstance(curve, Undefined)}
    defined = {name: curve for name, curve in values.items() if name not in undefined}
    no_band = {
        name: few
        for name, within in inside.items()
        if name in defined and (few := too_few(name, within.counts(tables[0]), within.groups))
    }
    bands = {}
    if defined:
        sure = {name: curve for name, curve in defined.items() if name not in no_band}
        bands = _bands(cells, tables, inside, sure, resamples, np.random.default_rng(seed))
    return ThresholdCurve(
        chosen=chosen,
        thresholds=tuple(THRESHOLDS.tolist()),
        values={name: tuple(curve.tolist()) for name, curve in defined.items()},
        low={name: tuple(low.tolist()) for name, (low, _) in bands.items()},
        high={name: tuple(high.tolist()) for name, (_, high) in bands.items()},
        undefined=undefined,
        no_band=no_band,
    )


def _bands(
    cells: Cells,
    tables: core.Counts,
    inside: Mapping[str, _Inside],
    values: Mapping[str, core.Rates],
    resamples: int,
    generator: np.random.Generator,
) -> dict[str, tuple[core.Rates, core.Rates]]:
    """Low and high of each metric at each threshold."""
    more = cells.astype(np.float64)
    more[1:, :, [0, -1]] += 1  # at every threshold, one more of each label and prediction: as the gaps' intervals draw
    anyone = cells.sum(axis=0, keepdims=True)
    right = [core.accuracy(_tables(drawn)[..., 0, :, :]) for drawn in _draws(anyone, resamples, generator)]
    sampled: dict[str, list[core.Rates]] = {name: [] for name in values if METRICS[name].is_gap}
    for drawn in _draws(more, resamples, generator, nodes=int(cells.sum())) if sampled else ():
        resampled = _tables(drawn)
        for name, reaches in sampled.items():
            within = inside[name]
            reaches.append(deviations(name, within.counts(resampled), within.counts(tables)))
    low, high = np.quantile(np.concatenate(right), ((1 - _LEVEL) / 2, (1 + _LEVEL) / 2), axis=0)
    bands = {"accuracy": (low, high)}
    for name, reaches in sampled.items():
        reach = np.nanquantile(np.concatenate(reaches), _LEVEL, axis=0)
        bands[name] = np.maximum(values[name] - reach, 0.0), np.minimum(values[name] + reach, 1.0)
    return bands


def _draws(
    cells: Cells, resamples: int, generator: np.random.Generator, *, nodes: int | None = None
) -> Iterator[npt.NDArray[np.int64]]:
    """Resamples of the nodes' cells, a block at a time, shape (block, *cells)."""
    share = cells.ravel() / cells.sum()
    number = int(cells.sum()) if nodes is None else nodes
    block = max(_BLOCK // (2 * cells.size), 1)
    for start in range(0, resamples, block):
        drawn = generator.multinomial(number, share, size=min(block, resamples - start))
        yield drawn.reshape(-1, *cells.shape)


def _tables(cells: Cells) -> core.Counts:
    """Counts at each threshold: (..., groups, label, place) -> (..., thresholds, groups, label, prediction)."""
    above = np.flip(np.flip(cells, axis=-1).cumsum(axis=-1), axis=-1)
    both = np.stack([above[..., :1] - above[..., 1:], above[..., 1:]], axis=-1)
    return np.moveaxis(both, -2, -4)


def _behind(table: core.Counts, within: _Inside | None) -> tuple[core.Counts, tuple[str, ...]]:
    """The counts that explain why a metric has no value; a threshold does not change it."""
    return (table.sum(axis=0), ()) if within is None else (within.counts(table), within.groups)


def _at(curves: Mapping[str, Curve], place: int) -> dict[str, float | None]:
    return {name: curves[name][place] if name in curves else None for name in SHOWN}
