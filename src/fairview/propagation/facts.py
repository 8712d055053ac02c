"""What does the manifest of a propagated folder say? Its nodes, channels, groups, splits, moments and parts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fairview.attributes import group_columns
from fairview.data.graph import SPLIT_NAMES
from fairview.data.tables.recipe import Recipe
from fairview.data.tables.roles import views_of
from fairview.errors import InputError, in_one_line
from fairview.propagation.operators import Operator

MANIFEST = "manifest.json"


class Moments(BaseModel):
    """Mean and covariance (divided by n) of the channels after some hop, over all nodes."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    mean: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]


class Part(BaseModel):
    """A file of the folder and how many nodes it holds."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str = Field(pattern=r"^part-[0-9A-Za-z._-]+\.parquet$")
    rows: int = Field(ge=0)
    bytes: int = Field(ge=0)


class HeldAttribute(BaseModel):
    """A sensitive attribute, or what several make together: its groups, and what was counted over all nodes."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str
    groups: tuple[str, ...]
    channels: tuple[str, ...]
    group_sizes: dict[str, int]
    same_group: int = Field(ge=0)
    known_groups: int = Field(ge=0)


class PropagatedFacts(BaseModel):
    """Everything that `manifest.json` says but the hashes."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    kind: Literal["propagated"] = "propagated"
    version: Literal[1] = 1
    engine: str
    source: str
    identity: str
    operator: Operator
    hops: int = Field(ge=0)
    nodes: int = Field(ge=0)
    links: int = Field(ge=0)
    directed: bool
    weighted: bool
    channels: tuple[str, ...]
    classes: tuple[str, str]
    groups: tuple[str, ...]
    sensitive_name: str
    sensitive_channels: tuple[str, ...]
    group_sizes: dict[str, int]
    labelled: int = Field(ge=0)
    positives: int = Field(ge=0)
    splits: dict[str, int]
    same_group: int = Field(ge=0)
    known_groups: int = Field(ge=0)
    attributes: tuple[HeldAttribute, ...] = ()  # of several; what is above is then of all together
    moments: tuple[Moments, ...]
    recipe: Recipe
    inputs: dict[str, str]
    notes: tuple[str, ...]
    parts: tuple[Part, ...]
    versions: dict[str, str]

    @property
    def views(self) -> tuple[HeldAttribute, ...]:
        """Each sensitive attribute and, of several, as the last, what they make together."""
        together = HeldAttribute(
            name=self.sensitive_name,
            groups=self.groups,
            channels=self.sensitive_channels,
            group_sizes=self.group_sizes,
            same_group=self.same_group,
            known_groups=self.known_groups,
        )
        return (*self.attributes, together)

    @property
    def held(self) -> tuple[HeldAttribute, ...]:
        """The sensitive attributes one by one, always at least one, as in a graph."""
        return self.attributes or self.views

    @property
    def group_columns(self) -> tuple[str, ...]:
        """The columns of the parts that hold the groups of each attribute; none without groups."""
        return group_columns([each.name for each in self.held]) if self.groups else ()


def facts_from(document: Mapping[str, Any], files: Any, path: Path) -> PropagatedFacts:
    """The facts of a manifest.

    Args:
        document: the manifest without its hashes.
        files: the hashes of the parts by name, as they were read.
        path: of the manifest, for messages.

    Raises:
        InputError: it is not of this version, or its facts contradict each other.
    """
    try:
        facts = PropagatedFacts.model_validate_json(json.dumps(document))
    except (ValidationError, RecursionError) as error:
        raise InputError(f"{path}: not a manifest of this version ({in_one_line(error)}).") from None
    _check(facts, files, path)
    return facts


def _check(facts: PropagatedFacts, files: Any, path: Path) -> None:
    wrong = None
    if not isinstance(files, dict) or set(files) != {part.name for part in facts.parts}:
        wrong = "the hashes are not those of its parts"
    elif sum(part.rows for part in facts.parts) != facts.nodes:
        wrong = "its parts do not add up to its nodes"
    elif facts.channels != facts.recipe.features.channels:
        wrong = "its channels are not those of its recipe"
    elif len(facts.moments) != facts.hops + 1 or any(
        {len(facts.channels)} != {len(m.mean), len(m.covariance), *map(len, m.covariance)} for m in facts.moments
    ):
        wrong = "its moments are not those of its channels"
    elif set(facts.splits) - set(SPLIT_NAMES):
        wrong = "its splits have other names than train, val and test"
    elif any(tuple(each.group_sizes) != each.groups for each in facts.views):
        wrong = "its group sizes are not those of its groups"
    elif facts.attributes and not (facts.groups and _as_in_the_recipe(facts)):
        wrong = "its sensitive attributes are not those of its recipe"
    if wrong:
        raise InputError(f"{path}: not a manifest of this version ({wrong}).")


def _as_in_the_recipe(facts: PropagatedFacts) -> bool:
    views = views_of(facts.recipe.attributes), facts.views
    known, held = ([(each.name, each.groups, each.channels) for each in listed] for listed in views)
    return known == held
