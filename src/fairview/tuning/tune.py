"""How does a limit become a model? Divide the nodes, try models, test them in order, take the most useful that passed.

1. `hold_out`     certification nodes are drawn at random and hidden from every method
2. `Search`       candidates: Parity's path of penalties, and settings of other methods that optuna's sampler proposes
3. `Candidates`   each model at twenty thresholds, counted once
4. `choose`       the certified choice; or a refusal that says what was nearest
5. write          the chosen model as an ordinary run folder, with its certificate
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Literal

from fairview._version import __version__
from fairview.arguments import require_folder
from fairview.data.few import few_nodes
from fairview.data.graph import NodeGraph
from fairview.data.graph_argument import require_graph
from fairview.data.splits import with_default_split
from fairview.errors import InputError
from fairview.isolation import isolated
from fairview.locks import folder_lock
from fairview.methods.encoder_spec import Encoder, encoder_entry
from fairview.methods.registry import MethodEntry
from fairview.progress import track_live
from fairview.propagation.folder import Propagated
from fairview.propagation.sampling import uniform_sample
from fairview.tuning.decision import by_attribute, decide
from fairview.tuning.folder import begin, check_outputs, check_undecided, write_chosen, write_decision
from fairview.tuning.holdout import check_certifiable, hold_out
from fairview.tuning.limits import names_of_attributes
from fairview.tuning.parity_path import STEPS, parity_path
from fairview.tuning.request import check_graph, checked_request, encoders_for
from fairview.tuning.search import Budget, Search, quiet_optuna
from fairview.tuning.tuning import Tuning
from fairview.workers import end_if_still_starting

DEFAULT_TRIALS = 4
"""Searched models, beside Parity's path, if neither `trials` nor `minutes` is given."""

Notice = Callable[[int, int, str], None]
"""Called with the steps that are done, the steps in all, and what is under way."""


