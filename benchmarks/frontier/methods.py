"""Which models does each method try? Its defaults first, then settings drawn from its search space; Parity its path.

Every method is a generator of (settings, scores of all nodes), from which the study takes until the seconds are spent.

Networks train for fewer epochs than by default, so that several fits find room in a few seconds, and with larger
learning rates in return (`EPOCHS`, `LEARNING_RATES`). Methods that can hold down either gap try them in turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product, zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

import fairview as fv
from fairview.errors import FairviewError
from fairview.methods.parity_fitting import Prepared
from fairview.metrics.ranking import auc_of
from fairview.tuning.holdout import Holdout
from fairview.tuning.parity_path import BASES, HOPS, L2, PENALTIES, WEIGHTS

Scores = npt.NDArray[np.float64]
Settings = dict[str, Any]
Tries = Iterator[tuple[Settings, Scores]]

GAPS = ("statistical_parity", "equal_opportunity")
LEARNING_RATES = (0.003, 0.01, 0.03)
EPOCHS = {
    "vanilla": 100,
    "masking": 100,
    "edits": 100,
    "fairgnn": 100,
    "nifty": 50,
    "fairvgnn": 50,
    "fairvgnn-energy": 30,
}
EITHER: Mapping[str, Sequence[Any]] = {"sensitive_channels": (False, True)}
"""Parity leaves the channels of the sensitive attribute out; others may."""
LAMBDAS = (10.0, 3.0, 30.0, 1.0, 100.0, 0.0)
BETWEEN = (2.0, 5.0, 20.0, 50.0)
"""Weights between those of Parity's path."""
SCREENING = 0.35
"""Share of the seconds in which Parity looks for its columns."""


@dataclass(frozen=True)
class Competitor:
    """A row of the study.

    Attributes:
        label: in tables.
        tries: models of a division of the nodes, given the seconds and a seed.
        group_at_prediction: whether they need each node's group to predict it.
    """

    label: str
    tries: Callable[[Holdout, float, int], Tries]
    group_at_prediction: bool = False


# --- methods with a search space --------------------------------------------------------------------------------------


def searched(method: type, first: Settings, space: Mapping[str, Sequence[Any]], *, seeded: bool = True) -> Any:
    """The settings `first`, then others of the space at random; those that fail are skipped."""

    def tries(holdout: Holdout, _: float, seed: int) -> Tries:
        fixed: Settings = {"seed": seed, "threads": 1} if seeded else {}
        for settings in draws(first, space, seed):
            try:
                model = method(**settings, **fixed).fit(holdout.design)
            except FairviewError:
                continue
            yield settings, positive(model, holdout)

    return tries


def draws(first: Settings, space: Mapping[str, Sequence[Any]], seed: int) -> Iterator[Settings]:
    """`first`, then the rest of the space in a random order; a part of it, if it is large.

    Example:
        >>> sorted(each["a"] for each in draws({"a": 2}, {"a": (1, 2, 3)}, seed=1))
        [1, 2, 3]
    """
    rng = np.random.default_rng([seed, 7])
    size = int(np.prod([len(values) for values in space.values()]))
    yield first
    for place in rng.permutation(size) if size <= 10_000 else rng.integers(size, size=1000):
        settings = dict(first)
        for name, values in space.items():
            place, choice = divmod(int(place), len(values))
            settings[name] = values[choice]
        if settings != first:
            yield settings


Options = Callable[[str], tuple[Settings, Mapping[str, Sequence[Any]]]]
"""The first settings and the space for a gap."""


def alternating(method: type, options: Options, **known: Any) -> Any:
    """The two gaps in turns, each with settings of its own."""

    def tries(holdout: Holdout, seconds: float, seed: int) -> Tries:
        return in_turns([searched(method, *options(gap), **known)(holdout, seconds, seed) for gap in GAPS])

    return tries


def in_turns(tries: Sequence[Tries]) -> Tries:
    """One of each, until all are at their end.

    Example:
        >>> one, other = [({"a": 1}, None), ({"a": 2}, None)], [({"a": 3}, None)]
        >>> [settings["a"] for settings, _ in in_turns([iter(one), iter(other)])]
        [1, 3, 2]
    """
    for each in zip_longest(*tries):
        yield from (found for found in each if found is not None)


def positive(model: Any, holdout: Holdout) -> Scores:
    """Scores of every node; a model that needs the group at prediction is told it here, as its contract says."""
    return np.asarray(model.predict_proba(holdout.graph), dtype=np.float64)[:, 1]


def network(method: type, name: str, **further: Sequence[Any]) -> Any:
    """A network without a penalty, on its declared space with shorter training."""
    space = dict(method.search_space) | {"learning_rate": LEARNING_RATES} | further  # type: ignore[attr-defined]
    return searched(method, {"epochs": EPOCHS[name], "learning_rate": 0.01}, space)


