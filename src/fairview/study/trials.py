"""What is one cell of a comparison, and how are many of them run so that a kill costs minutes, not the study?

A trial is a method with its settings, a seed and a split. Its result depends on these, the data and the study's seed
alone: every trial has one thread, whatever the machine, because sums are rounded otherwise with another thread count.
"""

from __future__ import annotations

import hashlib
import json
import time
import traceback
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator
from threadpoolctl import threadpool_limits

from fairview.data.datasets.registry import DATASETS
from fairview.data.graph import NodeGraph
from fairview.data.splits import stratified_splits
from fairview.errors import FairviewError, InputError
from fairview.log import warn
from fairview.machine import available_cores, peak_memory_mb, reset_peak_memory
from fairview.methods.contract import Method
from fairview.methods.encoder_spec import unfitted
from fairview.methods.evaluate import evaluate
from fairview.methods.registry import METHODS, resolve_method
from fairview.methods.settings import settings_model
from fairview.metrics.registry import METRICS
from fairview.study.journal import Journal
from fairview.training.machine import torch_threads
from fairview.workers import Death, spread

THREADS = 1
"""Of every trial. The thread count is part of the bits, so it is fixed rather than chosen by the machine's load."""


@dataclass(frozen=True)
class Trial:
    """A method on a split of a dataset, with a seed.

    Attributes:
        dataset: name of a known dataset, or a word for own data.
        method: a name of `METHODS`, or `module:Class`.
        encoder: for methods that have one: a built-in name, or that of an encoder of your own.
        settings: further parameters of the method, plain values; not `encoder`, `seed` or `threads`.
        seed: the method's own `seed`, as in `fairview train`; without effect on a method that has none.
        split: 0 is the graph's own split; i = 1, 2, ... is repeat i of `stratified_splits` with the study's seed (and
            as many training labels as published, for known datasets).
        variant: a free label, such as "w/o fm".

    Example:
        >>> Trial("german", "vanilla", "gcn", {"epochs": 50}, seed=1, split=0).id
        'german vanilla gcn split-00 seed-01 858f530f'
    """

    dataset: str
    method: str
    encoder: str | None
    settings: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 1
    split: int = 0
    variant: str = ""

    def __post_init__(self) -> None:
        plain = {name: tuple(v) if isinstance(v, list) else v for name, v in sorted(self.settings.items())}
        object.__setattr__(self, "settings", MappingProxyType(plain))
        try:
            self.to_json()
        except (TypeError, ValueError):
            raise InputError(
                f"trial of '{self.method}': its settings {plain!r} are not plain values. Use texts, numbers, True, "
                "False, None, and lists of them."
            ) from None

    def __reduce__(self) -> tuple[Any, ...]:  # a read-only mapping can't be pickled
        return Trial, (*self.to_dict().values(),)

    def __hash__(self) -> int:
        return hash(self.id)

    def to_dict(self) -> dict[str, Any]:
        return vars(self) | {"settings": dict(self.settings)}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), sort_keys=True, allow_nan=False)

    @property
    def id(self) -> str:
        """A name to read, and a hash of everything."""
        words = [self.dataset, self.method, self.encoder or "-", self.variant]
        words += [f"split-{self.split:02d}", f"seed-{self.seed:02d}"]
        return " ".join([word for word in words if word] + [hashlib.sha256(self.to_json().encode()).hexdigest()[:8]])

    def model(self, graph: NodeGraph | None = None) -> Method:
        """The unfitted method, with one thread; wrong settings are found here.

        Args:
            graph: to be fitted to; an encoder of your own is built for its number of channels.
        """
        kind = resolve_method(self.method).method
        fixed = {"threads": THREADS, "device": "cpu"}
        settings = {name: value for name, value in fixed.items() if name in settings_model(kind).model_fields}
        return unfitted(kind, {**self.settings, **settings}, encoder=self.encoder, seed=self.seed, graph=graph)

    def on(self, graph: NodeGraph, *, study_seed: int = 0) -> NodeGraph:
        """The dataset's graph with this trial's split."""
        if self.split == 0:
            return graph
        known = DATASETS.get(graph.provenance.source)
        labels = None if known is None else known.train_labels
        return graph.with_splits(stratified_splits(graph, repeats=self.split, seed=study_seed, train_labels=labels)[-1])


