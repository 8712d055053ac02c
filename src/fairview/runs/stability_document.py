"""What is in `stability.json`, and how is it said in a sentence?"""

from __future__ import annotations

import math
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from fairview.metrics.registry import METRICS

MOST_RERUNS = 1000


class Range(BaseModel):
    """Of one metric: the run's own value, and the lowest and highest of run and re-runs; null where undefined."""

    model_config = ConfigDict(allow_inf_nan=False)

    run: float | None = None
    low: float | None = None
    high: float | None = None

    @model_validator(mode="after")
    def _holds_the_run(self) -> Range:
        if self.run is not None and not (
            self.low is not None and self.high is not None and self.low <= self.run <= self.high
        ):
            raise ValueError("the run's own value is outside of its range")
        return self

    @classmethod
    def over(cls, value: float | None, others: list[float | None]) -> Range:
        """From the run's value and those of the re-runs; undefined in one of them is undefined."""
        defined = [each for each in (value, *others) if each is not None]
        if len(defined) <= len(others):
            return cls(run=None)
        return cls(run=value, low=min(defined), high=max(defined))


class Stability(BaseModel):
    """What re-runs with perturbed last bits gave, as `stability.json` has it.

    Attributes:
        reruns: how many.
        largest_score_change: of any node in any re-run.
        flipped_share: the largest share of nodes, over the re-runs, with another decision than the run's.
        metrics: ranges by split and metric.
    """

    model_config = ConfigDict(allow_inf_nan=False)

    kind: Literal["stability"] = "stability"
    version: Literal[1] = 1
    reruns: int = Field(ge=1, le=MOST_RERUNS)
    largest_score_change: float = Field(ge=0, le=1)
    flipped_share: float = Field(ge=0, le=1)
    metrics: dict[str, dict[str, Range]]

    @property
    def moves(self) -> bool:
        """Whether a decision changed."""
        return self.flipped_share > 0

    @property
    def sentence(self) -> str:
        """For the report, the model card and the table of `train`."""
        how = f"{self.reruns:,} re-run{'' if self.reruns == 1 else 's'} with perturbed last bits"
        if not self.moves:
            change = self.largest_score_change
            scores = f", and no score by more than {_rounded_up(change)}" if change else " and no score"
            return (
                f"Another machine should give the same decisions for the same seed: in {how} no decision changed"
                f"{scores}."
            )
        split = "test" if "test" in self.metrics else next(iter(self.metrics), "")
        spoken = [
            f"{entry.words} {100 * found.low:.1f} to {100 * found.high:.1f} (here {100 * found.run:.1f})"
            for name, entry in METRICS.items()
            if (name == "auc" or (entry.is_gap and entry.in_tables))
            and (found := self.metrics.get(split, {}).get(name)) is not None
            and found.run is not None
            and found.low is not None
            and found.high is not None
        ]
        parts = [*spoken, f"another decision for up to {100 * self.flipped_share:.1f}% of the nodes"]
        return (
            f"Another machine may give, for the same seed and in percent: {'; '.join(parts)}. These are ranges of "
            f"{how}{f', on {split}' if spoken else ''}."
        )


def _rounded_up(value: float) -> str:
    """A small number with one digit, not below it.

    Example:
        >>> _rounded_up(1.09e-05), _rounded_up(0.3)
        ('0.00002', '0.3')
    """
    places = max(1, -math.floor(math.log10(value)))
    return f"{math.ceil(round(value * 10**places, 6)) / 10**places:.{places}f}"
