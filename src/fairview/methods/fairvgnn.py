"""FairVGNN: learn which channels to mask against a discriminator, and clamp the encoder where they leak.

Paper: section 4, Algorithm 1. `FairVGNNNetwork.epoch` is its body: discriminator, classifier and generator
phase, clamp. The departures of the published runs from the text, and all ablations, are parameters, never copies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

import torch
from pydantic import Field
from torch import Tensor, nn

from fairview.data.graph import NodeGraph
from fairview.data.link_kinds import MOST_KINDS
from fairview.errors import InputError, Problems, option
from fairview.methods.contract import Facts, channels_seen, require_fitted
from fairview.methods.fitted import second_head
from fairview.methods.guessed_groups import GuessedGroups
from fairview.methods.link_kinds import KindSource, cuts_of, with_kinds
from fairview.methods.parameters import Few, Nodes, Rate, Steps, Weight
from fairview.methods.penalised import GroupDistance
from fairview.methods.presets import preset_settings
from fairview.methods.self_supervision import SelfSupervised, SelfSupervisedNetwork
from fairview.nn.losses import masking_price
from fairview.nn.paths import Rows, Where
from fairview.nn.regularisers import Regulariser, clamp_all, clamp_columns, limit_spectral_norm
from fairview.propagation.kinds import ITSELF
from fairview.training.adam import Adam
from fairview.training.state import State

Phase = Literal["discriminator", "classifier", "generator"]


@dataclass(kw_only=True, eq=False, repr=False)
class FairVGNN(SelfSupervised):
    """FairVGNN (Wang et al., KDD 2022): learns which channels to mask, and clamps the encoder where they leak.

    Args:
        discriminator: `adversarial` learns to tell the groups apart, of each sensitive attribute with a head of its
            own; `energy` learns nothing: the generator minimises the distance between the groups' logits instead,
            which the `penalty` names and the three weights compose.
        views: K, the number of masks.
        temperature: τ of the Gumbel-softmax.
        mask: `soft` masks, or `hard` ones with the gradient of the soft (straight through).
        feature_masks: False trains without masks ("w/o fm"): the generator phase then acts on the encoder alone, or
            on the masks over kinds of links if `link_kinds` has some.
        mask_density_weight: α, the price of masking (on the mean over channels).
        weight_regulariser: `adaptive` clamps column j at ε p_j, `plain` at ε, `spectral` limits the spectral norm to ε,
            `none` does nothing ("w/o wc").
        clamp_threshold: ε.
        classifier_clamp: clamp the classifier's weight and bias too, as the published Credit runs do.
        discriminator_steps: per epoch; 0 is "w/o discriminator".
        classifier_steps: per epoch.
        generator_steps: per epoch; 0 is "w/o generator".
        learning_rate_discriminator: of Adam.
        learning_rate_classifier: of Adam.
        learning_rate_generator: of Adam.
        learning_rate_encoder: of the one Adam that all phases share.
        encoder_updates: the phases that may update the encoder.
        discriminator_encoder_mode: whether the encoder trains or only evaluates in the discriminator's phase.
        balanced_discriminator: let every group weigh the same in L_d; the training of Theorem 1 needs it when
            groups differ in size (docs/theory.md).
        link_kinds: learn a weight for each kind of links, and mask kinds beside channels. `given` takes the kinds that
            the graph has, `bands` cuts the similarity of a link's ends, `groups` tells links within a group from those
            between groups, which needs every node's group at prediction. For `gcn` and `gin` of one layer.
        link_bands: how many bands of similarity.
        group_at_prediction: allow what needs each node's group at prediction.
        sensitive_nodes: nodes whose sensitive attribute the discriminator learns from, `all` or `train`. A distance
            never sees those of held-out nodes.
        adversary_sample: draw so many nodes for each discriminator and generator step against it; None takes all.
        predict_from: average the `logits` of the K views, or predict from their mean `view` (Algorithm 1).

    Attributes:
        keep_probability_: {channel: probability of being kept}, the softmax of the mask's scores; of `sign` by column,
            `age@1`.
        link_keep_probability_: the same of kinds of links, if there are some.
        link_weight_: {kind of links: weight}.
        history_: losses, validation metrics and selection score of each epoch.
        best_epoch_: the epoch that was kept.

    Example:
        >>> import fairview as fv
        >>> graph = fv.load_dataset("german")
        >>> model = fv.FairVGNN(encoder="gcn", epochs=3, seed=1).fit(graph)
        >>> model.predict_proba(graph).shape
        (1000, 2)
    """

    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {  # Paper: section 5.1.2, without the number of epochs
        "discriminator_steps": (5, 10),
        "classifier_steps": (5, 10),
        "generator_steps": (5, 10),
        "learning_rate_discriminator": (0.001, 0.01),
        "learning_rate_classifier": (0.001, 0.01),
        "learning_rate_generator": (0.001, 0.01),
        "learning_rate_encoder": (0.001, 0.01),
        "clamp_threshold": (0.01, 0.1, 1.0),
        "mask_density_weight": (0.0, 0.5, 1.0),
    }

    energy_search_space: ClassVar[Mapping[str, Sequence[Any]]] = {
        **{name: values for name, values in search_space.items() if "discriminator" not in name},
        "discriminator": ("energy",),
        "statistical_parity_weight": (0.0, 1.0, 3.0, 10.0, 30.0),
    }
    """The same with the distance in place of the discriminator, which is not in the paper."""

    self_supervised_search_space: ClassVar[Mapping[str, Sequence[Any]]] = {
        **search_space,
        "self_supervision": ("none", "agreement", "reconstruction"),
        "self_supervision_weight": (0.1, 1.0, 10.0),
    }
    """The paper's with the terms that need no labels."""

    discriminator: Literal["adversarial", "energy"] = "adversarial"
    views: Few = 10
    temperature: Rate = 1.0
    mask: Literal["soft", "hard"] = "soft"
    feature_masks: bool = True
    mask_density_weight: Weight = 0.5
    weight_regulariser: Regulariser = "adaptive"
    clamp_threshold: Rate = 1.0
    classifier_clamp: Rate | None = None
    discriminator_steps: Steps = 5
    classifier_steps: Steps = 10
    generator_steps: Steps = 5
    learning_rate_discriminator: Rate = 0.001
    learning_rate_classifier: Rate = 0.01
    learning_rate_generator: Rate = 0.001
    learning_rate_encoder: Rate = 0.001
    encoder_updates: tuple[Phase, ...] = ("discriminator", "classifier", "generator")
    discriminator_encoder_mode: Literal["train", "eval"] = "train"
    balanced_discriminator: bool = True
    link_kinds: KindSource | None = None
    link_bands: Annotated[int, Field(ge=2, le=MOST_KINDS)] = 3
    group_at_prediction: bool = False  # type: ignore[misc]  # here a parameter, elsewhere a fact of the class
    sensitive_nodes: Literal["all", "train"] = "all"
    adversary_sample: Nodes | None = None
    predict_from: Literal["logits", "view"] = "logits"

    @classmethod
    def from_preset(cls, dataset: str, encoder: str = "gcn", *, preset: str = "paper", **changes: Any) -> Self:
        """The settings of a cell of the paper's tables, with changes of your own (see `fairview.methods.presets`).

        Example:
            >>> FairVGNN.from_preset("german", "gin", seed=3).clamp_threshold
            1.0
        """
        return cls(**preset_settings(preset, dataset, encoder) | changes)

    def _network(self, graph: NodeGraph) -> FairVGNNNetwork:
        if self.link_kinds is not None:
            channels = channels_seen(graph, self.sensitive_channels)
            graph = with_kinds(graph, self.link_kinds, channels, bands=self.link_bands)
        return FairVGNNNetwork(self, graph)

    def facts_of(self, graph: NodeGraph, channels: tuple[str, ...]) -> Facts:
        """With the kinds of links that the model tells apart."""
        facts = super().facts_of(graph, channels)
        if self.link_kinds is None:
            return facts
        kinds = with_kinds(graph, self.link_kinds, channels, bands=self.link_bands).adjacency.kinds
        cuts = cuts_of(graph, channels, self.link_bands) if self.link_kinds == "bands" else ()
        return facts.model_copy(update={"link_kinds": kinds.names if kinds else (), "link_cuts": cuts})

    def seen(self, graph: NodeGraph) -> NodeGraph:
        if self.link_kinds is None:
            return graph
        return with_kinds(graph, self.link_kinds, self.facts_.channels, known=self.facts_)

    @classmethod
    def check_together(cls, settings: Mapping[str, Any]) -> None:
        """Kinds of links need an encoder that weighs them, groups a word of permission, self-supervision views."""
        values = {name: settings.get(name, getattr(cls, name)) for name in _TOGETHER}
        problems, kinds, encoder = Problems(), values["link_kinds"], values["encoder"]
        for text in cls.idle_self_supervision(settings):
            problems.add(text)
        if kinds is not None and (encoder not in ("gcn", "gin") or values["depth"] not in (None, 1)):
            which = f"'{encoder}'" if isinstance(encoder, str) else "a module of your own"
            depth = f" of depth {values['depth']}" if encoder in ("gcn", "gin") else ""
            problems.add(
                f"link_kinds: the encoder is {which}{depth}; kinds of links have weights in 'gcn' and 'gin' of one "
                "layer."
            )
        if kinds == "groups" and not values["group_at_prediction"]:
            problems.add(
                "link_kinds: 'groups' needs each node's group at prediction, which is often not allowed. If it is, say "
                f"so: {option('group_at_prediction', True)}."
            )
        if values["group_at_prediction"] and kinds != "groups":
            problems.add("group_at_prediction: only link_kinds='groups' needs the groups at prediction; leave it out.")
        problems.raise_if_any()

    def plain_params(self) -> dict[str, Any]:
        """Without those of kinds of links where there are none, so that files are as before these were known."""
        left_out = () if self.weighs_links else _OF_KINDS
        return {name: value for name, value in super().plain_params().items() if name not in left_out}

    @classmethod
    def idle_parameters(cls, settings: Mapping[str, Any]) -> frozenset[str]:
        idle = {"link_bands"} if settings.get("link_kinds", cls.link_kinds) != "bands" else set()
        return super().idle_parameters(settings) | idle

    def blank_modules(self, tensors: State, channels: int) -> dict[str, nn.Module]:
        """Encoder, mask and classifier, and the discriminator if there is one."""
        further = second_head(self, tensors, "discriminator") if self.discriminator == "adversarial" else {}
        return super().blank_modules(tensors, channels) | further

    def divisible(self) -> bool:
        """Against the discriminator, not against the distance, and with links that are all alike."""
        return super().divisible() and self.discriminator == "adversarial" and not self.weighs_links

    @property
    def learns_masks(self) -> bool:
        """Whether a mask is learnt, over channels or kinds of links."""
        return self.feature_masks or self.weighs_links

    @property
    def weighs_links(self) -> bool:
        return self.link_kinds is not None

    @property
    def keep_probability_(self) -> dict[str, float]:
        """Probability of being kept, by channel; of `sign` by channel and hop, `age@1`."""
        require_fitted(self)
        if not self.weighs_links:
            return super().keep_probability_
        return dict(zip(self.facts_.channels, self.fitted_.mask.keep_probability.tolist(), strict=True))

    @property
    def link_keep_probability_(self) -> dict[str, float]:
        """Probability of being kept, by kind of links; that of the node itself is last."""
        require_fitted(self)
        kept = self.fitted_.mask.kind_probability.tolist() if self.weighs_links else []
        return dict(zip(self._kinds(), kept, strict=True))

    @property
    def link_weight_(self) -> dict[str, float]:
        """a_t, how much the features count that a kind of links brings; 1 at the start of the training."""
        require_fitted(self)
        weights = self.fitted_.encoder.link_weights.tolist() if self.weighs_links else []
        return dict(zip(self._kinds(), weights, strict=True))

    def _kinds(self) -> tuple[str, ...]:
        return (*self.facts_.link_kinds, ITSELF) if self.weighs_links else ()


