"""How does a limit become a model? Divide the nodes, try models, test them in order, take the most useful that passed.

1. `hold_out`     certification nodes are drawn at random and hidden from every method
2. `Search`       candidates: Parity's path of penalties, and settings of other methods that optuna's sampler proposes
3. `Candidates`   each model at twenty thresholds, counted once
4. `choose`       the certified choice; or a refusal that says what was nearest
5. write          the chosen model as an ordinary run folder, with its certificate
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fairview._version import __version__
from fairview.atomic import write_json
from fairview.data.graph import NodeGraph
from fairview.data.splits import with_default_split
from fairview.data.summary import describe_graph
from fairview.errors import InputError, Problems, option
from fairview.groups import UNKNOWN
from fairview.methods.constant import Constant
from fairview.methods.contract import check_trainable
from fairview.methods.encoder_spec import Encoder, encoder_entry
from fairview.methods.estimator import Estimator
from fairview.methods.evaluate import evaluate
from fairview.methods.model_files import model_content
from fairview.methods.registry import MethodEntry, resolve_method
from fairview.metrics.evaluation import Evaluation
from fairview.metrics.registry import METRICS
from fairview.progress import track_live
from fairview.runs.run import write_run
from fairview.tuning.candidate_rows import candidate_rows, most_useful, worst_gap
from fairview.tuning.certificate import NAME, certificate, conditions
from fairview.tuning.choice import Candidates, Choice, as_json, knee
from fairview.tuning.holdout import Holdout, check_certifiable, hold_out
from fairview.tuning.limits import Limit, check_confidence, check_utility, read_limits
from fairview.tuning.parity_path import STEPS, parity_path
from fairview.tuning.search import Budget, Search, quiet_optuna
from fairview.tuning.trials import Trial
from fairview.tuning.tuning import Tuning
from fairview.workers import end_if_still_starting

VERSION = 1

DEFAULT_TRIALS = 4
"""Searched models, beside Parity's path, if neither `trials` nor `minutes` is given."""

_MANY_LINKS = 1_000_000
"""Beyond them SAGE, which passes messages in every epoch, takes minutes a model."""

OTHER_LIMITS = tuple(step / 200 for step in range(1, 61))
"""0.5 to 30 points: the limits for which the report shows what the rule would take."""

Notice = Callable[[int, int, str], None]
"""Called with the steps that are done, the steps in all, and what is under way."""


