"""Which settings are tried? Those that optuna's sampler proposes from a method's search space, in generations.

Each method has a study of its own, with two objectives: utility and gap on the tuning nodes. A generation is proposed
at once, and its results are told in the order of the proposals. So the same seed tries the same settings, whatever the
number of processes, and a search that was stopped is replayed: what is on disk is loaded in place of being fitted.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import optuna

from fairview.data.graph import NodeGraph
from fairview.errors import FairviewError, in_one_line
from fairview.methods.encoder_spec import Encoder, encoder_entry, unfitted
from fairview.methods.registry import METHODS, MethodEntry
from fairview.tuning.choice import Candidates
from fairview.tuning.holdout import Holdout
from fairview.tuning.limits import Limit, limited_attributes
from fairview.tuning.trials import Failure, Trial, fit_trial, load_trial, save_trial
from fairview.workers import Death, spread

GENERATION = 10
"""Trials of a method between two looks at the results; optuna's sampler draws the first ten at random, too."""

PATIENCE = 5
"""Rounds in a row that propose nothing new, after which the search ends."""


@dataclass(frozen=True)
class Budget:
    """How much is tried.

    Attributes:
        trials: in all; None tries until the time is over.
        deadline: `time.monotonic()` after which no generation begins; None is no limit.
        at_once: trials between two looks at the clock.
    """

    trials: int | None
    deadline: float | None = None
    at_once: int = GENERATION

    def left(self, done: int) -> int:
        """How many more trials there may be."""
        if self.deadline is not None and monotonic() >= self.deadline:
            return 0
        return self.at_once if self.trials is None else self.trials - done


@dataclass(frozen=True)
class Task:
    """One fit, as a worker is told of it."""

    number: int
    entry: MethodEntry
    settings: Mapping[str, Any]
    encoder: Encoder | None
    seed: int
    folder: Path | None


