"""What follows from the fitted models? The chosen one with its certificate, or a refusal that says what was nearest."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairview.data.graph import NodeGraph
from fairview.data.summary import describe_graph
from fairview.methods.constant import Constant
from fairview.methods.estimator import Estimator
from fairview.methods.evaluate import evaluate
from fairview.methods.model_files import model_content
from fairview.metrics.evaluation import Evaluation
from fairview.metrics.registry import METRICS
from fairview.tuning.candidate_rows import candidate_rows, most_useful, worst_gap
from fairview.tuning.certificate import certificate, conditions
from fairview.tuning.choice import Candidates, Choice, Tested, as_json, knee
from fairview.tuning.holdout import Holdout
from fairview.tuning.limits import Limit
from fairview.tuning.trials import Trial
from fairview.tuning.tuning import VERSION, Tuning

OTHER_LIMITS = tuple(step / 200 for step in range(1, 61))
"""0.5 to 30 points: the limits for which the report shows what the rule would take."""


def decide(trials: Sequence[Trial], limits: tuple[Limit, ...], asked: Mapping[str, Any], holdout: Holdout) -> Tuning:
    """Everything that is known once the models are fitted.

    Args:
        trials: the fitted models.
        limits: of the gaps; one without a number has none.
        asked: utility, confidence, population and seed of the request.
        holdout: the division of the nodes.
    """
    graph = holdout.graph
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
        **by_attribute(limits),
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
        "conditions": conditions(holdout, population, bounded) if bounded else [],
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


def by_attribute(limits: Sequence[Limit]) -> dict[str, list[str]]:
    """For JSON: the attributes between whose groups gaps are compared; nothing where there is only one."""
    names = dict.fromkeys(limit.attribute for limit in limits if limit.attribute is not None)
    return {"attributes": list(names)} if names else {}


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
    """What the rule would take at other limits, the same for every gap and attribute."""
    rows = []
    for value in OTHER_LIMITS:
        others = [replace(limit, limit=value) for limit in limits]
        chosen = candidates.choose(others, confidence, exact=False).chosen
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
    rows = [candidates.by[attribute].certifying(label) for attribute, label in candidates.conditions]
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
        f"(p = {failed.p_value:.3f}, {1 - confidence:.3g} is needed).{_smallest(failed, candidates)}"
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
    reason += _without_combinations(failed, tests, candidates.holdout.graph, 1 - confidence)
    refusal = {
        "nearest": {"candidate": places.get(nearest), "limits": [as_json(test, confidence) for test in tests]},
        "certifiable": certifiable,
        "nodes_at_hand": at_hand,
        "nodes_needed": needed,
    }
    return {"refused": reason, "refusal": refusal}


def _smallest(test: Tested, candidates: Candidates) -> str:
    """Of several attributes: the group or combination with the fewest nodes, which decides how sure a test can be."""
    if test.limit.attribute is None:
        return ""
    graph = candidates.by[test.limit.attribute].graph
    present = [name for name, size in graph.group_sizes.items() if size]
    samples = min(test.samples, key=lambda each: min(sample.nodes for sample in each))
    fewest = min(range(len(samples)), key=lambda place: samples[place].nodes)
    return f" The smallest group, '{present[fewest]}', has {samples[fewest].nodes:,} of them."


def _without_combinations(failed: Tested, tests: Sequence[Tested], graph: NodeGraph, level: float) -> str:
    """What is left where only the combinations fail."""
    if failed.limit.attribute is None or failed.limit.attribute != graph.sensitive_name:
        return ""
    others = [test for test in tests if test.limit.attribute != graph.sensitive_name]
    if not others or any(test.p_value > level for test in others):
        return ""
    return (
        " Each attribute alone kept its limit: it is their combinations that fail. Limits by attribute, without "
        f"'{graph.sensitive_name}', ask for less; to take them now, after looking, is not covered."
    )


def _no_nearest(certifiable: float | None, at_hand: int) -> dict[str, Any]:
    return {"nearest": None, "certifiable": certifiable, "nodes_at_hand": at_hand, "nodes_needed": None}