def _plain_network(encoder: str) -> Any:
    def options(gap: str) -> tuple[Settings, Mapping[str, Sequence[Any]]]:
        first = {
            "encoder": encoder,
            "epochs": EPOCHS["vanilla"],
            "learning_rate": 0.01,
            "selection": "objective",
            "sensitive_channels": False,
            f"{gap}_weight": LAMBDAS[0],
        }
        space = {
            name: values
            for name, values in fv.Vanilla.search_space.items()
            if name not in ("epochs", "statistical_parity_weight", "selection")
        }
        return first, {**space, **EITHER, f"{gap}_weight": LAMBDAS}

    return alternating(fv.Vanilla, options)


def _fairvgnn_energy() -> Any:
    def options(gap: str) -> tuple[Settings, Mapping[str, Sequence[Any]]]:
        first = {
            "epochs": EPOCHS["fairvgnn-energy"],
            "discriminator": "energy",
            "penalty_sample": 2000,
            "learning_rate_encoder": 0.01,
            "sensitive_channels": False,
            f"{gap}_weight": LAMBDAS[0],
        }
        space = dict(fv.FairVGNN.energy_search_space)
        del space["statistical_parity_weight"]
        return first, {**space, **EITHER, f"{gap}_weight": LAMBDAS}

    return alternating(fv.FairVGNN, options)


def _exponentiated(gap: str) -> tuple[Settings, Mapping[str, Sequence[Any]]]:
    return {"constraint": gap}, fv.ExponentiatedGradient.search_space


def _optimizer(gap: str) -> tuple[Settings, Mapping[str, Sequence[Any]]]:
    return {"constraint": gap, "tolerance": 0.0}, fv.ThresholdOptimizer.search_space


def group_thresholds(holdout: Holdout, seconds: float, seed: int) -> Tries:
    """Maps of a logistic regression's scores, and of those of Parity without a penalty; both gaps in turns."""
    inner: tuple[Settings, ...] = tuple(
        {"model": "parity", "model_settings": {"hops": hops, "statistical_parity_weight": 0.0}} for hops in HOPS
    )
    inner += ({"model": "logistic-regression"},)

    def options(gap: str) -> tuple[Settings, Mapping[str, Sequence[Any]]]:
        return {"gap": gap}, fv.GroupThresholds.search_space

    return in_turns([alternating(_with(fv.GroupThresholds, each), options)(holdout, seconds, seed) for each in inner])


def _with(method: Any, fixed: Settings) -> Any:
    return lambda **settings: method(**fixed, **settings)


# --- Parity, and fairlearn on its columns -----------------------------------------------------------------------------


def parity(holdout: Holdout, seconds: float, seed: int, *, finer: bool = False, networks: bool = False) -> Tries:
    """The path of `fairview.tuning.parity_path`, for either gap, cut to the seconds.

    Columns are looked for in `SCREENING` of the seconds: by the AUC on val of models without a penalty. Then come the
    weights of the energy penalty, the middle ones first, and those of the threshold penalty behind them. Seconds that
    are left go to weights in between (`finer`), or to small `mlp` heads (`networks`), with the fewest hops whose AUC is
    within half a point of the best.
    """
    begun = time.process_time()
    zero: Settings = dict.fromkeys((f"{gap}_weight" for gap in (*GAPS, "equalized_odds")), 0.0)
    prepared = {basis: fv.Parity(basis=basis, hops=max(HOPS)).prepare(holdout.design) for basis in BASES}
    ranked: list[tuple[float, Settings]] = []
    val = holdout.tuning
    labels = holdout.graph.labels[val]
    for l2, basis, hops in product(sorted(L2, key=lambda l2: abs(np.log(l2 / 0.01))), BASES, reversed(HOPS)):
        settings: Settings = {"basis": basis, "hops": hops, "l2": l2}
        model = fv.Parity(**settings, **zero).fit(holdout.design, prepared=prepared[basis])
        scores = linear_scores(model, prepared[basis])
        ranked.append((auc_of(scores[val[labels == 1]], scores[val[labels == 0]]), settings))
        yield settings, scores
        if time.process_time() - begun > SCREENING * seconds:
            break
    best_auc, best = max(ranked, key=lambda each: each[0])
    columns = prepared[best["basis"]]
    steps = [*product(PENALTIES, (WEIGHTS[1:-1], (WEIGHTS[0], WEIGHTS[-1])), GAPS)]
    if finer:
        steps += product(PENALTIES, (BETWEEN,), GAPS)
    for penalty, weights, gap in steps:
        start = fv.Parity(**best, **zero, penalty=penalty)
        models = start.path(holdout.design, weights, of=f"{gap}_weight", prepared=columns)
        for weight, model in zip(weights, models, strict=True):
            yield best | {"penalty": penalty, f"{gap}_weight": weight}, linear_scores(model, columns)
    if networks:
        near = [each for each in ranked if each[0] > best_auc - 0.005]
        _, fewest = min(near, key=lambda each: (each[1]["hops"], -each[0]))
        yield from _networks(holdout, fewest, prepared[fewest["basis"]], zero, seed)


