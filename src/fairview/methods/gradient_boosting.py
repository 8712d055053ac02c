"""Gradient-boosted trees on the features: what the best tools for tables find, without a graph and without mitigation.

scikit-learn grows the trees; they are kept, saved and read as plain arrays, so that no pickle is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import torch
from pydantic import Field
from scipy.special import expit, logit

from fairview.data.graph import NodeGraph
from fairview.data.splits import with_default_split
from fairview.methods.contract import Facts, Probabilities, features_like, require_fitted, table_to_learn_from
from fairview.methods.estimator import Estimator, require_like
from fairview.training.state import State

LEAF = -1
"""In the place of a channel and of children: nothing is asked here any more."""


@dataclass(kw_only=True, eq=False, repr=False)
class GradientBoosting(Estimator):
    """score(x) = σ(prior + Σ_t tree_t(x)), fitted on the labelled nodes of the train split.

    Args:
        trees: how many, one after the other.
        learning_rate: what each tree's answer is multiplied by.
        depth: questions from a tree's root to a leaf, at most.
        sensitive_channels: False leaves the channels of the sensitive attribute out.
    """

    last_bits_matter: ClassVar[bool] = False
    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {
        "trees": (50, 100, 200),
        "learning_rate": (0.03, 0.1),
        "depth": (2, 3, 5),
    }

    trees: Annotated[int, Field(ge=1, le=100_000)] = 100
    learning_rate: Annotated[float, Field(gt=0, le=1)] = 0.1
    depth: Annotated[int, Field(ge=1, le=100)] = 3
    sensitive_channels: bool = True

    def fit(self, graph: NodeGraph) -> Self:
        from sklearn.ensemble import GradientBoostingClassifier

        self._check_params()
        graph, notes = with_default_split(graph)
        facts, features, labels = table_to_learn_from(graph, self.sensitive_channels)
        model = GradientBoostingClassifier(
            n_estimators=self.trees,
            learning_rate=self.learning_rate,
            max_depth=self.depth,
            random_state=0,  # it decides ties only: all rows and all channels are looked at
        )
        model.fit(features, labels)
        prior = float(logit(labels.mean()))
        self.forest_ = Forest.grown([tree.tree_ for tree in model.estimators_[:, 0]], self.learning_rate, prior)
        self.facts_, self.notes_ = facts, notes
        return self

    def predict_proba(self, graph: NodeGraph) -> Probabilities:
        require_fitted(self)
        positive = expit(self.forest_.sum(features_like(graph, self.facts_.channels)))
        return np.stack([1 - positive, positive], axis=1)

    def tensors(self) -> State:
        require_fitted(self)
        return {name: torch.tensor(array) for name, array in vars(self.forest_).items()}

    def restore(self, tensors: State, facts: Facts) -> Self:
        self._check_params()
        size = tensors["channel"].numel() if "channel" in tensors else 0
        whole, real = (torch.empty((), dtype=kind, device="meta") for kind in (torch.int64, torch.float64))
        pattern = dict.fromkeys(("channel", "left", "right"), whole.expand(size))
        pattern |= dict.fromkeys(("threshold", "value"), real.expand(size))
        require_like(tensors, pattern | {"roots": whole.expand(self.trees), "prior": real})
        forest = Forest(**{name: tensor.numpy() for name, tensor in tensors.items()})
        forest.check(len(facts.channels))
        self.forest_, self.facts_ = forest, facts
        return self


@dataclass(kw_only=True, eq=False)
class Forest:
    """The nodes of all trees in one row of arrays, every parent before its children.

    Attributes:
        channel: what a node asks for; `LEAF` in leaves.
        threshold: of the question x[channel] <= threshold.
        left: the node for yes.
        right: the node for no.
        value: what a leaf answers.
        roots: where each tree begins.
        prior: the log-odds of the positive class.
    """

    channel: npt.NDArray[np.int64]
    threshold: npt.NDArray[np.float64]
    left: npt.NDArray[np.int64]
    right: npt.NDArray[np.int64]
    value: npt.NDArray[np.float64]
    roots: npt.NDArray[np.int64]
    prior: npt.NDArray[np.float64]

    @classmethod
    def grown(cls, trees: list[Any], learning_rate: float, prior: float) -> Forest:
        """From scikit-learn's trees."""
        roots = np.cumsum([0] + [tree.node_count for tree in trees[:-1]], dtype=np.int64)
        asks = np.concatenate([tree.children_left >= 0 for tree in trees])

        def joined(name: str, shift: bool = False) -> npt.NDArray[np.int64]:
            each = [getattr(tree, name) + shift * root for tree, root in zip(trees, roots, strict=True)]
            return np.where(asks, np.concatenate(each), LEAF).astype(np.int64)

        return cls(
            channel=joined("feature"),
            threshold=np.where(asks, np.concatenate([tree.threshold for tree in trees]), 0.0),
            left=joined("children_left", shift=True),
            right=joined("children_right", shift=True),
            value=np.where(asks, 0.0, learning_rate * np.concatenate([tree.value[:, 0, 0] for tree in trees])),
            roots=roots,
            prior=np.array(prior),
        )

    def check(self, channels: int) -> None:
        """Arrays may come from a file: every question must be about a channel, and every way must end."""
        nodes = np.arange(len(self.channel))
        asks = self.channel != LEAF
        known = (self.channel >= 0) & (self.channel < channels)
        forward = (self.left > nodes) & (self.right > nodes) & (self.left < len(nodes)) & (self.right < len(nodes))
        ends = (self.left == LEAF) & (self.right == LEAF)
        begun = (self.roots >= 0) & (self.roots < len(nodes))
        if not (np.where(asks, known & forward, ends).all() and begun.all()):
            raise ValueError("the trees ask for channels or lead to nodes that are not there")

    def sum(self, features: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
        """The log-odds of each row: prior plus the answers of all trees, in their order."""
        found = np.full(len(features), self.prior)
        for root in self.roots:
            at = np.full(len(features), root)
            going = np.arange(len(features))
            while len(going := going[self.channel[at[going]] != LEAF]):
                node = at[going]
                yes = features[going, self.channel[node]] <= self.threshold[node]
                at[going] = np.where(yes, self.left[node], self.right[node])
            found += self.value[at]
        return found
