"""Which settings does a variant of FairVGNN get? The full model's with one thing changed, or those it was tuned with.

A difference between the full model and an *untuned* variant is the module's. Between tuned ones, as published, it is
one of settings too; so the untuned block comes first, and the tuned one is there to be compared with the paper.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any

from fairview.data.datasets.registry import DATASETS
from fairview.errors import InputError
from fairview.methods.presets import preset_settings

SWITCHES: dict[str, dict[str, Any]] = {
    "full": {},
    "without-fm": {"feature_masks": False},
    "without-wc": {"weight_regulariser": "none", "classifier_clamp": None},
    "without-both": {"feature_masks": False, "weight_regulariser": "none", "classifier_clamp": None},
    "adaptive": {},  # the full model itself, so that its runs are shared
    "plain": {"weight_regulariser": "plain"},
    "spectral": {"weight_regulariser": "spectral"},
    "without-discriminator": {"discriminator_steps": 0},
    "without-generator": {"generator_steps": 0},
}
"""What a variant leaves out or changes. Without masks every mask is one, so that the clamp's threshold is ε."""

_STEPS = ("discriminator_steps", "classifier_steps", "generator_steps")
_RATES = ("learning_rate_classifier", "learning_rate_encoder")


def one_switch(variant: str, dataset: str, encoder: str, *, preset: str = "paper") -> dict[str, Any]:
    """The full model's settings with the variant's one change.

    Example:
        >>> full, without = one_switch("full", "german", "gcn"), one_switch("without-fm", "german", "gcn")
        >>> {name: value for name, value in without.items() if full.get(name) != value}
        {'feature_masks': False}
    """
    return preset_settings(preset, dataset, encoder) | SWITCHES[variant]


def as_published(variant: str, dataset: str, encoder: str) -> dict[str, Any] | None:
    """The settings of the published runs of a variant; None where none were published.

    Example:
        >>> as_published("without-fm", "german", "gcn")["clamp_threshold"]
        1.0
        >>> as_published("without-fm", "bail", "gin") is None
        True
    """
    family = "credit" if dataset.startswith("credit") else dataset
    cell = _settings().get(variant, {}).get(family, {}).get(encoder)
    if cell is None:
        return None
    cell = dict(cell)
    named = dict(zip(_STEPS, cell.pop("steps"), strict=True)) | dict(zip(_RATES, cell.pop("rates"), strict=True))
    switch = "without-wc" if variant.startswith("fig3-") else variant
    return one_switch(switch, dataset, encoder) | named | cell


def without_adversary(arm: str, dataset: str) -> dict[str, Any]:
    """Figure 3, untuned: FairVGNN without the clamp as published, and the same without a discriminator or generator."""
    base = as_published("fig3-without-wc", dataset, "gcn")
    if base is None:
        raise InputError(f"Figure 3: no settings for '{dataset}'; there are some for german and credit.")
    return base | SWITCHES[arm]


def rival(method: str, dataset: str) -> dict[str, Any]:
    """The settings of a plain model or a rival that differ from its defaults, which are those of the paper's appendix.

    Example:
        >>> rival("edits", "bail-no-time"), rival("nifty", "bail")
        ({'edge_threshold': 0.012}, {})
    """
    return dict(DATASETS[dataset].published.get(method, {}))


@cache
def _settings() -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath("variants.toml").read_text(encoding="utf-8"))