class Search:
    """A study for each method, in one journal that optuna-dashboard opens.

    Args:
        holdout: the division of the nodes.
        limits: whose gaps count.
        utility: what is to be large.
        folder: where trials and journal are kept; None keeps them in memory.
        seed: of the samplers and of the models.
        workers: processes.
    """

    def __init__(
        self, holdout: Holdout, limits: Sequence[Limit], *, utility: str, folder: Path | None, seed: int, workers: int
    ) -> None:
        self.holdout, self.limits, self.utility = holdout, tuple(limits), utility
        self.folder, self.seed, self.workers = folder, seed, workers
        self.trials: list[Trial] = []
        self.failures: list[Failure] = []
        self._storage = self._journal()
        self._studies: dict[str, optuna.Study] = {}
        self._tried: dict[str, dict[str, Trial | Failure]] = {}

    def _journal(self) -> optuna.storages.BaseStorage:
        if self.folder is None:
            return optuna.storages.InMemoryStorage()
        path = self.folder / "journal.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)  # written anew, from what is on disk and what is fitted
        return optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(path)))

    def study(self, method: str) -> optuna.Study:
        """The study of a method."""
        if method not in self._studies:
            self._studies[method] = optuna.create_study(
                study_name=method,
                storage=self._storage,
                sampler=optuna.samplers.TPESampler(seed=self.seed),
                directions=["maximize", "minimize"],
            )
            with _experimental():
                self._studies[method].set_metric_names([self.utility, "gap"])
        return self._studies[method]

    def add(self, trial: Trial) -> None:
        """Take a trial of a path: kept on disk, and told to the study of its method."""
        params = {name: value for name, value in trial.settings.items() if not isinstance(value, list)}
        choices = {name: optuna.distributions.CategoricalDistribution([value]) for name, value in params.items()}
        frozen = optuna.trial.create_trial(params=params, distributions=choices, values=self.objectives(trial))
        self.study(trial.method).add_trial(frozen)
        self._keep(trial)

    def run(
        self,
        entries: Sequence[MethodEntry],
        encoders: Sequence[Encoder],
        budget: Budget,
        advance: Callable[[int], None],
    ) -> None:
        """Try settings of each method in turn, until the budget is spent or nothing new is proposed."""
        done = idle = 0
        while idle < PATIENCE and (left := budget.left(done)) > 0:
            entries, before = [entry for entry in entries if self._has_more(entry, encoders)], done
            for place, entry in enumerate(entries):
                share = -(-left // (len(entries) - place))  # what is left, divided among the methods that are left
                size = min(share, GENERATION, left)
                if size > 0:
                    new = self._generation(entry, encoders, size, advance)
                    done, left = done + new, left - new
            idle = 0 if done > before else idle + 1

    def _generation(
        self, entry: MethodEntry, encoders: Sequence[Encoder], size: int, advance: Callable[[int], None]
    ) -> int:
        """Propose so many settings, and fit those that are new; returns how many were."""
        study, space = self.study(entry.name), search_space(entry, encoders)
        proposed = [study.ask() for _ in range(size)]
        keys: list[str] = []
        tasks: dict[str, Task] = {}  # what was tried before is told again, and not fitted again
        tried = self._tried.setdefault(entry.name, {})
        for trial in proposed:
            proposal = {name: trial.suggest_categorical(name, values) for name, values in space.items()}
            settings = aimed_at(self.limits, entry, proposal, self.holdout.graph)
            keys.append(repr(settings))
            if keys[-1] in tried or keys[-1] in tasks:
                continue
            number = len(self.trials) + len(self.failures) + len(tasks)
            encoder = settings.pop("encoder", encoders[0] if entry.uses("encoder", settings) else None)
            tasks[keys[-1]] = Task(number, entry, settings, self._encoder(encoder, encoders), self.seed, self.folder)
        for key, outcome in zip(tasks, self._fitted(list(tasks.values()), advance), strict=True):
            tried[key] = outcome
            if isinstance(outcome, Failure):
                self.failures.append(outcome)
            else:
                self.trials.append(outcome)
        for trial, key in zip(proposed, keys, strict=True):
            found = tried[key]
            if isinstance(found, Failure):
                trial.set_user_attr("reason", found.reason)
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
            else:
                study.tell(trial, self.objectives(found))
        return len(tasks)

    def _has_more(self, entry: MethodEntry, encoders: Sequence[Encoder]) -> bool:
        """Whether some of a method's settings were not tried yet."""
        settings = math.prod(len(values) for values in search_space(entry, encoders).values())
        return len(self._tried.get(entry.name, {})) < settings

    def _encoder(self, name: Any, encoders: Sequence[Encoder]) -> Encoder | None:
        return next((each for each in encoders if encoder_entry(each).name == name), name)

    def _fitted(self, tasks: Sequence[Task], advance: Callable[[int], None]) -> list[Trial | Failure]:
        """In the order of the tasks."""
        outcomes: dict[int, Trial | Failure] = {}
        if self.workers == 1 or len(tasks) == 1 or not all(task.entry.importable for task in tasks):
            for task in tasks:
                outcomes[task.number] = fit_task(task, self.holdout)
                advance(1)
            return [outcomes[task.number] for task in tasks]
        answers = spread(tasks, fit_task, key=lambda _: "graph", shared=lambda _: self.holdout, workers=self.workers)
        with closing(answers):
            for task, answer in answers:
                dead = isinstance(answer, Death)
                outcomes[task.number] = Failure(task.entry.name, dict(task.settings), answer.reason) if dead else answer
                advance(1)
        return [outcomes[task.number] for task in tasks]

    def objectives(self, trial: Trial) -> tuple[float, float]:
        """The largest utility of all thresholds on the tuning nodes, and the largest gap that goes with it."""
        candidates = Candidates(
            [trial.scored(self.holdout)], self.holdout, utility=self.utility, limits=self.limits, population="new"
        )
        utility = candidates.tuning_utility
        best = int(np.nanargmax(utility)) if not np.isnan(utility).all() else 0
        rates = [candidates.expected_rates[condition][best] for condition in candidates.conditions]
        gap = max((float(np.nanmax(each) - np.nanmin(each)) for each in rates if not np.isnan(each).all()), default=1.0)
        return float(np.nan_to_num(utility[best])), gap

    def _keep(self, trial: Trial) -> None:
        if self.folder is not None:
            save_trial(trial, trial_folder(self.folder, len(self.trials) + len(self.failures)))
        self.trials.append(trial)


def fit_task(task: Task, holdout: Holdout) -> Trial | Failure:
    """Fit, or load what an earlier, interrupted search left behind; a method that fails is no reason to stop."""
    method, folder = task.entry.name, task.folder
    settings = dict(task.settings)
    if task.encoder is not None:
        settings = {"encoder": encoder_entry(task.encoder).name} | settings
    if folder is not None:
        earlier = load_trial(trial_folder(folder, task.number), method, settings, holdout)
        if earlier is not None:
            return earlier
    try:
        model: Any = unfitted(
            task.entry.method, dict(task.settings), encoder=task.encoder, seed=task.seed, graph=holdout.design
        )
        trial = fit_trial(model, method, settings, holdout)
    except FairviewError as error:
        return Failure.of(error, method, settings)
    except Exception as error:
        if method in METHODS:
            raise
        return Failure(method, settings, f"it raised {type(error).__name__}: {in_one_line(error)}")
    if folder is not None:
        save_trial(trial, trial_folder(folder, task.number))
    return trial


def search_space(entry: MethodEntry, encoders: Sequence[Encoder]) -> dict[str, list[Any]]:
    """The values of each parameter; the encoder is one of them where there are several."""
    space = {name: list(values) for name, values in entry.search_space.items()}
    if entry.uses("encoder", {}) and len(encoders) > 1:
        space["encoder"] = [encoder_entry(encoder).name for encoder in encoders]
    return space


def aimed_at(
    limits: Sequence[Limit], entry: MethodEntry, proposal: Mapping[str, Any], graph: NodeGraph
) -> dict[str, Any]:
    """The settings that hold down the gaps that have a limit.

    Search spaces speak of statistical parity: its weight becomes that of each gap, between the groups of the attributes
    that have a limit, and a method that works on one gap at a time (`gap`, `constraint`) is told the first.
    """
    settings, gaps = dict(proposal), [limit.gap for limit in limits]
    limited = limited_attributes(limits, graph)
    if limited is not None and "penalise" in entry.parameters and "statistical_parity_weight" in settings:
        settings["penalise"] = limited
    if "statistical_parity_weight" in settings:
        weight = settings.pop("statistical_parity_weight")
        settings |= {f"{gap}_weight": weight for gap in gaps}
    for name in ("gap", "constraint"):
        if name in entry.parameters and name not in settings:
            settings[name] = gaps[0]
    return settings


def trial_folder(folder: Path, number: int) -> Path:
    """Where a trial is kept."""
    return folder / "trials" / f"{number:04d}"


@contextmanager
def _experimental() -> Iterator[None]:
    """Names of objectives are new in optuna; a warning of that is not for our users."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        yield


@contextmanager
def quiet_optuna() -> Iterator[None]:
    """Optuna tells of each trial on stderr; here that is the progress bar's task. The caller's level comes back."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)
