"""What does a discriminator do in training? It learns to tell the groups apart, from the nodes whose group is known."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from fairview.data.graph import NodeGraph
from fairview.methods.guessed_groups import GuessedGroups
from fairview.methods.self_supervision import SelfSupervisedNetwork
from fairview.nn.paths import Rows, Where
from fairview.training.adam import Adam


class AdversarialNetwork(SelfSupervisedNetwork):
    """A network that may have a discriminator: its head, its step, and the nodes that it looks at."""

    method: Any
    discriminator: nn.Linear
    """Only where it is adversarial."""
    adversarial = False

    def set_discriminator(self, method: Any, graph: NodeGraph) -> None:
        """The head that tells the groups apart, one for each attribute, and the nodes that it learns from."""
        everybody = "train" if method.sensitive_nodes == "train" else "all"
        self.guessed = GuessedGroups.of(
            graph, graph.split(everybody), balanced=method.balanced_discriminator, dtype=self.dtype
        )
        self.discriminator = self.head("discriminator", sum(self.guessed.outputs))
        rate = method.learning_rate_discriminator
        self.optimisers["discriminator"] = Adam(self.discriminator.parameters(), rate)
        weights = self.guessed.weights
        self.known, self.groups = self.guessed.nodes, self.guessed.groups.to(self.device)
        self.group_weights = None if weights is None else weights.to(self.device)
        everyone = len(self.known) == graph.num_nodes
        self.everyone = self.path.on()
        self.those_known = self.everyone if everyone else self.path.on(self.known)

    @property
    def modules(self) -> dict[str, nn.Module]:
        return super().modules | ({"discriminator": self.discriminator} if self.adversarial else {})

    def discriminator_step(self, masks: Tensor) -> float:
        """One step of the discriminator, on the representations of the views."""
        rows, groups, weights = self.adversary_rows()

        def loss_of(part: Rows, where: Where) -> Tensor:
            known = None if weights is None else weights[where]
            return self.guessed.discriminator_loss(part.logits(masks, self.discriminator), groups[where], known)

        return self.step("discriminator", rows, loss_of)

    def adversary_rows(self) -> tuple[Rows, Tensor, Tensor | None]:
        """The nodes that a discriminator step looks at, with their groups and weights."""
        size = self.method.adversary_sample
        if size is None or size >= len(self.known):
            return self.those_known, self.groups, self.group_weights
        chosen = torch.randint(len(self.known), (size,), generator=self.streams["sample"]).numpy()
        weights = None if self.group_weights is None else self.group_weights[chosen]
        return self.path.on(self.known[chosen]), self.groups[chosen], weights

    def sampled_rows(self) -> Rows:
        """The nodes that a generator step looks at."""
        size = self.method.adversary_sample
        if size is None or size >= self.graph.num_nodes:
            return self.everyone
        return self.path.on(torch.randint(self.graph.num_nodes, (size,), generator=self.streams["sample"]).numpy())
