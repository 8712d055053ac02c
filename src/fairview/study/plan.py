"""Which rows does a comparison have, and with which settings? One selection rule for all, and two rows always.

The constant predictor is always there, because it is perfectly fair and often looks good; so is the plain model, which
every other row with its encoder is compared with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from fairview.data.datasets.registry import DATASETS
from fairview.errors import InputError, Problems, did_you_mean, flag, option, placeholder
from fairview.methods.presets import PRESETS, preset_settings
from fairview.methods.registry import METHODS, resolve_method
from fairview.methods.settings import check_settings, settings_model
from fairview.nn.encoders import ENCODERS
from fairview.study.trials import Trial

Selection = Literal["score", "loss", "own"]

CONSTANT, PLAIN = "constant", "vanilla"

SCORE = "AUC + F1 + accuracy - (SP gap + EO gap) on the validation nodes"

_FIXED = {
    "encoder": f"use {option('encoders')}",
    "seed": f"use {option('seeds')}",
    "threads": "a trial always has one, because the number is part of the result",
    "device": "trials run on the CPU",
    "selection": f"use {option('selection')}: one rule for all methods",
    "selection_weight": f"use {option('selection')}: one rule for all methods",
}


@dataclass(frozen=True, eq=False)
class Row:
    """A method with its encoder and settings: one line of the table, several trials."""

    method: str
    encoder: str | None
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """As the table calls it.

        Example:
            >>> Row("fairvgnn", "gcn").label, Row("logistic-regression", None).label
            ('FairVGNN · GCN', 'Logistic regression')
        """
        name = resolve_method(self.method).label
        return name if self.encoder is None else f"{name} · {self.encoder.upper()}"

    def trials(self, dataset: str, *, seeds: int, splits: int) -> list[Trial]:
        """One per split and seed; a method without randomness has one per split."""
        count = seeds if "seed" in parameters(self.method) else 1
        return [
            Trial(dataset, self.method, self.encoder, self.settings, seed=seed, split=split)
            for split in split_numbers(splits)
            for seed in range(1, count + 1)
        ]


def split_numbers(splits: int) -> range:
    """One split is the graph's own; several are drawn, and the own one, made in another way, is not among them."""
    return range(1) if splits == 1 else range(1, splits + 1)


def parameters(method: str) -> tuple[str, ...]:
    """The names of a method's parameters."""
    return resolve_method(method).parameters


def plan(
    methods: Sequence[str],
    encoders: Sequence[str],
    *,
    dataset: str | None = None,
    preset: str | None = None,
    selection: Selection = "score",
    changes: Mapping[str, Mapping[str, Any]] | None = None,
    plain: bool = True,
) -> list[Row]:
    """The rows of a comparison: methods without encoder first, then encoder by encoder.

    Args:
        methods: names of `METHODS`; the constant and the plain model are added.
        encoders: for the methods that have one.
        dataset: a known one, for FairVGNN's and EDITS' settings.
        preset: of FairVGNN; by default `paper` where it has a cell for the dataset and encoder, else `default`.
        selection: `score` or `loss`, for all methods that can choose; or each method's `own` default.
        changes: {method: {parameter: value}}.
        plain: whether to add the plain model.

    Raises:
        InputError: with all that is wrong.
    """
    changes = changes or {}
    chosen = list(dict.fromkeys([CONSTANT, *([PLAIN] if plain else []), *methods]))
    _check(chosen, encoders, selection, changes)
    if preset is not None and preset not in PRESETS:
        raise InputError(f"no preset '{preset}'.{did_you_mean(preset, PRESETS)}")
    rows = [Row(name, None) for name in chosen if "encoder" not in parameters(name)]
    rows += [Row(name, kind) for kind in dict.fromkeys(encoders) for name in chosen if "encoder" in parameters(name)]
    problems, found = Problems(), []
    for row in rows:
        try:
            settings = _preset(row, preset, dataset) | _rule(row.method, selection) | dict(changes.get(row.method, {}))
            check_settings(
                resolve_method(row.method).method, settings | ({"encoder": row.encoder} if row.encoder else {})
            )
            found.append(Row(row.method, row.encoder, settings))
        except InputError as error:
            problems.absorb(error)
    problems.raise_if_any()
    return found


def selection_sentence(rows: Sequence[Row], selection: Selection) -> str:
    """Which epoch each method keeps, in words."""
    methods = [name for name in dict.fromkeys(row.method for row in rows) if "selection_weight" in parameters(name)]
    by_loss = [name for name in methods if _rule_of(name, rows) == "loss"]
    by_score = [name for name in methods if name not in by_loss]
    if not methods:
        return "No method here chooses among epochs."
    if not by_loss:
        return f"One rule for all: every method with epochs keeps the one with the largest {SCORE}."
    if not by_score:
        return "One rule for all: every method with epochs keeps the one with the lowest loss on the validation nodes."
    why = "Each method by its own default" if selection == "own" else "Not one rule for all"
    return (
        f"{why}: {', '.join(by_loss)} keeps the epoch with the lowest loss on the validation nodes, "
        f"{', '.join(by_score)} the one with the largest {SCORE}. Compare them with care."
    )


# --- parts ------------------------------------------------------------------------------------------------------------


def _preset(row: Row, preset: str | None, dataset: str | None) -> dict[str, Any]:
    """Presets and published settings of a dataset; other methods' defaults are those of the paper's appendix."""
    if not resolve_method(row.method).has_presets or row.encoder is None:
        return dict(DATASETS[dataset].published.get(row.method, {})) if dataset is not None else {}
    if preset is not None:
        found = preset_settings(preset, dataset, row.encoder)
    else:
        try:
            found = preset_settings("paper", dataset, row.encoder)
        except InputError:
            found = preset_settings("default", dataset, row.encoder)
    return {name: value for name, value in found.items() if name != "encoder"}


def _rule(method: str, selection: Selection) -> dict[str, Any]:
    if selection == "own":
        return {}
    asked = {"selection": selection, "selection_weight": 1.0}
    return {name: value for name, value in asked.items() if name in parameters(method)}


def _rule_of(method: str, rows: Sequence[Row]) -> str:
    """`loss` or `score`; a method without the parameter has the score only."""
    default = settings_model(resolve_method(method).method).model_fields.get("selection")
    settings = next(row.settings for row in rows if row.method == method)
    return str(settings.get("selection", "score" if default is None else default.default))


def _check(
    methods: Sequence[str], encoders: Sequence[str], selection: str, changes: Mapping[str, Mapping[str, Any]]
) -> None:
    problems = Problems()
    for name in methods:
        if name not in METHODS:
            problems.add(f"no method '{name}'.{did_you_mean(name, list(METHODS))}")
    for name in encoders:
        if name not in ENCODERS:
            problems.add(f"no encoder '{name}'.{did_you_mean(name, ENCODERS)}")
    if selection not in get_args(Selection):
        problems.add(f"selection: '{selection}'; expected score, loss or own.")
    for method, values in changes.items():
        if method not in methods:
            where = placeholder(python=f"changes[{method!r}]", command_line=f"{flag('changes')} {method}.…")
            problems.add(f"{where}: '{method}' is not compared here.{did_you_mean(method, list(methods))}")
        for name in values:
            if name in _FIXED:
                setting = f"{flag('changes')} {method}.{name}"
                where = placeholder(python=f"changes[{method!r}][{name!r}]", command_line=setting)
                problems.add(f"{where}: {_FIXED[name]}.")
    problems.raise_if_any()
    if not encoders and any("encoder" in parameters(name) for name in methods):
        raise InputError("encoders: none given; expected one or several of " + ", ".join(ENCODERS) + ".")