def tune(
    graph: NodeGraph,
    *,
    max_gap: float | Mapping[str, float] | None = None,
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
    seed: int = 1,
    notice: Notice | None = None,
) -> Tuning:
    """The most useful model whose gap is at most `max_gap`, with a certificate; or a refusal.

    Candidates are fitted on the train split, and ranked on a part of the val split. The rest of it, and half of the
    nodes in no split, certify: no method sees their labels or groups. Nobody looks at the test split before the end.
    Under the conditions of the certificate (see the docs, "The guarantee"), the chance that the returned model's gap
    is above the limit is at most 1 - confidence.

    Args:
        graph: with the splits `train` and `val`; without any, a stratified split is drawn.
        max_gap: the largest gap that is accepted, a fraction: 0.05 is 5 points. A mapping has a limit for each gap.
            None chooses no model by a limit: the frontier is shown, and its knee is taken.
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
    begun = time.perf_counter()
    methods = [methods] if isinstance(methods, str | type) else list(methods)
    named = _encoders(encoders, graph)
    limits, entries = _checked(
        max_gap,
        gaps,
        confidence,
        utility,
        methods,
        named,
        trials,
        minutes,
        workers,
        population,
        group_at_prediction,
        seed,
    )
    graph, split_notes = with_default_split(graph)
    _check_graph(graph)
    holdout = hold_out(graph, seed=seed)
    check_certifiable(holdout, limits)
    asked = {
        "limits": [{"gap": limit.gap, "limit": limit.limit} for limit in limits if limit.limit is not None],
        "gaps": [limit.gap for limit in limits],
        "confidence": confidence,
        "utility": utility,
        "methods": [entry.name for entry in entries],
        "encoders": [encoder_entry(encoder).name for encoder in named],
        "population": population,
        "seed": seed,
    }
    out = None if folder is None else Path(folder)
    if out is not None:
        _begin(out, asked | {"graph_sha256": graph.sha256, "fairview": __version__}, resume=resume)
        _check_undecided(out, trials, minutes)
    budget = _budget(trials, minutes, workers)
    with track_live(f"Tuning on {graph.provenance.source}") as update, quiet_optuna():
        search = Search(holdout, limits, utility=utility, folder=out, seed=seed, workers=workers)
        _search(search, entries, named, budget, notice or update)
        fitted = time.perf_counter()
        if not search.trials:
            reasons = "; ".join(dict.fromkeys(failure.reason for failure in search.failures))
            raise InputError(f"tune: none of {len(search.failures)} models could be fitted: {reasons}")
        (notice or update)(1, 1, "certifying")
        result = _decide(search, limits, asked, holdout)
    document = result.document
    if out is not None:
        document["run"] = str(out / "run") if result.chosen_model is not None else None
    document["budget"] = {"trials": trials, "minutes": minutes}
    document["notes"] = [*split_notes, *document["notes"], *_failures(search)]
    document["seconds"] = {"fit": fitted - begun, "certify": time.perf_counter() - fitted}
    if out is not None:
        _write(result, out, graph)
    document["seconds"]["total"] = time.perf_counter() - begun
    if out is not None:
        write_json(out / "tune.json", document)
    return result


# --- before the work --------------------------------------------------------------------------------------------------


def _checked(
    max_gap: Any,
    gaps: Any,
    confidence: float,
    utility: str,
    methods: Sequence[Any],
    encoders: Sequence[Encoder],
    trials: Any,
    minutes: float | None,
    workers: int,
    population: str,
    group_at_prediction: bool,
    seed: Any,
) -> tuple[tuple[Limit, ...], list[MethodEntry]]:
    """Every problem of the request at once."""
    problems = Problems()
    limits: tuple[Limit, ...] = ()
    with problems.collecting():
        limits = read_limits(max_gap, gaps)
    with problems.collecting():
        check_confidence(confidence)
    with problems.collecting():
        check_utility(utility)
    if population not in ("new", "graph"):
        problems.add(f"{option('population')}: '{population}'; expected 'new' or 'graph'.")
    if trials is not None and minutes is not None:
        problems.add(f"give {option('trials')} or {option('minutes')}, not both.")
    if trials is not None and (not isinstance(trials, int) or trials < 0):
        problems.add(f"{option('trials')}: {trials}; expected a whole number, 0 or more.")
    if not isinstance(seed, int | np.integer) or seed < 0:
        problems.add(f"{option('seed')}: {seed!r}; expected a whole number, at least 0.")
    if minutes is not None and not minutes > 0:
        problems.add(f"{option('minutes')}: {minutes:g}; expected more than 0.")
    if workers < 1:
        problems.add(f"{option('workers')}: {workers}; expected at least 1.")
    if not methods:
        problems.add(f"{option('methods')}: none are named; expected at least one, such as 'parity'.")
    for encoder in encoders:
        with problems.collecting():
            encoder_entry(encoder)
    entries: list[MethodEntry] = []
    for method in methods:
        with problems.collecting():
            entry = resolve_method(method)
            entries.append(entry)
            _check_method(entry, group_at_prediction)
    if trials == 0 and entries and all(entry.name != "parity" for entry in entries):
        problems.add(f"{option('trials')}: 0; without the method 'parity' there is nothing to try.")
    problems.raise_if_any()
    return limits, list({entry.name: entry for entry in entries}.values())


def _encoders(encoders: Any, graph: NodeGraph) -> list[Encoder]:
    if encoders is None:
        return ["gcn", "sage"] if graph.num_edges <= _MANY_LINKS else ["gcn"]
    return list(encoders) if isinstance(encoders, list | tuple) else [encoders]


def _check_method(entry: MethodEntry, group_at_prediction: bool) -> None:
    if entry.group_at_prediction and not group_at_prediction:
        raise InputError(
            f"{option('methods')}: {entry.words} needs each node's group at prediction, which is often not allowed. "
            f"If it is, say so: {option('group_at_prediction', True)}."
        )
    if entry.name != "parity" and not entry.search_space:
        raise InputError(
            f"{option('methods')}: {entry.words} declares no search_space, so that there is nothing to try. Give its "
            "class one, a dictionary from parameters to values, or leave it out."
        )
    if getattr(entry.method, "tensors", Estimator.tensors) is Estimator.tensors:
        raise InputError(
            f"{option('methods')}: {entry.words} can't be saved, and a certificate is for a saved model. Derive it "
            "from fairview.Estimator, and add tensors() and restore(tensors, facts)."
        )


def _check_graph(graph: NodeGraph) -> None:
    """A split that chooses and certifies, and groups that are known for most of it."""
    check_trainable(graph)
    val = graph.split("val") & graph.labelled
    known = int((graph.sensitive[val] != UNKNOWN).sum())
    if 2 * known < int(val.sum()):
        raise InputError(
            f"tune: the group is known for {known:,} of {int(val.sum()):,} val nodes; a certificate would speak for "
            "those only, who may differ from the rest. Fill in more groups, or leave the other nodes out."
        )


def _begin(folder: Path, study: dict[str, Any], *, resume: bool) -> None:
    """A fresh folder, or one that was begun with the same request."""
    path = folder / "study.json"
    if not path.exists():
        if (folder / "run.json").exists() or (folder / "tune.json").exists():
            raise InputError(f"{folder}: holds something else already. Use another {option('folder')}.")
        write_json(path, {"kind": "tuning study", "version": VERSION} | study)
        return
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        different = sorted(name for name, value in study.items() if known.get(name) != value)
    except (OSError, ValueError, AttributeError, RecursionError):
        raise InputError(f"{path}: can't be read. Use another {option('folder')}, or remove this one.") from None
    if different:
        raise InputError(
            f"{folder}: holds a search with other {', '.join(different)}. Use another {option('folder')}; a second "
            "look at the same certification nodes under another limit is not covered by a certificate."
        )
    if not resume:
        raise InputError(
            f"{folder}: holds this search already. Go on with {option('resume', True)}, or use another "
            f"{option('folder')}."
        )


def _check_undecided(folder: Path, trials: int | None, minutes: float | None) -> None:
    """More models after a decision would be a second look at the same certification nodes."""
    try:
        before = json.loads((folder / "tune.json").read_text(encoding="utf-8"))["budget"]
    except FileNotFoundError:
        return
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise InputError(f"{folder / 'tune.json'}: can't be read. Use another {option('folder')}.") from None
    if minutes is not None or before != {"trials": trials, "minutes": minutes}:
        raise InputError(
            f"{folder}: holds a decision already. To try more models would be a second look at the same certification "
            f"nodes, which is not covered by a certificate. Use another {option('folder')} and another "
            f"{option('seed')}."
        )


def _budget(trials: int | None, minutes: float | None, workers: int) -> Budget:
    if minutes is not None:
        return Budget(None, time.monotonic() + 60 * minutes, at_once=workers)
    return Budget(DEFAULT_TRIALS if trials is None else trials)


# --- the search -------------------------------------------------------------------------------------------------------


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


# --- the decision -----------------------------------------------------------------------------------------------------


def _decide(search: Search, limits: tuple[Limit, ...], asked: Mapping[str, Any], holdout: Holdout) -> Tuning:
    """Everything that is known once the models are fitted."""
    trials, graph = search.trials, holdout.graph
    utility, confidence, population = asked["utility"], asked["confidence"], asked["population"]
    candidates = Candidates(
        [trial.scored(holdout) for trial in trials], holdout, utility=utility, limits=limits, population=population
    )
    bounded = tuple(limit for limit in limits if limit.limit is not None)
    if bounded:
        choice = candidates.choose(bounded, confidence)
        chosen = choice.chosen
    else:
        choice = Choice()
        useful = candidates.worthwhile if len(candidates.worthwhile) else np.arange(len(candidates))
        chosen = int(useful[knee(candidates.val_utility[useful], worst_gap(candidates, limits)[useful])])
    plain = most_useful(candidates)
    unlimited = _evaluations(_model(trials, candidates, plain), graph, intervals=False)
    others = _other_choices(candidates, limits, confidence) if bounded else []
    shown, places = candidate_rows(
        trials,
        candidates,
        limits,
        choice,
        chosen,
        plain,
        [o["candidate"] for o in others if o["candidate"] is not None],
        confidence,
    )
    model = None if chosen is None else _model(trials, candidates, chosen)
    evaluations = {} if model is None else _evaluations(model, graph)
    document: dict[str, Any] = {
        "kind": "tuning",
        "version": VERSION,
        "graph": describe_graph(graph),
        "run": None,
        "limits": asked["limits"],
        **{name: asked[name] for name in ("gaps", "confidence", "utility", "population", "methods", "seed")},
        "chosen": None,
        "refused": None,
        "refusal": None,
        "metrics": {split: evaluation.to_dict() for split, evaluation in evaluations.items()},
        "frontier": shown,
        "yardsticks": [
            {"name": "constant", "metrics": _metrics(evaluate(Constant().fit(graph), graph, split="val"))},
            {
                "name": "plain",
                "candidate": places[plain],
                "metrics": shown[places[plain]]["metrics"],
                "test": _metrics(unlimited["test"]) if "test" in unlimited else None,
            },
        ],
        "choices": [other | {"candidate": places.get(other["candidate"])} for other in others],
        "nodes": holdout.nodes(),
        "conditions": conditions(holdout, population) if bounded else [],
        "notes": [],
        "trials": len(trials),
    }
    if chosen is not None:
        trial = trials[candidates.trials[chosen]]
        tests = [candidates.test(chosen, limit) for limit in bounded]
        document["chosen"] = {
            "method": trial.method,
            "label": trial.label,
            "settings": dict(trial.settings),
            "threshold": float(candidates.thresholds[chosen]),
            "group_at_prediction": trial.group_at_prediction,
            "candidate": places[chosen],
            "utility": float(candidates.val_utility[chosen]),
            "limits": [as_json(test, confidence) for test in tests],
        }
    else:
        document |= _refusal(candidates, choice, confidence, others, places)
    certified = None
    if model is not None and chosen is not None and bounded:
        certified = certificate(
            tests,
            holdout,
            confidence=confidence,
            population=population,
            threshold=float(candidates.thresholds[chosen]),
            model_sha256=hashlib.sha256(model_content(model)[1]).hexdigest(),
            seed=asked["seed"],
            order=choice.sequence.index(chosen) + 1,
            candidates=len(candidates),
        )
    return Tuning(document, model, certified, evaluations)


def _model(trials: Sequence[Trial], candidates: Candidates, chosen: int) -> Estimator:
    model: Estimator = trials[candidates.trials[chosen]].model
    return model.with_threshold(float(candidates.thresholds[chosen]))


def _evaluations(model: Estimator, graph: NodeGraph, *, intervals: bool = True) -> dict[str, Evaluation]:
    splits = [name for name in ("val", "test") if name in graph.splits and (graph.split(name) & graph.labelled).any()]
    return {split: evaluate(model, graph, split=split, intervals=intervals) for split in splits}


def _metrics(evaluation: Evaluation) -> dict[str, Any]:
    document = evaluation.to_dict()
    return {name: document[name] for name in METRICS} | {"undefined": document["undefined"]}


def _other_choices(candidates: Candidates, limits: tuple[Limit, ...], confidence: float) -> list[dict[str, Any]]:
    """What the rule would take at other limits, the same for every gap."""
    rows = []
    for value in OTHER_LIMITS:
        chosen = candidates.choose([Limit(limit.gap, value) for limit in limits], confidence, exact=False).chosen
        utility = None if chosen is None else float(candidates.val_utility[chosen])
        rows.append({"limit": value, "candidate": chosen, "utility": utility})
    return rows


def _refusal(
    candidates: Candidates,
    choice: Choice,
    confidence: float,
    others: Sequence[Mapping[str, Any]],
    places: Mapping[int, int],
) -> dict[str, Any]:
    """Why there is no model, what was nearest, and what would help."""
    rows = [candidates.holdout.certifying(label) for label in candidates.conditions]
    at_hand = len(np.unique(np.concatenate(rows)))
    asked = min((float(test.limit.limit or 0) for tests in choice.tested[:1] for test in tests), default=0.0)
    certifiable = next((row["limit"] for row in others if row["candidate"] is not None and row["limit"] > asked), None)
    if not choice.tested:
        reason = "No candidate is more useful than the majority answer, so that there is nothing to certify."
        return {"refused": reason, "refusal": _no_nearest(certifiable, at_hand)}
    nearest, tests = choice.sequence[0], choice.tested[0]
    failed = max(tests, key=lambda test: test.p_value)
    limit = 100 * float(failed.limit.limit or 0)
    reason = (
        f"No model could be certified. The surest candidate's {failed.limit.words} is {100 * failed.estimate:.1f} "
        f"points on {failed.nodes:,} certification nodes: that it is at most {limit:g} points is not certain enough "
        f"(p = {failed.p_value:.3f}, {1 - confidence:.3g} is needed)."
    )
    needed = candidates.nodes_needed(tests, confidence)
    if needed is not None:
        reason += f" About {needed:,} certification nodes would be needed if its gap is what it looks like."
    else:
        reason += " If its gap is what it looks like, more nodes would not help."
    if certifiable is not None:
        reason += (
            f" With the nodes at hand a limit of {100 * certifiable:g} points would have been kept; to take it now, "
            "after looking, is not covered."
        )
    refusal = {
        "nearest": {"candidate": places.get(nearest), "limits": [as_json(test, confidence) for test in tests]},
        "certifiable": certifiable,
        "nodes_at_hand": at_hand,
        "nodes_needed": needed,
    }
    return {"refused": reason, "refusal": refusal}


def _no_nearest(certifiable: float | None, at_hand: int) -> dict[str, Any]:
    return {"nearest": None, "certifiable": certifiable, "nodes_at_hand": at_hand, "nodes_needed": None}


def _failures(search: Search) -> list[str]:
    if not search.failures:
        return []
    reasons = dict.fromkeys(f"{failure.method}: {failure.reason}" for failure in search.failures)
    return [f"{len(search.failures)} models could not be fitted ({'; '.join(list(reasons)[:3])})."]


# --- the folder -------------------------------------------------------------------------------------------------------


def _write(result: Tuning, folder: Path, graph: NodeGraph) -> None:
    """The chosen model as a run folder, with its certificate."""
    if result.chosen_model is None:
        return
    chosen = {name: result.document["chosen"][name] for name in ("method", "settings", "threshold")}
    text = json.dumps(["tune", chosen, result.document["seed"], graph.sha256], sort_keys=True)
    write_run(result.chosen_model, graph, folder / "run", hashlib.sha256(text.encode()).hexdigest())
    if result.certificate is not None:
        write_json(folder / "run" / NAME, result.certificate)
