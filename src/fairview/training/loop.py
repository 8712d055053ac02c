"""The training loop: epochs, selection on validation, early stopping, checkpoints. It knows nothing of any method."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from fairview.errors import FairviewError
from fairview.metrics.evaluation import Evaluation
from fairview.training.selection import Rule
from fairview.training.state import State
from fairview.undefined import plain


class TrainingError(FairviewError):
    """Training can't go on; the message names epoch and phase."""


class Trainee(Protocol):
    """What a method brings to the loop."""

    def epoch(self) -> dict[str, float]:
        """Train for one epoch; the losses by phase."""
        ...

    def validate(self) -> Evaluation:
        """The metrics on the val split, without disturbing the training."""
        ...

    def snapshot(self) -> State:
        """What prediction needs, as it is now."""
        ...

    def state(self) -> State:
        """All that is needed to go on."""
        ...

    def load_state(self, state: State) -> None: ...


@dataclass
class Progress:
    """How far a run has come; plain data beside the tensors of `best`."""

    history: list[dict[str, Any]] = field(default_factory=list)
    best_epoch: int = 0
    best_score: float = -math.inf
    best: State = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    interrupted: bool = False

    @property
    def epochs(self) -> int:
        return len(self.history)


@dataclass(frozen=True)
class Loop:
    """Train, validate, keep the best."""

    epochs: int  # at most
    rule: Rule  # says which epoch is the best
    patience: int | None = None  # stop after so many epochs without a better one; None never does
    watch: Callable[[Progress], None] | None = None  # called after every epoch: progress bars and checkpoints

    def run(self, trainee: Trainee, progress: Progress | None = None) -> Progress:
        """From where `progress` stands to the end. Ctrl-C keeps the best state so far, if there is one."""
        progress = progress or Progress()
        progress.interrupted = False
        try:
            while progress.epochs < self.epochs and not self._has_waited(progress):
                self._one_epoch(trainee, progress)
                if self.watch is not None:
                    self.watch(progress)
        except KeyboardInterrupt:
            if not progress.best:
                raise
            progress.interrupted = True
        return progress

    def _one_epoch(self, trainee: Trainee, progress: Progress) -> None:
        number = progress.epochs + 1
        losses = trainee.epoch()
        for phase, loss in losses.items():
            if not math.isfinite(loss):
                raise TrainingError(f"epoch {number}, {phase} phase: the loss is {loss}. Try smaller learning rates.")
        try:
            evaluation = trainee.validate()
        except TrainingError as error:
            raise TrainingError(f"epoch {number}, {error}") from None
        score = self.rule.score(evaluation)
        if number == 1:
            progress.left_out = self.rule.left_out(evaluation)
        snapshot = trainee.snapshot() if score > progress.best_score else None
        metrics = {name: plain(value) for name, value in evaluation.metrics.items()}
        progress.history.append({"epoch": number, "loss": losses, "val": metrics, "score": score})
        if snapshot is not None:  # after the history, so that Ctrl-C never leaves a best epoch that is not in it
            progress.best_score, progress.best_epoch, progress.best = score, number, snapshot

    def _has_waited(self, progress: Progress) -> bool:
        return self.patience is not None and progress.epochs - progress.best_epoch >= self.patience
