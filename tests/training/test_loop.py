"""The loop keeps the best epoch, stops when told to, names what failed, and goes on from where it was."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

from fairview.metrics.evaluation import Evaluation, Evaluator
from fairview.training.loop import Loop, Progress, TrainingError
from fairview.training.selection import SelectionRule
from fairview.training.state import State

EVALUATOR = Evaluator([1] * 5 + [0] * 5, sensitive=["f", "m"] * 5)
UTILITY = SelectionRule(0.0)


class Fake:
    """Its quality in epoch k is `qualities[k - 1]` of ten right answers."""

    def __init__(self, qualities: list[int], *, losses: dict[int, dict[str, float]] | None = None) -> None:
        self.qualities, self.losses = qualities, losses or {}
        self.number = 0
        self.interrupt_in: Callable[[int], str | None] = lambda number: None

    def _maybe_interrupt(self, where: str) -> None:
        if self.interrupt_in(self.number) == where:
            raise KeyboardInterrupt

    def epoch(self) -> dict[str, float]:
        self.number += 1
        self._maybe_interrupt("epoch")
        return self.losses.get(self.number, {"discriminator": 0.5, "classifier": 0.25})

    def validate(self) -> Evaluation:
        self._maybe_interrupt("validate")
        wrong = 10 - self.qualities[self.number - 1]
        return EVALUATOR([0.0] * wrong + [0.9] * (5 - wrong) + [0.1] * 5)

    def snapshot(self) -> State:
        self._maybe_interrupt("snapshot")
        return {"epoch": torch.tensor(self.number)}

    def state(self) -> State:
        return self.snapshot()

    def load_state(self, state: State) -> None:
        self.number = int(state["epoch"])


def test_the_best_epoch_is_kept_and_the_first_of_equals() -> None:
    progress = Loop(epochs=6, rule=UTILITY).run(Fake([6, 7, 9, 8, 9, 5]))
    assert progress.best_epoch == 3
    assert progress.best == {"epoch": torch.tensor(3)}
    assert progress.epochs == 6
    assert progress.best_score == progress.history[2]["score"] == max(row["score"] for row in progress.history)
    assert not progress.interrupted


def test_the_history_has_losses_metrics_and_score_of_every_epoch() -> None:
    progress = Loop(epochs=2, rule=SelectionRule()).run(Fake([10, 5]))
    first, second = progress.history
    assert [first["epoch"], second["epoch"]] == [1, 2]
    assert first["loss"] == {"discriminator": 0.5, "classifier": 0.25}
    assert (first["val"]["accuracy"], second["val"]["accuracy"]) == (1.0, 0.5)
    assert first["score"] == pytest.approx(3 - first["val"]["statistical_parity_gap"])


def test_undefined_metrics_are_none_in_the_history_and_named_once() -> None:
    class OneGroup(Fake):
        def validate(self) -> Evaluation:
            return Evaluator([0, 1], sensitive=["f", "f"])([0.1, 0.9])

    progress = Loop(epochs=3, rule=SelectionRule()).run(OneGroup([0, 0, 0]))
    assert progress.history[0]["val"]["statistical_parity_gap"] is None
    assert [note.split(":")[0] for note in progress.left_out] == ["statistical_parity_gap", "equal_opportunity_gap"]


@pytest.mark.parametrize(("patience", "epochs"), [(1, 3), (2, 4), (3, 8), (None, 8)])
def test_patience_stops_after_so_many_epochs_without_a_better_one(patience: int | None, epochs: int) -> None:
    fake = Fake([6, 8, 7, 7, 9, 9, 5, 5])
    progress = Loop(epochs=8, rule=UTILITY, patience=patience).run(fake)
    assert (progress.epochs, fake.number) == (epochs, epochs)
    assert progress.best_epoch == (2 if epochs < 5 else 5)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_loss_that_is_not_finite_stops_with_epoch_and_phase(value: float) -> None:
    fake = Fake([5] * 9, losses={4: {"discriminator": 0.1, "generator": value, "classifier": 0.2}})
    with pytest.raises(TrainingError) as caught:
        Loop(epochs=9, rule=UTILITY).run(fake)
    assert str(caught.value) == f"epoch 4, generator phase: the loss is {value}. Try smaller learning rates."
    assert fake.number == 4


@pytest.mark.parametrize("where", ["epoch", "validate", "snapshot"])
def test_ctrl_c_keeps_the_best_so_far(where: str) -> None:
    fake = Fake([6, 8, 7, 9, 9])
    fake.interrupt_in = lambda number: where if number == 4 else None
    progress = Loop(epochs=5, rule=UTILITY).run(fake)
    assert progress.interrupted
    assert (progress.epochs, progress.best_epoch) == (3, 2)
    assert progress.best == {"epoch": torch.tensor(2)}


@pytest.mark.parametrize("where", ["epoch", "validate", "snapshot"])
def test_ctrl_c_before_there_is_anything_to_keep_goes_on_up(where: str) -> None:
    fake = Fake([6, 8])
    fake.interrupt_in = lambda number: where
    with pytest.raises(KeyboardInterrupt):
        Loop(epochs=2, rule=UTILITY).run(fake)


def test_ctrl_c_while_watching_counts_as_after_the_epoch() -> None:
    def stop(progress: Progress) -> None:
        if progress.epochs == 2:
            raise KeyboardInterrupt

    progress = Loop(epochs=5, rule=UTILITY, watch=stop).run(Fake([6, 8, 9, 9, 9]))
    assert (progress.epochs, progress.best_epoch, progress.interrupted) == (2, 2, True)


def test_watch_sees_the_progress_after_every_epoch() -> None:
    seen = []
    Loop(epochs=4, rule=UTILITY, watch=lambda p: seen.append((p.epochs, p.best_epoch))).run(Fake([6, 5, 8, 7]))
    assert seen == [(1, 1), (2, 1), (3, 3), (4, 3)]


def test_a_run_goes_on_from_its_progress() -> None:
    qualities = [6, 9, 7, 8, 9, 10]
    straight = Loop(epochs=6, rule=UTILITY).run(Fake(qualities))
    fake = Fake(qualities)
    halfway = Loop(epochs=3, rule=UTILITY).run(fake)
    assert (halfway.epochs, halfway.best_epoch) == (3, 2)
    resumed = Fake(qualities)
    resumed.load_state(fake.state())
    finished = Loop(epochs=6, rule=UTILITY).run(resumed, halfway)
    assert resumed.number == 6
    assert finished.history == straight.history
    assert (finished.best_epoch, finished.best_score) == (straight.best_epoch, straight.best_score) == (6, 3.0)


def test_an_interrupted_run_that_goes_on_to_its_end_is_no_longer_interrupted() -> None:
    fake = Fake([6, 8, 7, 9])
    fake.interrupt_in = lambda number: "epoch" if number == 3 else None
    stopped = Loop(epochs=4, rule=UTILITY).run(fake)
    fake.number, fake.interrupt_in = stopped.epochs, lambda number: None
    finished = Loop(epochs=4, rule=UTILITY).run(fake, stopped)
    assert (finished.epochs, finished.best_epoch, finished.interrupted) == (4, 4, False)


def test_a_finished_run_has_nothing_left_to_do() -> None:
    for loop in (Loop(epochs=3, rule=UTILITY), Loop(epochs=9, rule=UTILITY, patience=1)):
        progress = loop.run(Fake([8, 8, 8]))
        untouched = Fake([])
        assert loop.run(untouched, progress) is progress
        assert untouched.number == 0