@isolated()
def tune(
    graph: NodeGraph | Propagated,
    *,
    max_gap: float | Mapping[str, float | Mapping[str, float]] | None = None,
    gaps: Sequence[str] | str | None = None,
    confidence: float = 0.95,
    utility: str = "balanced_accuracy",
    methods: Sequence[str | type] | str = ("parity", "vanilla"),
    encoders: Sequence[Encoder] | Encoder | None = None,
    trials: int | None = None,
    minutes: float | None = None,
    workers: int = 1,
    population: Literal["new", "graph"] = "new",
    group_at_prediction: bool = False,
    folder: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    seed: int = 1,
    notice: Notice | None = None,
) -> Tuning:
    """The most useful model whose gap is at most `max_gap`, with a certificate; or a refusal.

    Candidates are fitted on the train split, and ranked on a part of the val split. The rest of it, and half of the
    nodes in no split, certify: no method sees their labels or groups. Nobody looks at the test split before the end.
    Under the conditions of the certificate (see the docs, "The guarantee"), the chance that the returned model's gap
    is above the limit is at most 1 - confidence.

    Args:
        graph: with the splits `train` and `val`; without any, a stratified split is drawn. Of a propagated folder that
            is too large, nodes are drawn uniformly from all.
        max_gap: the largest gap that is accepted, a fraction: 0.05 is 5 points. A mapping has a limit for each gap.
            None chooses no model by a limit: the frontier is shown, and its knee is taken. With several sensitive
            attributes one limit is for the groups of each and for the combinations of their groups; a mapping may
            have limits by attribute instead, `{"race": 0.05, "sex": 0.1}`, where `"race & sex"` stands for the
            combinations, and each may have limits by gap, `{"race": {"equal_opportunity": 0.05}}`.
        gaps: `statistical_parity` (default), `equal_opportunity`, `equalized_odds`; all must keep the limit.
        confidence: of the certificate.
        utility: what is to be large: `balanced_accuracy`, `auc`, `accuracy` or `f1`.
        methods: names, or classes with a `search_space`. `parity` tries its own path of penalties.
        encoders: for methods that have one [default: `gcn`, and `sage` on graphs of up to a million links].
        trials: models of searched methods, in all (Parity's path is not counted) [default: 4].
        minutes: search until they are over, instead of a number of trials.
        workers: processes.
        population: whom the certificate speaks of. `new`: the unseen nodes, and new ones that come like them. `graph`:
            only the unseen nodes of this graph, which needs fewer nodes.
        group_at_prediction: allow methods that need each node's group to predict it.
        folder: to write; None writes nothing.
        resume: go on with an interrupted search in the folder.
        overwrite: replace files of the folder that fairview did not write; never a search or a file that was read.
        seed: of the division of the nodes, the samplers and the models.
        notice: for progress of your own; by default a bar is drawn.

    Raises:
        InputError: the limits, methods or splits are not what they must be; said before any work.

    Example:
        >>> import fairview as fv
        >>> graph = fv.synthetic_graph(2000, seed=1)
        >>> tuning = fv.tune(graph, max_gap=0.15, methods="parity")
        >>> tuning.chosen["method"], tuning.chosen["limits"][0]["p_value"] <= 0.05
        ('parity', True)
        >>> tuning.model.predict_proba(graph).shape
        (2000, 2)
    """
    end_if_still_starting()
    if isinstance(graph, Propagated):
        graph = uniform_sample(graph)
    require_graph(graph, "tune")
    begun = time.perf_counter()
    listed: list[Any] = list(methods) if isinstance(methods, list | tuple | set) else [methods]
    named = encoders_for(encoders, graph)
    limits, entries = checked_request(
        max_gap,
        gaps,
        confidence,
        utility,
        listed,
        named,
        trials,
        minutes,
        workers,
        population,
        group_at_prediction,
        seed,
        names_of_attributes(graph),
    )
    graph, split_notes = with_default_split(graph)
    check_graph(graph, population, limits)
    holdout = hold_out(graph, seed=seed)
    check_certifiable(holdout, limits, level=1 - confidence, population=population)
    asked = {
        "limits": [limit.to_dict() for limit in limits if limit.limit is not None],
        **by_attribute(limits),
        "gaps": list(dict.fromkeys(limit.gap for limit in limits)),
        "confidence": confidence,
        "utility": utility,
        "methods": [entry.name for entry in entries],
        "encoders": [encoder_entry(encoder).name for encoder in named],
        "population": population,
        "seed": seed,
    }
    out = None if folder is None else require_folder(folder)
    budget = _budget(trials, minutes, workers)
    with nullcontext() if out is None else folder_lock(out):
        if out is not None:
            check_outputs(out, inputs=graph.provenance.paths, overwrite=overwrite)
            begin(out, asked | {"graph_sha256": graph.sha256, "fairview": __version__}, resume=resume)
            check_undecided(out, trials, minutes)
        with track_live(f"Tuning on {graph.provenance.source}") as update, quiet_optuna():
            search = Search(holdout, limits, utility=utility, folder=out, seed=seed, workers=workers)
            _search(search, entries, named, budget, notice or update)
            fitted = time.perf_counter()
            if not search.trials:
                reasons = "; ".join(dict.fromkeys(failure.reason for failure in search.failures))
                raise InputError(f"tune: none of {len(search.failures)} models could be fitted: {reasons}")
            (notice or update)(1, 1, "certifying")
            result = decide(search.trials, limits, asked, holdout)
        document = result.document
        document["budget"] = {"trials": trials, "minutes": minutes}
        document["notes"] = [*split_notes, *few_nodes(graph), *document["notes"], *_failures(search)]
        document["seconds"] = {"fit": fitted - begun, "certify": time.perf_counter() - fitted}
        if out is not None:
            document["run"] = str(out / "run") if result.chosen_model is not None else None
            check_outputs(out, inputs=graph.provenance.paths, overwrite=overwrite)
            write_chosen(result, out, graph, overwrite=overwrite)
        document["seconds"]["total"] = time.perf_counter() - begun
        if out is not None:
            write_decision(out, document)
    return result


def _budget(trials: int | None, minutes: float | None, workers: int) -> Budget:
    if minutes is not None:
        return Budget(None, time.monotonic() + 60 * minutes, at_once=workers)
    return Budget(DEFAULT_TRIALS if trials is None else trials)


def _search(
    search: Search, entries: Sequence[MethodEntry], encoders: Sequence[Encoder], budget: Budget, notice: Notice
) -> None:
    searched = [entry for entry in entries if entry.name != "parity"]
    with_path = len(searched) < len(entries)
    total = STEPS * with_path + (budget.trials or 0) * bool(searched)
    done = 0

    def advance(steps: int) -> None:
        nonlocal done
        done += steps
        notice(done, max(total, done), f"{len(search.trials)} models")

    if with_path:
        for trial in parity_path(search.holdout, search.limits, seed=search.seed, advance=advance):
            search.add(trial)
    search.run(searched, encoders, budget, advance)


def _failures(search: Search) -> list[str]:
    if not search.failures:
        return []
    reasons = dict.fromkeys(f"{failure.method}: {failure.reason}" for failure in search.failures)
    return [f"{len(search.failures)} models could not be fitted ({'; '.join(list(reasons)[:3])})."]
