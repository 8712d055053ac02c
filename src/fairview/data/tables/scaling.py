"""On which scale are the channels? Fitted once, kept with the graph, applied to new data unchanged."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict

ScalingKind = Literal["none", "minmax", "standard"]


class Scaling(BaseModel):
    """x -> (x - center) / spread, per channel.

    `minmax` takes the fitted rows to [-1, 1], as the published runs do; `standard` to mean 0 and standard deviation 1;
    `none` leaves everything as it is. A channel that is constant on the fitted rows has spread 1: it becomes 0.

    Example:
        >>> scaling = Scaling.fit(np.array([[0.0, 7.0], [10.0, 7.0]]), kind="minmax")
        >>> scaling.apply(np.array([[0.0, 7.0], [5.0, 7.0], [20.0, 8.0]])).tolist()
        [[-1.0, 0.0], [0.0, 0.0], [3.0, 1.0]]
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    kind: ScalingKind = "none"
    center: tuple[float, ...]
    spread: tuple[float, ...]

    @classmethod
    def fit(
        cls, rows: npt.NDArray[np.float64], *, kind: ScalingKind, leave: npt.NDArray[np.bool_] | None = None
    ) -> Scaling:
        """Fit on rows, shape (n, channels); the channels marked in `leave` stay as they are."""
        return cls.from_moments(
            kind=kind,
            mean=rows.mean(axis=0),
            spread=rows.std(axis=0),
            low=rows.min(axis=0),
            high=rows.max(axis=0),
            leave=leave,
        )

    @classmethod
    def from_moments(
        cls,
        *,
        kind: ScalingKind,
        mean: npt.NDArray[np.float64],
        spread: npt.NDArray[np.float64],
        low: npt.NDArray[np.float64],
        high: npt.NDArray[np.float64],
        leave: npt.NDArray[np.bool_] | None = None,
    ) -> Scaling:
        """The same from the mean, the standard deviation and the range of each channel."""
        center = mean if kind == "standard" else low / 2 + high / 2
        if kind == "minmax":
            spread = high / 2 - low / 2
        constant = high == low  # rounding may leave a tiny standard deviation
        center, spread = np.where(constant, low, center), np.where(constant | (spread == 0), 1.0, spread)
        if kind == "none":
            leave = np.ones(len(mean), dtype=np.bool_)
        if leave is not None:
            center, spread = np.where(leave, 0.0, center), np.where(leave, 1.0, spread)
        return cls(kind=kind, center=tuple(center.tolist()), spread=tuple(spread.tolist()))

    def apply(self, rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Scale rows, shape (n, channels); what is too large for float64 becomes infinite."""
        with np.errstate(over="ignore"):  # infinite is what it says; the caller reports it
            return np.asarray((rows - np.array(self.center)) / np.array(self.spread))