_OF_KINDS = ("link_kinds", "link_bands", "group_at_prediction")
_TOGETHER = ("encoder", "depth", "link_kinds", "group_at_prediction")


class FairVGNNNetwork(SelfSupervisedNetwork):
    """One run of FairVGNN on one graph: everything that is trained, and how."""

    method: FairVGNN
    discriminator: nn.Linear
    """Only where it is adversarial."""

    def __init__(self, method: FairVGNN, graph: NodeGraph) -> None:
        mask = {"temperature": method.temperature, "hard": method.mask == "hard"}
        super().__init__(method, graph, views=method.views, mask=mask if method.learns_masks else None)
        if method.weight_regulariser != "none" and not self.encoder.first_weights:
            raise InputError(
                "encoder: none of its weights acts on the channels, so that nothing can be clamped. "
                "Set weight_regulariser='none'."
            )
        self.optimisers = {"classifier": Adam(self.heads.parameters(), method.learning_rate_classifier)}
        if any(parameter.requires_grad for parameter in self.encoder.parameters()):  # the user's own may be frozen
            self.optimisers["encoder"] = Adam(self.encoder.parameters(), method.learning_rate_encoder)
        if method.learns_masks:
            self.optimisers["generator"] = Adam(self.mask.parameters(), method.learning_rate_generator)
        self.classifier_steps = method.classifier_steps
        self.adversarial = method.discriminator == "adversarial"
        if self.adversarial:
            self.set_discriminator(method, graph)

    def set_discriminator(self, method: FairVGNN, graph: NodeGraph) -> None:
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

    @cached_property
    def distance(self) -> GroupDistance:
        return GroupDistance(self, self.graph.split("train") if self.method.sensitive_nodes == "train" else None)

    @property
    def evaluation_masks(self) -> Tensor:
        masks = super().evaluation_masks
        return masks.mean(dim=0, keepdim=True) if self.method.predict_from == "view" else masks

    def epoch(self) -> dict[str, float]:
        """Algorithm 1, lines 2 to 15."""
        with torch.no_grad():
            masks = self.draw_masks()  # one draw serves the discriminator, the classifier and the clamp
        losses = {
            "discriminator": self.discriminator_phase(masks),
            "classifier": self.classifier_phase(masks),
            "generator": self.generator_phase(),
        }
        self.clamp(masks.mean(dim=0))
        return {phase: loss for phase, loss in losses.items() if loss is not None}

    def discriminator_phase(self, masks: Tensor) -> float | None:
        """Learn to tell the groups apart from the representations of the views; a distance has nothing to learn."""
        if not self.adversarial:
            return None
        self.encoder.train(self.method.discriminator_encoder_mode == "train")
        loss = None
        for _ in range(self.method.discriminator_steps):
            rows, groups, weights = self.adversary_rows()

            def loss_of(part: Rows, where: Where, groups: Tensor = groups, weights: Tensor | None = weights) -> Tensor:
                known = None if weights is None else weights[where]
                return self.guessed.discriminator_loss(part.logits(masks, self.discriminator), groups[where], known)

            loss = self.step("discriminator", rows, loss_of)
        self.encoder.train()
        return loss

    def classifier_phase(self, masks: Tensor) -> float | None:
        """Learn the labels from the same views, and what else the classifier's loss has."""
        loss = None
        for _ in range(self.method.classifier_steps):
            loss = self.classifier_step(masks)
        return loss

    def generator_phase(self) -> float | None:
        """Learn masks, fresh in every step, that leave the discriminator guessing, or the groups no distance apart."""
        loss = None
        for _ in range(self.method.generator_steps):
            loss = self.adversarial_step() if self.adversarial else self.distance_step()
        return loss

    def adversarial_step(self) -> float:
        """One step of the generator against the discriminator."""
        masks = self.draw_masks()

        def loss_of(part: Rows, _: Where) -> Tensor:
            guessing = self.guessed.generator_loss(part.logits(masks, self.discriminator))
            return guessing + masking_price(masks, self.method.mask_density_weight)

        return self.step("generator", self.sampled_rows(), loss_of)

    def distance_step(self) -> float:
        """One step of the generator against the distance between the groups' logits."""
        masks = self.draw_masks()
        rows, contrasts = self.distance.draw()

        def loss_of(part: Rows, _: Where) -> Tensor:
            gap = self.distance_of(part.logits(masks, self.classifier), contrasts)
            return gap + masking_price(masks, self.method.mask_density_weight)

        return self.step("generator", rows, loss_of)

    def clamp(self, mean_mask: Tensor) -> None:
        """Bound the encoder's first layer by what the masks keep. Paper: section 4.2."""
        method, weights = self.method, self.encoder.first_weights
        self.clamp_mask = mean_mask
        if method.weight_regulariser in ("adaptive", "plain"):
            share = mean_mask if method.weight_regulariser == "adaptive" else torch.ones_like(mean_mask)
            if method.weighs_links:  # one weight serves all kinds: a channel has what is kept of it on average
                share = share.view(self.encoder.blocks, -1).mean(dim=0)
            clamp_columns(weights, method.clamp_threshold * share)
        elif method.weight_regulariser == "spectral":
            limit_spectral_norm(weights, method.clamp_threshold)
        if method.classifier_clamp is not None:
            clamp_all(self.classifier.parameters(), method.classifier_clamp)

    # --- the rows of a step -------------------------------------------------------------------------------------------

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

    def updates(self, phase: str) -> Sequence[str]:
        return [phase, "encoder"] if phase in self.method.encoder_updates else [phase]
