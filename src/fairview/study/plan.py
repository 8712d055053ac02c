"""Which rows does a comparison have, and with which settings? One selection rule for all, and two rows always.

The majority answer is always there, because it is perfectly fair and often looks good; so is the plain model, which
every other row with its encoder is compared with.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from fairview.data.datasets.registry import DATASETS
from fairview.errors import InputError, Problems, did_you_mean, flag, option, placeholder
from fairview.methods.encoder_spec import Encoder, encoder_entry
from fairview.methods.presets import PRESETS, default_preset, preset_settings
from fairview.methods.registry import MethodEntry, resolve_method, settings_of
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
    """A method with its encoder and settings: one line of the table, several trials.

    Attributes:
        method: a name of `METHODS`, or `module:Class`.
        encoder: a built-in name, or that of an encoder of your own; None for methods without one.
        settings: further parameters.
        detail: what tells it from another row of the same method and encoder.
    """

    method: str
    encoder: str | None
    settings: Mapping[str, Any] = field(default_factory=dict)
    detail: str = ""

    @property
    def label(self) -> str:
        """As the table calls it.

        Example:
            >>> Row("fairvgnn", "gcn").label, Row("logistic-regression", None).label
            ('FairVGNN · GCN', 'Logistic regression')
        """
        name = self.entry.label + (f" ({self.detail})" if self.detail else "")
        return name if self.encoder is None else f"{name} · {encoder_entry(self.encoder).label}"

    @property
    def entry(self) -> MethodEntry:
        """Of its method."""
        return resolve_method(self.method)

    @property
    def importable(self) -> bool:
        """Whether another process can run its trials."""
        return self.entry.importable and (self.encoder is None or encoder_entry(self.encoder).importable)

    def trials(self, dataset: str, *, seeds: int, splits: int) -> list[Trial]:
        """One per split and seed; a method without randomness has one per split."""
        count = seeds if self.entry.uses("seed", self.settings) else 1
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
    methods: Sequence[str | type | object],
    encoders: Sequence[Encoder],
    *,
    dataset: str | None = None,
    preset: str | None = None,
    selection: Selection = "score",
    changes: Mapping[Any, Mapping[str, Any]] | None = None,
    plain: bool = True,
) -> list[Row]:
    """The rows of a comparison: methods without encoder first, then encoder by encoder.

    Args:
        methods: as for `compare`, like all that is not said here.
        encoders: for the methods that have one.
        dataset: a known one, for FairVGNN's and EDITS' settings.
        preset: of FairVGNN.
        selection: `score` or `loss`, for all methods that can choose; or each method's `own` default.
        changes: {method: {parameter: value}}.
        plain: whether to add the plain model.

    Raises:
        InputError: with all that is wrong.
    """
    problems = Problems()
    compared = [CONSTANT, *([PLAIN] if plain else []), *methods]
    chosen = _tried(compared, _candidate, problems)
    kinds = [entry.name for entry in _tried(encoders, encoder_entry, problems)]
    if selection not in get_args(Selection):
        problems.add(f"selection: '{selection}'; expected score, loss or own.")
    by_method = _changes(changes or {}, chosen, list(map(_word, compared)), problems)
    problems.raise_if_any()
    if preset is not None and preset not in PRESETS:
        raise InputError(f"no preset '{preset}'.{did_you_mean(preset, PRESETS)}")
    given = [(entry.name, settings, encoder) for entry, settings, encoder in chosen]
    encoded = [entry.uses("encoder", (settings or {}) | by_method.get(entry.name, {})) for entry, settings, _ in chosen]
    if not kinds and any(has and encoder is None for has, (_, _, encoder) in zip(encoded, given, strict=True)):
        raise InputError(f"encoders: none given; expected one or several of {', '.join(ENCODERS)}.")
    rows = [(Row(name, None), settings) for has, (name, settings, _) in zip(encoded, given, strict=True) if not has]
    for kind in dict.fromkeys([*kinds, *(encoder for _, _, encoder in given if encoder is not None)]):
        for has, (name, settings, encoder) in zip(encoded, given, strict=True):
            applies = encoder == kind if encoder is not None else kind in kinds or name == PLAIN
            if has and applies:
                rows.append((Row(name, kind), settings))
    complete = []
    for row, settings in rows:
        with problems.collecting():
            base = _preset(row, preset, dataset) if settings is None else settings
            whole = base | _rule(row.method, selection) | by_method.get(row.method, {})
            named = {"encoder": row.encoder} if row.encoder in ENCODERS else {}
            check_settings(row.entry.method, whole | named)
            complete.append(Row(row.method, row.encoder, whole))
    problems.raise_if_any()
    return _told_apart(complete)


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
    losses, scores = (", ".join(resolve_method(name).words for name in names) for names in (by_loss, by_score))
    why = "Each method by its own default" if selection == "own" else "Not one rule for all"
    return (
        f"{why}: {losses} keeps the epoch with the lowest loss on the validation nodes, {scores} the one with the "
        f"largest {SCORE}. Compare them with care."
    )


# --- parts ------------------------------------------------------------------------------------------------------------

_Candidate = tuple[MethodEntry, dict[str, Any] | None, str | None]
"""A method; for an instance also its settings, and its encoder if it has one."""


def _tried(given: Sequence[Any], resolve: Callable[[Any], Any], problems: Problems) -> list[Any]:
    """What each one stands for, without repeats; those that stand for nothing are problems."""
    resolved: list[Any] = []
    for item in given:
        with problems.collecting():
            if (one := resolve(item)) not in resolved:
                resolved.append(one)
    return resolved


def _candidate(method: Any) -> _Candidate:
    entry = resolve_method(method)
    if isinstance(method, str | type | MethodEntry):
        return entry, None, None
    settings = settings_of(method)
    encoder = settings.get("encoder")
    kept = {name: value for name, value in settings.items() if name not in ("encoder", "seed", "threads", "device")}
    return entry, kept, None if encoder is None else encoder_entry(encoder).name


def _word(method: Any) -> str:
    return method if isinstance(method, str) else getattr(method, "__name__", type(method).__name__)


def _changes(
    changes: Mapping[Any, Mapping[str, Any]], chosen: Sequence[_Candidate], words: list[str], problems: Problems
) -> dict[str, dict[str, Any]]:
    """By the name of a method that is compared."""
    known = {word: entry.name for entry, _, _ in chosen for word in (entry.name, entry.method.__name__)}
    by_method: dict[str, dict[str, Any]] = {}
    for key, values in changes.items():
        word = key if isinstance(key, str) else key.__name__
        if word not in known and word not in words:
            where = placeholder(python=f"changes[{word!r}]", command_line=f"{flag('changes')} {word}.…")
            problems.add(f"{where}: '{word}' is not compared here.{did_you_mean(word, list(dict.fromkeys(words)))}")
        for name in values:
            if name in _FIXED:
                setting = f"{flag('changes')} {word}.{name}"
                where = placeholder(python=f"changes[{word!r}][{name!r}]", command_line=setting)
                problems.add(f"{where}: {_FIXED[name]}.")
        by_method.setdefault(known.get(word, word), {}).update(values)
    return by_method


def _told_apart(rows: Sequence[Row]) -> list[Row]:
    """Rows with the same label get the settings that differ, or where their classes lie, beside it."""
    labels = [row.label for row in rows]
    apart = []
    for row, label in zip(rows, labels, strict=True):
        alike = [other for other, word in zip(rows, labels, strict=True) if word == label]
        settings = [_defaults(other) | dict(other.settings) for other in alike]
        names = {name for each in settings for name in each if any(one.get(name) != each[name] for one in settings)}
        mine = _defaults(row) | dict(row.settings)
        detail = ", ".join(f"{name}={mine[name]}" for name in sorted(names) if name in mine)
        if any(other.method != row.method for other in alike):
            detail = row.method
        apart.append(dataclasses.replace(row, detail=detail) if len(alike) > 1 else row)
    return apart


def _defaults(row: Row) -> dict[str, Any]:
    parameters = inspect.signature(row.entry.method).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty}


def _preset(row: Row, preset: str | None, dataset: str | None) -> dict[str, Any]:
    """Presets and published settings of a dataset; other methods' defaults are those of the paper's appendix."""
    if row.method == CONSTANT:
        return {"answer": "majority"}  # said, so that trials of 0.1.0, which answered yes, are not taken for it
    if not row.entry.has_presets or row.encoder is None:
        return dict(DATASETS[dataset].published.get(row.method, {})) if dataset is not None else {}
    if preset is None and row.encoder not in ENCODERS:
        settings = preset_settings("default", None, "gcn")
    else:
        settings = preset_settings(preset or default_preset(dataset, row.encoder), dataset, row.encoder)
    return {name: value for name, value in settings.items() if name != "encoder"}


def _rule(method: str, selection: Selection) -> dict[str, Any]:
    if selection == "own":
        return {}
    rule = {"selection": selection, "selection_weight": 1.0}
    return {name: value for name, value in rule.items() if name in parameters(method)}


def _rule_of(method: str, rows: Sequence[Row]) -> str:
    """`loss` or `score`; a method without the parameter has the score only."""
    default = settings_model(resolve_method(method).method).model_fields.get("selection")
    settings = next(row.settings for row in rows if row.method == method)
    return str(settings.get("selection", "score" if default is None else default.default))
