"""Which settings reproduce a cell of the paper? Data files beside this one, one table per dataset and encoder.

`paper` holds the settings of the published runs behind Table 3, `paper-table4` those behind Table 4 where they differ,
`tuned` ours for the cells of Table 3 that the published ones do not reach and for SIGN, `default` what we recommend for
data of your own.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any

from fairview.data.datasets.registry import DATASETS
from fairview.errors import InputError, did_you_mean

PRESETS = ("paper", "paper-table4", "tuned", "default")


def preset_settings(preset: str, dataset: str | None, encoder: str) -> dict[str, Any]:
    """The parameters of a preset's cell.

    Args:
        preset: a name of `PRESETS`.
        dataset: a known dataset; None, for own data, needs the preset `default`.
        encoder: `gcn`, `gin`, `sage`, `sign` or `mlp`.

    Example:
        >>> preset_settings("paper", "german", "gcn")["discriminator_steps"]
        5
    """
    found = _cell(preset, dataset, encoder)
    if found is None:
        cells = _cells(preset)
        known = [f"{name} {kind}" for name, kinds in cells.items() for kind in kinds]
        raise InputError(
            f"preset '{preset}' has no cell '{dataset or 'own data'} {encoder}'; it has {', '.join(known)}. "
            "The preset 'default' suits any data."
        )
    cell = {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}
    return {"encoder": encoder} | cell


def default_preset(dataset: str | None, encoder: str) -> str:
    """The preset of someone who names none: the published settings where there are any, else ours for the dataset.

    Example:
        >>> default_preset("german", "gcn"), default_preset("german", "mlp"), default_preset(None, "gcn")
        ('paper', 'default', 'default')
        >>> default_preset("german", "sign")
        'tuned'
    """
    return next((preset for preset in ("paper", "tuned") if has_preset(preset, dataset, encoder)), "default")


def has_preset(preset: str, dataset: str | None, encoder: str) -> bool:
    """Whether a preset has such a cell.

    Example:
        >>> has_preset("paper", "german", "gcn"), has_preset("paper", "german", "mlp")
        (True, False)
    """
    return _cell(preset, dataset, encoder) is not None


def _cell(preset: str, dataset: str | None, encoder: str) -> dict[str, Any] | None:
    cells = _cells(preset)
    known = DATASETS.get(dataset)
    if known is not None and encoder in known.presets.get(preset, {}):
        return dict(known.presets[preset][encoder])
    family = "any" if preset == "default" else (known.family if known is not None else dataset or "")
    found: dict[str, Any] | None = cells.get(family, {}).get(encoder)
    return found


@cache
def _cells(preset: str) -> dict[str, Any]:
    if preset not in PRESETS:
        raise InputError(f"no preset '{preset}'.{did_you_mean(preset, PRESETS)}")
    families = tomllib.loads(resources.files(__name__).joinpath(f"{preset}.toml").read_text(encoding="utf-8"))
    common = families.pop("every", {})
    return {name: {kind: common | cell for kind, cell in kinds.items()} for name, kinds in families.items()}
