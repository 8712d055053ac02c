"""What may a model do that knows each node's group when it predicts? Give every group its own threshold or map.

Post-processing of any model: its scores are moved, group by group, until the groups are selected alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from fairview.data.graph import NodeGraph
from fairview.data.splits import with_default_split
from fairview.errors import InputError, quoted
from fairview.groups import UNKNOWN
from fairview.log import note
from fairview.methods.contract import Facts, Probabilities, groups_like, require_fitted
from fairview.methods.estimator import Estimator, require_like
from fairview.methods.group_maps import Knots, cut, moved_by_quantiles, moved_by_shift, quantile_knots
from fairview.methods.inner_model import HoldsModel, check_inner_saveable, inner_unfitted
from fairview.methods.parameters import Seed, Share, Threads
from fairview.nn.encoders import EncoderKind
from fairview.training.state import State, apart, prefixed


@dataclass(kw_only=True, eq=False, repr=False)
class GroupThresholds(HoldsModel):
    """Moves the scores s of a model, with a map per group g, so that one threshold treats the groups alike.

    - `quantile`: s' = (1 - r) s + r Q(F_g(s)); F_g is the distribution of the group's scores, Q the quantiles of all
      scores together. All thresholds select the groups alike, and the AUC keeps its meaning.
    - `thresholds`: s' = σ(logit(s) - r logit(t_g)); above its t_g each group has the same share, that of all scores
      above 0.5. The groups are selected alike at the threshold 0.5.

    The group is needed at prediction, matched by name. A node of unknown group keeps the model's own score, which is
    the map of all groups pooled.

    For `gap="statistical_parity"` the maps are fitted on every node that has a group and is not held out: those of the
    train split and those in no split, labelled or not. For `gap="equal_opportunity"` the same is done among the
    positive labels of train and val.

    Args:
        model: a registered method by name, or an unfitted instance, which keeps its own settings, encoder and seed.
        model_settings: parameters of a model that was given by name.
        map: `quantile` or `thresholds`.
        relaxation: r from 0, the model's own scores, to 1, groups fully aligned.
        gap: `statistical_parity` aligns the selection rates, `equal_opportunity` the true positive rates.
        encoder: of a model that has one; by default its own.
        device: of a model that has one.
        threads: of a model that has them.
        seed: of a model that has one.

    Example:
        >>> import fairview as fv
        >>> graph = fv.load_dataset("german")
        >>> for relaxation in (0.0, 1.0):
        ...     found = fv.evaluate(fv.GroupThresholds(relaxation=relaxation).fit(graph), graph)
        ...     print(f"{found['balanced_accuracy']:.2f} {found['statistical_parity_gap']:.2f}")
        0.64 0.57
        0.62 0.07
    """

    group_at_prediction: ClassVar[bool] = True
    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {"relaxation": (0.0, 0.25, 0.5, 0.75, 1.0)}

    model: str | Estimator = "logistic-regression"
    model_settings: dict[str, Any] | None = None
    map: Literal["quantile", "thresholds"] = "quantile"
    relaxation: Share = 1.0
    gap: Literal["statistical_parity", "equal_opportunity"] = "statistical_parity"
    encoder: EncoderKind | nn.Module | None = None
    device: str = "cpu"
    threads: Threads | None = None
    seed: Seed = 1

    def fit(self, graph: NodeGraph) -> Self:
        self._check_params()
        graph, notes = with_default_split(graph)
        model = inner_unfitted(type(self), self.get_params(deep=False)).fit(graph)
        scores = np.asarray(model.predict_proba(graph), dtype=np.float64)[:, 1]
        rows = self._rows(graph)
        known = rows & (graph.sensitive != UNKNOWN)
        members = [scores[known & (graph.sensitive == code)] for code in range(len(graph.groups))]
        if sum(len(each) > 0 for each in members) < 2:
            what = "positive label of train or val" if self.gap == "equal_opportunity" else "node that is not held out"
            raise InputError(
                f"train: GroupThresholds needs nodes of two groups to align; fewer than two groups of "
                f"'{graph.sensitive_name}' have a {what}."
            )
        pooled = scores[known]
        nobody = [name for name, each in zip(graph.groups, members, strict=True) if not len(each)]
        if nobody:
            notes += (f"No node to fit a map on: {quoted(nobody)}. These groups keep the model's own scores.",)
        if self.map == "quantile":
            self.knots_ = tuple(quantile_knots(each, pooled) if len(each) else _SAME for each in members)
        else:
            share = float((pooled > 0.5).mean())
            self.thresholds_ = np.array([cut(each, share) if len(each) else 0.5 for each in members])
        self._adopt(model, graph)
        self.notes_ = tuple(dict.fromkeys((*notes, *getattr(model, "notes_", ()))))
        return self

    def predict_proba(self, graph: NodeGraph) -> Probabilities:
        require_fitted(self)
        scores = np.asarray(self.model_.predict_proba(graph), dtype=np.float64)[:, 1]
        codes = groups_like(graph, self.facts_, type(self).__name__)
        if unknown := int((codes == UNKNOWN).sum()):
            note(f"{unknown:,} of {len(codes):,} nodes have no known group: they keep the model's own score.")
        moved = scores.copy()
        for code in range(len(self.facts_.groups) if self.relaxation > 0 else 0):
            rows = codes == code
            if self.map == "quantile":
                moved[rows] = moved_by_quantiles(scores[rows], self.knots_[code], self.relaxation)
            else:
                moved[rows] = moved_by_shift(scores[rows], self.thresholds_[code], self.relaxation)
        return np.stack([1 - moved, moved], axis=1)

    def _rows(self, graph: NodeGraph) -> npt.NDArray[np.bool_]:
        """The nodes that the maps are fitted on."""
        if self.gap == "equal_opportunity":
            seen = [graph.splits[name] for name in ("train", "val") if name in graph.splits]
            return np.asarray(np.logical_or.reduce(seen) & (graph.labels == 1))
        held_out = [mask for name, mask in graph.splits.items() if name != "train"]
        return ~np.asarray(np.logical_or.reduce(held_out)) if held_out else graph.split("all")

    def _adopt(self, model: Any, graph: NodeGraph) -> None:
        """Keep the fitted model, and what it tells of its training."""
        self.model_ = model
        self.facts_ = model.facts_ if isinstance(getattr(model, "facts_", None), Facts) else Facts.of(graph)
        for name in ("history_", "best_epoch_", "selection_notes_", "interrupted_"):
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))

    # --- parameters ---------------------------------------------------------------------------------------------------

    @classmethod
    def check_together(cls, settings: Mapping[str, Any]) -> None:
        inner_unfitted(cls, settings)

    # --- files --------------------------------------------------------------------------------------------------------

    def tensors(self) -> State:
        check_inner_saveable(self, self.model_)
        state = prefixed("model", self.model_.tensors())
        if self.map == "thresholds":
            return state | {"thresholds": torch.tensor(self.thresholds_)}
        for code, knots in enumerate(self.knots_):
            state |= {f"knots.{code}": torch.tensor(np.stack(knots))}
        return state

    def restore(self, tensors: State, facts: Facts) -> Self:
        self._check_params()
        inner, own = apart(tensors, "model")
        model = inner_unfitted(type(self), self.get_params(deep=False)).restore(inner, facts)
        count, real = len(facts.groups), torch.empty((), dtype=torch.float64, device="meta")
        if self.map == "thresholds":
            require_like(own, {"thresholds": real.expand(count)})
            self.thresholds_ = own["thresholds"].numpy()
            if ((self.thresholds_ <= 0) | (self.thresholds_ >= 1)).any():
                raise ValueError("the thresholds are not between 0 and 1")
        else:
            sizes = {name: tensor.shape[-1] if tensor.ndim else 0 for name, tensor in own.items()}
            names = [f"knots.{code}" for code in range(count)]
            require_like(own, {name: real.expand(2, sizes.get(name, 0)) for name in names})
            self.knots_ = tuple(_checked(own[name].numpy()) for name in names)
        self.model_, self.facts_ = model, facts
        return self


_SAME: Knots = (np.array([0.0, 1.0]), np.array([0.0, 1.0]))


def _checked(knots: npt.NDArray[np.float64]) -> Knots:
    """From 0 to 1, both rows increasing."""
    ends = knots.shape[1] >= 2 and (knots[:, 0] == 0).all() and (knots[:, -1] == 1).all()
    if not ends or (np.diff(knots[0]) <= 0).any() or (np.diff(knots[1]) < 0).any():
        raise ValueError("the knots of a group's map do not increase from 0 to 1")
    return knots[0], knots[1]
