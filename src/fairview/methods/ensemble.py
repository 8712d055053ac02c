"""How is a model had that hangs on no single seed? Train several, and average their scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from pydantic import Field
from torch import nn

from fairview.arguments import SEEDS
from fairview.data.graph import NodeGraph
from fairview.data.splits import with_default_split
from fairview.errors import InputError
from fairview.methods.contract import Facts, Probabilities, require_fitted
from fairview.methods.estimator import Estimator
from fairview.methods.inner_model import (
    HoldsModel,
    check_inner_saveable,
    inner_fields,
    inner_unfitted,
    with_inner_by_name,
)
from fairview.methods.network_method import NetworkMethod
from fairview.methods.parameters import Few, Threads
from fairview.methods.registry import needs_group
from fairview.nn.encoders import EncoderKind
from fairview.progress import Update, track_live
from fairview.training.loop import Progress
from fairview.training.state import State, below, prefixed

SEEDS_APART = 1000
"""Between the seeds of two neighbouring ensembles, and the most members that one has."""


@dataclass(kw_only=True, eq=False, repr=False)
class Ensemble(HoldsModel):
    """Several models of one method that differ in their seed; the score of a node is the mean of theirs.

    Training can amplify the last bit of a sum into another model, so that seeds and machines differ. The mean of N
    models moves about √N times less. Probabilities are averaged, not logits: their mean is again a probability, a
    member that is sure of itself weighs no more than another, and a score of 0 or 1 is no special case.

    Member i has the seed 1000 · `seed` + i, from i = 0. It depends on these two numbers alone: no two ensembles of
    different seeds share a member, and a larger ensemble holds the members of a smaller one.

    Args:
        model: a registered method by name, a class, or an unfitted instance, which keeps its settings and its encoder.
            It needs a parameter `seed`, which is replaced, and must not need the group at prediction.
        members: how many models.
        model_settings: parameters of a model that was not given as an instance.
        encoder: of a model that has one; by default its own. A module of your own begins each member with its weights.
        device: of a model that has one.
        threads: of a model that has them.
        seed: from which those of the members follow.

    Attributes:
        members_: the fitted models.
        keep_probability_: the mean over the members; only if they have it.

    Example:
        >>> import fairview as fv
        >>> graph = fv.load_dataset("german")
        >>> model = fv.Ensemble("vanilla", members=3, model_settings={"epochs": 20}, seed=2).fit(graph)
        >>> [member.seed for member in model.members_]
        [2000, 2001, 2002]
    """

    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {"members": (5, 10)}

    model: str | type | Estimator = field(default="fairvgnn", kw_only=False)
    members: Few = 5
    model_settings: dict[str, Any] | None = None
    encoder: EncoderKind | nn.Module | None = None
    device: str = "cpu"
    threads: Threads | None = None
    seed: Annotated[int, Field(ge=0, lt=SEEDS // SEEDS_APART)] = 1

    def fit(self, graph: NodeGraph) -> Self:
        """Train the members, one after the other. Ctrl-C keeps none of them: there is no mean before the last one."""
        self._check_params()
        graph, notes = with_default_split(graph)
        members = self.unfitted_members()
        with track_live(f"Fitting Ensemble of {len(members)}") as update:
            for number, member in enumerate(members):
                _fit(member, graph, number, len(members), update)
                if getattr(member, "interrupted_", False):
                    raise KeyboardInterrupt
        return self.adopt(members, notes)

    def unfitted_members(self) -> list[Any]:
        """The members before their training."""
        first = self.seed * SEEDS_APART
        inner = inner_unfitted(type(self), self.get_params(deep=False))
        return [type(inner)(**inner.get_params(deep=False) | {"seed": first + i}) for i in range(self.members)]

    def adopt(self, members: Sequence[Any], notes: Sequence[str] = ()) -> Self:
        """Be the ensemble of these fitted models."""
        self.members_ = list(members)
        if isinstance(facts := getattr(members[0], "facts_", None), Facts):
            self.facts_ = facts
        told = (note for member in members for note in getattr(member, "notes_", ()))
        self.notes_ = tuple(dict.fromkeys((*notes, *told)))
        return self

    def predict_proba(self, graph: NodeGraph) -> Probabilities:
        """The mean of the members' probabilities, (n, 2)."""
        require_fitted(self)
        positive = np.zeros(graph.num_nodes)
        for member in self.members_:
            positive += np.asarray(member.predict_proba(graph), dtype=np.float64)[:, 1]
        positive /= len(self.members_)
        return np.stack([1 - positive, positive], axis=1)

    @property
    def keep_probability_(self) -> dict[str, float]:
        """Probability of being kept, by channel: the mean over the members."""
        require_fitted(self)
        kept: list[dict[str, float]] = [member.keep_probability_ for member in self.members_]
        return {channel: float(np.mean([each[channel] for each in kept])) for channel in kept[0]}

    def thread_count(self, graph: NodeGraph) -> int | None:
        """That of a member; None if it has none."""
        inner = inner_unfitted(type(self), self.get_params(deep=False))
        return inner.thread_count(graph) if isinstance(inner, NetworkMethod) else None

    # --- parameters ---------------------------------------------------------------------------------------------------

    @classmethod
    def check_together(cls, settings: Mapping[str, Any]) -> None:
        inner, model = inner_unfitted(cls, settings), settings.get("model", cls.model)
        if needs_group(inner):
            raise InputError(
                f"Ensemble: model={model!r}: it needs each node's group to predict. Align the mean score instead: "
                "GroupThresholds with model='ensemble'."
            )
        if "seed" not in inner_fields(cls, model):
            raise InputError(f"Ensemble: model={model!r}: it has no seed, so that all members would be the same.")

    def plain_params(self) -> dict[str, Any]:
        return with_inner_by_name(self, keep=("seed",))

    # --- files --------------------------------------------------------------------------------------------------------

    def tensors(self) -> State:
        require_fitted(self)
        check_inner_saveable(self, self.members_[0])
        state: State = {}
        for number, member in enumerate(self.members_):
            state |= prefixed(f"members.{number}", member.tensors())
        return state

    def restore(self, tensors: State, facts: Facts) -> Self:
        self._check_params()
        parts = {f"members.{number}": member for number, member in enumerate(self.unfitted_members())}
        strangers = [name for name in tensors if ".".join(name.split(".")[:2]) not in parts]
        if strangers:
            raise ValueError("the tensors are not those of this method")
        return self.adopt([member.restore(below(tensors, name), facts) for name, member in parts.items()])


def _fit(member: Any, graph: NodeGraph, number: int, members: int, update: Update) -> None:
    """One member, with a bar over all of them: by epochs where there are some."""
    text = f"member {number + 1} of {members}"
    if not isinstance(member, NetworkMethod):
        member.fit(graph)
        update(number + 1, members, text)
        return

    def watch(progress: Progress, _: Any) -> None:
        update(number * member.epochs + progress.epochs, members * member.epochs, text)

    member.fit(graph, watch=watch)