def _networks(holdout: Holdout, best: Settings, columns: Prepared, zero: Settings, seed: int) -> Tries:
    """With a hidden layer, which likes a middling l2."""
    small: Settings = {"l2": 0.01, "head": "mlp", "hidden": 16, "restarts": 1, "max_iterations": 60, "seed": seed}
    for weights in [{f"{gap}_weight": weight} for weight in LAMBDAS if weight for gap in GAPS] + [Settings()]:
        model = fv.Parity(**best | small | zero | weights).fit(holdout.design, prepared=columns)
        yield best | small | weights, positive(model, holdout)


def linear_scores(model: fv.Parity, prepared: Prepared) -> Scores:
    """What `predict_proba` says of the graph whose columns are made already."""
    theta = model.weights_[0]
    return np.asarray(expit(prepared.z[:, : len(theta) - 1] @ theta[:-1] + theta[-1]))


def exponentiated_on_columns(holdout: Holdout, seconds: float, seed: int) -> Tries:
    """fairlearn's ExponentiatedGradient on Parity's columns: what is owed to the features, and what to the penalty."""
    prepared = fv.Parity(hops=max(HOPS)).prepare(holdout.design)

    def on_columns(hops: int) -> Tries:
        width = prepared.features.up_to(hops).width
        names = tuple(f"column {place}" for place in range(width))
        columns = prepared.z[:, :width].astype(np.float32)
        graphs = [
            graph.replace(features=columns, channels=names, sensitive_channels=(), recipe=None)
            for graph in (holdout.graph, holdout.design)
        ]
        there = Holdout(graphs[0], graphs[1], holdout.tuning, holdout.everybody, holdout.labelled, holdout.unseen)
        quick = _with(fv.ExponentiatedGradient, {"max_iterations": 20})
        yield from alternating(quick, _exponentiated, seeded=False)(there, seconds, seed)

    return in_turns([on_columns(hops) for hops in HOPS])


COMPETITORS = {
    "parity": Competitor("Parity", parity),
    "parity-finer": Competitor("Parity, then finer weights", lambda *given: parity(*given, finer=True)),
    "parity-mlp": Competitor("Parity, then MLP heads", lambda *given: parity(*given, networks=True)),
    "vanilla": Competitor("GCN with penalty", _plain_network("gcn")),
    "vanilla-sage": Competitor("SAGE with penalty", _plain_network("sage")),
    "fairvgnn": Competitor(
        "FairVGNN",
        searched(
            fv.FairVGNN,
            {"epochs": EPOCHS["fairvgnn"], "learning_rate_encoder": 0.01},
            {**fv.FairVGNN.search_space, **EITHER},
        ),
    ),
    "fairvgnn-energy": Competitor("FairVGNN, energy", _fairvgnn_energy()),
    "nifty": Competitor("NIFTY", network(fv.NIFTY, "nifty")),
    "edits": Competitor("EDITS", network(fv.EDITS, "edits")),
    "fairgnn": Competitor("FairGNN", network(fv.FairGNN, "fairgnn", **EITHER)),
    "masking": Competitor("Masking", network(fv.Masking, "masking")),
    "logistic-regression": Competitor(
        "Logistic regression",
        searched(fv.LogisticRegression, {}, {**fv.LogisticRegression.search_space, **EITHER}, seeded=False),
    ),
    "gradient-boosting": Competitor(
        "Gradient boosting",
        searched(fv.GradientBoosting, {}, {**fv.GradientBoosting.search_space, **EITHER}, seeded=False),
    ),
    "exponentiated-gradient": Competitor(
        "ExponentiatedGradient", alternating(fv.ExponentiatedGradient, _exponentiated, seeded=False)
    ),
    "exponentiated-gradient-columns": Competitor("ExponentiatedGradient on Parity's columns", exponentiated_on_columns),
    "group-thresholds": Competitor("GroupThresholds", group_thresholds, group_at_prediction=True),
    "threshold-optimizer": Competitor(
        "ThresholdOptimizer", alternating(fv.ThresholdOptimizer, _optimizer, seeded=False), group_at_prediction=True
    ),
}