class Timing(BaseModel):
    """What a trial cost; differs from run to run, so it is kept apart from the result."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    seconds: float
    peak_memory_mb: float


class Result(BaseModel):
    """What came of a trial.

    Attributes:
        trial: its id.
        metrics: of `val` and `test`, as `Evaluation.to_dict()` gives them; none if it failed.
        best_epoch: the epoch that was kept, for methods that have epochs.
        notes: what the selection left out, and why; and what the method has to say.
        failed: why there are no metrics.
        timing: seconds and peak memory.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    trial: str
    metrics: dict[str, dict[str, Any]] = {}
    best_epoch: int | None = None
    notes: tuple[str, ...] = ()
    failed: str | None = None
    timing: Timing

    @field_validator("metrics")
    @classmethod
    def _numbers(cls, metrics: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        for split, values in metrics.items():
            reasons = values.get("undefined")
            if split not in ("val", "test") or not isinstance(reasons, dict):
                raise ValueError(f"metrics of '{split}' are not what an evaluation gives")
            for name in METRICS:
                value, reason = values.get(name), reasons.get(name)
                if not isinstance(value, float) and not (value is None and isinstance(reason, str)):
                    raise ValueError(f"{name} is neither a number nor undefined")
        return metrics


GraphOf = Callable[[str], NodeGraph] | Mapping[str, NodeGraph]
TrialNotice = Callable[[Result | None, int, int], None]
"""Called with a new result, how many trials are done and how many there are; first with None."""


def run_trial(trial: Trial, graph: NodeGraph, *, study_seed: int = 0) -> Result:
    """Fit and evaluate on val and test. Data or settings that the method can't take make a failed result.

    Args:
        trial: what to run.
        graph: the dataset; the trial's split is put on it here.
        study_seed: of the splits 1, 2, ...
    """
    start = time.perf_counter()
    reset_peak_memory()
    outcome: dict[str, Any]
    with one_thread():
        try:
            outcome = _fitted_and_evaluated(trial, trial.on(graph, study_seed=study_seed))
        except FairviewError as error:
            outcome = {"failed": str(error)}
        except Exception as error:
            if trial.method in METHODS:
                raise
            place = traceback.extract_tb(error.__traceback__)[-1]
            raise FairviewError(
                f"{trial.method}: it raised {type(error).__name__}: {error} ({place.filename}, line {place.lineno}). "
                "Finished trials are kept; after a change of its code use another folder."
            ) from error
    timing = Timing(seconds=time.perf_counter() - start, peak_memory_mb=peak_memory_mb())
    return Result(trial=trial.id, timing=timing, **outcome)


def _fitted_and_evaluated(trial: Trial, graph: NodeGraph) -> dict[str, Any]:
    model = trial.model(graph)
    model.fit(graph)  # what it returns is not looked at: a method of your own may return nothing
    if getattr(model, "interrupted_", False):  # Ctrl-C keeps the best epoch so far; a trial must be whole
        raise KeyboardInterrupt
    return {
        "metrics": {
            name: evaluate(model, graph, split=name).to_dict() for name in ("val", "test") if name in graph.splits
        },
        "best_epoch": getattr(model, "best_epoch_", None),
        "notes": (*getattr(model, "selection_notes_", ()), *getattr(model, "notes_", ())),
    }


def run_trials(
    trials: Sequence[Trial],
    graph_of: GraphOf,
    folder: str | Path,
    *,
    study_seed: int = 0,
    workers: int | None = None,
    notice: TrialNotice | None = None,
) -> list[Result]:
    """Run what the folder's journal does not hold yet, several at a time, and write each result down at once.

    Args:
        trials: the whole study, in any order.
        graph_of: the graph of a dataset; asked once per dataset.
        folder: of the study; made if need be. Its `journal.jsonl` is what a resumed study starts from.
        study_seed: of the splits 1, 2, ...
        workers: processes; by default as many as there are cores. 1 works in this process.
        notice: for progress.

    Returns:
        One result per trial, in their order; failed ones among them.

    Raises:
        InputError: the journal is damaged, or of other data, another study seed or other versions.
        FairviewError: a process died, for lack of memory or by a signal. The other trials were run and are kept.
        KeyboardInterrupt: after Ctrl-C; finished trials are kept.
    """
    named = {trial.id: trial for trial in trials}
    with Journal.open(Path(folder) / "journal.jsonl", identity={"study_seed": study_seed}) as journal:
        graphs = _Graphs(graph_of)
        done = _results(journal, named, graphs)
        if notice is not None:
            notice(None, len(done), len(named))
        pending = sorted((t for name, t in named.items() if name not in done), key=lambda trial: trial.dataset)
        deaths: dict[str, str] = {}
        with closing(_outcomes(pending, graphs, study_seed, workers)) as outcomes:
            for trial, outcome in outcomes:
                if isinstance(outcome, Death):
                    deaths[trial.id] = outcome.reason
                    continue
                line = {"data": graphs.sha256(trial.dataset), "of": trial.to_dict()}
                journal.append(line | {"result": outcome.model_dump(mode="json")})
                done[trial.id] = outcome
                if outcome.failed is not None:
                    warn(f"{trial.id}: {outcome.failed}")
                if notice is not None:
                    notice(outcome, len(done), len(named))
    if deaths:
        listed = "".join(f"\n  - {name}: {reason}" for name, reason in deaths.items())
        raise FairviewError(
            f"{len(deaths)} of {len(named)} trials ended without a result; the others are kept.{listed}\n"
            "Run the same again to try these once more; with fewer workers each has more memory."
        )
    return [done[trial.id] for trial in trials]


def finished_trials(
    trials: Sequence[Trial], graph_of: GraphOf, folder: str | Path, *, study_seed: int = 0
) -> dict[str, Result]:
    """What the folder's journal holds of these trials, by id; nothing is run."""
    named = {trial.id: trial for trial in trials}
    journal = Journal.read(Path(folder) / "journal.jsonl", identity={"study_seed": study_seed})
    return _results(journal, named, _Graphs(graph_of))


# --- parts ------------------------------------------------------------------------------------------------------------


class _Graphs:
    """The graph of the dataset at hand; one at a time is kept, because trials are sorted by dataset."""

    def __init__(self, graph_of: GraphOf) -> None:
        self.get = lru_cache(maxsize=1)(graph_of.__getitem__ if isinstance(graph_of, Mapping) else graph_of)
        self.sha256 = cache(lambda dataset: self.get(dataset).sha256)


def _outcomes(
    trials: Sequence[Trial], graphs: _Graphs, study_seed: int, workers: int | None
) -> Generator[tuple[Trial, Any], None, None]:
    count = min(available_cores() if workers is None else workers, len(trials))
    if count <= 1:
        for trial in trials:
            yield trial, run_trial(trial, graphs.get(trial.dataset), study_seed=study_seed)
        return
    work = partial(run_trial, study_seed=study_seed)
    with closing(spread(trials, work, key=lambda trial: trial.dataset, shared=graphs.get, workers=count)) as outcomes:
        yield from outcomes


def _results(journal: Journal, named: Mapping[str, Trial], graphs: _Graphs) -> dict[str, Result]:
    """The results that the journal holds of these trials, after a check that they are of the same data."""
    results: dict[str, Result] = {}
    for number, entry in journal.entries:
        place = f"{journal.path}: line {number}"
        try:
            result = Result.model_validate(entry.get("result"))
        except ValidationError:
            raise InputError(f"{place} is not a trial's result. Use another folder.") from None
        if result.trial not in named:
            continue
        if result.trial in results:
            raise InputError(f"{place} repeats the trial '{result.trial}'. Use another folder.")
        dataset = named[result.trial].dataset
        if entry.get("data") != graphs.sha256(dataset):
            raise InputError(
                f"{place} was computed on other data than '{dataset}' is now (sha256 {str(entry.get('data'))[:12]}, "
                f"now {graphs.sha256(dataset)[:12]}). Use another folder."
            )
        results[result.trial] = result
    return results


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread for torch, BLAS and OpenMP inside, as before outside."""
    with torch_threads(THREADS), threadpool_limits(THREADS):
        yield
