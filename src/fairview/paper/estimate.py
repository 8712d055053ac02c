"""How long will it take? Rough seconds per run, measured once on one thread of a 2-core machine."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache
from importlib import resources

from fairview.methods.registry import METHODS
from fairview.methods.settings import settings_model
from fairview.paper.cells import Cell
from fairview.paper.scope import WITHOUT, Scope
from fairview.study.trials import Trial

_UNKNOWN = 30.0
_START = 0.2  # loading, splitting, evaluating


def seconds_of(trial: Trial) -> float:
    """Of a run with the published number of epochs; scaled where the trial asks for more or fewer.

    Example:
        >>> whole = seconds_of(Trial("german", "fairvgnn", "gcn", {"epochs": 200}))
        >>> seconds_of(Trial("german", "fairvgnn", "gcn", {"epochs": 2})) < whole / 5
        True
    """
    method = {"masking": "vanilla"}.get(trial.method, trial.method)
    same = {"bail-no-time": "bail", "bail-no-time-links": "bail", "credit-large": "credit-small"}
    family = same.get(trial.dataset, trial.dataset)
    family = family.partition(WITHOUT)[0]
    per_epoch = _measured().get(family, {}).get(trial.encoder or "-", {}).get(method)
    if per_epoch is None:
        return _START if trial.encoder is None else _UNKNOWN
    epochs = settings_model(METHODS[method].method).model_fields["epochs"].default
    return float(_START + per_epoch * trial.settings.get("epochs", epochs))


def estimated_seconds(cells: Iterable[Cell], scope: Scope, *, workers: int) -> float:
    """Of all different runs, spread over the workers."""
    trials = {trial.id: trial for cell in cells for trial in cell.trials(scope)}
    return sum(map(seconds_of, trials.values())) / max(1, min(workers, len(trials)))


@cache
def _measured() -> dict[str, dict[str, dict[str, float]]]:
    return tomllib.loads(resources.files(__package__).joinpath("seconds.toml").read_text(encoding="utf-8"))
